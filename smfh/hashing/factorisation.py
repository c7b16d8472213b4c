"""What SMFH and SMFH+ share: collective factorisation X ≈ Y Uᵀ, ridge hash functions, the label graph.

Letters follow the paper; items are rows, so X is (items, dimensions), Y (items, bits),
U and W (dimensions, bits), and the paper's equations appear transposed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from smfh.features.maps import scale_rows
from smfh.hashing.products import (
    add_times_inplace,
    blas_threads,
    cross_product,
    inner,
    squared_norm,
    times,
    transposed_times,
)
from smfh.hashing.steps import without_subnormals
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix, TrainingStep


def update_basis(XtY: FloatArray, U: FloatArray, YtY: FloatArray) -> FloatArray:
    """U ← U ∘ (XᵀY) / (U YᵀY)"""
    return without_subnormals(U * XtY / np.maximum(U @ YtY, EPS))


def project(X: Mapping[str, Matrix], V: Mapping[str, FloatArray]) -> FloatArray:
    """Σ_t X_t V_t"""
    total: FloatArray | None = None
    for t in sorted(X, key=lambda t: sparse.issparse(X[t])):  # dense first: sparse ones add to what is there
        if total is None:
            total = times(X[t], V[t])
        else:
            add_times_inplace(total, X[t], V[t])
    assert total is not None  # noqa: S101, there is a modality
    return total


def correlate(X: Mapping[str, Matrix], Y: FloatArray) -> dict[str, FloatArray]:
    """X_tᵀY: the one pass over X that the next basis, the hash functions and the objective share."""
    return {t: transposed_times(X[t], Y) for t in X}


def weighted_gram(U: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Σ_t λ_t U_tᵀU_t"""
    total: FloatArray = np.sum([weights[t] * (U[t].T @ U[t]) for t in U], axis=0)
    return total


def reconstruction_error(squared: float, U: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
    """‖X − YUᵀ‖² = ‖X‖² − 2⟨U, XᵀY⟩ + ⟨UᵀU, YᵀY⟩"""
    return squared - 2 * inner(U, XtY) + inner(U.T @ U, YtY)


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
        return times(self.factors, transposed_times(self.factors, Y))

    def energy(self, Y: FloatArray, FtY: FloatArray | None = None) -> float:
        """Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖², where FᵀY may be at hand"""
        lengths = np.einsum("ij,ij->i", Y, Y)
        FtY = transposed_times(self.factors, Y) if FtY is None else FtY
        return inner(self.degrees, lengths) - squared_norm(FtY)

    def scatter(self, X: Matrix, gram: FloatArray | None = None) -> FloatArray:
        """XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ; it enters with a small weight, so single precision will do.

        Where all degrees are 1 and XᵀX is at hand, that is the first term.
        """
        XtF = cross_product(X, self.factors, double=False)
        if gram is None or np.any(self.degrees != 1):
            gram = cross_product(X, scale_rows(X, self.degrees), double=False)
        spread: FloatArray = gram - XtF @ XtF.T
        return spread


@dataclass(frozen=True, eq=False)
class RidgeSolver:
    """W = (XᵀX + η XᵀLX + γ I)⁻¹ XᵀY, factored once for as long as X and L stay."""

    gram: FloatArray  # XᵀX
    scatter: FloatArray  # XᵀLX
    smoothness: float  # η
    ridge: float  # γ

    @cached_property
    def factor(self) -> tuple[FloatArray, bool]:
        """The Cholesky factor of XᵀX + η XᵀLX + γ I."""
        system = self.gram + self.smoothness * self.scatter
        system[np.diag_indices_from(system)] += self.ridge
        with blas_threads(len(system)):
            return cho_factor(system, overwrite_a=True, check_finite=False)

    def solve(self, XtY: FloatArray) -> FloatArray:
        with blas_threads(len(XtY)):
            W: FloatArray = cho_solve(self.factor, XtY, check_finite=False)
        return W.astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖² = ‖Y‖² − 2⟨W, XᵀY⟩ + ⟨W, XᵀX W⟩"""
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + inner(W, self.gram @ W)

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀXᵀLXW)"""
        return inner(W, self.scatter @ W)


def draw_rows(rng: np.random.Generator, items: int, sample: int) -> IntArray:
    """`sample` rows, uniformly and without replacement."""
    return rng.choice(items, size=sample, replace=False)


def has_converged(trace: Sequence[TrainingStep], tolerance: float) -> bool:
    """|O_before − O_now| < ε O_before"""
    if len(trace) < 2 or tolerance == 0:
        return False
    before, now = trace[-2].objective, trace[-1].objective
    return abs(before - now) < tolerance * abs(before)
