"""Training items in blocks of rows, in memory or on workers, and exact sums over blocks.

A method reads its items in passes. A pass calls a function with every block; the function returns the new
rows of the codes and the sums over this block. The same function works on a block in memory and on a block
that a worker reads from a file.

Floating-point sums depend on the order of addition. The sums of each block are therefore rounded to multiples
of a power of two that is large enough for all later additions to be exact, in any order and grouping.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.hashing.products import ROWS, column_sums, gram, transposed_times
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, Words

Codes = Any  # of all items, (items, bits): an array, or a reference to files
Sums = dict[tuple[str, str], FloatArray]  # by (quantity, modality); the modality is "" if common to all
HEIGHT = ("height", "")  # key of max_i y_ik, the only quantity that is a maximum instead of a sum
MANTISSA_BITS = 52  # of a double


@dataclass(frozen=True, eq=False)
class Block:
    """A block of consecutive items: ROWS items, or fewer in the last block."""

    start: int  # position of the first item among all
    X: Mapping[str, Matrix]  # mapped features φ(x), each (rows, dimensions of φ)
    labels: BoolArray  # (rows, classes)
    cache: dict[Any, Any] = field(default_factory=dict)  # values derived from the labels, for later passes

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self))

    def places(self, rows: IntArray | None) -> IntArray:
        """Return the positions in this block of those of the given rows that are in it.

        `rows` are ascending positions among all items; if None, the positions of the whole block are
        returned.
        """
        if rows is None:
            return np.arange(len(self))
        first, end = np.searchsorted(rows, [self.start, self.start + len(self)])
        places: IntArray = rows[first:end] - self.start
        return places


class Pass:
    """A call of `work(block, *codes, **arguments)` for every block; picklable, for use on workers."""

    def __init__(self, work: Callable[..., tuple[Any, Sums]], bits: int = 0, **arguments: Any) -> None:
        self.work, self.arguments = work, arguments
        self.bits = bits  # number of columns of the new codes; 0 if `work` returns only sums

    @property
    def name(self) -> str:
        return self.work.__name__

    def __call__(self, *block_and_codes: Any) -> tuple[Any, Sums]:
        """Call `work` without overflow warnings; the training loop checks the objective instead."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.work(*block_and_codes, **self.arguments)


