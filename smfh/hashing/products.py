"""The large products over items, dense or sparse, and sums that keep their precision.

Single precision inside a block of rows, double over the blocks: as fast as the one, as good as the other.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from smfh.features.maps import scale_rows
from smfh.parallel import each_block, over_rows
from smfh.types import FloatArray, IntArray, Matrix, read_only

ROWS = 16_384  # a block


@dataclass
class _Limit:
    """On the BLAS threads of this process, shared by its trainings: the first sets it, the last lifts it."""

    lock: Lock
    users: int = 0
    limiter: Any = None


_limit = _Limit(Lock())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: how it divides a product among threads decides how the product is rounded.

    Blocks of rows are what runs side by side instead; small data have but one.
    """
    with _limit.lock:
        _limit.users += 1
        if _limit.users == 1:
            _limit.limiter = _owner().submit(_blas().limit, limits=1).result()
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0:
                _owner().submit(_limit.limiter.restore_original_limits).result()


@cache
def _owner() -> ThreadPoolExecutor:
    """The one thread that sets and lifts the limit: threadpoolctl lets no other lift it."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="smfh-blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def times(X: Matrix, V: FloatArray) -> FloatArray:
    """X V"""
    if isinstance(X, sparse.csr_array):
        total = np.zeros((X.shape[0], V.shape[1]), dtype=V.dtype)
        add_times_inplace(total, X, V)
        return total
    product = np.empty((X.shape[0], V.shape[1]), dtype=np.result_type(X, V))
    over_rows(lambda rows: np.matmul(X[rows], V, out=product[rows]), X.shape[0], ROWS)
    return product


def add_times_inplace(total: FloatArray, X: Matrix, V: FloatArray) -> None:
    """total ← total + X V"""
    if not isinstance(X, sparse.csr_array):
        total += times(X, V)
        return
    from smfh.hashing.kernels import add_sparse_times_inplace

    data, indices, indptr = _parts(X)
    V = read_only(V)
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
        return sum_rows(lambda rows: X[rows].T @ Y[rows], X.shape[0]).astype(np.result_type(X, Y))
    from smfh.hashing.kernels import sparse_transposed_times

    data, indices, indptr = _parts(X)
    Y = read_only(Y)
    return sum_rows(
        lambda rows: sparse_transposed_times(
            data, indices, indptr[rows.start : rows.stop + 1], Y[rows], X.shape[1]
        ),
        X.shape[0],
    ).astype(Y.dtype)


def sum_rows(work: Callable[[slice], Any], rows: int) -> FloatArray:
    """What `work` makes of every block of rows, side by side, added up in double precision in their order."""
    parts = each_block(work, rows, ROWS) if rows else iter([work(slice(0, 0))])
    total = np.array(next(parts), dtype=np.float64)
    for part in parts:
        total += part
    return total


def _parts(X: sparse.csr_array) -> tuple[FloatArray, IntArray, IntArray]:
    """Data, indices and row starts, read-only: a kernel is compiled again for arrays that are not."""
    return read_only(X.data), read_only(X.indices), read_only(X.indptr)


def gram(X: Matrix) -> FloatArray:
    """XᵀX in double precision: it will be centred and inverted."""
    return cross_product(X, X)


def cross_product(A: Matrix, B: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """AᵀB in double precision, or Aᵀ diag(weights) B, a block of rows at a time."""

    def work(rows: slice) -> FloatArray:
        a = A[rows].astype(np.float64)
        b = a if A is B else B[rows].astype(np.float64)  # of a with itself BLAS does half
        part = a.T @ (b if weights is None else scale_rows(b, weights[rows]))
        dense: FloatArray = part.toarray() if sparse.issparse(part) else part
        return dense

    return sum_rows(work, A.shape[0])


def squared_norm(X: Matrix) -> float:
    """‖X‖²"""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    blocks = range(0, len(values), ROWS)
    return float(sum(float(np.vdot(values[i : i + ROWS], values[i : i + ROWS])) for i in blocks))


def column_means(X: Matrix) -> FloatArray:
    """1ᵀX / N in double precision, which SciPy's own mean of a sparse matrix in single does not give."""
    return np.asarray(sum_rows(lambda rows: column_sums(X[rows]), X.shape[0]) / X.shape[0])


def column_sums(X: Matrix) -> FloatArray:
    """1ᵀX in double precision"""
    return np.asarray(X.astype(np.float64).sum(axis=0))


def inner(A: FloatArray, B: FloatArray) -> float:
    """⟨A, B⟩, summed in double precision"""
    return float(np.sum(A.astype(np.float64) * B))
