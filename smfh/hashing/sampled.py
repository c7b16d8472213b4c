"""The hash functions of SMFH on many dimensions: another graph in every iteration, one factor for all.

    W = (C + η X̂ᵀL̂X̂)⁻¹XᵀY   with   C = XᵀX + γI

for the graph L̂ of the m sampled rows X̂ of X. C stays, and the rest has a rank of m at the most. By Woodbury W
is what it would be without the graph, for targets that are corrected on the sample:

    W = C⁻¹(XᵀY − X̂ᵀQ),   Q = η (I + ηL̂T)⁻¹ L̂X̂C⁻¹XᵀY,   T = X̂C⁻¹X̂ᵀ

With fewer items than dimensions C⁻¹Xᵀ = Xᵀ(XXᵀ + γI)⁻¹, and so XC⁻¹Xᵀ = I − γ(XXᵀ + γI)⁻¹: nothing of
dimensions × dimensions is formed at all.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from smfh.hashing.factorisation import RidgeSolver
from smfh.hashing.graph import LabelGraph
from smfh.hashing.positive import Factor
from smfh.hashing.products import gram, inner, squared_norm, times
from smfh.types import FloatArray, IntArray, Matrix

SAMPLE = "Items that carry the graph in an iteration. Up: nearer to all of them; down: a noisier pull."


class GraphSolvers:
    """W = (XᵀX + η X̂ᵀL̂X̂ + γI)⁻¹XᵀY for the graphs of any m rows X̂ of X."""

    def __init__(self, part: "FloatArray | ConstantPart", smoothness: float, ridge: float) -> None:
        self.part, self.smoothness, self.ridge = part, smoothness, ridge

    @staticmethod
    def of(X: Matrix, sample: int, smoothness: float, ridge: float) -> "GraphSolvers":
        """For a matrix in memory."""
        by_item = is_by_item(sample, *X.shape)
        part = (
            ConstantPart.by_items(X, ridge) if by_item else by_dimensions(gram(X), sample, X.shape[0], ridge)
        )
        return GraphSolvers(part, smoothness, ridge)

    def sampled(
        self, X: Matrix, rows: IntArray, graph: LabelGraph, Y: FloatArray | None
    ) -> "RidgeSolver | SampledSolver":
        """The solver for the graph of these rows, which X̂ holds; of Y all rows, if it goes by item."""
        if isinstance(self.part, ConstantPart):
            return SampledSolver(self.part, self.smoothness, X, rows, graph, Y)
        return RidgeSolver(self.part, self.ridge, graph.scatter(X), self.smoothness)


def is_by_item(sample: int, items: int, dimensions: int) -> bool:
    """Whether XXᵀ serves better: there are fewer items than dimensions, and the sample leaves some out."""
    return sample < items < dimensions


def by_dimensions(gram: FloatArray, sample: int, items: int, ridge: float) -> "FloatArray | ConstantPart":
    """XᵀX itself, or what a sample of a lower rank corrects."""
    return ConstantPart(gram, Factor.of(gram, ridge)) if sample < min(items, len(gram)) else gram


@dataclass(frozen=True, eq=False)
class ConstantPart:
    """The smaller of XᵀX + γI and XXᵀ + γI, to be inverted for all samples to come."""

    products: FloatArray  # XᵀX or XXᵀ
    factor: Factor
    X: Matrix | None = None  # in double precision where it goes by item

    @staticmethod
    def by_items(X: Matrix, ridge: float) -> "ConstantPart":
        """XXᵀ + γI"""
        double = X.astype(np.float64)
        products = double @ double.T
        dense = products.toarray() if sparse.issparse(products) else products
        return ConstantPart(dense, Factor.of(dense, ridge), double)


@dataclass(frozen=True, eq=False)
class SampledSolver:
    """W for the graph of some rows; it can be asked what a `RidgeSolver` can."""

    constant: ConstantPart
    smoothness: float
    sample: Matrix  # X̂
    rows: IntArray
    graph: LabelGraph
    Y: FloatArray | None = None  # where it goes by item

    @property
    def factor(self) -> Factor:
        return self.constant.factor

    def solve(self, XtY: FloatArray) -> FloatArray:
        X, Y = self.constant.X, self.Y
        W = self.by_dimension(XtY) if X is None or Y is None else self.by_item(X, Y.astype(np.float64))
        return W.astype(XtY.dtype)

    def by_item(self, X: Matrix, Y: FloatArray) -> FloatArray:
        """Xᵀ(XXᵀ + γI)⁻¹(Y − SQ), where S puts the sampled rows among all"""
        inverse, rows, gamma = self.factor.inverse, self.rows, self.factor.ridge
        T = np.eye(len(rows)) - gamma * inverse[np.ix_(rows, rows)]
        corrected = Y.copy()
        corrected[rows] -= self.correction(T, Y[rows] - gamma * (inverse[rows] @ Y))
        W: FloatArray = X.T @ (inverse @ corrected)
        return W

    def by_dimension(self, XtY: FloatArray) -> FloatArray:
        """C⁻¹XᵀY − C⁻¹X̂ᵀQ"""
        inverse, X = self.factor.inverse, self.sample.astype(np.float64)
        W = inverse @ XtY
        T = (X @ inverse) @ X.T
        corrected: FloatArray = W - inverse @ (X.T @ self.correction(T, X @ W))
        return corrected

    def correction(self, T: FloatArray, predicted: FloatArray) -> FloatArray:
        """Q = η (I + ηL̂T)⁻¹ L̂P, where P is what the sample would be predicted without the graph"""
        eta, spread = self.smoothness, self.graph.spread
        Q: FloatArray = np.linalg.solve(np.eye(len(T)) + eta * spread(T), eta * spread(predicted))
        return Q

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖², of which ‖XW‖² by XᵀX or from X itself"""
        X = self.constant.X
        length = inner(W, self.constant.products @ W) if X is None else squared_norm(times(X, W))
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + length

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀX̂ᵀL̂X̂W)"""
        return self.graph.energy(times(self.sample, W.astype(self.sample.dtype)))
