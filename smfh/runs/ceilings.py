"""What the features of a data set allow, measured once: its key, its file, and the work that makes it."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from smfh.ceiling import Ceiling
from smfh.files import guarded, read_json, read_text
from smfh.files.whole import write_whole
from smfh.metrics import AP_DEFINITIONS
from smfh.runs.scores import finite
from smfh.types import InputError, MultimodalDataset, Split

VERSION = 1  # of what is measured, and of the file; to be raised when either changes
MAX_BYTES = 1 << 24


@dataclass(frozen=True)
class CeilingKey:
    """What decides the outcome, and whose it is."""

    data: str  # fingerprint
    split: str  # fingerprint
    owner: str = ""  # of private data

    @property
    def id(self) -> str:
        """SHA-256 of all that decides the outcome; the name of the file."""
        return hashlib.sha256(f"{VERSION} {self.data} {self.split}".encode()).hexdigest()


def ceiling_key(data: MultimodalDataset, split: Split, owner: str = "") -> CeilingKey:
    return CeilingKey(data.fingerprint, split.fingerprint, owner)


def write_ceiling(path: Path, ceiling: Ceiling) -> None:
    """As JSON, whole or not at all."""
    searches = [{"search": search, "scores": scores} for search, scores in ceiling.scores.items()]
    text = json.dumps({"searches": searches, "told": ceiling.told})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write(text.encode()))


def read_ceiling(path: Path) -> Ceiling | None:
    """What the file says, every number looked at; None where it is not there or is damaged."""
    if not path.is_file():
        return None
    try:
        with guarded(path.name):
            said = read_json(read_text(path, max_bytes=MAX_BYTES))
            scores = {}
            for one in said["searches"]:
                source, target, protocol = map(str, one["search"])
                figures = {name: finite(one["scores"][name]) for name in AP_DEFINITIONS}
                scores[source, target, protocol] = figures
            return Ceiling(scores, tuple(map(str, said["told"])))
    except InputError:
        return None
