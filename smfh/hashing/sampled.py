"""The hash functions of SMFH for more dimensions than items: another graph in every iteration, one factor.

    W = (C + η X̂ᵀL̂X̂)⁻¹XᵀY   with   C = XᵀX + γI

for the graph L̂ of the m sampled rows X̂ of X. C stays, and the rest has a rank of m at the most. By Woodbury W
is what it would be without the graph, for targets that are corrected on the sample,

    W = C⁻¹(XᵀY − η X̂ᵀQ),   Q = (I + ηL̂T)⁻¹ L̂X̂C⁻¹XᵀY,   T = X̂C⁻¹X̂ᵀ,

and C⁻¹Xᵀ = Xᵀ(XXᵀ + γI)⁻¹, hence XC⁻¹Xᵀ = I − γ(XXᵀ + γI)⁻¹: nothing of dimensions × dimensions is formed.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import solve

from smfh.hashing.factorisation import LabelGraph
from smfh.hashing.positive import Factor
from smfh.hashing.products import squared_norm, times
from smfh.types import FloatArray, IntArray, Matrix


class FewItems:
    """(XXᵀ + γI)⁻¹ for all samples to come."""

    def __init__(self, X: Matrix, smoothness: float, ridge: float) -> None:
        self.X, self.smoothness = X.astype(np.float64), smoothness
        products = self.X @ self.X.T
        self.factor = Factor.of(products.toarray() if sparse.issparse(products) else products, ridge)
        self.inverse = self.factor.solve(np.eye(X.shape[0]))

    def sample(self, rows: IntArray, graph: LabelGraph, Y: FloatArray) -> "SampledSolver":
        return SampledSolver(self, rows, graph, Y)


@dataclass(frozen=True, eq=False)
class SampledSolver:
    """W for the graph of these rows, with the interface of a `RidgeSolver`."""

    constant: FewItems
    rows: IntArray
    graph: LabelGraph
    Y: FloatArray

    @property
    def factor(self) -> Factor:
        return self.constant.factor

    def solve(self, XtY: FloatArray) -> FloatArray:
        """C⁻¹Xᵀ(Y − ηSQ), where S puts the rows of Q among those of Y."""
        constant, rows, Y = self.constant, self.rows, self.Y.astype(np.float64)
        gamma, eta, inverse = self.factor.ridge, constant.smoothness, constant.inverse
        T = np.eye(len(rows)) - gamma * inverse[np.ix_(rows, rows)]
        predicted = Y[rows] - gamma * (inverse[rows] @ Y)
        system = np.eye(len(rows)) + eta * self.graph.spread(T)
        Y[rows] -= eta * solve(system, self.graph.spread(predicted), overwrite_a=True, check_finite=False)
        W: FloatArray = constant.X.T @ (inverse @ Y)
        return W.astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """‖Y − XW‖²"""
        return squared_norm(self.Y - times(self.constant.X, W.astype(np.float64)))

    def roughness(self, W: FloatArray) -> float:
        """Tr(WᵀX̂ᵀL̂X̂W)"""
        return self.graph.energy(times(self.constant.X[self.rows], W.astype(np.float64)))
