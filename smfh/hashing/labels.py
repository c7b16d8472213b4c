"""What SMFH+ makes of the labels: a normalised graph in which rare labels weigh more, and initial codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smfh.hashing.blocks import Block
from smfh.hashing.solvers import LabelGraph
from smfh.types import EPS, BoolArray, FloatArray, IntArray

RARITY_HELP = (
    "How much more weight rare labels get: a label of n items has the weight n^−p, so with 0 all labels weigh the "
    "same. Higher: codes follow fine classes. Lower: they follow large classes. No effect with one label per "
    "item."
)
PARTITIONS = 100  # random partitions of the classes, of which the best becomes a bit


def rarity_weights(sizes: FloatArray, exponent: float, unlabelled: int, items: int) -> FloatArray:
    """Return w_k = (size of class k / size of the smallest class)^−p, the weight of label k; p is `exponent`.

    If no item has several labels, all weights are 1: then the degree normalisation of SMFH+ would cancel
    them, except for rounding. `items` is the number of all items, `unlabelled` the number of items without a label.
    """
    if sizes.sum() + unlabelled == items:
        return np.ones(len(sizes))
    filled = np.maximum(sizes, 1)
    return np.asarray((filled / filled.min()) ** -exponent)


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
        """Return the graph's rows for items with these labels; the items at `places` are in the sample.

        The Laplacian is D^-½ (w L̂) D^-½, where L̂ is that of the m sampled items. A pair of items is in a
        sample with probability 1/w for w = N(N − 1) / (m(m − 1)), so the mean over samples is the graph of all
        N items. Items that are not in the sample have degree 0 and a row of zeros in F.
        """
        m = self.items if self.sample is None else len(self.sample)
        w = self.items * (self.items - 1) / max(m * (m - 1), 1)
        sizes = np.zeros_like(self.sizes) if self.sample_sizes is None else self.sample_sizes
        whole = LabelGraph.of(labels, self.dtype, self.sizes, self.weights)
        drawn, divisor = np.zeros(len(labels), self.dtype), np.maximum(whole.degrees, EPS)
        drawn[places] = 1
        degrees: FloatArray = w * drawn * (whole.factors @ (np.sqrt(self.weights) * sizes).astype(self.dtype)) / divisor
        F = whole.scaled(drawn * np.sqrt(w / divisor))
        F.eliminate_zeros()
        return LabelGraph(F, degrees.astype(self.dtype))


def class_codes(sizes: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """Return a binary code for each class; the codes are far apart, and each bit is balanced over the items.

    Each bit is the best of PARTITIONS random partitions of the classes into halves. The best one separates
    many pairs of classes a, b whose codes are still close (a pair has the weight 2^−d(a,b), where d is the
    distance of the codes so far), and is 1 for about half of the items.
    """
    classes = len(sizes)
    codes = np.zeros((classes, bits))
    closeness = 1 - np.eye(classes)
    share = sizes / max(sizes.sum(), 1)
    for k in range(bits):
        halves = rng.permuted(np.tile(np.arange(classes) % 2, (PARTITIONS, 1)), axis=1)
        same_side = halves @ closeness * halves + (1 - halves) @ closeness * (1 - halves)
        imbalance = np.abs(halves @ share - 0.5)
        score = same_side.sum(axis=1) / max(closeness.sum(), 1e-300) + imbalance
        codes[:, k] = np.abs(halves[np.argmin(score)] - rng.integers(2))  # the partition or its complement
        closeness *= np.where(codes[:, k, None] == codes[None, :, k], 1.0, 0.5)
        closeness /= max(closeness.max(), 1e-300)
    return codes


def rank_codes(codes: FloatArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return 2 · rank + bit for every class and bit; each bit has its own random ranks of the classes.

    Classes are ranked by e/w with exponential random numbers e. In any set of classes, class k then comes first
    with probability w_k / Σ w, where the sum is over the set.
    """
    keys = rng.exponential(size=codes.shape) / weights[:, None]
    ranks = np.argsort(np.argsort(keys, axis=0), axis=0)
    return np.asarray(2 * ranks + codes.astype(ranks.dtype))


def label_codes(labels: BoolArray, ranked: IntArray) -> FloatArray:
    """Return the initial code of each item, given the result of `rank_codes`; ½ for items without labels.

    Each bit has its own random order of the classes. An item gets the bit of whichever of its classes comes
    first in this order. Two items have the same first class with probability J, the weight of their common
    labels divided by the weight of all their labels; otherwise, their bits agree by chance. So a share (1 +
    J) / 2 of their bits agrees, whatever their numbers of labels.
    """
    L, codes = sparse.csr_array(labels), np.full((len(labels), ranked.shape[1]), 0.5)
    has_labels = np.diff(L.indptr) > 0
    if has_labels.any():
        codes[has_labels] = np.minimum.reduceat(ranked[L.indices], L.indptr[:-1][has_labels]) % 2
    return codes
