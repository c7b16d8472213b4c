"""Array types, and conversion of features and labels to arrays whose rows are items."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.types.errors import InputError

FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer[Any]]
Distances = IntArray | FloatArray  # Hamming distances are whole numbers, asymmetric ones are not
Words = NDArray[np.uint64]  # packed codes, (items, ⌈bits/64⌉)
Matrix = FloatArray | sparse.csr_array

EPS = 1e-12  # least divisor, so that 0/0 gives 0
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

Element = TypeVar("Element", bound=np.generic)


def read_only(array: NDArray[Element]) -> NDArray[Element]:
    """Return a read-only view of an array; the original array stays writeable."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def read_only_matrix(X: Matrix) -> Matrix:
    """Return a read-only view of a dense or sparse matrix, without copying."""
    if not isinstance(X, sparse.csr_array):
        return read_only(X)
    parts = read_only(X.data), read_only(X.indices), read_only(X.indptr)
    return sparse.csr_array(parts, shape=X.shape, copy=False)


def as_matrix(name: str, given: Any) -> Matrix:
    """Convert the features of a modality to a read-only matrix.

    Accepts arrays, nested lists, data frames and sparse matrices of any format; a sparse matrix stays sparse.
    float32 and float64 keep their type; other real numbers become float32. Dense rows are stored one after
    another, as sums over rows in another order would differ in their last digits.
    """
    X: Any = sparse.csr_array(given) if _is_sparse(given) else _as_array(given)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InputError(
            f"Modality {name!r} must be an items × dimensions matrix of real numbers; got {X.dtype} of shape {X.shape}."
        )
    if X.dtype not in FLOATS:
        X = X.astype(np.float32)
    if _is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()  # powers are taken of each stored value, so a cell must be stored once
    elif not _is_sparse(X):
        X = np.ascontiguousarray(X)
    return read_only_matrix(X)


def as_labels(given: Any, class_names: Sequence[str] = ()) -> tuple[BoolArray, tuple[str, ...]]:
    """Convert labels to a read-only multi-hot matrix (items, classes) and the names of the classes.

    Accepts a matrix of True and False or 1 and 0 (array, sparse matrix or data frame), or a list with one
    class per item (words or whole numbers). By default, the classes are named after the sorted values of the
    list, the columns of the data frame, or numbers from 0.
    """
    columns = getattr(given, "columns", ())
    table = given.toarray() if _is_sparse(given) else _as_array(given)
    if table.ndim == 1:
        if table.dtype.kind in "OT":  # objects: check whether all are words or all whole numbers
            kinds = {type(label) for label in table}
            table = np.array(table.tolist()) if kinds == {str} or kinds == {int} else table
        if table.dtype.kind == "f" and np.all(np.isfinite(table) & (table == np.floor(table))):
            table = table.astype(np.int64)
        if table.dtype.kind not in "Uiub":
            got = ", ".join(sorted({type(label).__name__ for label in table}))
            raise InputError(f"The class of each item must be a word or a whole number; got {got}.")
        classes, positions = np.unique(table, return_inverse=True)
        table, columns = positions[:, None] == np.arange(len(classes)), classes
    elif table.ndim != 2 or table.dtype.kind not in "fiub" or not np.all((table == 0) | (table == 1)):
        raise InputError(
            "Labels must be an items × classes matrix of True and False (or 1 and 0), or one class per item; "
            f"got {table.dtype} of shape {table.shape}."
        )
    elif not len(columns):
        columns = range(table.shape[1])
    return read_only(table.astype(np.bool_, copy=False)), tuple(class_names) or tuple(map(str, columns))


def _is_sparse(given: Any) -> bool:
    return bool(sparse.issparse(given))


def _as_array(given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"This {type(given).__name__} cannot be converted to an array: {error}.") from error
