"""The element-wise steps and sparse products, one pass each, compiled on first use.

Each works on a block of rows and releases the GIL, so that blocks run side by side.
"""

import numpy as np
from numba import njit

from smfh.types import FloatArray, IntArray

# NumPy's rules for division: no test for zero in the loops, which could not be vectorised with one
compiled = njit(cache=True, nogil=True, error_model="numpy")
# constants stand in this file: the cache of machine code does not notice a change in another one
LEAST_DIVISOR = 1e-12
NEWTON_STEPS = 4
THIRD = 709_921_077  # makes a third of a float's bits the bits of about its cube root


@compiled
def add_sparse_times_inplace(
    total: FloatArray, data: FloatArray, indices: IntArray, indptr: IntArray, V: FloatArray
) -> None:
    """total += X V for the sparse rows X that start at `indptr`"""
    for i in range(total.shape[0]):
        row = total[i]
        for e in range(indptr[i], indptr[i + 1]):
            value, v = data[e], V[indices[e]]
            for k in range(row.shape[0]):
                row[k] += value * v[k]


@compiled
def sparse_transposed_times(
    data: FloatArray, indices: IntArray, indptr: IntArray, Y: FloatArray, dimensions: int
) -> FloatArray:
    """XᵀY for the sparse rows X that start at `indptr`"""
    total = np.zeros((dimensions, Y.shape[1]), dtype=Y.dtype)
    for i in range(Y.shape[0]):
        y = Y[i]
        for e in range(indptr[i], indptr[i + 1]):
            value, row = data[e], total[indices[e]]
            for k in range(y.shape[0]):
                row[k] += value * y[k]
    return total


@compiled
def ratio_step_inplace(
    new: FloatArray, Y: FloatArray, P: FloatArray, Q: FloatArray, orthogonality: float, tiny: float
) -> None:
    """new = Y ∘ B⁺ / (Q + B⁻) with B = P + 2β Y; where B is negative the result is 0."""
    for i in range(Y.shape[0]):
        for k in range(Y.shape[1]):
            b = P[i, k] + 2 * orthogonality * Y[i, k]
            y = Y[i, k] * b / max(Q[i, k], LEAST_DIVISOR)
            new[i, k] = y if y > tiny else 0


@compiled
def cubic_step_inplace(
    new: FloatArray,
    Y: FloatArray,
    P: FloatArray,
    YG: FloatArray,
    YC: FloatArray,
    diagonal: FloatArray,
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    pull: FloatArray,
    offset: FloatArray,
    balance: float,
    tiny: float,
) -> None:
    """new = min(Y ∘ z, 1), the terms as in `steps.CubicTerms`; where B is negative the result is 0."""
    bits = Y.shape[1]
    B = np.empty(bits, dtype=Y.dtype)
    for i in range(Y.shape[0]):
        total = 0.0
        for k in range(bits):
            total += Y[i, k]
        for k in range(bits):
            B[k] = P[i, k] + offset[k] + balance * (total + Y[i, k])
        for e in range(indptr[i], indptr[i + 1]):
            value, row = data[e], pull[indices[e]]
            for k in range(bits):
                B[k] += value * row[k]
        for k in range(bits):
            h = max(YG[i, k] + diagonal[i] * Y[i, k], LEAST_DIVISOR)
            y = min(Y[i, k] * cubic_root(YC[i, k], h, max(B[k], 0)), 1)
            new[i, k] = y if y > tiny else 0


@compiled
def cubic_root(q: float, h: float, b: float) -> float:
    """The root of q z³ + h z = b, by Newton from the right of it, where every step stays.

    Without a branch, so that the loop around it is vectorised.
    """
    z = min(b / h, cube_root_from_above(b / max(q, 1e-30)))
    for _ in range(NEWTON_STEPS):
        steep = q * z * z
        z -= (steep * z + h * z - b) / (3 * steep + h)
    return z


@compiled
def cube_root_from_above(x: float) -> float:
    """Between 1 and 1.13 times the cube root, from a third of the number's bits."""
    bits = np.float32(min(max(x, 1e-30), 1e30)).view(np.int32)
    return float(1.06 * np.int32(bits // np.int32(3) + np.int32(THIRD)).view(np.float32))


@compiled
def flip_bits_inplace(
    Y: FloatArray,
    linear: FloatArray,
    G: FloatArray,
    diagonal: FloatArray,
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    S: FloatArray,
    E: FloatArray,
    graph_weight: float,
    orthogonality: float,
) -> tuple[int, float]:
    """Flip every single bit that lowers the objective; how many did, and by how much it fell.

    Y is binary. `linear` is Σ X(λU) + μ Σ H, `G` is Σ λ UᵀU, (data, indices, indptr) is F of the
    graph A = F Fᵀ; S = FᵀY and E = YᵀY − T are kept up to date with every flip.
    """
    bits = Y.shape[1]
    flips, fall = 0, 0.0
    for i in range(Y.shape[0]):
        for k in range(bits):
            step = 1.0 - 2.0 * Y[i, k]
            fit, spread = 0.0, 0.0
            for j in range(bits):
                if Y[i, j] > 0:
                    fit += G[j, k]
                    if j != k:
                        spread += 2 * step * E[k, j] + 1
            attraction, own = 0.0, 0.0
            for e in range(indptr[i], indptr[i + 1]):
                attraction += data[e] * S[indices[e], k]
                own += data[e] * data[e]
            change = (
                step * (2 * fit - 2 * linear[i, k] + diagonal[i])
                + G[k, k]
                - graph_weight * (2 * step * attraction + own)
                + orthogonality * (2 * spread + 2 * step * E[k, k] + 1)
            )
            if change < 0:
                flips += 1
                fall -= change
                Y[i, k] += step
                for e in range(indptr[i], indptr[i + 1]):
                    S[indices[e], k] += step * data[e]
                E[k, k] += step
                for j in range(bits):
                    if j != k and Y[i, j] > 0:
                        E[k, j] += step
                        E[j, k] += step
    return flips, fall
