"""What SMFH does with a block of items in a pass: the rows of Y it makes, and what it adds up of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfh.hashing.factorisation import Totals, project
from smfh.hashing.graph import LabelGraph
from smfh.hashing.items import Block
from smfh.hashing.products import times, transposed_times
from smfh.hashing.steps import ratio_step
from smfh.hashing.sums import HEIGHT, Sums, UniformRows, on_grid
from smfh.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class GraphTotals:
    """What a pass adds up: XᵀY, YᵀY, 1ᵀY, max Y; FᵀY and Σ_i d_i y_ik² of the items that carry the graph."""

    totals: Totals
    rows: IntArray | None  # of these; none: all
    sizes: FloatArray  # of the classes among these

    def places(self, block: Block) -> IntArray:
        """Where they lie in the block."""
        return np.arange(len(block)) if self.rows is None else block.places(self.rows)

    def graph(self, block: Block, dtype: np.dtype[Any]) -> LabelGraph:
        """Of those of them that lie in the block."""
        labels = block.labels if self.rows is None else block.labels[self.places(block)]
        return LabelGraph.of(labels, dtype, self.sizes)

    def __call__(self, block: Block, Y: FloatArray) -> Sums:
        graph, among = self.graph(block, Y.dtype), Y[self.places(block)]
        ceiling, items = self.totals.ceiling, self.totals.items
        return {
            **self.totals(block.X, Y),
            HEIGHT: Y.max(axis=0).astype(np.float64),
            ("FtY", ""): on_grid(
                transposed_times(graph.factors, among), np.outer(self.sizes, ceiling), items
            ),
            ("length", ""): on_grid(
                graph.degrees.astype(np.float64) @ among**2,
                ceiling**2 * float(self.sizes @ self.sizes),
                items,
            ),
        }


@dataclass(frozen=True, eq=False)
class Start:
    """Y uniform; drawn in double precision, so that single starts from the same point."""

    uniform: UniformRows
    dtype: np.dtype[Any]
    totals: GraphTotals

    @property
    def bits(self) -> int:
        return self.uniform.bits

    def __call__(self, block: Block) -> tuple[FloatArray, Sums]:
        Y = self.uniform.block(block.start, len(block)).astype(self.dtype)
        return Y, self.totals(block, Y)


@dataclass(frozen=True, eq=False)
class RatioPass:
    """Y ← Y ∘ B⁺ / ( Y M + α S D̂ Ŷ + B⁻ ) with B = Σ_t X_tV_t + α S F̂F̂ᵀŶ + 2β Y, where Ŷ = SᵀY."""

    V: Mapping[str, FloatArray]
    M: FloatArray
    FtY: FloatArray  # F̂ᵀŶ
    alpha: float
    beta: float
    totals: GraphTotals

    @property
    def bits(self) -> int:
        return len(self.M)

    def __call__(self, block: Block, Y: FloatArray) -> tuple[FloatArray, Sums]:
        pull, Q, rows = project(block.X, self.V), Y @ self.M, self.totals.places(block)
        graph, alpha = self.totals.graph(block, Y.dtype), Y.dtype.type(self.alpha)
        pull[rows] += alpha * times(graph.factors, self.FtY)
        Q[rows] += alpha * graph.degrees[:, None] * Y[rows]
        new = ratio_step(Y, pull, Q, self.beta)
        return new, self.totals(block, new)
