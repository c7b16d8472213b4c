"""The arrays that flow between the rooms, by what they hold. Items are rows everywhere."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]  # packed codes, (items, ⌈bits/64⌉)
Matrix = FloatArray | sparse.csr_array

EPS = 1e-12  # keeps a division finite where both sides vanish

Element = TypeVar("Element", bound=np.generic)


def read_only(array: NDArray[Element]) -> NDArray[Element]:
    """The same numbers, not to be written to; whoever made them may still write to their own array."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def read_only_matrix(X: Matrix) -> Matrix:
    """The same for a matrix that may be sparse; nothing is copied."""
    if not isinstance(X, sparse.csr_array):
        return read_only(X)
    parts = read_only(X.data), read_only(X.indices), read_only(X.indptr)
    return sparse.csr_array(parts, shape=X.shape, copy=False)
