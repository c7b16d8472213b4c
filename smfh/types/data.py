"""Data sets and splits; both are checked when they are created."""

import hashlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from smfh.types.arrays import BoolArray, IntArray, Matrix, as_labels, as_matrix, read_only
from smfh.types.errors import InputError, collect_problems

NO_LABELS = ("no label",)  # placeholder class of data without labels; no item belongs to it


class Encoder(Protocol):
    """Interface of encoders, which compute features of one modality from sentences or pictures."""

    def encode(self, items: Sequence[Any]) -> Matrix: ...


@dataclass(frozen=True, eq=False, repr=False)
class MultimodalDataset:
    """Items with features in several modalities, labels, and optionally captions and pictures.

    Parameters
    ----------
    name : str
    modalities : mapping of str to matrix (items, dimensions)
        Features, which may be negative: arrays, lists, data frames or sparse matrices. Stored read-only.
    labels : matrix (items, classes) or sequence (items,), or None
        A multi-hot matrix, or one class per item, given as a word or a whole number. If None, the data has no
        labels, and only methods that do not use labels can be trained.
    class_names : tuple of str, optional
        By default, the names are taken from `labels`.
    captions : sequence of str, optional
    thumbnails : sequence of bytes, optional
        PNG or JPEG files.
    encoders : mapping of str to Encoder, optional
        The encoder of each modality, which computes features of new sentences or pictures.
    training_labels : matrix (items, classes), optional
        Labels that training uses instead of the true ones, to study the effect of wrong labels. Scores always
        use `labels`.
    label_origin : str, optional
        How the labels were made if they are not part of the data, for example "found by clustering the
        captions".
    item_names : sequence of str, optional
        The name of each item's file.

    Raises
    ------
    InputError
        If shapes disagree or values are NaN or infinite; the error lists all problems.

    Examples
    --------
    >>> MultimodalDataset("pets", {"image": [[1, 0], [0, 2]], "text": [[3], [4]]}, ["cat", "dog"])
    <MultimodalDataset 'pets': 2 items, 2 classes; image (2 dimensions), text (1 dimension)>
    """

    name: str
    modalities: Mapping[str, Matrix]
    labels: BoolArray
    class_names: tuple[str, ...] = ()
    captions: Sequence[str] | None = None
    thumbnails: Sequence[bytes] | None = None
    encoders: Mapping[str, Encoder] = field(default_factory=dict)
    training_labels: BoolArray | None = None
    label_origin: str = ""
    item_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        given: Any = self.labels
        names = self.class_names
        if given is None:
            first: Any = next(iter(self.modalities.values()), [])
            rows = first.shape[0] if hasattr(first, "shape") else len(first)
            given, names = np.zeros((rows, 1), dtype=np.bool_), NO_LABELS
        (labels, class_names), *matrices = collect_problems(
            partial(as_labels, given, names), *(partial(as_matrix, name, X) for name, X in self.modalities.items())
        )
        modalities = MappingProxyType(dict(zip(self.modalities, matrices, strict=True)))
        converted = {"modalities": modalities, "labels": labels, "class_names": class_names}
        for name, value in (converted | {"encoders": MappingProxyType(dict(self.encoders))}).items():
            object.__setattr__(self, name, value)
        problems = [] if modalities else ["There is no modality."]
        if labels.shape[0] == 0:
            problems.append("There are no items.")
        elif not labels.any() and class_names != NO_LABELS:
            problems.append("There are no labels; training needs classes.")
        if len(class_names) != labels.shape[1]:
            problems.append(
                f"The number of class names is {len(class_names)}, but there are {labels.shape[1]} columns of labels."
            )
        for name, X in modalities.items():
            problems += _matrix_problems(name, X, rows=len(labels))
        if self.training_labels is not None:
            object.__setattr__(self, "training_labels", read_only(self.training_labels))
            if self.training_labels.shape != labels.shape or self.training_labels.dtype != np.bool_:
                problems.append(f"Training labels must be Boolean and have the shape of labels, {labels.shape}.")
        for name in ("captions", "thumbnails", "item_names"):
            if (values := getattr(self, name)) is not None and len(values) != len(labels):
                problems.append(
                    f"The number of {name.replace('_', ' ')} is {len(values)}, but there are {len(labels)} items."
                )
        if problems:
            raise InputError(problems)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        widths = {name: X.shape[1] for name, X in self.modalities.items()}
        parts = [f"{name} ({d:,} dimension{'s' * (d != 1)})" for name, d in widths.items()]
        sizes = f"{len(self):,} items, {len(self.class_names):,} classes"
        return f"<MultimodalDataset {self.name!r}: {sizes}; {', '.join(parts)}>"

    @property
    def has_labels(self) -> bool:
        """Whether the items of the data set have labels.

        Without labels, only the same item in the other modality is known to be relevant.
        """
        return self.class_names != NO_LABELS

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """float64 if any modality has float64 features, else float32."""
        return np.result_type(*(X.dtype for X in self.modalities.values()))

    def take(self, rows: IntArray) -> "MultimodalDataset":
        """Return a data set with only the items in `rows`, in that order."""
        return replace(
            self,
            modalities={name: X[rows] for name, X in self.modalities.items()},
            labels=self.labels[rows],
            captions=None if self.captions is None else [self.captions[i] for i in rows],
            thumbnails=None if self.thumbnails is None else Rows(self.thumbnails, rows),
            training_labels=None if self.training_labels is None else self.training_labels[rows],
            item_names=None if self.item_names is None else [self.item_names[i] for i in rows],
        )

    def for_training(self) -> "MultimodalDataset":
        """Return the data set that training uses: its labels are `training_labels`, if these are given."""
        given = self.training_labels
        return self if given is None else replace(self, labels=given, training_labels=None)

    def without_looks(self) -> "MultimodalDataset":
        """Return this data set without captions, pictures, names and encoders; arrays are not copied."""
        bare = copy(self)
        for name in ("captions", "thumbnails", "item_names"):
            object.__setattr__(bare, name, None)
        object.__setattr__(bare, "encoders", MappingProxyType({}))
        return bare

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 hash of all features and labels, which identifies this data in caches and files."""
        digest = hashlib.sha256()
        for name, X in self.modalities.items():
            arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
            for array in arrays:
                digest.update(f"{name}{X.shape}{array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).data)
        digest.update("|".join(self.class_names).encode())
        digest.update(np.ascontiguousarray(self.labels).data)
        if self.training_labels is not None:
            digest.update(b"training labels")
            digest.update(np.ascontiguousarray(self.training_labels).data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Rows(Sequence[bytes]):
    """Some rows of a sequence; items are read on access, so that pictures stay on disk."""

    items: Sequence[bytes]
    rows: IntArray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Rows(self.items, self.rows[index])
        return self.items[int(self.rows[index])]


def _matrix_problems(name: str, X: Matrix, rows: int | None = None) -> list[str]:
    problems = []
    if X.shape[1] == 0:
        problems.append(f"Modality {name!r} has no dimensions.")
    if rows is not None and X.shape[0] != rows:
        problems.append(f"Modality {name!r} has {X.shape[0]} rows, the labels have {rows}.")
    values = X.data if sparse.issparse(X) else X
    if values.size and not (np.isfinite(values.min()) and np.isfinite(values.max())):  # both are NaN if any is
        bad = ~np.isfinite(values)
        if sparse.issparse(X):
            first = np.flatnonzero(bad)[0]
            row, column = np.searchsorted(X.indptr, first, side="right") - 1, X.indices[first]
        else:
            row, column = np.argwhere(bad)[0]
        where = f"the first in row {row}, column {column} (counted from 0)"
        problems.append(f"Modality {name!r} has {np.count_nonzero(bad)} NaN or infinite values, {where}.")
    return problems


def check_features(name: str, given: Any, dimensions: int) -> Matrix:
    """Convert features to a matrix; raise InputError if they are invalid or have another number of dimensions."""
    X = as_matrix(name, given)
    problems = _matrix_problems(name, X)
    if X.shape[1] != dimensions:
        problems.append(f"Modality {name!r} was trained with {dimensions} dimensions; got {X.shape[1]}.")
    if problems:
        raise InputError(problems)
    return X


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Row numbers of training items, held-out queries and validation items.

    Parameters
    ----------
    train : int array
        Training items, which are also the database of a search.
    queries : int array
        Held-out queries.
    validation : int array, optional
        Rows taken out of the training items, for tuning.

    Raises
    ------
    InputError
        If there are no training items or queries, if rows are negative, or if parts overlap.

    Examples
    --------
    >>> Split(train=np.arange(8), queries=np.array([8, 9]))
    <Split: 8 training items, 2 held-out queries, 0 validation rows>
    """

    train: IntArray
    queries: IntArray
    validation: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        problems = []
        for part in ("train", "queries", "validation"):
            rows = np.asarray(getattr(self, part))
            if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
                got = f"{rows.dtype} of shape {rows.shape}"
                problems.append(f"The {part} rows must be a list of whole numbers; got {got}.")
            elif rows.size == 0 and part != "validation":
                problems.append(f"The split has no {part} rows.")
            elif rows.size and rows.min() < 0:
                problems.append(f"The {part} rows start at {rows.min()}; the first row is 0.")
            object.__setattr__(self, part, read_only(rows))
        if not problems:
            everything = np.concatenate([self.train, self.queries, self.validation])
            if repeated := len(everything) - len(np.unique(everything)):
                problems.append(f"{repeated} rows occur twice in the split; its parts must not overlap.")
        if problems:
            raise InputError(problems)

    def __repr__(self) -> str:
        sizes = f"{len(self.train):,} training items, {len(self.queries):,} held-out queries"
        return f"<Split: {sizes}, {len(self.validation):,} validation rows>"

    def check(self, items: int) -> "Split":
        """Return this split; raise InputError if a row number is not below `items`."""
        last = max(rows.max() for rows in (self.train, self.queries, self.validation) if rows.size)
        if last >= items:
            raise InputError(f"The split refers to row {last}, but the data has rows 0 to {items - 1}.")
        return self

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 hash of the row numbers of every part, which identifies this split in caches and files."""
        digest = hashlib.sha256()
        for rows in (self.train, self.queries, self.validation):
            digest.update(len(rows).to_bytes(8, "little"))  # marks where each part begins
            digest.update(rows.astype("<i8").tobytes())
        return digest.hexdigest()
