"""The items of a training wherever they are: what a method asks of them, and those that are held in memory.

A method works on them in passes. In a pass every block of rows is handed to a step, which makes the new rows
of the codes from the last ones and adds up what all blocks together have to say. A step is a small value that
knows one equation; it does not know whether its block comes from memory or from a file, or on which machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.hashing.products import ROWS
from smfh.hashing.sums import Sums, add_inplace
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, Words

Codes = Any  # of all items, (items, bits): an array in memory, or where to find one


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive items that are worked on at once; all but the last block have ROWS of them."""

    start: int  # the first of them, among all
    X: Mapping[str, Matrix]  # φ(x), each (rows, dimensions of φ)
    labels: BoolArray  # (rows, classes)
    kept: dict[Any, Any] = field(default_factory=dict)  # what a step has made of the labels for later passes

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self))

    def places(self, rows: IntArray) -> IntArray:
        """Where those of these rows (of all items, rising) that lie in the block lie in it."""
        first, end = np.searchsorted(rows, [self.start, self.start + len(self)])
        places: IntArray = rows[first:end] - self.start
        return places


class Step(Protocol):
    """What is done with a block in a pass."""

    @property
    def bits(self) -> int: ...  # of a row of the codes that it makes; 0: it makes none

    def __call__(self, *block_and_codes: Any, **_: Any) -> tuple[FloatArray | None, Sums]: ...


class Sweep(Protocol):
    """What is done with a block when what the blocks before it have left is needed for it."""

    def __call__(self, *block_carried_and_codes: Any, **_: Any) -> tuple[FloatArray, Sums]: ...


class RowsOf(Protocol):
    """Something with a row for each item, of which some can be had."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


class Items(Protocol):
    """All that a method needs to know of its training items."""

    @property
    def X(self) -> Mapping[str, RowsOf]: ...  # as they came, before φ

    @property
    def labels(self) -> RowsOf: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def sizes(self) -> IntArray: ...  # of the classes

    @property
    def unlabelled(self) -> int: ...  # items without a label

    @property
    def widths(self) -> Mapping[str, int]: ...  # dimensions of φ

    @property
    def maxima(self) -> Mapping[str, FloatArray]: ...  # no |φ(x)_j| is above

    def __len__(self) -> int: ...

    def with_features(self, maps: Mapping[str, FeatureMap]) -> "Items":
        """The same items seen through φ."""

    def run(self, step: Step, *codes: Codes) -> tuple[Codes, Sums]:
        """One pass: the codes that the step makes of the given ones, and its sums over all blocks."""

    def sweep(self, step: Sweep, carried: Sums, *codes: Codes) -> tuple[Codes, Sums]:
        """One pass from the first block to the last: the codes, and what the last block has left."""

    def take_codes(self, codes: Codes, rows: IntArray) -> FloatArray:
        """Some rows of the codes."""

    def divide(self, codes: Codes, heights: FloatArray) -> Codes:
        """Every row of the codes divided by these heights."""

    def pack(self, codes: Codes, thresholds: FloatArray) -> Words:
        """The bits that are on: codes > thresholds. None where they stay where the items are."""


def apply(step: Step | Sweep, *arguments: Any) -> tuple[Any, Sums]:
    """What the step makes of a block; where numbers run away the terms of the objective will tell."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return step(*arguments)


class HeldItems:
    """Items in memory; their blocks are worked on side by side."""

    def __init__(
        self,
        X: Mapping[str, Matrix],
        labels: BoolArray,
        blocks: tuple[Block, ...] = (),
        maxima: Mapping[str, FloatArray] | None = None,
    ) -> None:
        self.X, self.labels = X, labels
        self.blocks = blocks or tuple(
            Block(rows.start, {t: rows_of(x, rows) for t, x in X.items()}, labels[rows])
            for rows in (slice(start, start + ROWS) for start in range(0, len(labels), ROWS))
        )
        self.maxima = maxima or {t: column_maxima(x) for t, x in X.items()}

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(x.dtype for x in self.X.values()))

    @property
    def sizes(self) -> IntArray:
        return np.asarray(self.labels.sum(axis=0))

    @property
    def unlabelled(self) -> int:
        return int(np.count_nonzero(~self.labels.any(axis=1)))

    @property
    def widths(self) -> dict[str, int]:
        return {t: x.shape[1] for t, x in self.blocks[0].X.items()}

    def with_features(self, maps: Mapping[str, FeatureMap]) -> "HeldItems":
        def work(rows: slice) -> Block:
            block = self.blocks[rows.start]
            return Block(block.start, {t: maps[t](x) for t, x in block.X.items()}, block.labels)

        blocks = tuple(over_rows(work, len(self.blocks), 1))
        return HeldItems(self.X, self.labels, blocks, mapped_maxima(self.maxima, maps))

    def run(self, step: Step, *codes: FloatArray) -> tuple[Codes, Sums]:
        new = np.empty((len(self), step.bits), self.dtype) if step.bits else None

        total, adding = Sums(), Lock()

        def work(rows: slice) -> None:
            block = self.blocks[rows.start]
            made, sums = apply(step, block, *(Y[block.rows] for Y in codes))
            if new is not None:
                new[block.rows] = made
            with adding:  # in whatever order they come: it changes nothing
                add_inplace(total, sums)

        over_rows(work, len(self.blocks), 1)
        return new, total

    def sweep(self, step: Sweep, carried: Sums, *codes: FloatArray) -> tuple[Codes, Sums]:
        new = np.empty_like(codes[0])
        for block in self.blocks:
            new[block.rows], carried = apply(step, block, carried, *(Y[block.rows] for Y in codes))
        return new, carried

    def take_codes(self, codes: FloatArray, rows: IntArray) -> FloatArray:
        return codes[rows]

    def divide(self, codes: FloatArray, heights: FloatArray) -> Codes:
        return codes / heights

    def pack(self, codes: FloatArray, thresholds: FloatArray) -> Words:
        return pack(codes > thresholds)


def rows_of(X: Matrix, rows: slice) -> Matrix:
    """These rows, not copied."""
    if not isinstance(X, sparse.csr_array):
        return X[rows]
    starts = X.indptr[rows.start : rows.stop + 1]
    cells = slice(starts[0], starts[-1])
    parts = (X.data[cells], X.indices[cells], starts - starts[0])
    return sparse.csr_array(parts, shape=(len(starts) - 1, X.shape[1]), copy=False)


def column_maxima(X: Matrix) -> FloatArray:
    """max_i x_ij of every column"""
    largest: Any = X.max(axis=0)
    dense = largest.toarray() if isinstance(X, sparse.csr_array) else largest
    return np.asarray(dense, dtype=np.float64).reshape(-1)


def mapped_maxima(maxima: Mapping[str, FloatArray], maps: Mapping[str, FeatureMap]) -> dict[str, FloatArray]:
    """No φ(x)_j is above: 1 for an RBF feature and in a row of length 1, else the power of the largest."""
    bounds: dict[str, FloatArray] = {}
    for t, largest in maxima.items():
        phi = maps[t]
        if phi.anchors is not None:
            bounds[t] = np.ones(len(phi.anchors))
        else:
            bounds[t] = np.ones(len(largest)) if phi.unit_rows else largest**phi.power
    return bounds
