"""What SMFH, SMFH+ and CMFH share: collective factorisation X ≈ Y Uᵀ, ridge hash functions, the label graph.

Letters follow the paper; items are rows, so X is (items, dimensions), Y (items, bits),
U and W (dimensions, bits), and the paper's equations appear transposed.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from smfh.hashing.base import HashMethod, Learning, Trace
from smfh.hashing.graph import LabelGraph
from smfh.hashing.items import Block, Codes, HeldItems, Items
from smfh.hashing.positive import Factor
from smfh.hashing.products import (
    add_times_inplace,
    column_sums,
    cross_product,
    gram,
    inner,
    squared_norm,
    times,
    transposed_times,
)
from smfh.hashing.steps import without_subnormals
from smfh.hashing.sums import Sums, on_grid
from smfh.types import EPS, FloatArray, InputError, IntArray, Matrix, MultimodalDataset, parameter

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

    def shares(self, modalities: Sequence[str]) -> dict[str, float]:
        """λ by modality; equal shares where none are given."""
        shares = self.modality_weights or (1 / len(modalities),) * len(modalities)
        return dict(zip(modalities, shares, strict=True))

    def has_converged(self, trace: Trace) -> bool:
        """|O_before − O_now| < ε O_before"""
        if len(trace) < 2 or self.tolerance == 0:
            return False
        before, now = trace[-2].objective, trace[-1].objective
        return abs(before - now) < self.tolerance * abs(before)


@dataclass(frozen=True)
class PassMethod(Descent):
    """A descent that sees its items in passes, and so does not ask where they are."""

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        return self.learn_from(HeldItems(train.modalities, train.labels), rng, trace)

    @abstractmethod
    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Learning:
        """Yield the progress of every step, and return what was learnt, as `learn` does."""


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


@dataclass(frozen=True, eq=False)
class Factors:
    """The unknowns X ≈ Y Uᵀ and Y ≈ X W, with the products that the next step and the objective share."""

    Y: Codes  # (items, bits)
    U: Mapping[str, FloatArray]  # (dimensions, bits)
    W: Mapping[str, FloatArray]  # (dimensions, bits)
    XtY: Mapping[str, FloatArray]
    YtY: FloatArray
    mean: FloatArray  # of the rows of Y, (bits,)


@dataclass(frozen=True, eq=False)
class Totals:
    """What a pass adds up of the codes that it makes: XᵀY, YᵀY and 1ᵀY."""

    items: int
    maxima: Mapping[str, FloatArray]  # of the columns of X
    ceiling: FloatArray  # no |y_ik| is above, (bits,)
    double: bool = False  # the precision in which YᵀY is multiplied

    def __call__(self, X: Mapping[str, Matrix], Y: FloatArray) -> Sums:
        most, items = self.items * self.ceiling, self.items
        YtY = gram(Y) if self.double else Y.T @ Y
        return {
            **{
                ("XtY", t): on_grid(transposed_times(x, Y), np.outer(self.maxima[t], most), items)
                for t, x in X.items()
            },
            ("YtY", ""): on_grid(YtY, np.outer(self.ceiling, most), items),
            ("sum", ""): on_grid(column_sums(Y), most, items),
        }


@dataclass(frozen=True, eq=False)
class Moments:
    """What is added up of X once: XᵀX, 1ᵀX, ‖X‖²; for a graph XᵀF, and XᵀDX where not all degrees are 1."""

    items: int
    maxima: Mapping[str, FloatArray]
    graph: Callable[[Block], LabelGraph] | None = None  # none of whose factors is above 1
    degrees: float = 0.0  # no degree is above; 0: all are 1
    without_gram: tuple[str, ...] = ()  # modalities of which XᵀX is not wanted
    bits: ClassVar[int] = 0

    def __call__(self, block: Block) -> tuple[None, Sums]:
        sums: Sums = {}
        for t, x in block.X.items():
            most, squares = self.maxima[t], np.outer(self.maxima[t], self.items * self.maxima[t])
            sums["sum", t] = on_grid(column_sums(x), self.items * most, self.items)
            sums["squared", t] = on_grid(squared_norm(x), np.trace(squares), self.items)
            if t not in self.without_gram:
                sums["XtX", t] = on_grid(gram(x), squares, self.items)
            if self.graph is not None:
                graph = self.graph(block)
                F = graph.factors
                sums["XtF", t] = on_grid(cross_product(x, F), self.items * most[:, None], self.items)
                if self.degrees:
                    scatter = cross_product(x, x, graph.degrees)
                    sums["XtDX", t] = on_grid(scatter, self.degrees * squares, self.items)
        return None, sums


def scatter_of(moments: Sums, t: str) -> FloatArray:
    """XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ, where XᵀDX is XᵀX unless it was added up."""
    XtF = moments["XtF", t]
    spread: FloatArray = moments.get(("XtDX", t), moments["XtX", t]) - XtF @ XtF.T
    return spread
