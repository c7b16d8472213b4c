"""The large products over items, dense or sparse, and sums that keep their precision.

Single precision inside a block of rows, double over the blocks: as fast as the one, as good as the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from smfh.features.maps import scale_rows
from smfh.parallel import over_rows
from smfh.types import FloatArray, IntArray, Matrix, read_only

FEW_ITEMS = 20_000  # below, handing the work of a product to threads costs more than the work
ROWS = 16_384  # a block

_limiting = Lock()


@contextmanager
def blas_threads(items: int) -> Iterator[None]:
    """One BLAS thread on small data.

    The limit is the whole process's. So one training at a time sets and lifts it; others meanwhile take what
    they find, which costs time and nothing else.
    """
    if items >= FEW_ITEMS or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limiting.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def times(X: Matrix, V: FloatArray) -> FloatArray:
    """X V"""
    if isinstance(X, sparse.csr_array):
        total = np.zeros((X.shape[0], V.shape[1]), dtype=V.dtype)
        add_times_inplace(total, X, V)
        return total
    product: FloatArray = X @ V
    return product


def add_times_inplace(total: FloatArray, X: Matrix, V: FloatArray) -> None:
    """total ← total + X V"""
    if not isinstance(X, sparse.csr_array):
        total += X @ V
        return
    from smfh.hashing.kernels import add_sparse_times_inplace

    data, indices, indptr = _parts(X)
    over_rows(
        lambda rows: add_sparse_times_inplace(
            total[rows], data, indices, indptr[rows.start : rows.stop + 1], V
        ),
        X.shape[0],
        ROWS,
    )


def transposed_times(X: Matrix, Y: FloatArray) -> FloatArray:
    """XᵀY"""
    if not isinstance(X, sparse.csr_array):
        product: FloatArray = X.T @ Y
        return product
    from smfh.hashing.kernels import sparse_transposed_times

    data, indices, indptr = _parts(X)
    sums = over_rows(
        lambda rows: sparse_transposed_times(
            data, indices, indptr[rows.start : rows.stop + 1], Y[rows], X.shape[1]
        ),
        X.shape[0],
        ROWS,
    )
    total: FloatArray = np.sum(sums, axis=0)
    return total


def _parts(X: sparse.csr_array) -> tuple[FloatArray, IntArray, IntArray]:
    """Data, indices and row starts, read-only: a kernel is compiled again for arrays that are not."""
    return read_only(X.data), read_only(X.indices), read_only(X.indptr)


def gram(X: Matrix) -> FloatArray:
    """XᵀX in double precision: it will be centred and inverted."""
    return cross_product(X, X)


def cross_product(A: Matrix, B: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """AᵀB in double precision, or Aᵀ diag(weights) B, a block of rows at a time."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, A.shape[0], ROWS):
        a = A[start : start + ROWS].astype(np.float64)
        b = a if A is B else B[start : start + ROWS].astype(np.float64)  # of a with itself BLAS does half
        part = a.T @ (b if weights is None else scale_rows(b, weights[start : start + ROWS]))
        total += part.toarray() if sparse.issparse(part) else part
    return total


def squared_norm(X: Matrix) -> float:
    """‖X‖²"""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    blocks = range(0, len(values), ROWS)
    return float(sum(float(np.vdot(values[i : i + ROWS], values[i : i + ROWS])) for i in blocks))


def column_means(X: Matrix) -> FloatArray:
    """1ᵀX / N in double precision, which SciPy's own mean of a sparse matrix in single does not give."""
    sums = over_rows(lambda rows: X[rows].astype(np.float64).sum(axis=0), X.shape[0], ROWS)
    return np.asarray(np.sum(sums, axis=0) / X.shape[0])


def inner(A: FloatArray, B: FloatArray) -> float:
    """⟨A, B⟩, summed in double precision"""
    return float(np.sum(A.astype(np.float64) * B))
