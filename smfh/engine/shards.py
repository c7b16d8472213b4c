"""The files of shards, a data set in parts: write them part by part, read them and check them.

They are in a folder: a local path, or any address that fsspec supports. A file is written under a temporary
name and then moved, so it is complete or does not exist.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from io import BytesIO
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.features.maps import is_signed
from smfh.files import Array, pack_npz, read_json, read_npz
from smfh.files.atomic import write_atomically
from smfh.hashing.blocks import ROWS, column_maxima, rows_of
from smfh.types import BoolArray, FloatArray, InputError, Matrix, check_features

FORMAT, VERSION = "smfh-shards", 1
MANIFEST, QUERIES, LABELS = "manifest.json", "queries", "labels.npy"
NAME = re.compile(r"\w[\w.-]{0,63}")  # cannot lead to another folder
CHUNK_BYTES = 1 << 22  # read at a time to hash a file
ROWS_PER_PART = 8 * ROWS
MAX_BYTES = 1 << 40  # largest .npz content that is read


@dataclass(frozen=True)
class Folder:
    """A folder at an address, which must lead to the same files on every worker."""

    address: str

    def __post_init__(self) -> None:
        if self.is_local:  # links stay: they may lead elsewhere on another machine
            object.__setattr__(self, "address", str(Path(self.address).absolute()))

    @property
    def is_local(self) -> bool:
        return "://" not in self.address

    def folder(self, name: str) -> "Folder":
        return Folder(self._path(name))

    def make(self) -> "Folder":
        """Create the folder if it does not exist, and return this object."""
        _file_system(self.address).makedirs(self.address, exist_ok=True)
        return self

    def names(self) -> list[str]:
        """Return the sorted names of the files and folders in this folder; empty if it does not exist."""
        if not self.exists():
            return []
        found = _file_system(self.address).ls(self.address, detail=False)
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def exists(self, name: str = "") -> bool:
        return bool(_file_system(self.address).exists(self._path(name)))

    def size(self, name: str) -> int:
        return int(_file_system(self.address).size(self._path(name)))

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, _file_system(self.address).open(self._path(name), "rb"))

    def write(self, name: str, write: Callable[[BinaryIO], object], durable: bool = False) -> None:
        """Write a file by calling `write(file)`; a `durable` local file survives a power cut."""
        if self.is_local:
            write_atomically(Path(self._path(name)), write, durable)
            return
        system, temporary = _file_system(self.address), self._path(f".{name}.{id(write)}")
        with system.open(temporary, "wb") as file:
            write(cast(BinaryIO, file))
        system.mv(temporary, self._path(name))

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with its content, if it exists."""
        if self.exists(name):
            _file_system(self.address).rm(self._path(name), recursive=True)

    def array(self, name: str) -> NDArray[Any]:
        """Read a .npy file; a local file is memory-mapped, so rows are read when used."""
        if self.is_local:
            return np.asanyarray(np.load(self._path(name), mmap_mode="r", allow_pickle=False))
        with self.open(name) as file:
            return np.asarray(np.load(BytesIO(file.read()), allow_pickle=False))

    def write_array(self, name: str, array: NDArray[Any]) -> None:
        self.write(name, lambda file: np.lib.format.write_array(file, array, allow_pickle=False))

    def arrays(self, name: str) -> dict[str, Array]:
        """Read and check a .npz file; return its arrays by name."""
        with self.open(name) as file:
            return read_npz(file.read(), name=name, max_bytes=MAX_BYTES)

    def write_arrays(self, name: str, arrays: Mapping[str, Array]) -> None:
        self.write(name, lambda file: pack_npz(file, arrays, level=1))

    def json(self, name: str) -> Any:
        try:
            with self.open(name) as file:
                return read_json(file.read())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} in {self.address} is damaged: it is not JSON.") from error

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, lambda file: file.write(json.dumps(value, indent=1).encode()), durable=True)

    def _path(self, name: str) -> str:
        return f"{self.address.rstrip('/')}/{name}" if name else self.address


@cache
def _file_system(address: str) -> Any:
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(address)[0]
    except ImportError as error:
        raise InputError(f"{address} needs an fsspec driver that is not installed: {error}.") from error
    except ValueError as error:
        raise InputError(f"{address} is not an address that fsspec knows: {error}.") from error


