"""Shards written part by part, so that no more than a part is ever held."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.cluster.manifest import (
    MANIFEST,
    QUERIES,
    Manifest,
    Modality,
    Part,
    Stored,
    part_arrays,
    part_name,
    write_manifest,
)
from smfh.cluster.storage import Folder
from smfh.files import Array
from smfh.hashing.items import column_maxima, rows_of
from smfh.hashing.products import ROWS
from smfh.types import BoolArray, FloatArray, InputError, Matrix, check_features

ROWS_PER_PART = 8 * ROWS


class Rows(NamedTuple):
    """Some items, in the order of the modalities."""

    X: tuple[Matrix, ...]
    labels: BoolArray


@dataclass(frozen=True)
class Stream:
    """Items that come a few at a time; those that ask are held."""

    name: str
    modalities: tuple[str, ...]
    class_names: tuple[str, ...]
    training: Iterable[Rows]
    queries: Rows


def write_shards(stream: Stream, folder: Folder, rows_per_part: int = ROWS_PER_PART) -> Manifest:
    """The stream as parts of so many rows, a multiple of a block; at last the manifest that names them."""
    if rows_per_part < 1 or rows_per_part % ROWS:
        low = max(rows_per_part // ROWS, 1) * ROWS
        raise InputError(
            f"A part must have a multiple of {ROWS} rows, such as {low} or {low + ROWS}; got {rows_per_part}."
        )
    if folder.exists(MANIFEST):
        raise InputError(f"There are shards in {folder.address} already; give an empty folder.")
    folder.make()
    counts = Counts(stream)
    parts = tuple(
        _write_part(folder, part_name(number), counts.checked(rows))
        for number, rows in enumerate(regroup(stream.training, rows_per_part))
    )
    if not parts:
        raise InputError(f"{stream.name} has no training items.")
    queries = _write_part(folder, QUERIES, counts.checked(stream.queries, counts_them=False))
    manifest = Manifest(
        name=stream.name,
        modalities=counts.modalities(),
        class_names=stream.class_names,
        sizes=tuple(map(int, counts.sizes)),
        unlabelled=counts.unlabelled,
        parts=parts,
        queries=queries,
    )
    write_manifest(folder, manifest)
    return manifest


@dataclass
class Counts:
    """What is known of the items so far."""

    stream: Stream
    maxima: list[FloatArray] = field(default_factory=list)
    kinds: list[tuple[str, bool]] = field(default_factory=list)  # dtype, and whether it is sparse
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    unlabelled: int = 0

    def checked(self, rows: Rows, counts_them: bool = True) -> Rows:
        """The rows, if they are features like those before them, counted."""
        if not self.kinds:
            self.kinds = [(x.dtype.name, sparse.issparse(x)) for x in rows.X]
            self.maxima = [np.zeros(x.shape[1]) for x in rows.X]
            self.sizes = np.zeros(rows.labels.shape[1], np.int64)
        for name, x, largest in zip(self.stream.modalities, rows.X, self.maxima, strict=True):
            check_features(name, x, len(largest))
            if counts_them:
                np.maximum(largest, column_maxima(x), out=largest)
        if counts_them:
            self.sizes += rows.labels.sum(axis=0)
            self.unlabelled += int(np.count_nonzero(~rows.labels.any(axis=1)))
        return rows

    def modalities(self) -> tuple[Modality, ...]:
        return tuple(
            Modality(name, len(largest), dtype, is_sparse, tuple(largest.tolist()))
            for name, largest, (dtype, is_sparse) in zip(
                self.stream.modalities, self.maxima, self.kinds, strict=True
            )
        )


def regroup(rows: Iterable[Rows], size: int) -> Iterator[Rows]:
    """The same rows, so many at a time; the last ones may be fewer."""
    held: list[Rows] = []
    count = 0
    for some in rows:
        while len(some.labels):
            taken = min(size - count, len(some.labels))
            held.append(_slice(some, slice(0, taken)))
            some, count = _slice(some, slice(taken, len(some.labels))), count + taken
            if count == size:
                yield _stack(held)
                held, count = [], 0
    if held:
        yield _stack(held)


def _slice(rows: Rows, some: slice) -> Rows:
    return Rows(tuple(rows_of(x, some) for x in rows.X), rows.labels[some])


def _stack(held: Sequence[Rows]) -> Rows:
    if len(held) == 1:
        return held[0]
    X = (
        sparse.csr_array(sparse.vstack(x)) if sparse.issparse(x[0]) else np.concatenate(x)
        for x in zip(*(rows.X for rows in held), strict=True)
    )
    return Rows(tuple(X), np.concatenate([rows.labels for rows in held]))


def _write_part(folder: Folder, name: str, rows: Rows) -> Part:
    inside, files = folder.folder(name).make(), {}
    for file, array in part_arrays(rows.X, rows.labels):
        files[file] = _write(inside, file, array)
    return Part(name, len(rows.labels), files)


def _write(folder: Folder, name: str, array: Array) -> Stored:
    """Write the array, with the length and the checksum of its file."""
    digest, size = hashlib.sha256(), 0

    class Hashed:
        """A file that hashes what goes through it."""

        def __init__(self, file: BinaryIO) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            nonlocal size
            digest.update(data)
            size += memoryview(data).nbytes
            return self.file.write(data)

    folder.write(name, lambda file: np.lib.format.write_array(Hashed(file), array, allow_pickle=False))
    return Stored(size, digest.hexdigest())
