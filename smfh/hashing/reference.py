"""Algorithm 1 of the SMFH paper, one line per equation, in double precision: a reference for tests.

Letters and equation numbers are those of the paper, but items are rows here, so the equations are transposed.
The code is slow and simple: it computes every matrix in full and reuses no result.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from smfh.hashing.smfh import SMFH
from smfh.types import EPS, BoolArray, FloatArray, IntArray, MultimodalDataset


class Iteration(NamedTuple):
    """The unknowns Y, U and W after an iteration, and the weighted terms of the objective."""

    Y: FloatArray
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    terms: Mapping[str, float]


def algorithm_1(method: SMFH, train: MultimodalDataset) -> Iterator[Iteration]:
    """Yield the iterations of SMFH with equal λ_t, with the same random numbers as `SMFH.fit`."""
    rng = np.random.default_rng(method.seed)
    X: dict[str, Any] = {t: x.astype(np.float64) for t, x in train.modalities.items()}
    labels, N, r, n_t, m = train.labels, len(train), method.bits, len(X), method.graph_sample
    λ, α, β, γ = 1 / n_t, method.graph_weight, method.orthogonality_weight, method.ridge
    μ, η = method.projection_weight * 2 / n_t, method.smoothness
    # Line 1: random Y and U; W = 0
    Y = rng.random((N, r))
    U = {t: rng.random((X[t].shape[1], r)) for t in X}
    W = {t: np.zeros_like(U[t]) for t in X}
    for _ in range(method.iterations):
        # Eq. 12:  U_t ← U_t ∘ (X_tᵀY) / (U_t YᵀY)
        for t in X:
            U[t] = U[t] * (X[t].T @ Y) / np.maximum(U[t] @ (Y.T @ Y), EPS)
        # Eq. 13:  Ŷ = SᵀY are m sampled rows; Eq. 4:  Â = L̂_a L̂_aᵀ, with degrees D̂
        rows = rng.choice(N, size=m, replace=False) if m < N else np.arange(N)
        A, D = affinity(labels[rows])
        # Eq. 17:  Y ← Y ∘ B⁺ / (Σ_t λ_tY U_tᵀU_t + α S D̂ Ŷ + n_t μ Y + 2β Y(YᵀY) + B⁻)
        #          B = Σ_t λ_tX_tU_t + α S Â Ŷ + μ Σ_t X_tW_t + 2β Y
        B = sum(λ * (X[t] @ U[t]) for t in X) + μ * sum(X[t] @ W[t] for t in X) + 2 * β * Y
        B[rows] += α * (A @ Y[rows])
        divisor = sum(λ * (Y @ (U[t].T @ U[t])) for t in X) + n_t * μ * Y + 2 * β * (Y @ (Y.T @ Y))
        divisor[rows] += α * (D @ Y[rows])
        Y = Y * np.maximum(B, 0) / np.maximum(divisor + np.maximum(-B, 0), EPS)
        # Scaling:  y_k ← y_k / max y_k,  u_k ← u_k max y_k
        heights = Y.max(axis=0)
        Y = Y / heights
        U = {t: U[t] * heights for t in X}
        # Eq. 18:  W_t = (X_tᵀX_t + η X̂_tᵀL̂X̂_t + γI)⁻¹ X_tᵀY
        for t in X:
            sample, gram = dense(X[t][rows]), dense(X[t].T @ X[t])
            smooth = sample.T @ (D - A) @ sample
            W[t] = np.linalg.solve(gram + η * smooth + γ * np.eye(len(gram)), X[t].T @ Y)
        yield Iteration(Y, dict(U), dict(W), objective(method, X, Y, U, W, rows, D - A))


def objective(
    method: SMFH,
    X: Mapping[str, Any],
    Y: FloatArray,
    U: Mapping[str, FloatArray],
    W: Mapping[str, FloatArray],
    rows: IntArray,
    L: FloatArray,
) -> dict[str, float]:
    """Return each term of the objective (Eq. 8) by its definition, with the graph of the sample."""
    λ, μ, H = 1 / len(X), method.projection_weight * 2 / len(X), {t: X[t] @ W[t] for t in X}
    rough = sum(np.trace(H[t][rows].T @ L @ H[t][rows]) for t in X)
    return {
        **{f"reconstruction ({t})": λ * float(np.sum((dense(X[t]) - Y @ U[t].T) ** 2)) for t in X},
        "graph": method.graph_weight * float(np.trace(Y[rows].T @ L @ Y[rows])),
        **{f"projection ({t})": μ * float(np.sum((Y - H[t]) ** 2)) for t in X},
        "smoothness": μ * method.smoothness * float(rough),
        "ridge": μ * method.ridge * float(sum(np.sum(W[t] ** 2) for t in X)),
        "orthogonality": method.orthogonality_weight * float(np.sum((Y.T @ Y - np.eye(method.bits)) ** 2)),
    }


def affinity(labels: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the affinity A = L_a L_aᵀ (Eq. 4) and the diagonal matrix D of its row sums."""
    A = labels.astype(np.float64) @ labels.T.astype(np.float64)
    return A, np.diag(A.sum(axis=1))


def dense(X: Any) -> FloatArray:
    """Return a sparse or dense matrix as an array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