@dataclass(frozen=True)
class Stored:
    """Length and checksum of a file of the shards."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Part:
    """A part of the shards: consecutive items, stored in one folder."""

    name: str
    rows: int
    files: Mapping[str, Stored]


@dataclass(frozen=True)
class Modality:
    """Shape, type and column maxima of one modality over all training parts."""

    name: str
    dimensions: int
    dtype: str
    is_sparse: bool
    maxima: tuple[float, ...]  # of the absolute values in its columns
    is_signed: bool = False  # whether there are negative values


@dataclass(frozen=True)
class Manifest:
    """Description of a folder of shards: modalities, classes, training parts and queries."""

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
        """Row number of each part's first item among all items, followed by the number of items."""
        return (0, *np.cumsum([part.rows for part in self.parts]).tolist())

    @property
    def id(self) -> str:
        """SHA-256 of the manifest, which contains the checksums of all files."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


class Rows(NamedTuple):
    """Features and labels of some items; `X` has one matrix per modality, in the stream's order."""

    X: tuple[Matrix, ...]
    labels: BoolArray


@dataclass(frozen=True)
class Stream:
    """A data set to write as shards: training items in blocks, and all queries in memory."""

    name: str
    modalities: tuple[str, ...]
    class_names: tuple[str, ...]
    training: Iterable[Rows]
    queries: Rows


