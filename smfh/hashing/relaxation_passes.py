"""What SMFH+ does with a block of items in a pass: the rows of Y it makes, and what it adds up of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smfh.hashing.class_codes import label_codes
from smfh.hashing.factorisation import Totals, project
from smfh.hashing.graph import Affinity, LabelGraph
from smfh.hashing.items import Block
from smfh.hashing.products import transposed_times
from smfh.hashing.steps import CubicTerms, cubic_step
from smfh.hashing.sums import Sums, UniformRows, on_grid
from smfh.types import FloatArray

NOISE = 0.1  # share of randomness in the start


@dataclass(frozen=True, eq=False)
class Count:
    """No new codes; of those there are XᵀY, YᵀY, 1ᵀY, and for the whole graph FᵀY and Σ_i D_ii ‖y_i‖²."""

    totals: Totals
    affinity: Affinity
    bits: ClassVar[int] = 0

    def __call__(self, block: Block, Y: FloatArray) -> tuple[None, Sums]:
        return None, self.sums(block, Y)

    def sums(self, block: Block, Y: FloatArray) -> Sums:
        graph, items, bits = self.affinity.of(block), self.totals.items, Y.shape[1]
        return {
            **self.totals(block.X, Y),
            ("FtY", ""): on_grid(transposed_times(graph.factors, Y), float(items), items),
            ("length", ""): on_grid(graph.length(Y), float(items * bits), items),
        }


@dataclass(frozen=True, eq=False)
class Start:
    """Y = (1 − ν) mean code of the item's classes + ν uniform"""

    codes: FloatArray  # of the classes, (classes, bits)
    uniform: UniformRows
    dtype: np.dtype[Any]
    count: Count

    @property
    def bits(self) -> int:
        return self.uniform.bits

    def __call__(self, block: Block) -> tuple[FloatArray, Sums]:
        noise = self.uniform.block(block.start, len(block))
        Y = ((1 - NOISE) * label_codes(block.labels, self.codes) + NOISE * noise).astype(self.dtype)
        return Y, self.count.sums(block, Y)


@dataclass(frozen=True, eq=False)
class Pull:
    """Σ_t X_tV_t + 1vᵀ: what features and hash functions want of each item."""

    V: Mapping[str, FloatArray]
    offset: FloatArray  # v, (bits,)

    @property
    def bits(self) -> int:
        return len(self.offset)

    def __call__(self, block: Block) -> tuple[FloatArray, Sums]:
        return project(block.X, self.V) + self.offset, {}


@dataclass(frozen=True, eq=False)
class GraphPull:
    """What the graph of a step adds to both sides."""

    affinity: Affinity
    FtY: FloatArray  # of the step's own graph, (classes, bits)
    weight: float  # α
    quadratic: float  # n_t μ

    def diagonal(self, graph: LabelGraph) -> FloatArray:
        """n_t μ + α, where an item without labels has no graph term."""
        diagonal: FloatArray = (self.quadratic + self.weight * graph.degrees).astype(graph.factors.dtype)
        return diagonal


@dataclass(frozen=True, eq=False)
class CubicPass:
    """Y ← min(Y ∘ z, 1), z the root of the cubic whose parts `steps.CubicTerms` has."""

    pull: Pull
    graph: GraphPull
    G: FloatArray  # Σ_t λ_t U_tᵀU_t
    C: FloatArray  # c YᵀY
    balance: float
    count: Count

    @property
    def bits(self) -> int:
        return len(self.G)

    def __call__(self, block: Block, Y: FloatArray) -> tuple[FloatArray, Sums]:
        graph = self.graph.affinity.of(block)
        terms = CubicTerms(
            P=project(block.X, self.pull.V),
            YG=Y @ self.G,
            YC=Y @ self.C,
            F=graph.factors,
            pull=Y.dtype.type(self.graph.weight) * self.graph.FtY,  # A Y = F (FᵀY)
            offset=self.pull.offset,
            diagonal=self.graph.diagonal(graph),
            balance=self.balance,
        )
        new = cubic_step(Y, terms)
        return new, self.count.sums(block, new)


@dataclass(frozen=True, eq=False)
class Binarise:
    """Y = [Y > mean of its column]"""

    mean: FloatArray
    count: Count

    @property
    def bits(self) -> int:
        return len(self.mean)

    def __call__(self, block: Block, Y: FloatArray) -> tuple[FloatArray, Sums]:
        new = (self.mean < Y).astype(Y.dtype)
        return new, self.count.sums(block, new)


@dataclass(frozen=True, eq=False)
class Flip:
    """Every bit in turn, flipped where that lowers O; FᵀY and YᵀY − T go from block to block."""

    graph: GraphPull
    G: FloatArray
    spread: float  # β/(N r)

    def __call__(
        self, block: Block, carried: Sums, Y: FloatArray, linear: FloatArray
    ) -> tuple[FloatArray, Sums]:
        from smfh.hashing.kernels import flip_bits_inplace

        new, S, E = Y.copy(), carried["FtY", ""].copy(), carried["excess", ""].copy()
        graph = self.graph.affinity.of(block)
        F, diagonal, alpha = graph.factors, self.graph.diagonal(graph), self.graph.weight
        flip_bits_inplace(
            new, linear, self.G, diagonal, F.data, F.indices, F.indptr, S, E, alpha, self.spread
        )
        return new, {("FtY", ""): S, ("excess", ""): E}
