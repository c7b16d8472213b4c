"""Write the data of a notebook to a file, with a plug-in that loads the file in the process of the app."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from smfh.files import join_bytes, read_json, read_npz, split_bytes
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
    texts = {"modalities": list(data.modalities), "class names": data.class_names, "captions": data.captions}
    arrays: dict[str, Any] = {"labels": data.labels, "train": split.train, "queries": split.queries}
    arrays["texts"] = np.frombuffer(json.dumps(texts, default=list).encode(), dtype=np.uint8)
    for number, X in enumerate(data.modalities.values()):
        if isinstance(X, sparse.csr_array):
            parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
            arrays |= {f"{number} {part}": array for part, array in parts.items()}
        else:
            arrays[f"{number}"] = X
    if data.thumbnails is not None:
        arrays["thumbnails"], arrays["ends"] = join_bytes(data.thumbnails)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_dataset(path: Path, name: str) -> tuple[MultimodalDataset, Split]:
    """Read a file written by `write_dataset`; return the data and the split."""
    arrays = read_npz(path)
    texts = read_json(arrays["texts"].tobytes())
    modalities: dict[str, Matrix] = {}
    for number, modality in enumerate(texts["modalities"]):
        if str(number) in arrays:
            modalities[modality] = arrays[str(number)]
        else:
            parts = [arrays[f"{number} {part}"] for part in ("data", "indices", "indptr")]
            modalities[modality] = sparse.csr_array(tuple(parts), shape=tuple(arrays[f"{number} shape"]))
    pictures = split_bytes(arrays["thumbnails"], arrays["ends"]) if "thumbnails" in arrays else None
    classes = tuple(texts["class names"])
    data = MultimodalDataset(name, modalities, arrays["labels"], classes, texts["captions"], pictures)
    return data, Split(arrays["train"], arrays["queries"])
