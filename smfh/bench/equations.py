"""Algorithm 1 of the paper as its equations read, in double precision: what the fast training must equal.

Nothing is kept from one equation to the next, and the objective is computed from its definition.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from smfh.hashing import SMFH
from smfh.types import EPS, BoolArray, FloatArray, IntArray, MultimodalDataset


class Iteration(NamedTuple):
    """The unknowns after an iteration, and the terms of the objective."""

    Y: FloatArray
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    terms: Mapping[str, float]


def algorithm_1(method: SMFH, train: MultimodalDataset) -> Iterator[Iteration]:
    """The iterations of SMFH with equal shares λ, from the same start and with the same samples."""
    rng = np.random.default_rng(method.seed)
    X: dict[str, Any] = {t: M.astype(np.float64) for t, M in train.modalities.items()}
    N, r, n_t = len(train), method.bits, len(X)
    alpha, mu, beta = method.graph_weight, method.projection_weight * 2 / n_t, method.orthogonality_weight
    lam = 1 / n_t
    Y = rng.random((N, r))
    U = {t: rng.random((X[t].shape[1], r)) for t in X}
    W = {t: np.zeros_like(U[t]) for t in X}
    for _ in range(method.iterations):
        for t in X:
            U[t] = U[t] * (X[t].T @ Y) / np.maximum(U[t] @ (Y.T @ Y), EPS)
        rows = sample(rng, N, method.graph_sample)
        A, D = affinity(train.labels[rows])
        B = sum(lam * (X[t] @ U[t]) for t in X) + mu * sum(X[t] @ W[t] for t in X) + 2 * beta * Y
        B[rows] += alpha * (A @ Y[rows])
        below = sum(lam * (Y @ (U[t].T @ U[t])) for t in X) + n_t * mu * Y + 2 * beta * (Y @ (Y.T @ Y))
        below[rows] += alpha * (D @ Y[rows])
        Y = Y * np.maximum(B, 0) / np.maximum(below + np.maximum(-B, 0), EPS)
        top = Y.max(axis=0)
        Y = Y / top
        for t in X:
            U[t] = U[t] * top
            rough = np.asarray(dense(X[t][rows]).T @ (D - A) @ dense(X[t][rows]))
            system = dense(X[t].T @ X[t]) + method.smoothness * rough + method.ridge * np.eye(len(rough))
            W[t] = np.linalg.solve(system, X[t].T @ Y)
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
    """Every term from its definition."""
    mu, lam = method.projection_weight * 2 / len(X), 1 / len(X)
    H = {t: X[t] @ W[t] for t in X}
    rough = sum(np.trace(H[t][rows].T @ L @ H[t][rows]) for t in X)
    return {
        **{f"reconstruction ({t})": lam * float(np.sum((dense(X[t]) - Y @ U[t].T) ** 2)) for t in X},
        "graph": method.graph_weight * float(np.trace(Y[rows].T @ L @ Y[rows])),
        **{f"projection ({t})": mu * float(np.sum((Y - H[t]) ** 2)) for t in X},
        "smoothness": mu * method.smoothness * float(rough),
        "ridge": mu * method.ridge * float(sum(np.sum(W[t] ** 2) for t in X)),
        "orthogonality": method.orthogonality_weight * float(np.sum((Y.T @ Y - np.eye(method.bits)) ** 2)),
    }


def sample(rng: np.random.Generator, items: int, size: int) -> IntArray:
    """m rows without replacement, or all of them."""
    return rng.choice(items, size=size, replace=False) if size < items else np.arange(items)


def affinity(labels: BoolArray) -> tuple[FloatArray, FloatArray]:
    """A = L_a L_aᵀ and its degrees D, both formed."""
    A = labels.astype(np.float64) @ labels.T.astype(np.float64)
    return A, np.diag(A.sum(axis=1))


def dense(X: Any) -> FloatArray:
    """X as a plain array."""
    return np.asarray(X.toarray() if isinstance(X, sparse.csr_array | sparse.csc_array) else X)
