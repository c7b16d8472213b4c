"""What shards there are: shapes, counts and checksums of every part, and the check that they are still so."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from smfh.cluster.storage import Folder
from smfh.files import Array
from smfh.hashing.products import ROWS
from smfh.types import BoolArray, FloatArray, InputError, Matrix, MultimodalDataset

FORMAT, VERSION = "smfh-shards", 1
MANIFEST, QUERIES, LABELS = "manifest.json", "queries", "labels.npy"
NAME = re.compile(r"\w[\w.-]{0,63}")  # one that leads nowhere else
CHUNK = 1 << 22  # bytes that are hashed at once


@dataclass(frozen=True)
class Stored:
    """A file as it was written."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Part:
    """Consecutive items in a folder of their own."""

    name: str
    rows: int
    files: Mapping[str, Stored]


@dataclass(frozen=True)
class Modality:
    """One modality of all parts."""

    name: str
    dimensions: int
    dtype: str
    is_sparse: bool
    maxima: tuple[float, ...]  # of its columns


@dataclass(frozen=True)
class Manifest:
    """All that is known of shards without opening them."""

    name: str
    modalities: tuple[Modality, ...]
    class_names: tuple[str, ...]
    sizes: tuple[int, ...]  # of the classes
    unlabelled: int
    parts: tuple[Part, ...]
    queries: Part

    @property
    def items(self) -> int:
        return sum(part.rows for part in self.parts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first row of each part among all items, and behind the last one all of them."""
        return (0, *np.cumsum([part.rows for part in self.parts]).tolist())

    @property
    def id(self) -> str:
        """SHA-256 of all that is in it, and so of every part."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def sketch(self) -> MultimodalDataset:
        """An item of each class that occurs, in the right shape: what a method asks before it begins."""
        there = np.flatnonzero(self.sizes)
        X = {m.name: np.zeros((len(there), m.dimensions), m.dtype) for m in self.modalities}
        return MultimodalDataset(self.name, X, np.eye(len(self.sizes), dtype=bool)[there], self.class_names)


def part_name(number: int) -> str:
    return f"part-{number:05d}"


def write_manifest(folder: Folder, manifest: Manifest) -> None:
    folder.write_json(MANIFEST, {"format": FORMAT, "version": VERSION, "block": ROWS, **asdict(manifest)})


def read_manifest(folder: Folder) -> Manifest:
    """The manifest that stands in a folder of shards, every value of its kind."""
    if not folder.exists(MANIFEST):
        raise InputError(
            f"There are no shards in {folder.address}, which has no {MANIFEST}; "
            "`python -m smfh shard` makes them."
        )
    said = folder.json(MANIFEST)
    try:
        if (said["format"], said["version"], said["block"]) != (FORMAT, VERSION, ROWS):
            raise InputError(
                f"{folder.address} holds a {said['format']} of version {said['version']} in blocks of "
                f"{said['block']} rows; this program reads {FORMAT} of version {VERSION} in blocks of {ROWS}."
            )
        return Manifest(
            name=str(said["name"]),
            modalities=tuple(
                Modality(
                    str(m["name"]),
                    int(m["dimensions"]),
                    np.dtype(m["dtype"]).name,
                    bool(m["is_sparse"]),
                    tuple(map(float, m["maxima"])),
                )
                for m in said["modalities"]
            ),
            class_names=tuple(map(str, said["class_names"])),
            sizes=tuple(map(int, said["sizes"])),
            unlabelled=int(said["unlabelled"]),
            parts=tuple(map(_part, said["parts"])),
            queries=_part(said["queries"]),
        )
    except InputError:
        raise
    except Exception as error:  # whatever a forged manifest makes its readers raise
        what = f"{type(error).__name__} at {error}"
        raise InputError(f"{MANIFEST} in {folder.address} is not one of shards: {what}.") from error


def _part(said: Mapping[str, Any]) -> Part:
    files = {str(name): Stored(int(f["bytes"]), str(f["sha256"])) for name, f in said["files"].items()}
    for name in (str(said["name"]), *files):
        if not NAME.fullmatch(name):
            raise InputError(
                f"A part and its files have names of letters, digits, - and .; got {name[:40]!r}."
            )
    return Part(str(said["name"]), int(said["rows"]), files)


def foreign_parts(folder: Folder, manifest: Manifest) -> list[str]:
    """What lies among the parts and is none of them."""
    known = {part.name for part in manifest.parts}
    strange = [name for name in folder.names() if name.startswith("part-") and name not in known]
    return [f"{name} is not in the manifest of {folder.address}: it is foreign to it." for name in strange]


def part_problems(folder: Folder, part: Part) -> list[str]:
    """What is missing, torn or changed in a part, by name."""
    problems, inside = [], folder.folder(part.name)
    for name, stored in part.files.items():
        if not inside.exists(name):
            problems.append(f"{part.name}/{name} is missing in {folder.address}.")
        elif (size := inside.size(name)) != stored.bytes:
            problems.append(f"{part.name}/{name} is torn: it has {size:,} bytes, not {stored.bytes:,}.")
        elif hash_file(inside, name) != stored.sha256:
            problems.append(f"{part.name}/{name} was changed, or is of other shards: its SHA-256 is another.")
    return problems


def hash_file(folder: Folder, name: str) -> str:
    digest = hashlib.sha256()
    with folder.open(name) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def part_arrays(X: Sequence[Matrix], labels: BoolArray) -> Iterator[tuple[str, Array]]:
    """The files of a part: a dense modality as it is, a sparse one as the three arrays of its rows."""
    for number, x in enumerate(X):
        if isinstance(x, sparse.csr_array):
            yield f"{number}.data.npy", x.data
            yield f"{number}.indices.npy", x.indices.astype(np.int32)
            yield f"{number}.indptr.npy", x.indptr.astype(np.int64)
        else:
            yield f"{number}.npy", np.ascontiguousarray(x)
    yield LABELS, labels


def read_rows(folder: Folder, manifest: Manifest, part: Part) -> tuple[dict[str, Matrix], BoolArray]:
    """The modalities and labels of a part; on this machine they stay on the disk until they are looked at."""
    names = [modality.name for modality in manifest.modalities]
    return {t: read_modality(folder, manifest, part, t) for t in names}, read_labels(folder, part)


def read_modality(folder: Folder, manifest: Manifest, part: Part, name: str) -> Matrix:
    """One modality of a part, and no other file of it."""
    inside = folder.folder(part.name)
    number, modality = next((k, m) for k, m in enumerate(manifest.modalities) if m.name == name)
    if not modality.is_sparse:
        return np.asarray(inside.array(f"{number}.npy"))
    names = (f"{number}.{name}.npy" for name in ("data", "indices", "indptr"))
    arrays = tuple(np.asarray(inside.array(name)) for name in names)
    return sparse.csr_array(arrays, shape=(part.rows, modality.dimensions), copy=False)


def read_labels(folder: Folder, part: Part) -> BoolArray:
    """The labels of a part, and no other file of it."""
    return np.asarray(folder.folder(part.name).array(LABELS))


def maxima_of(manifest: Manifest) -> dict[str, FloatArray]:
    return {m.name: np.array(m.maxima) for m in manifest.modalities}
