"""Compiled loops over a block of rows: the cubic step and the bit flips of SMFH+.

They release the GIL, so that threads can process several blocks at once. Their constants are defined in this
file, because Numba's cache does not notice changes in other files.
"""

import numpy as np
from numba import njit

from smfh.types import FloatArray, IntArray

# With NumPy's rules for division there is no test for zero, which would prevent vectorisation.
compiled = njit(cache=True, nogil=True, error_model="numpy")
MIN_DIVISOR = 1e-12
NEWTON_STEPS = 4
CUBE_ROOT_OFFSET = 709_921_077  # bits(∛x) ≈ bits(x) / 3 + this, for the bits of a 32-bit float


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
    """Set new = min(Y ∘ z, 1), where z ≥ 0 solves q z³ + h z = B⁺ for each element, with

        B = P + offset + F pull + balance (Y 11ᵀ + Y)
        h = Y G + diagonal ∘ Y + B⁻
        q = Y C

    The arguments `YG` and `YC` are Y G and Y C, and the sparse F is given as (data, indices, indptr). Where B
    is negative, z is 0. Results up to `tiny` become 0.
    """
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
            h = max(YG[i, k] + diagonal[i] * Y[i, k], MIN_DIVISOR)
            y = min(Y[i, k] * cubic_root(YC[i, k], h, max(B[k], 0)), 1)
            new[i, k] = y if y > tiny else 0


@compiled
def cubic_root(q: float, h: float, b: float) -> float:
    """Return the root z of q z³ + h z = b by Newton's method, which approaches the root from above.

    There are no branches, so that the compiler can vectorise the loop that calls this function.
    """
    cube = np.float32(min(max(b / max(q, 1e-30), 1e-30), 1e30)).view(np.int32)
    root = np.int32(cube // np.int32(3) + np.int32(CUBE_ROOT_OFFSET)).view(np.float32)
    z = min(b / h, float(1.06 * root))  # the second is between 1 and 1.13 times the exact root for h = 0
    for _ in range(NEWTON_STEPS):
        steep = q * z * z
        z -= (steep * z + h * z - b) / (3 * steep + h)
    return z


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
) -> None:
    """Flip every bit of the binary Y whose flip lowers the objective, one after another. The arguments are

    linear                    Σ_t λ_t X_tU_t + μ Σ_t H_t
    G                         Σ_t λ_t U_tᵀU_t
    (data, indices, indptr)   the sparse F of the graph A = F Fᵀ
    S                         FᵀY, updated with every flip
    E                         YᵀY − T, updated with every flip
    """
    bits = Y.shape[1]
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
                Y[i, k] += step
                for e in range(indptr[i], indptr[i + 1]):
                    S[indices[e], k] += step * data[e]
                E[k, k] += step
                for j in range(bits):
                    if j != k and Y[i, j] > 0:
                        E[k, j] += step
                        E[j, k] += step
