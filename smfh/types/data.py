"""Data sets and splits, checked when they are made."""

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from smfh.types.arrays import BoolArray, IntArray, Matrix, read_only
from smfh.types.conversion import as_labels, as_matrix
from smfh.types.errors import InputError, collect_problems


class Encoder(Protocol):
    """Turns things a person brings (sentences, pictures) into rows of one modality."""

    def encode(self, items: Sequence[Any]) -> Matrix: ...


@dataclass(frozen=True, eq=False)
class MultimodalDataset:
    """Items seen through several modalities, with labels and something to look at.

    Features and labels may be given as arrays, lists, sparse matrices of any kind or data frames, and labels
    also as one class an item: `as_matrix` and `as_labels` say what becomes of them. All are read-only here.
    """

    name: str
    modalities: Mapping[str, Matrix]  # each (items, dimensions), non-negative
    labels: BoolArray  # (items, classes), multi-hot
    class_names: tuple[str, ...] = ()  # where none are given, those of the labels
    captions: Sequence[str] | None = None
    thumbnails: Sequence[bytes] | None = None  # PNG or JPEG files
    encoders: Mapping[str, Encoder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (labels, class_names), *matrices = collect_problems(
            partial(as_labels, self.labels, self.class_names),
            *(partial(as_matrix, name, X) for name, X in self.modalities.items()),
        )
        modalities = MappingProxyType(dict(zip(self.modalities, matrices, strict=True)))
        object.__setattr__(self, "modalities", modalities)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "class_names", class_names)
        object.__setattr__(self, "encoders", MappingProxyType(dict(self.encoders)))
        if problems := _dataset_problems(self):
            raise InputError(problems)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """Single precision unless some modality comes in double."""
        return np.result_type(*(X.dtype for X in self.modalities.values()))

    def take(self, rows: IntArray) -> "MultimodalDataset":
        """The sub-set of these rows, in this order."""
        return replace(
            self,
            modalities={name: X[rows] for name, X in self.modalities.items()},
            labels=self.labels[rows],
            captions=None if self.captions is None else [self.captions[i] for i in rows],
            thumbnails=None if self.thumbnails is None else Rows(self.thumbnails, rows),
        )

    def without_looks(self) -> "MultimodalDataset":
        """The same features and labels without what a person looks at; nothing is copied or checked again."""
        bare = copy(self)
        for what, none in (("captions", None), ("thumbnails", None), ("encoders", MappingProxyType({}))):
            object.__setattr__(bare, what, none)
        return bare

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every feature and label: the identity of this data in caches and files."""
        digest = hashlib.sha256()
        for name, X in self.modalities.items():
            arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
            for array in arrays:
                digest.update(f"{name}{X.shape}{array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).data)
        digest.update("|".join(self.class_names).encode())
        digest.update(np.ascontiguousarray(self.labels).data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Rows(Sequence[bytes]):
    """Some rows of a sequence, fetched when asked for, so that pictures stay on disk."""

    items: Sequence[bytes]
    rows: IntArray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Rows(self.items, self.rows[index])
        return self.items[int(self.rows[index])]


def _dataset_problems(data: MultimodalDataset) -> list[str]:
    problems = [] if data.modalities else ["There is no modality."]
    labels = data.labels
    if labels.shape[0] == 0:
        problems.append("There are no items.")
    elif not labels.any():
        problems.append("There are no labels: every item needs at least one class for supervision.")
    if len(data.class_names) != labels.shape[1]:
        problems.append(f"{len(data.class_names)} class names for {labels.shape[1]} columns of labels.")
    for name, X in data.modalities.items():
        problems += _matrix_problems(name, X, rows=len(labels))
    for what in ("captions", "thumbnails"):
        given = getattr(data, what)
        if given is not None and len(given) != len(labels):
            problems.append(f"{len(given)} {what} for {len(labels)} items.")
    return problems


def _matrix_problems(name: str, X: Matrix, rows: int | None = None) -> list[str]:
    problems = []
    if X.shape[1] == 0:
        problems.append(f"Modality {name!r} has no dimensions.")
    if rows is not None and X.shape[0] != rows:
        problems.append(f"Modality {name!r} has {X.shape[0]} rows, the labels have {rows}.")
    values = X.data if sparse.issparse(X) else X
    if values.size == 0 or (values.min() >= 0 and np.isfinite(values.max())):  # NaN is not >= 0
        return problems
    for what, bad in (("NaN or infinite", ~np.isfinite(values)), ("negative", values < 0)):
        if bad.any():
            count, (row, column) = np.count_nonzero(bad), _first_place(X, bad)
            where = f"the first in row {row}, column {column} (counted from 0)"
            problems.append(f"Modality {name!r} has {count} {what} values, {where}.")
    return problems


def _first_place(X: Matrix, bad: BoolArray) -> tuple[int, int]:
    """Row and column of the first bad value; of a sparse matrix the stored ones are judged."""
    if not sparse.issparse(X):
        return tuple(np.argwhere(bad)[0])
    position = np.flatnonzero(bad)[0]
    return np.searchsorted(X.indptr, position, side="right") - 1, X.indices[position]


def check_features(name: str, given: Any, dimensions: int) -> Matrix:
    """The features as a matrix, unless a hash function for so many dimensions cannot encode them."""
    X = as_matrix(name, given)
    problems = _matrix_problems(name, X)
    if X.shape[1] != dimensions:
        problems.append(f"Modality {name!r} was learnt on {dimensions} dimensions; got {X.shape[1]}.")
    if problems:
        raise InputError(problems)
    return X


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers. `train` is also the database that is searched."""

    train: IntArray
    queries: IntArray
    validation: IntArray = field(default_factory=lambda: np.empty(0, np.int64))  # carved from train to tune

    def __post_init__(self) -> None:
        problems = []
        for what in ("train", "queries", "validation"):
            rows = np.asarray(getattr(self, what))
            if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
                got = f"{rows.dtype} of shape {rows.shape}"
                problems.append(f"The {what} rows must be a list of whole numbers; got {got}.")
            elif rows.size == 0 and what != "validation":
                problems.append(f"The split has no {what} rows.")
            elif rows.size and rows.min() < 0:
                problems.append(f"The {what} rows start at {rows.min()}; the first row is 0.")
            object.__setattr__(self, what, read_only(rows))
        if not problems:
            everything = np.concatenate([self.train, self.queries, self.validation])
            if repeated := len(everything) - len(np.unique(everything)):
                problems.append(f"{repeated} rows stand twice in the split; its parts must not overlap.")
        if problems:
            raise InputError(problems)

    def check(self, items: int) -> "Split":
        """This split, if all its rows exist among so many items."""
        last = max(rows.max() for rows in (self.train, self.queries, self.validation) if rows.size)
        if last >= items:
            raise InputError(f"The split names row {last}, but there are {items} items (0 to {items - 1}).")
        return self

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the rows of every part: the identity of this split in caches and files."""
        digest = hashlib.sha256()
        for rows in (self.train, self.queries, self.validation):
            digest.update(len(rows).to_bytes(8, "little"))  # where one part ends and the next begins
            digest.update(rows.astype("<i8").tobytes())
        return digest.hexdigest()
