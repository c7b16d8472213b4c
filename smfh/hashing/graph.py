"""The label graph, with the affinity A = F Fᵀ of items with common labels; only F is stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smfh.hashing.blocks import Block
from smfh.hashing.products import cross_product, inner, squared_norm, times, transposed_times
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix


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
        """Return the graph of D^-½ F: large classes do not dominate; degrees are 1, or 0 without labels."""
        scale = 1 / np.sqrt(np.maximum(self.degrees, EPS))
        return LabelGraph(self._scaled(scale), (self.degrees > 0).astype(self.factors.dtype))

    def sampled(self, places: IntArray, sizes: FloatArray, weight: float) -> "LabelGraph":
        """Return the graph with Laplacian D^-½ (w L̂) D^-½, where L̂ is the Laplacian of m sampled items.

        The weight is w = N(N − 1) / (m(m − 1)). A pair of items is in a sample with probability 1/w, so the
        mean over samples is the `normalised` graph of all N items. `places` are the positions of the sampled
        items in this graph; other items get degree 0 and a row of zeros in F. `sizes` are Fᵀ1 of the sample:
        its class sizes, times the square roots of the class weights.
        """
        drawn = np.zeros(len(self.degrees), self.factors.dtype)
        drawn[places] = 1
        sample_degrees = self.factors @ sizes.astype(self.factors.dtype)
        degrees: FloatArray = weight * drawn * sample_degrees / np.maximum(self.degrees, EPS)
        F = self._scaled(drawn * np.sqrt(weight / np.maximum(self.degrees, EPS)))
        F.eliminate_zeros()
        return LabelGraph(F, degrees.astype(self.factors.dtype))

    def _scaled(self, scale: FloatArray) -> sparse.csr_array:
        return sparse.csr_array(self.factors.multiply(scale[:, None].astype(self.factors.dtype)))

    def attract(self, Y: FloatArray) -> FloatArray:
        """Return the product of the affinity with Y, A Y = F (FᵀY)."""
        return times(self.factors, transposed_times(self.factors, Y))

    def spread(self, Y: FloatArray) -> FloatArray:
        """Return the product of the Laplacian with Y, L Y = D Y − A Y."""
        F = self.factors
        spread: FloatArray = self.degrees[:, None] * Y - F @ (F.T @ Y)
        return spread

    def energy(self, Y: FloatArray) -> float:
        """Return Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖² (Eq. 5)."""
        return self.length(Y) - squared_norm(transposed_times(self.factors, Y))

    def length(self, Y: FloatArray) -> float:
        """Return Tr(YᵀDY) = Σ_i D_ii ‖y_i‖²."""
        return inner(self.degrees, np.einsum("ij,ij->i", Y, Y))

    def scatter(self, X: Matrix) -> FloatArray:
        """Return XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ in double precision, because large numbers cancel."""
        XtF = cross_product(X, self.factors)
        spread: FloatArray = cross_product(X, X, self.degrees) - XtF @ XtF.T
        return spread


@dataclass(frozen=True, eq=False)
class NormalisedGraph:
    """The degree-normalised graph of all items or of a sample, computed block by block."""

    sizes: FloatArray  # number of items of each class
    weights: FloatArray  # weight of each class
    items: int
    dtype: np.dtype[Any]
    sample: IntArray | None = None  # rows of the sampled items, ascending; None if all are used
    sample_sizes: FloatArray | None = None  # number of sampled items of each class

    def of(self, block: Block) -> LabelGraph:
        """Return the graph's rows for the items of a block; rows of the whole graph are cached."""
        if self.sample is not None:
            return self.among(block.labels, block.places(self.sample))
        if self not in block.cache:
            block.cache[self] = LabelGraph.of(block.labels, self.dtype, self.sizes, self.weights).normalised()
        cached: LabelGraph = block.cache[self]
        return cached

    def among(self, labels: BoolArray, places: IntArray) -> LabelGraph:
        """Return the graph's rows for items with these labels; the items at `places` are in the sample."""
        m = self.items if self.sample is None else len(self.sample)
        weight = self.items * (self.items - 1) / max(m * (m - 1), 1)
        sizes = np.zeros_like(self.sizes) if self.sample_sizes is None else self.sample_sizes
        whole = LabelGraph.of(labels, self.dtype, self.sizes, self.weights)
        return whole.sampled(places, np.sqrt(self.weights) * sizes, weight)


def rarity_weights(sizes: FloatArray, exponent: float) -> FloatArray:
    """Return w_k = (size of class k / size of the smallest class)^−p, the weight of label k; p is `exponent`.

    If every item has one label, the weights have no effect, because degree normalisation cancels them.
    """
    filled = np.maximum(sizes, 1)
    weights: FloatArray = (filled / filled.min()) ** -exponent
    return weights
