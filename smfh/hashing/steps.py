"""The element-wise steps over all items, compiled and threaded; the kernels are loaded on first use."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from smfh.hashing.products import ROWS
from smfh.parallel import over_rows
from smfh.types import FloatArray

# smaller factors are 0: products of subnormal numbers are slow, and nothing grows back from there
TINY = 1e-15


def without_subnormals(factor: FloatArray) -> FloatArray:
    """The factor with 0 in place of what is too small to matter."""
    return np.where(factor > TINY, factor, 0)


def ratio_step(Y: FloatArray, P: FloatArray, Q: FloatArray, orthogonality: float) -> FloatArray:
    """Y ∘ B⁺ / (Q + B⁻) with B = P + 2β Y"""
    from smfh.hashing.kernels import ratio_step_inplace

    new = np.empty_like(Y)
    over_rows(
        lambda rows: ratio_step_inplace(new[rows], Y[rows], P[rows], Q[rows], orthogonality, TINY),
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
    from smfh.hashing.kernels import cubic_step_inplace

    new, F = np.empty_like(Y), terms.F
    pull, offset, balance = terms.pull, terms.offset, terms.balance

    def work(rows: slice) -> None:
        P, YG, YC, diagonal = terms.P[rows], terms.YG[rows], terms.YC[rows], terms.diagonal[rows]
        starts = F.indptr[rows.start : rows.stop + 1]
        cubic_step_inplace(
            new[rows], Y[rows], P, YG, YC, diagonal, F.data, F.indices, starts, pull, offset, balance, TINY
        )

    over_rows(work, len(Y), ROWS)
    return new
