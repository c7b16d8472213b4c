"""What makes two trainings the same."""

import hashlib
from dataclasses import dataclass

from smfh.hashing import HashMethod
from smfh.types import MultimodalDataset, Split


@dataclass(frozen=True)
class JobKey:
    """All that decides a result, and whose it is."""

    owner: str  # "" where everybody may share it
    data: str  # fingerprint
    split: str  # fingerprint; "" where the data are the training items alone
    method: HashMethod


def job_key(
    data: MultimodalDataset, method: HashMethod, owner: str = "", split: Split | None = None
) -> JobKey:
    """The key of a training on `data`; with a split, of a training and a search on parts of it."""
    digest = hashlib.sha256()
    for rows in () if split is None else (split.train, split.queries, split.validation):
        digest.update(len(rows).to_bytes(8, "little"))  # where one part ends and the next begins
        digest.update(rows.astype("<i8").tobytes())
    return JobKey(owner, data.fingerprint, "" if split is None else digest.hexdigest(), method)