def write_shards(stream: Stream, folder: Folder, rows_per_part: int = ROWS_PER_PART) -> Manifest:
    """Write a stream as parts of `rows_per_part` rows (a multiple of ROWS); return the manifest."""
    if rows_per_part < 1 or rows_per_part % ROWS:
        low = max(rows_per_part // ROWS, 1) * ROWS
        raise InputError(
            f"Rows per shard must be a multiple of {ROWS}, such as {low} or {low + ROWS}; got {rows_per_part}."
        )
    if folder.exists(MANIFEST):
        raise InputError(f"{folder.address} already contains shards; choose an empty folder.")
    folder.make()
    parts, maxima, kinds, unlabelled = list[Part](), list[FloatArray](), list[tuple[str, bool]](), 0
    sizes, signed = np.zeros(0, np.int64), set[str]()
    for number, rows in enumerate(regroup(stream.training, rows_per_part)):
        if number == 0:
            maxima = [np.zeros(x.shape[1]) for x in rows.X]
            kinds = [(x.dtype.name, sparse.issparse(x)) for x in rows.X]
            sizes = np.zeros(rows.labels.shape[1], np.int64)
        for name, x, largest in zip(stream.modalities, rows.X, maxima, strict=True):
            check_features(name, x, len(largest))
            np.maximum(largest, column_maxima(x), out=largest)
            signed |= {name} if is_signed(x) else set()
        sizes += rows.labels.sum(axis=0)
        unlabelled += int(np.count_nonzero(~rows.labels.any(axis=1)))
        parts.append(_write_part(folder, f"part-{number:05d}", rows))
    if not parts:
        raise InputError(f"{stream.name} has no training items.")
    for name, x, largest in zip(stream.modalities, stream.queries.X, maxima, strict=True):
        check_features(name, x, len(largest))
    manifest = Manifest(
        name=stream.name,
        modalities=tuple(
            Modality(name, len(largest), *kind, tuple(largest.tolist()), name in signed)
            for name, largest, kind in zip(stream.modalities, maxima, kinds, strict=True)
        ),
        class_names=stream.class_names,
        sizes=tuple(map(int, sizes)),
        unlabelled=unlabelled,
        parts=tuple(parts),
        queries=_write_part(folder, QUERIES, stream.queries),
    )
    folder.write_json(MANIFEST, {"format": FORMAT, "version": VERSION, "block": ROWS, **asdict(manifest)})
    return manifest


def regroup(rows: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Regroup blocks of rows into groups of `size` rows; the last group may be smaller."""
    held: list[Rows] = []
    count = 0
    for block in rows:
        start = 0
        while start < len(block.labels):
            some = slice(start, min(start + size - count, len(block.labels)))
            held.append(Rows(tuple(rows_of(x, some) for x in block.X), block.labels[some]))
            count += some.stop - start
            start = some.stop
            if count == size:
                yield _stack(held)
                held, count = [], 0
    if held:
        yield _stack(held)


def _stack(held: Sequence[Rows]) -> Rows:
    if len(held) == 1:
        return held[0]
    X = (
        sparse.csr_array(sparse.vstack(x)) if sparse.issparse(x[0]) else np.concatenate(x)
        for x in zip(*(rows.X for rows in held), strict=True)
    )
    return Rows(tuple(X), np.concatenate([rows.labels for rows in held]))


def _write_part(folder: Folder, name: str, rows: Rows) -> Part:
    """Write one file for the labels and each dense modality, and three (CSR) for each sparse modality."""
    arrays: dict[str, Array] = {}
    for number, x in enumerate(rows.X):
        if isinstance(x, sparse.csr_array):
            arrays[f"{number}.data.npy"] = x.data
            arrays[f"{number}.indices.npy"] = x.indices.astype(np.int32)
            arrays[f"{number}.indptr.npy"] = x.indptr.astype(np.int64)
        else:
            arrays[f"{number}.npy"] = np.ascontiguousarray(x)
    arrays[LABELS] = rows.labels
    inside, files = folder.folder(name).make(), {}
    for file, array in arrays.items():
        buffer = BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        content = buffer.getbuffer()
        inside.write(file, methodcaller("write", content))
        files[file] = Stored(len(content), hashlib.sha256(content).hexdigest())
    return Part(name, len(rows.labels), files)


def read_manifest(folder: Folder) -> Manifest:
    """Read, check and return the manifest of a folder of shards."""
    if not folder.exists(MANIFEST):
        raise InputError(
            f"{folder.address} contains no shards: there is no {MANIFEST}. `python -m smfh shard` writes them."
        )
    given = folder.json(MANIFEST)
    try:
        if (given["format"], given["version"], given["block"]) != (FORMAT, VERSION, ROWS):
            raise InputError(
                f"{folder.address} has format {given['format']} {given['version']} with blocks of "
                f"{given['block']} rows; this program needs {FORMAT} {VERSION} with blocks of {ROWS}."
            )
        return Manifest(
            name=str(given["name"]),
            modalities=tuple(
                Modality(
                    str(m["name"]),
                    int(m["dimensions"]),
                    np.dtype(m["dtype"]).name,
                    bool(m["is_sparse"]),
                    tuple(map(float, m["maxima"])),
                    bool(m.get("is_signed", False)),
                )
                for m in given["modalities"]
            ),
            class_names=tuple(map(str, given["class_names"])),
            sizes=tuple(map(int, given["sizes"])),
            unlabelled=int(given["unlabelled"]),
            parts=tuple(map(_part, given["parts"])),
            queries=_part(given["queries"]),
        )
    except InputError:
        raise
    except Exception as error:  # a forged manifest can raise anything
        what = f"{type(error).__name__} at {error}"
        raise InputError(f"{MANIFEST} in {folder.address} is not a valid list of shards: {what}.") from error


def _part(given: Mapping[str, Any]) -> Part:
    files = {str(name): Stored(int(f["bytes"]), str(f["sha256"])) for name, f in given["files"].items()}
    for name in (str(given["name"]), *files):
        if not NAME.fullmatch(name):
            raise InputError(
                "Names of shards and their files may contain only letters, digits, "
                f"hyphens and dots; got {name[:40]!r}."
            )
    return Part(str(given["name"]), int(given["rows"]), files)


def foreign_parts(folder: Folder, manifest: Manifest) -> list[str]:
    """Return a message for each folder that is named like a part but not in the manifest."""
    known = {part.name for part in manifest.parts}
    strange = [name for name in folder.names() if name.startswith("part-") and name not in known]
    return [f"{name} in {folder.address} is not in the manifest." for name in strange]


def part_problems(folder: Folder, part: Part) -> list[str]:
    """Return a message for each missing, truncated or changed file of a part."""
    problems, inside = [], folder.folder(part.name)
    for name, stored in part.files.items():
        if not inside.exists(name):
            problems.append(f"{part.name}/{name} is missing in {folder.address}.")
            continue
        if (size := inside.size(name)) != stored.bytes:
            problems.append(f"{part.name}/{name} is truncated: it has {size:,} bytes, not {stored.bytes:,}.")
            continue
        digest = hashlib.sha256()
        with inside.open(name) as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
        if digest.hexdigest() != stored.sha256:
            problems.append(f"{part.name}/{name} was changed: its SHA-256 differs.")
    return problems


def read_rows(folder: Folder, manifest: Manifest, part: Part) -> tuple[dict[str, Matrix], BoolArray]:
    """Return the modalities and labels of a part; local files are read only when used."""
    names = [modality.name for modality in manifest.modalities]
    return {t: read_modality(folder, manifest, part, t) for t in names}, read_labels(folder, part)


def read_modality(folder: Folder, manifest: Manifest, part: Part, name: str) -> Matrix:
    """Return the feature matrix of one modality of a part."""
    inside = folder.folder(part.name)
    number, modality = next((k, m) for k, m in enumerate(manifest.modalities) if m.name == name)
    if not modality.is_sparse:
        return np.asarray(inside.array(f"{number}.npy"))
    names = (f"{number}.{name}.npy" for name in ("data", "indices", "indptr"))
    arrays = tuple(np.asarray(inside.array(name)) for name in names)
    return sparse.csr_array(arrays, shape=(part.rows, modality.dimensions), copy=False)


def read_labels(folder: Folder, part: Part) -> BoolArray:
    """Return the labels of a part: (rows, classes)."""
    return np.asarray(folder.folder(part.name).array(LABELS))
