"""What SMFH, SMFH+ and CMFH share: collective factorisation X ≈ Y Uᵀ, ridge hash functions, the label graph.

Letters follow the paper; items are rows, so X is (items, dimensions), Y (items, bits),
U and W (dimensions, bits), and the paper's equations appear transposed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from smfh.hashing.base import HashMethod, Trace
from smfh.hashing.positive import Factor
from smfh.hashing.products import (
    add_times_inplace,
    cross_product,
    inner,
    squared_norm,
    times,
    transposed_times,
)
from smfh.hashing.steps import without_subnormals
from smfh.types import EPS, BoolArray, FloatArray, InputError, IntArray, Matrix, MultimodalDataset, parameter

PULL = (
    "Pull between items with common labels. Up: one code for all of a class, best over the whole ranking; "
    "down: codes that follow the features."
)
FIT = (
    "Weight of the hash functions' fit; more than two modalities share what two would have. Up: codes that "
    "the features can predict, less gathered by class; down: codes that follow the labels."
)
SHARES = "Share of each modality's reconstruction, summing to 1; equal if none given."
ITERATIONS = "Stop the descent after so many iterations at the latest."
TOLERANCE = "Stop when the objective changes by less than this share; 0 never does."


@dataclass(frozen=True)
class Descent(HashMethod):
    """A method that descends on an objective in which every modality has a share."""

    modality_weights: tuple[float, ...] = parameter((), "λ", 0.0, 1.0, SHARES, kw_only=True)
    iterations: int = parameter(30, "T", 1, 10_000, ITERATIONS, typical=(1, 100), kw_only=True)
    tolerance: float = parameter(0.0, "ε", 0.0, 1.0, TOLERANCE, "log", typical=(0.0, 0.01), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.modality_weights
        if given and abs(sum(given) - 1) > 1e-6:
            raise InputError(f"The modality weights (λ) must sum to 1; {given} sum to {sum(given):g}.")

    @property
    def steps(self) -> int:
        return self.iterations

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        problems, given, there = super().training_problems(train), self.modality_weights, train.modalities
        if given and len(given) != len(there):
            problems.append(
                f"{len(given)} modality weights (λ) for {len(there)} modalities ({', '.join(there)}); "
                "give one each or none."
            )
        return problems

    def shares(self, train: MultimodalDataset) -> dict[str, float]:
        """λ by modality; equal shares where none are given."""
        shares = self.modality_weights or (1 / len(train.modalities),) * len(train.modalities)
        return dict(zip(train.modalities, shares, strict=True))

    def has_converged(self, trace: Trace) -> bool:
        """|O_before − O_now| < ε O_before"""
        if len(trace) < 2 or self.tolerance == 0:
            return False
        before, now = trace[-2].objective, trace[-1].objective
        return abs(before - now) < self.tolerance * abs(before)


def share_out(weight: float, modalities: int) -> float:
    """μ of each modality: with more than two they share what two have, or they would outweigh the labels."""
    return weight * 2 / modalities


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
        return LabelGraph(self._scaled(scale), (self.degrees > 0).astype(self.factors.dtype))

    def sampled(self, rows: IntArray) -> "LabelGraph":
        """D^-½ (w L̂) D^-½ with L̂ the Laplacian of these m items alone, and w = N(N − 1) / (m(m − 1)).

        Each pair of items is in a sample with probability 1/w, so the mean over samples is the graph
        `normalised` on all N. The other items have no degree and no factors.
        """
        N, m = len(self.degrees), len(rows)
        weight, drawn = N * (N - 1) / (m * max(m - 1, 1)), np.zeros(N, self.factors.dtype)
        drawn[rows] = 1
        among = self.factors @ (self.factors.T @ drawn)  # the degrees in the sample
        degrees: FloatArray = weight * drawn * among / np.maximum(self.degrees, EPS)
        F = self._scaled(drawn * np.sqrt(weight / np.maximum(self.degrees, EPS)))
        F.eliminate_zeros()
        return LabelGraph(F, degrees.astype(self.factors.dtype))

    def _scaled(self, scale: FloatArray) -> sparse.csr_array:
        """F with row i times scale_i"""
        return sparse.csr_array(self.factors.multiply(scale[:, None].astype(self.factors.dtype)))

    def attract(self, Y: FloatArray) -> FloatArray:
        """A Y = F (FᵀY)"""
        return times(self.factors, transposed_times(self.factors, Y))

    def spread(self, Y: FloatArray) -> FloatArray:
        """L Y = D Y − A Y"""
        F = self.factors
        spread: FloatArray = self.degrees[:, None] * Y - F @ (F.T @ Y)
        return spread

    def energy(self, Y: FloatArray, FtY: FloatArray | None = None) -> float:
        """Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖², where FᵀY may be at hand"""
        lengths = np.einsum("ij,ij->i", Y, Y)
        FtY = transposed_times(self.factors, Y) if FtY is None else FtY
        return inner(self.degrees, lengths) - squared_norm(FtY)

    def scatter(self, X: Matrix, gram: FloatArray | None = None) -> FloatArray:
        """XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ in double precision, as large numbers cancel each other.

        Where all degrees are 1 and XᵀX is at hand, that is the first term.
        """
        XtF = cross_product(X, self.factors)
        if gram is None or np.any(self.degrees != 1):
            gram = cross_product(X, X, self.degrees)
        spread: FloatArray = gram - XtF @ XtF.T
        return spread


@dataclass(frozen=True, eq=False)
class RidgeSolver:
    """W = (XᵀX + η XᵀLX + γ I)⁻¹ XᵀY, factored once for as long as X and L stay."""

    gram: FloatArray  # XᵀX
    ridge: float  # γ
    scatter: FloatArray | None = None  # XᵀLX; none: there is no graph
    smoothness: float = 0.0  # η

    @cached_property
    def factor(self) -> Factor:
        """Of XᵀX + η XᵀLX + γ I."""
        graph = 0.0 if self.scatter is None else self.smoothness * self.scatter
        return Factor.of(self.gram + graph, self.ridge)

    def solve(self, XtY: FloatArray) -> FloatArray:
        return self.factor.solve(XtY).astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖² = ‖Y‖² − 2⟨W, XᵀY⟩ + ⟨W, XᵀX W⟩"""
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + inner(W, self.gram @ W)

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀXᵀLXW)"""
        return 0.0 if self.scatter is None else inner(W, self.scatter @ W)


def draw_rows(rng: np.random.Generator, items: int, sample: int) -> IntArray:
    """`sample` rows, uniformly and without replacement."""
    return rng.choice(items, size=sample, replace=False)
