"""The label graph, of which nothing of items × items is ever formed, and the rows of it that a block has."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smfh.hashing.items import Block
from smfh.hashing.products import cross_product, inner, squared_norm, times, transposed_times
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """The affinity A = F Fᵀ, never formed, and its degrees D; L = D − A."""

    factors: sparse.csr_array  # F, (items, classes)
    degrees: FloatArray  # the diagonal of D, (items,)

    @staticmethod
    def of(labels: BoolArray, dtype: np.dtype[Any], sizes: FloatArray | None = None) -> "LabelGraph":
        """A = L_a L_aᵀ: two items are as near as they have labels in common.

        `sizes` are those of the classes, where these are but some rows of a larger graph.
        """
        F = sparse.csr_array(labels.astype(dtype))
        return LabelGraph(F, F @ (F.sum(axis=0) if sizes is None else sizes.astype(dtype)))

    def normalised(self) -> "LabelGraph":
        """F ← D^-½ F, so that no large class outweighs the others; an item without labels has degree 0."""
        scale = 1 / np.sqrt(np.maximum(self.degrees, EPS))
        return LabelGraph(self._scaled(scale), (self.degrees > 0).astype(self.factors.dtype))

    def sampled(self, places: IntArray, sizes: FloatArray, weight: float) -> "LabelGraph":
        """D^-½ (w L̂) D^-½ with L̂ the Laplacian of m drawn items alone, and w = N(N − 1) / (m(m − 1)).

        Each pair of items is in a sample with probability 1/w, so the mean over samples is the graph
        `normalised` on all N. These rows hold the drawn ones at `places`; `sizes` are those of the classes in
        the whole sample. The other items have no degree and no factors.
        """
        drawn = np.zeros(len(self.degrees), self.factors.dtype)
        drawn[places] = 1
        among = self.factors @ sizes.astype(self.factors.dtype)  # the degrees in the sample
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

    def energy(self, Y: FloatArray) -> float:
        """Tr(YᵀLY) = Σ_i D_ii ‖y_i‖² − ‖FᵀY‖²"""
        return self.length(Y) - squared_norm(transposed_times(self.factors, Y))

    def length(self, Y: FloatArray) -> float:
        """Tr(YᵀDY) = Σ_i D_ii ‖y_i‖²"""
        return inner(self.degrees, np.einsum("ij,ij->i", Y, Y))

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
class Affinity:
    """The degree-normalised graph of all items, or of some that were drawn; any block can have its rows."""

    sizes: FloatArray  # of the classes among all items
    items: int
    dtype: np.dtype[Any]
    drawn: IntArray | None = None  # rows, rising; none: all
    drawn_sizes: FloatArray | None = None  # of the classes among these

    @property
    def weight(self) -> float:
        """w = N(N − 1) / (m(m − 1))"""
        m = self.items if self.drawn is None else len(self.drawn)
        return self.items * (self.items - 1) / max(m * (m - 1), 1)

    def of(self, block: Block) -> LabelGraph:
        """The block's rows; those of the whole graph are made once for as long as the block is held."""
        if self.drawn is not None:
            return self.among(block.labels, block.places(self.drawn))
        if self not in block.kept:
            block.kept[self] = LabelGraph.of(block.labels, self.dtype, self.sizes).normalised()
        kept: LabelGraph = block.kept[self]
        return kept

    def among(self, labels: BoolArray, places: IntArray) -> LabelGraph:
        """Rows with these labels, of which those at `places` are drawn."""
        whole = LabelGraph.of(labels, self.dtype, self.sizes)
        sizes = np.zeros_like(self.sizes) if self.drawn_sizes is None else self.drawn_sizes
        return whole.sampled(places, sizes, self.weight)