class RowsOf(Protocol):
    """A matrix with one row per item that supports reading selected rows."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


class Items(Protocol):
    """The interface through which a method reads its training items, in memory or on workers."""

    @property
    def X(self) -> Mapping[str, RowsOf]: ...  # features before φ

    @property
    def labels(self) -> RowsOf: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def sizes(self) -> IntArray: ...  # number of items of each class

    @property
    def unlabelled(self) -> int: ...  # number of items without a label

    @property
    def widths(self) -> Mapping[str, int]: ...  # dimensions of φ

    @property
    def maxima(self) -> Mapping[str, FloatArray]: ...  # upper bounds of |φ(x)_j|

    def __len__(self) -> int: ...

    def with_features(self, maps: Mapping[str, FeatureMap]) -> "Items":
        """Return the same items with the mapped features φ(x)."""

    def run(self, step: Pass, *codes: Codes) -> tuple[Codes, Sums]:
        """Run a pass over all blocks in any order; return the new codes and the sums."""

    def sweep(self, step: Pass, carried: Sums, *codes: Codes) -> tuple[Codes, Sums]:
        """Run a pass block by block in order; each call gets the sums that the previous call returned."""

    def take_codes(self, codes: Codes, rows: IntArray) -> FloatArray:
        """Return the given rows of the codes."""

    def divide(self, codes: Codes, heights: FloatArray) -> Codes:
        """Return the codes with column k divided by heights[k]."""

    def pack(self, codes: Codes, thresholds: FloatArray) -> Words:
        """Return the packed bits codes > thresholds; empty if the codes stay on the workers."""


class ItemsInMemory:
    """Items in memory; threads process several blocks at once."""

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
        self.dtype = np.result_type(*(x.dtype for x in X.values()))
        self.sizes: IntArray = labels.sum(axis=0)
        self.unlabelled = int(np.count_nonzero(~labels.any(axis=1)))
        self.widths = {t: x.shape[1] for t, x in self.blocks[0].X.items()}

    def __len__(self) -> int:
        return len(self.labels)

    def with_features(self, maps: Mapping[str, FeatureMap]) -> "ItemsInMemory":
        def work(rows: slice) -> Block:
            block = self.blocks[rows.start]
            return Block(block.start, {t: maps[t](x) for t, x in block.X.items()}, block.labels)

        blocks = tuple(over_rows(work, len(self.blocks), 1))
        return ItemsInMemory(self.X, self.labels, blocks, mapped_maxima(self.maxima, maps))

    def run(self, step: Pass, *codes: FloatArray) -> tuple[Codes, Sums]:
        new = np.empty((len(self), step.bits), self.dtype) if step.bits else None
        total, lock = Sums(), Lock()

        def work(rows: slice) -> None:
            block = self.blocks[rows.start]
            made, sums = step(block, *(Y[block.rows] for Y in codes))
            if new is not None:
                new[block.rows] = made
            with lock:
                add_inplace(total, sums)

        over_rows(work, len(self.blocks), 1)
        return new, total

    def sweep(self, step: Pass, carried: Sums, *codes: FloatArray) -> tuple[Codes, Sums]:
        new = np.empty_like(codes[0])
        for block in self.blocks:
            new[block.rows], carried = step(block, carried, *(Y[block.rows] for Y in codes))
        return new, carried

    def take_codes(self, codes: FloatArray, rows: IntArray) -> FloatArray:
        return codes[rows]

    def divide(self, codes: FloatArray, heights: FloatArray) -> Codes:
        return codes / heights

    def pack(self, codes: FloatArray, thresholds: FloatArray) -> Words:
        return pack(codes > thresholds)


def rows_of(X: Matrix, rows: slice) -> Matrix:
    """Return these rows of a dense or sparse matrix as a view, without copying the values."""
    if not isinstance(X, sparse.csr_array):
        return X[rows]
    starts = X.indptr[rows.start : rows.stop + 1]
    cells = slice(starts[0], starts[-1])
    parts = (X.data[cells], X.indices[cells], starts - starts[0])
    return sparse.csr_array(parts, shape=(len(starts) - 1, X.shape[1]), copy=False)


def column_maxima(X: Matrix) -> FloatArray:
    """Return max_i |x_ij| for every column j."""
    ends: list[Any] = [X.max(axis=0), -X.min(axis=0)]
    dense = [end.toarray() if isinstance(X, sparse.csr_array) else end for end in ends]
    return np.asarray(np.maximum(*dense), dtype=np.float64).reshape(-1)


def mapped_maxima(maxima: Mapping[str, FloatArray], maps: Mapping[str, FeatureMap]) -> dict[str, FloatArray]:
    """Return upper bounds of φ(x)_j: 1 for RBF features and unit rows, else a power of max x_j."""
    bounds: dict[str, FloatArray] = {}
    for t, largest in maxima.items():
        phi = maps[t]
        if phi.anchors is not None:
            bounds[t] = np.ones(len(phi.anchors))
        else:
            bounds[t] = np.ones(len(largest)) if phi.unit_rows else largest**phi.power
    return bounds


def add_inplace(total: Sums, more: Sums) -> None:
    """Add the sums `more` to `total`; for HEIGHT, take the maximum instead."""
    for key, value in more.items():
        if key not in total:
            total[key] = value.copy()
        elif key == HEIGHT:
            np.maximum(total[key], value, out=total[key])
        else:
            total[key] += value


def on_grid(value: Any, bound: Any, items: int) -> FloatArray:
    """Round a block's sum so that adding the sums of all blocks is exact.

    The absolute value of the sum over all items must not exceed `bound`. If all items are in one block, the
    sum is not rounded.
    """
    if items <= ROWS:
        return np.asarray(value, dtype=np.float64)
    _, exponents = np.frexp(np.asarray(bound, dtype=np.float64))  # bound < 2^exponent
    units = np.ldexp(1.0, exponents - MANTISSA_BITS)
    rounded: FloatArray = np.array(value, dtype=np.float64)
    rounded /= units
    np.rint(rounded, out=rounded)
    rounded *= units
    return rounded


def code_sums(
    block: Block, Y: FloatArray, items: int, maxima: Mapping[str, FloatArray], ceiling: FloatArray, double: bool = False
) -> Sums:
    """Return XᵀY, YᵀY and 1ᵀY of a block, where |y_ik| ≤ ceiling_k; if `double`, YᵀY in double precision."""
    most = items * ceiling
    return {
        **{("XtY", t): on_grid(transposed_times(x, Y), np.outer(maxima[t], most), items) for t, x in block.X.items()},
        ("YtY", ""): on_grid(gram(Y) if double else Y.T @ Y, np.outer(ceiling, most), items),
        ("sum", ""): on_grid(column_sums(Y), most, items),
    }


@dataclass(frozen=True, eq=False)
class UniformRows:
    """A row of uniform random numbers for each item; drawing them in blocks or all at once gives the same."""

    state: Mapping[str, Any]  # state of the generator before the first number
    bits: int  # numbers in a row
    dtype: np.dtype[Any]

    @staticmethod
    def draw(rng: np.random.Generator, items: int, bits: int, dtype: Any) -> "UniformRows":
        """Represent `rng.random((items, bits), dtype)`, and advance `rng` as that call would."""
        rows = UniformRows(rng.bit_generator.state, bits, np.dtype(dtype))
        _skip(rng, items * bits, rows.dtype)
        return rows

    def block(self, start: int, rows: int) -> FloatArray:
        """Return the random numbers of `rows` consecutive items, the first of which is item `start`."""
        bit_generator: Any = np.random.PCG64()
        bit_generator.state = self.state
        rng = np.random.Generator(bit_generator)
        _skip(rng, start * self.bits, self.dtype)
        return rng.random((rows, self.bits), dtype=self.dtype.type)


def _skip(rng: np.random.Generator, numbers: int, dtype: np.dtype[Any]) -> None:
    """Advance `rng` past `numbers` uniform numbers: a double uses 64 random bits, a single 32."""
    if numbers == 0:
        return
    bit_generator: Any = rng.bit_generator  # PCG64, from default_rng
    before = bit_generator.state
    if dtype == np.float64:
        bit_generator.advance(numbers)
        buffer = {name: before[name] for name in ("has_uint32", "uinteger")}
        bit_generator.state = bit_generator.state | buffer
        return
    numbers -= before["has_uint32"]  # the buffer may hold the spare half of 64 bits
    bit_generator.advance(numbers // 2)
    if numbers % 2:
        rng.random(dtype=np.float32)
