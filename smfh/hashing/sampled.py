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

from smfh.hashing.factorisation import LabelGraph, RidgeSolver
from smfh.hashing.positive import Factor
from smfh.hashing.products import gram, squared_norm, times
from smfh.types import FloatArray, IntArray, Matrix

SAMPLE = "Items that carry the graph in an iteration. Up: nearer to all of them; down: a noisier pull."


class GraphSolvers:
    """W = (XᵀX + η X̂ᵀL̂X̂ + γI)⁻¹XᵀY for the graphs of any m rows X̂ of X."""

    def __init__(self, X: Matrix, sample: int, smoothness: float, ridge: float) -> None:
        self.X, self.smoothness, self.ridge = X, smoothness, ridge
        low_rank = sample < min(X.shape)
        self.part = ConstantPart(X, smoothness, ridge) if low_rank else gram(X)

    def sampled(self, rows: IntArray, graph: LabelGraph, Y: FloatArray) -> "RidgeSolver | SampledSolver":
        """The solver for the graph of these rows."""
        if isinstance(self.part, ConstantPart):
            return SampledSolver(self.part, rows, graph, Y)
        return RidgeSolver(self.part, self.ridge, graph.scatter(self.X[rows]), self.smoothness)


class ConstantPart:
    """The smaller of XᵀX + γI and XXᵀ + γI, inverted for all samples to come."""

    def __init__(self, X: Matrix, smoothness: float, ridge: float) -> None:
        self.smoothness, self.by_item = smoothness, X.shape[0] < X.shape[1]
        self.X = X.astype(np.float64) if self.by_item else X
        products = self.X @ self.X.T if self.by_item else gram(X)
        self.factor = Factor.of(products.toarray() if sparse.issparse(products) else products, ridge)
        self.inverse = self.factor.inverse


@dataclass(frozen=True, eq=False)
class SampledSolver:
    """W for the graph of some rows; it can be asked what a `RidgeSolver` can."""

    constant: ConstantPart
    rows: IntArray
    graph: LabelGraph
    Y: FloatArray

    @property
    def factor(self) -> Factor:
        return self.constant.factor

    def solve(self, XtY: FloatArray) -> FloatArray:
        W = self.by_item() if self.constant.by_item else self.by_dimension(XtY)
        return W.astype(XtY.dtype)

    def by_item(self) -> FloatArray:
        """Xᵀ(XXᵀ + γI)⁻¹(Y − SQ), where S puts the sampled rows among all"""
        inverse, rows, gamma = self.constant.inverse, self.rows, self.factor.ridge
        Y = self.Y.astype(np.float64)
        T = np.eye(len(rows)) - gamma * inverse[np.ix_(rows, rows)]
        Y[rows] -= self.correction(T, Y[rows] - gamma * (inverse[rows] @ Y))
        W: FloatArray = self.constant.X.T @ (inverse @ Y)
        return W

    def by_dimension(self, XtY: FloatArray) -> FloatArray:
        """C⁻¹XᵀY − C⁻¹X̂ᵀQ"""
        inverse, X = self.constant.inverse, self.constant.X[self.rows].astype(np.float64)
        W = inverse @ XtY
        T = (X @ inverse) @ X.T
        corrected: FloatArray = W - inverse @ (X.T @ self.correction(T, X @ W))
        return corrected

    def correction(self, T: FloatArray, predicted: FloatArray) -> FloatArray:
        """Q = η (I + ηL̂T)⁻¹ L̂P, where P is what the sample would be predicted without the graph"""
        eta, spread = self.constant.smoothness, self.graph.spread
        Q: FloatArray = np.linalg.solve(np.eye(len(T)) + eta * spread(T), eta * spread(predicted))
        return Q

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖²"""
        return squared_norm(self.Y - times(self.constant.X, W.astype(self.constant.X.dtype)))

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀX̂ᵀL̂X̂W)"""
        return self.graph.energy(times(self.constant.X[self.rows], W.astype(self.constant.X.dtype)))
