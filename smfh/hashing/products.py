"""Products and sums of large dense or sparse matrices, computed over blocks of rows.

Products use the precision of the data inside a block; sums over blocks use double precision.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from smfh.features.maps import scale_rows
from smfh.parallel import each_block, over_rows
from smfh.types import FloatArray, IntArray, Matrix, read_only

ROWS = 16_384  # rows of a block
TINY = 1e-15  # smaller factors are set to 0, because arithmetic with subnormal numbers is slow


def times(X: Matrix, V: FloatArray) -> FloatArray:
    """Return X V for a dense or sparse X."""
    if isinstance(X, sparse.csr_array):
        total = np.zeros((X.shape[0], V.shape[1]), dtype=V.dtype)
        add_times_inplace(total, X, V)
        return total
    product = np.empty((X.shape[0], V.shape[1]), dtype=np.result_type(X, V))
    over_rows(lambda rows: np.matmul(X[rows], V, out=product[rows]), X.shape[0], ROWS)
    return product


def add_times_inplace(total: FloatArray, X: Matrix, V: FloatArray) -> None:
    """Add X V to `total` for a dense or sparse X."""
    if not isinstance(X, sparse.csr_array):
        total += times(X, V)
        return
    from smfh.hashing.kernels import add_sparse_times_inplace

    data, indices, indptr = _parts(X)
    V = read_only(V)

    def work(rows: slice) -> None:
        starts = indptr[rows.start : rows.stop + 1]
        add_sparse_times_inplace(total[rows], data, indices, starts, V)

    over_rows(work, X.shape[0], ROWS)


def transposed_times(X: Matrix, Y: FloatArray) -> FloatArray:
    """Return XᵀY for a dense or sparse X."""
    if not isinstance(X, sparse.csr_array):
        return sum_rows(lambda rows: X[rows].T @ Y[rows], X.shape[0]).astype(np.result_type(X, Y))
    from smfh.hashing.kernels import sparse_transposed_times

    data, indices, indptr = _parts(X)
    Y = read_only(Y)

    def work(rows: slice) -> FloatArray:
        starts = indptr[rows.start : rows.stop + 1]
        return sparse_transposed_times(data, indices, starts, Y[rows], X.shape[1])

    return sum_rows(work, X.shape[0]).astype(Y.dtype)


def _parts(X: sparse.csr_array) -> tuple[FloatArray, IntArray, IntArray]:
    """Return data, indices and row starts, read-only, because Numba compiles again for writable arrays."""
    return read_only(X.data), read_only(X.indices), read_only(X.indptr)


def project(X: Mapping[str, Matrix], V: Mapping[str, FloatArray]) -> FloatArray:
    """Return Σ_t X_t V_t over all modalities t."""
    first, *others = sorted(X, key=lambda t: sparse.issparse(X[t]))  # dense first: sparse products add to it
    total = times(X[first], V[first])
    for t in others:
        add_times_inplace(total, X[t], V[t])
    return total


def sum_rows(work: Callable[[slice], Any], rows: int) -> FloatArray:
    """Call `work` for all blocks of rows in parallel; return the sum of the results as doubles."""
    parts = each_block(work, rows, ROWS) if rows else iter([work(slice(0, 0))])
    total = np.array(next(parts), dtype=np.float64)
    for part in parts:
        total += part
    return total


def gram(X: Matrix) -> FloatArray:
    """Return XᵀX in double precision, so that it can be centred and inverted."""
    return cross_product(X, X)


def cross_product(A: Matrix, B: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """Return AᵀB, or Aᵀ diag(weights) B if weights are given, in double precision."""

    def work(rows: slice) -> FloatArray:
        a = A[rows].astype(np.float64)
        b = a if A is B else B[rows].astype(np.float64)  # BLAS computes only half of aᵀa
        part = a.T @ (b if weights is None else scale_rows(b, weights[rows]))
        dense: FloatArray = part.toarray() if sparse.issparse(part) else part
        return dense

    return sum_rows(work, A.shape[0])


def weighted_gram(U: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return Σ_t λ_t U_tᵀU_t for the weights λ_t."""
    total: FloatArray = np.sum([weights[t] * (U[t].T @ U[t]) for t in U], axis=0)
    return total


def squared_norm(X: Matrix) -> float:
    """Return the sum of squares ‖X‖² of a dense or sparse X."""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    blocks = range(0, len(values), ROWS)
    return float(sum(float(np.vdot(values[i : i + ROWS], values[i : i + ROWS])) for i in blocks))


def column_means(X: Matrix) -> FloatArray:
    """Return the column means 1ᵀX / N in double precision, unlike SciPy's mean of a sparse X."""
    return np.asarray(sum_rows(lambda rows: column_sums(X[rows]), X.shape[0]) / X.shape[0])


def column_sums(X: Matrix) -> FloatArray:
    """Return the column sums 1ᵀX in double precision."""
    return np.asarray(X.astype(np.float64).sum(axis=0))


def inner(A: FloatArray, B: FloatArray) -> float:
    """Return ⟨A, B⟩, the sum of the elementwise products, in double precision."""
    return float(np.sum(A.astype(np.float64) * B))


def reconstruction_error(squared: float, U: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
    """Return ‖X − YUᵀ‖² = ‖X‖² − 2⟨U, XᵀY⟩ + ⟨UᵀU, YᵀY⟩ without a pass over X."""
    return squared - 2 * inner(U, XtY) + inner(U.T @ U, YtY)


def drop_tiny(factor: FloatArray) -> FloatArray:
    """Return the array with values up to TINY replaced by 0."""
    return np.where(factor > TINY, factor, 0)
