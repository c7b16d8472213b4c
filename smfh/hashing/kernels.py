"""The element-wise steps, fused into one pass each and compiled on first use."""

import numpy as np
from numba import njit

from smfh.types import EPS, FloatArray, IntArray

NEWTON_STEPS = 4


@njit(cache=True, nogil=True)
def ratio_step(Y: FloatArray, P: FloatArray, Q: FloatArray, orthogonality: float) -> FloatArray:
    """Y ∘ B⁺ / (Q + B⁻) with B = P + 2β Y"""
    new = np.empty_like(Y)
    for i in range(Y.shape[0]):
        for k in range(Y.shape[1]):
            b = P[i, k] + 2 * orthogonality * Y[i, k]
            if b > 0:
                new[i, k] = Y[i, k] * b / max(Q[i, k], EPS)
            else:
                new[i, k] = 0
    return new


@njit(cache=True, nogil=True)
def cubic_step(
    Y: FloatArray,
    P: FloatArray,
    YG: FloatArray,
    YC: FloatArray,
    offset: FloatArray,
    diagonal: FloatArray,
    balance: float,
) -> FloatArray:
    """min(Y ∘ z, 1) where z > 0 solves q z³ + h z = B⁺

    with B = P + offset + N/4 · c (Y 11ᵀ + Y), h = Y G + diagonal ∘ Y + B⁻, q = c Y (YᵀY).
    `YC` is q; `balance` is N c / 4; `diagonal` holds n_t μ + α for an item with labels.
    """
    new = np.empty_like(Y)
    for i in range(Y.shape[0]):
        total = 0.0
        for k in range(Y.shape[1]):
            total += Y[i, k]
        for k in range(Y.shape[1]):
            y = Y[i, k]
            b = P[i, k] + offset[k] + balance * (total + y)
            if b <= 0 or y == 0:
                new[i, k] = 0
                continue
            h = max(YG[i, k] + diagonal[i] * y, EPS)
            new[i, k] = min(y * _cubic_root(YC[i, k], h, b), 1)
    return new


@njit(cache=True, nogil=True)
def _cubic_root(q: float, h: float, b: float) -> float:
    """The positive root of q z³ + h z = b, by Newton from the right, where every step stays."""
    z = b / h
    if q * z * z > h:
        z = (b / q) ** (1 / 3)
    for _ in range(NEWTON_STEPS):
        z -= (q * z * z * z + h * z - b) / (3 * q * z * z + h)
    return z


@njit(cache=True, nogil=True)
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
