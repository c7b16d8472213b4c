"""What SMFH and SMFH+ share: collective factorisation X ≈ Y Uᵀ, ridge hash functions, the label graph.

Letters follow the paper; items are rows, so X is (items, dimensions), Y (items, bits),
U and W (dimensions, bits), and the paper's equations appear transposed.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix, TrainingStep


def update_basis(XtY: FloatArray, U: FloatArray, YtY: FloatArray) -> FloatArray:
    """U ← U ∘ (XᵀY) / (U YᵀY)"""
    updated: FloatArray = U * XtY / np.maximum(U @ YtY, EPS)
    return updated


def project(X: Mapping[str, Matrix], V: Mapping[str, FloatArray]) -> FloatArray:
    """Σ_t X_t V_t"""
    products = [X[t] @ V[t] for t in X]
    total: FloatArray = products[0]
    for product in products[1:]:
        total += product
    return total


def correlate(X: Mapping[str, Matrix], Y: FloatArray) -> dict[str, FloatArray]:
    """X_tᵀY: the one pass over X that the next basis, the hash functions and the objective share."""
    return {t: X[t].T @ Y for t in X}


def weighted_gram(U: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Σ_t λ_t U_tᵀU_t"""
    total: FloatArray = np.sum([weights[t] * (U[t].T @ U[t]) for t in U], axis=0)
    return total


def squared_norm(X: Matrix) -> float:
    """‖X‖²"""
    values = X.data if sparse.issparse(X) else X
    return float(np.vdot(values, values))


def inner(A: FloatArray, B: FloatArray) -> float:
    """⟨A, B⟩, summed in double precision"""
    return float(np.sum(A.astype(np.float64) * B))


def reconstruction_error(squared: float, U: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
    """‖X − YUᵀ‖² = ‖X‖² − 2⟨U, XᵀY⟩ + ⟨UᵀU, YᵀY⟩"""
    return squared - 2 * inner(U, XtY) + inner(U.T @ U, YtY)


def gram(X: Matrix) -> FloatArray:
    """XᵀX in double precision: it will be inverted."""
    return _product(X, X)


def _product(A: Matrix, B: Matrix, rows: int = 32_768) -> FloatArray:
    """AᵀB in double precision, converting a block of rows at a time."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, A.shape[0], rows):
        part = A[start : start + rows].astype(np.float64).T @ B[start : start + rows].astype(np.float64)
        total += part.toarray() if sparse.issparse(part) else part
    return total


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """The affinity A = F Fᵀ, never formed, and its degrees D; L = D − A."""

    factors: sparse.csr_array  # F, (items, classes)
    degrees: FloatArray  # the diagonal of D, (items,)

    @staticmethod
    def of(labels: BoolArray, dtype: np.dtype) -> "LabelGraph":
        """A = L_a L_aᵀ: two items are as near as they have labels in common."""
        F = sparse.csr_array(labels.astype(dtype))
        return LabelGraph(F, F @ F.sum(axis=0))

    def normalised(self) -> "LabelGraph":
        """F ← D^-½ F, so that no large class outweighs the others; an item without labels has degree 0."""
        scale = 1 / np.sqrt(np.maximum(self.degrees, EPS))
        F = sparse.csr_array(self.factors.multiply(scale[:, None].astype(self.factors.dtype)))
        return LabelGraph(F, (self.degrees > 0).astype(self.factors.dtype))

    def attract(self, Y: FloatArray) -> FloatArray:
        """A Y = F (FᵀY)"""
        pull: FloatArray = self.factors @ (self.factors.T @ Y)
        return pull

    def energy(self, Y: FloatArray) -> float:
        """Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖²"""
        lengths = np.einsum("ij,ij->i", Y, Y)
        return inner(self.degrees, lengths) - squared_norm(self.factors.T @ Y)

    def scatter(self, X: Matrix) -> FloatArray:
        """XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ"""
        weighted = (
            X.multiply(self.degrees[:, None]).tocsr() if sparse.issparse(X) else self.degrees[:, None] * X
        )
        XtF = _product(X, self.factors)
        spread: FloatArray = _product(X, weighted) - XtF @ XtF.T
        return spread


@dataclass(frozen=True)
class RidgeSolver:
    """W = (XᵀX + η XᵀLX + γ I)⁻¹ XᵀY, factored once for as long as X and L stay."""

    gram: FloatArray  # XᵀX
    scatter: FloatArray  # XᵀLX
    smoothness: float  # η
    ridge: float  # γ

    def __post_init__(self) -> None:
        system = self.gram + self.smoothness * self.scatter
        system[np.diag_indices_from(system)] += self.ridge
        object.__setattr__(self, "_factor", cho_factor(system, overwrite_a=True, check_finite=False))

    def solve(self, XtY: FloatArray) -> FloatArray:
        W: FloatArray = cho_solve(self._factor, XtY, check_finite=False)  # type: ignore[attr-defined]
        return W.astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖² = ‖Y‖² − 2⟨W, XᵀY⟩ + ⟨W, XᵀX W⟩"""
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + inner(W, self.gram @ W)

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀXᵀLXW)"""
        return inner(W, self.scatter @ W)


def blas_threads(items: int) -> AbstractContextManager[object]:
    """One BLAS thread on small data, where handing out the work costs more than the work."""
    limits: AbstractContextManager[object] = threadpool_limits(
        limits=1 if items < 20_000 else None, user_api="blas"
    )
    return limits


def draw_rows(rng: np.random.Generator, items: int, sample: int) -> IntArray:
    """`sample` rows, uniformly and without replacement."""
    return rng.choice(items, size=sample, replace=False)


def has_converged(trace: Sequence[TrainingStep], tolerance: float) -> bool:
    """|O_before − O_now| < ε O_before"""
    if len(trace) < 2 or tolerance == 0:
        return False
    before, now = trace[-2].objective, trace[-1].objective
    return abs(before - now) < tolerance * abs(before)
