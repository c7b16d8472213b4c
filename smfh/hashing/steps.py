"""The element-wise steps over all items: compiled and threaded, or in NumPy where Numba is missing."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from smfh.hashing.products import ROWS, compiled
from smfh.parallel import over_rows
from smfh.types import EPS, FloatArray

TINY = (
    1e-15  # smaller factors are 0: products of subnormal numbers are slow, and nothing grows back from there
)
NEWTON_STEPS = 4


def without_subnormals(factor: FloatArray) -> FloatArray:
    """The factor with 0 in place of what is too small to matter."""
    return np.where(factor > TINY, factor, 0)


def ratio_step(Y: FloatArray, P: FloatArray, Q: FloatArray, orthogonality: float) -> FloatArray:
    """Y ∘ B⁺ / (Q + B⁻) with B = P + 2β Y"""
    if (kernels := compiled()) is None:
        B = P + 2 * orthogonality * Y
        return without_subnormals(Y * np.maximum(B, 0) / np.maximum(Q + np.maximum(-B, 0), EPS))
    new = np.empty_like(Y)
    over_rows(
        lambda rows: kernels.ratio_step_inplace(new[rows], Y[rows], P[rows], Q[rows], orthogonality, TINY),
        len(Y),
        ROWS,
    )
    return new


@dataclass(frozen=True, eq=False)
class CubicTerms:
    """The parts of q z³ + h z = B⁺ for every element of Y:

    B = P + offset + F pull + balance (Y 11ᵀ + Y),   h = Y G + diagonal ∘ Y + B⁻,   q = Y C
    """

    P: FloatArray  # (items, bits)
    YG: FloatArray  # (items, bits)
    YC: FloatArray  # (items, bits)
    F: sparse.csr_array  # (items, classes)
    pull: FloatArray  # (classes, bits)
    offset: FloatArray  # (bits,)
    diagonal: FloatArray  # (items,)
    balance: float


def cubic_step(Y: FloatArray, terms: CubicTerms) -> FloatArray:
    """min(Y ∘ z, 1), z ≥ 0 the root of q z³ + h z = B⁺"""
    if (kernels := compiled()) is None:
        return _cubic_step_plainly(Y, terms)
    new, F = np.empty_like(Y), terms.F

    def work(rows: slice) -> None:
        kernels.cubic_step_inplace(
            new[rows],
            Y[rows],
            terms.P[rows],
            terms.YG[rows],
            terms.YC[rows],
            F.data,
            F.indices,
            F.indptr[rows.start : rows.stop + 1],
            terms.pull,
            terms.offset,
            terms.diagonal[rows],
            terms.balance,
            TINY,
        )

    over_rows(work, len(Y), ROWS)
    return new


def _cubic_step_plainly(Y: FloatArray, terms: CubicTerms) -> FloatArray:
    B = terms.P + terms.offset + terms.F @ terms.pull + terms.balance * (Y.sum(axis=1, keepdims=True) + Y)
    h = np.maximum(terms.YG + terms.diagonal[:, None] * Y + np.maximum(-B, 0), EPS)
    b, q = np.maximum(B, 0), terms.YC
    z = b / h
    steep = q * z * z > h
    z = np.where(steep, np.cbrt(b / np.where(steep, q, 1)), z)
    for _ in range(NEWTON_STEPS):
        z -= (q * z**3 + h * z - b) / (3 * q * z**2 + h)
    return without_subnormals(np.minimum(Y * z, 1).astype(Y.dtype))
