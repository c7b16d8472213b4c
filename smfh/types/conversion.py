"""Whatever people keep matrices and labels in, as the matrices and labels that the package works on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.types.arrays import BoolArray, Matrix, read_only, read_only_matrix
from smfh.types.errors import InputError

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def as_matrix(name: str, given: Any) -> Matrix:
    """A modality as a read-only matrix: float32 and float64 stay, other real numbers become float32.

    Arrays, nested lists, data frames and sparse matrices of any kind are taken; sparse ones stay sparse.
    """
    X: Any = sparse.csr_array(given) if _is_sparse(given) else _as_array(given)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InputError(
            f"Modality {name!r} must be an items × dimensions matrix of real numbers; "
            f"got {X.dtype} of shape {X.shape}."
        )
    if X.dtype not in FLOATS:
        X = X.astype(np.float32)
    if _is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()  # a power of a cell needs the whole cell
    return read_only_matrix(X)


def as_labels(given: Any, class_names: Sequence[str] = ()) -> tuple[BoolArray, tuple[str, ...]]:
    """Read-only multi-hot labels (items, classes), and the names of the classes.

    Given is such a matrix of True and False or 1 and 0 (array, sparse or data frame), or one class an item:
    words or whole numbers, whose classes then stand in their sorted order. Names that are not given are the
    classes themselves, the columns of a data frame, or numbers from 0.
    """
    columns = getattr(given, "columns", ())
    table = given.toarray() if _is_sparse(given) else _as_array(given)
    if table.ndim == 1:
        classes, positions = np.unique(_as_classes(table), return_inverse=True)
        table, columns = positions[:, None] == np.arange(len(classes)), classes
    elif table.ndim != 2 or table.dtype.kind not in "fiub" or not np.all((table == 0) | (table == 1)):
        raise InputError(
            "Labels must be an items × classes matrix of True and False (or 1 and 0), or one class for each "
            f"item; got {table.dtype} of shape {table.shape}."
        )
    elif not len(columns):
        columns = range(table.shape[1])
    return read_only(table.astype(np.bool_, copy=False)), tuple(class_names) or tuple(map(str, columns))


def _is_sparse(given: Any) -> bool:
    return bool(sparse.issparse(given))


def _as_array(given: Any) -> NDArray[Any]:
    """An array of what is given; data frames and series know how themselves."""
    try:
        return np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"A {type(given).__name__} is no array: {error}.") from error


def _as_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """One class an item as plain words or whole numbers; whatever else, and what is missing, is refused."""
    if labels.dtype.kind in "OT":  # a list of them shows whether all are of one kind
        kinds = {type(label) for label in labels}
        labels = np.array(labels.tolist()) if kinds == {str} or kinds == {int} else labels
    if labels.dtype.kind == "f" and np.all(np.isfinite(labels) & (labels == np.floor(labels))):
        return labels.astype(np.int64)
    if labels.dtype.kind in "Uiub":
        return labels
    names = sorted({type(label).__name__ for label in labels})
    raise InputError(f"A class for each item must be a word or a whole number; got {', '.join(names)}.")
