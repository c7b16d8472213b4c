"""Write the data of a notebook to a file, and a plug-in with which the app in another process loads it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from smfh.files import read_npz
from smfh.files.atomic import write_atomically
from smfh.types import Matrix, MultimodalDataset, Split

PLUGIN = '''"""Data that smfh.explore opened from a notebook."""

from dataclasses import dataclass
from pathlib import Path

from smfh.datasets import DatasetCard, DatasetSource
from smfh.datasets.notebook import read_dataset
from smfh.datasets.splits import resolve_split


@dataclass(frozen=True)
class NotebookData(DatasetSource):
    name = {name!r}
    card = DatasetCard({title!r}, "Opened by smfh.explore.", {size!r}, "Yours.", "Your notebook.")

    def load(self, split="default", seed=0, on_progress=None):
        data, official = read_dataset(Path({path!r}), self.name)
        return data, resolve_split(split, seed, len(data), official)
'''


def plugin_text(name: str, path: Path, data: MultimodalDataset, split: Split) -> str:
    """Return the source text of a plug-in that loads the data from the file at `path`."""
    size = f"{len(split.train):,} training items, {len(split.queries):,} held-out queries"
    return PLUGIN.format(name=name, title=f"{data.name} (notebook)", size=size, path=str(path))


def write_dataset(path: Path, data: MultimodalDataset, split: Split) -> None:
    """Write data and split to a .npz file, without encoders."""
    arrays: dict[str, Any] = {"labels": data.labels, "train": split.train, "queries": split.queries}
    arrays |= {"class names": _texts(data.class_names), "modalities": _texts(list(data.modalities))}
    for number, X in enumerate(data.modalities.values()):
        if isinstance(X, sparse.csr_array):
            parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
            arrays |= {f"{number} {part}": array for part, array in parts.items()}
        else:
            arrays[f"{number}"] = X
    if data.captions is not None:
        arrays["captions"] = _texts(data.captions)
    if data.thumbnails is not None:
        arrays["thumbnails"] = _texts_from_bytes(data.thumbnails)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_dataset(path: Path, name: str) -> tuple[MultimodalDataset, Split]:
    """Read a file written by `write_dataset`; return the data and the split."""
    arrays = read_npz(path)
    modalities: dict[str, Matrix] = {}
    for number, modality in enumerate(_strings(arrays["modalities"])):
        if str(number) in arrays:
            modalities[modality] = arrays[str(number)]
        else:
            parts = [arrays[f"{number} {part}"] for part in ("data", "indices", "indptr")]
            modalities[modality] = sparse.csr_array(tuple(parts), shape=tuple(arrays[f"{number} shape"]))
    captions, pictures = arrays.get("captions"), arrays.get("thumbnails")
    data = MultimodalDataset(
        name,
        modalities,
        arrays["labels"],
        tuple(_strings(arrays["class names"])),
        None if captions is None else _strings(captions),
        None if pictures is None else [bytes(picture) for picture in _rows(pictures)],
    )
    return data, Split(arrays["train"], arrays["queries"])


def _texts(texts: Sequence[str]) -> Any:
    return _texts_from_bytes([text.encode() for text in texts])


def _texts_from_bytes(items: Sequence[bytes]) -> Any:
    """Return byte strings as one array: the number of strings, the length of each, then their bytes."""
    lengths = np.array([len(items), *map(len, items)], dtype="<i8")
    return np.frombuffer(lengths.tobytes() + b"".join(items), dtype=np.uint8)


def _rows(joined: Any) -> list[Any]:
    content = np.asarray(joined, dtype=np.uint8).tobytes()
    count = int(np.frombuffer(content[:8], dtype="<i8")[0])
    lengths = np.frombuffer(content[8 : 8 * (count + 1)], dtype="<i8")
    ends = 8 * (count + 1) + np.cumsum(lengths)
    return [content[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]


def _strings(joined: Any) -> list[str]:
    return [item.decode() for item in _rows(joined)]
