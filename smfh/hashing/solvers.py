"""The label graph, and ridge regressions W = (XᵀX + η XᵀLX + γI)⁻¹XᵀY with its Laplacian L.

The affinity of the graph is A = F Fᵀ; only F is stored. The matrix of a regression is factored once for many
solutions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from smfh.hashing.blocks import cross_product, inner, squared_norm, times, transposed_times
from smfh.parallel import one_blas_thread
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix

RIDGE_GROWTH = 10.0  # factor by which a ridge is increased if it is too small
SMALLEST_SHARE = 1e-15  # of the trace; if the given ridge fails, the next one is at least so large


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """The affinity A = F Fᵀ, its degrees D, and the Laplacian L = D − A."""

    factors: sparse.csr_array  # F, (items, classes)
    degrees: FloatArray  # the diagonal of D, (items,)

    @staticmethod
    def of(
        labels: BoolArray, dtype: np.dtype[Any], sizes: FloatArray | None = None, weights: FloatArray | None = None
    ) -> "LabelGraph":
        """Return the graph with A = L_a diag(w) L_aᵀ for the labels L_a and the weights w of the classes.

        Without weights, A_ij is the number of labels that items i and j have in common (Eq. 4). If these
        items are only a part of the graph, `sizes` are the class sizes of the whole graph.
        """
        L = sparse.csr_array(labels.astype(dtype))
        n = (labels.sum(axis=0) if sizes is None else sizes).astype(dtype)
        if weights is None:
            return LabelGraph(L, L @ n)
        w = weights.astype(dtype)
        return LabelGraph(sparse.csr_array(L.multiply(np.sqrt(w)[None, :])), L @ (w * n))

    def normalised(self) -> "LabelGraph":
        """Return the graph with the factors D^-½ F, in which large classes do not dominate.

        The degree of an item is then 1, or 0 if it has no labels.
        """
        scale = 1 / np.sqrt(np.maximum(self.degrees, EPS))
        return LabelGraph(self.scaled(scale), (self.degrees > 0).astype(self.factors.dtype))

    def scaled(self, scale: FloatArray) -> sparse.csr_array:
        """Return diag(scale) F."""
        return sparse.csr_array(self.factors.multiply(scale[:, None].astype(self.factors.dtype)))

    def attract(self, Y: FloatArray) -> FloatArray:
        """Return the product of the affinity with Y, A Y = F (FᵀY)."""
        return times(self.factors, transposed_times(self.factors, Y))

    def spread(self, Y: FloatArray) -> FloatArray:
        """Return the product of the Laplacian with Y, L Y = D Y − A Y."""
        return np.asarray(self.degrees[:, None] * Y - self.attract(Y))

    def energy(self, Y: FloatArray) -> float:
        """Return the graph term of codes Y, Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖² (Eq. 5)."""
        return self.length(Y) - squared_norm(transposed_times(self.factors, Y))

    def length(self, Y: FloatArray) -> float:
        """Return the squared length of Y weighted by degrees, Tr(YᵀDY) = Σ_i D_ii ‖y_i‖²."""
        return inner(self.degrees, np.einsum("ij,ij->i", Y, Y))

    def scatter(self, X: Matrix) -> FloatArray:
        """Return XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ in double precision, because large numbers cancel."""
        XtF = cross_product(X, self.factors)
        return np.asarray(cross_product(X, X, self.degrees) - XtF @ XtF.T)


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of S + εI; ε is increased if rounding errors have made S indefinite."""

    root: FloatArray  # lower triangular, root rootᵀ = S + εI
    ridge: float  # ε
    note: str = ""  # a message if ε was increased

    @staticmethod
    def of(system: FloatArray, ridge: float) -> "Factor":
        """Factor S + εI with the first ε among `ridge`, 10 `ridge`, … for which this succeeds."""
        trace, grown = float(np.trace(system)), ridge
        with one_blas_thread():
            while True:
                shifted = system.copy()
                shifted[np.diag_indices_from(shifted)] += grown
                try:
                    root = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
                except np.linalg.LinAlgError:
                    if not grown < trace:  # rounding cannot be the cause
                        raise
                    grown = max(RIDGE_GROWTH * grown, SMALLEST_SHARE * trace)
                else:
                    note = f"ridge {grown:.1g} was used, because a matrix was singular with {ridge:.1g}"
                    return Factor(root, grown, note if grown > ridge else "")

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse (S + εI)⁻¹, cached; multiplying by it takes a third of the time of `solve`."""
        with one_blas_thread():
            lower, _ = dpotri(self.root.astype(np.float64), lower=1)
        return np.asarray(np.tril(lower) + np.tril(lower, -1).T)

    def solve(self, B: FloatArray) -> FloatArray:
        """Solve (S + εI) Z = B for Z."""
        with one_blas_thread():
            return np.asarray(cho_solve((self.root, True), B, check_finite=False))

    def whiten(self, C: FloatArray) -> FloatArray:
        """Whiten the matrix C: return root⁻¹C. For S = XᵀX, columns of X root⁻ᵀ are uncorrelated, of equal length."""
        return np.asarray(solve_triangular(self.root, C, lower=True, check_finite=False))

    def directions(self, U: FloatArray) -> FloatArray:
        """Return A = root⁻ᵀU, for which Aᵀ(S + εI)A = UᵀU."""
        return np.asarray(solve_triangular(self.root, U, lower=True, trans="T", check_finite=False))


def warnings_of(factors: Iterable[Factor]) -> str:
    """Join the distinct notes of these factors into one string; empty if there are none."""
    return "; ".join(dict.fromkeys(factor.note for factor in factors if factor.note))


@dataclass(frozen=True, eq=False)
class RidgeSolver:
    """Solver of W = (XᵀX + η XᵀLX + γI)⁻¹XᵀY; the system is factored once for constant X and L."""

    gram: FloatArray  # XᵀX
    ridge: float  # γ
    scatter: FloatArray | None = None  # XᵀLX; None without a graph
    smoothness: float = 0.0  # η

    @cached_property
    def factor(self) -> Factor:
        graph = 0.0 if self.scatter is None else self.smoothness * self.scatter
        return Factor.of(self.gram + graph, self.ridge)

    def solve(self, XtY: FloatArray) -> FloatArray:
        return self.factor.solve(XtY).astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        """Return the squared error ‖Y − XW‖² = ‖Y‖² − 2⟨W, XᵀY⟩ + ⟨W, XᵀX W⟩."""
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + inner(W, self.gram @ W)

    def roughness(self, W: FloatArray) -> float:
        """Return the roughness of the predictions on the graph, Tr(WᵀXᵀLXW); 0 without a graph."""
        return 0.0 if self.scatter is None else inner(W, self.scatter @ W)


class WideFeatures:
    """Features X with more dimensions than items, for which XXᵀ + γI is factored instead of XᵀX + γI."""

    def __init__(self, X: Matrix, ridge: float, smoothness: float) -> None:
        self.X, self.smoothness = X.astype(np.float64), smoothness
        product = self.X @ self.X.T
        self.factor = Factor.of(product.toarray() if sparse.issparse(product) else product, ridge)


class WideSolver:
    """A `RidgeSolver` with the Laplacian L̂ of m sampled rows X̂ = SᵀX, for features with many dimensions.

    In W = (C + η X̂ᵀL̂X̂)⁻¹XᵀY, C = XᵀX + γI is constant, and the other term has rank m at most. By Woodbury's
    identity, W is the solution without a graph for targets that are corrected in the sampled rows:

        W = C⁻¹Xᵀ(Y − SQ),   Q = η (I + ηL̂T)⁻¹ L̂P,   P = X̂C⁻¹XᵀY,   T = X̂C⁻¹X̂ᵀ

    With K = (XXᵀ + γI)⁻¹, C⁻¹Xᵀ = XᵀK and XC⁻¹Xᵀ = I − γK, so no dimensions × dimensions matrix is needed.
    """

    def __init__(self, features: WideFeatures, rows: IntArray, graph: LabelGraph, Y: FloatArray) -> None:
        self.features, self.rows, self.graph, self.Y, self.factor = features, rows, graph, Y, features.factor

    def solve(self, XtY: FloatArray) -> FloatArray:
        K, gamma, eta, rows = self.factor.inverse, self.factor.ridge, self.features.smoothness, self.rows
        Y, spread = self.Y.astype(np.float64), self.graph.spread
        P = Y[rows] - gamma * (K[rows] @ Y)
        T = np.eye(len(rows)) - gamma * K[np.ix_(rows, rows)]
        Y[rows] -= np.linalg.solve(np.eye(len(T)) + eta * spread(T), eta * spread(P))
        W: FloatArray = self.features.X.T @ (K @ Y)
        return W.astype(XtY.dtype)

    def error(self, W: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
        return float(np.trace(YtY)) - 2 * inner(W, XtY) + squared_norm(times(self.features.X, W))

    def roughness(self, W: FloatArray) -> float:
        return self.graph.energy(times(self.features.X[self.rows], W.astype(np.float64)))
