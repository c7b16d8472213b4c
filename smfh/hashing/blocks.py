"""Training items in blocks of rows, in memory or on workers, and products and exact sums over blocks.

A method reads its items in passes. A pass calls a function with every block; the function returns the new
rows of the codes and the sums over this block. The same function works on a block in memory and on a block
that a worker reads from a file.

Products use the precision of the data inside a block, sums over blocks double precision. Floating-point sums
depend on the order of addition. The sums of each block of a pass are therefore rounded to multiples of a
power of two that is large enough for all later additions to be exact, in any order and grouping.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce, wraps
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap, scale_rows
from smfh.hamming import pack
from smfh.parallel import each_block, over_rows
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, Words

ROWS = 16_384  # rows of a block
TINY = 1e-15  # smaller factors are set to 0, because arithmetic with subnormal numbers is slow
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
        """Return the positions in this block of those `rows`, ascending among all items, that are in it.

        If `rows` is None, return all positions in the block.
        """
        if rows is None:
            return np.arange(len(self))
        first, end = np.searchsorted(rows, [self.start, self.start + len(self)])
        return np.asarray(rows[first:end] - self.start)


@dataclass(frozen=True)
class Pass:
    """A call of `work(block, *codes)` for every block; picklable, for use on workers."""

    work: Callable[..., tuple[Any, Sums]]
    bits: int = 0  # number of columns of the new codes; 0 if `work` returns only sums

    @property
    def name(self) -> str:
        return self.work.__name__

    def __call__(self, *block_and_codes: Any) -> tuple[Any, Sums]:
        """Call `work` without overflow warnings; the training loop checks the objective instead."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.work(*block_and_codes)


class Items:
    """The training items of a method, in memory; a subclass has them on workers."""

    def __init__(
        self,
        X: Mapping[str, Any],
        labels: Any,
        blocks: tuple[Block, ...] = (),
        maxima: Mapping[str, FloatArray] | None = None,
    ) -> None:
        self.X, self.labels = X, labels  # features before φ; rows can be read from each value, and from the labels
        self.blocks = blocks or tuple(
            Block(rows.start, {t: rows_of(x, rows) for t, x in X.items()}, labels[rows])
            for rows in (slice(start, start + ROWS) for start in range(0, len(labels), ROWS))
        )
        self.maxima = maxima or {t: column_maxima(x) for t, x in X.items()}  # upper bounds of |φ(x)_j|
        self.dtype: np.dtype[Any] = np.result_type(*(x.dtype for x in X.values()))
        self.sizes: IntArray = labels.sum(axis=0)  # number of items of each class
        self.unlabelled = int(np.count_nonzero(~labels.any(axis=1)))  # number of items without a label
        self.widths: Mapping[str, int] = {t: x.shape[1] for t, x in self.blocks[0].X.items()}  # dimensions of φ

    def __len__(self) -> int:
        return len(self.labels)

    def with_features(self, maps: Mapping[str, FeatureMap]) -> "Items":
        """Return the same items with the mapped features φ(x)."""

        def work(rows: slice) -> Block:
            block = self.blocks[rows.start]
            return Block(block.start, {t: maps[t](x) for t, x in block.X.items()}, block.labels)

        return Items(self.X, self.labels, tuple(over_rows(work, len(self.blocks), 1)), mapped_maxima(self.maxima, maps))

    def run(self, step: Pass, *codes: Codes) -> tuple[Codes, Sums]:
        """Run a pass over all blocks in any order; return the new codes and the sums."""
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

    def sweep(self, step: Pass, carried: Sums, *codes: Codes) -> tuple[Codes, Sums]:
        """Run a pass block by block in order; each call gets the sums that the previous call returned."""
        new = np.empty_like(codes[0])
        for block in self.blocks:
            new[block.rows], carried = step(block, carried, *(Y[block.rows] for Y in codes))
        return new, carried

    def take_codes(self, codes: Codes, rows: IntArray) -> FloatArray:
        """Return the given rows of the codes."""
        return np.asarray(codes[rows])

    def divide(self, codes: Codes, heights: FloatArray) -> Codes:
        """Return the codes with column k divided by heights[k]."""
        return codes / heights

    def pack(self, codes: Codes, thresholds: FloatArray) -> Words:
        """Return the packed bits codes > thresholds; empty if the codes stay on the workers."""
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
    """Return max_i |x_ij| for every column j, without copying X."""
    ends: list[Any] = [X.max(axis=0), -X.min(axis=0)]
    dense = [end.toarray() if isinstance(X, sparse.csr_array) else end for end in ends]
    return np.asarray(np.maximum(*dense), dtype=np.float64).reshape(-1)


def mapped_maxima(maxima: Mapping[str, FloatArray], maps: Mapping[str, FeatureMap]) -> dict[str, FloatArray]:
    """Return upper bounds of φ(x)_j: 1 for RBF features and unit rows, else a power of max x_j."""
    bounds: dict[str, FloatArray] = {}
    for t, largest in maxima.items():
        phi = maps[t]
        within_one = phi.anchors if phi.anchors is not None else largest if phi.unit_rows else None
        bounds[t] = largest**phi.power if within_one is None else np.ones(len(within_one))
    return bounds


def add_inplace(total: Sums, more: Sums) -> None:
    """Add the sums `more` to `total`; for HEIGHT, take the maximum instead."""
    for key, value in more.items():
        combine = np.maximum if key == HEIGHT else np.add
        total[key] = combine(total[key], value) if key in total else value


def on_grid(value: Any, bound: Any, items: int) -> FloatArray:
    """Round a block's sum so that adding the sums of all blocks is exact.

    The absolute value of the sum over all items must not exceed `bound`. If all items are in one block, the
    sum is not rounded.
    """
    exact: FloatArray = np.asarray(value, dtype=np.float64)
    if items <= ROWS:
        return exact
    _, exponents = np.frexp(np.asarray(bound, dtype=np.float64))  # bound < 2^exponent
    units = np.ldexp(1.0, exponents - MANTISSA_BITS)
    return np.asarray(np.rint(exact / units) * units)


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


def uniform_rows(rng: np.random.Generator, items: int, bits: int, dtype: Any) -> Callable[[Block], FloatArray]:
    """Return a function of a block that returns its rows of `rng.random((items, bits), dtype)`; advance `rng`."""
    states = []
    for start in range(0, items, ROWS):
        states.append(rng.bit_generator.state)
        rng.random((min(ROWS, items - start), bits), dtype)

    def uniform(block: Block) -> FloatArray:
        bit_generator: Any = np.random.PCG64()
        bit_generator.state = states[block.start // ROWS]
        return np.random.Generator(bit_generator).random((len(block), bits), dtype)

    return uniform


@dataclass(frozen=True, eq=False)
class BlockState:
    """The unknowns Y, U and W of SMFH, SMFH+ and CMFH, and products that several steps use."""

    Y: Codes
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    XtY: Mapping[str, FloatArray]
    YtY: FloatArray
    mean: FloatArray  # of the rows of Y, (bits,)


class BlockProblem:
    """The training items of SMFH, SMFH+ or CMFH, with sums of their features.

    The steps run functions on all blocks of items, on workers if the items are there. These functions are
    defined inside the steps and use local variables only, because everything they use is sent to the workers.
    """

    def __init__(self, data: Items, weights: Mapping[str, float], mu: float, bits: int) -> None:
        self.data, self.weights, self.mu, self.bits = data, weights, mu, bits  # λ_t and μ
        self.items, self.dtype, self.sizes = len(data), data.dtype, data.sizes.astype(np.float64)

    def sum_features(
        self, graph: Callable[[Block], Any] | None = None, max_degree: float = 0.0, without_gram: Sequence[str] = ()
    ) -> None:
        """Compute `features`, the sums 1ᵀX, ‖X‖² and XᵀX over all items, and the `means` of the features.

        `graph` returns the `LabelGraph` of a block; its factors are the rows of F (at most 1), its degrees the
        diagonal of D. With a graph, the sums XᵀF and XᵀDX are computed, too. If all degrees are 1, `max_degree`
        must be 0: XᵀDX then equals XᵀX and is left out. Modalities in `without_gram` get no XᵀX.
        """
        items, maxima = self.items, self.data.maxima

        def feature_sums(block: Block) -> tuple[None, Sums]:
            sums: Sums = {}
            for t, x in block.X.items():
                most, squares = maxima[t], np.outer(maxima[t], items * maxima[t])
                sums["sum", t] = on_grid(column_sums(x), items * most, items)
                sums["squared", t] = on_grid(squared_norm(x), np.trace(squares), items)
                if t not in without_gram:
                    sums["XtX", t] = on_grid(gram(x), squares, items)
                if graph is not None:
                    rows = graph(block)
                    sums["XtF", t] = on_grid(cross_product(x, rows.factors), items * most[:, None], items)
                    if max_degree:
                        scatter = cross_product(x, x, rows.degrees)
                        sums["XtDX", t] = on_grid(scatter, max_degree * squares, items)
            return None, sums

        _, self.features = self.data.run(Pass(feature_sums))
        self.means = {t: self.features["sum", t] / items for t in self.data.X}

    def scatter(self, t: str) -> FloatArray:
        """Return XᵀLX = XᵀDX − (XᵀF)(XᵀF)ᵀ for modality t and the graph that `sum_features` was given."""
        XtF = self.features["XtF", t]
        return np.asarray(self.features.get(("XtDX", t), self.features["XtX", t]) - XtF @ XtF.T)

    def centred_gram(self, t: str) -> FloatArray:
        """Return the Gram matrix of the centred features of modality t, X_cᵀX_c = XᵀX − N x̄ x̄ᵀ."""
        return np.asarray(self.features["XtX", t] - self.items * np.outer(self.means[t], self.means[t]))

    def new_codes(
        self, make: Callable[..., FloatArray], sums: Callable[[Block, FloatArray], Sums], *codes: Codes
    ) -> tuple[Codes, Sums]:
        """Return the codes that `make` returns for each block, and their sums."""

        @wraps(make)
        def step(block: Block, *codes: FloatArray) -> tuple[FloatArray, Sums]:
            Y = make(block, *codes)
            return Y, sums(block, Y)

        return self.data.run(Pass(step, self.bits), *codes)

    def summed(self, Y: Codes, sums: Sums) -> dict[str, Any]:
        """Return those fields of a state that a pass over the items computes."""
        return {
            "Y": Y,
            "XtY": {t: sums["XtY", t].astype(self.dtype) for t in self.data.X},
            "YtY": sums["YtY", ""].astype(self.dtype),
            "mean": sums["sum", ""] / self.items,
        }


def times(X: Matrix, V: FloatArray) -> FloatArray:
    """Return X V for a dense or sparse X."""
    if X.shape[0] <= ROWS:
        return X @ V
    return np.concatenate(over_rows(lambda rows: rows_of(X, rows) @ V, X.shape[0], ROWS))


def transposed_times(X: Matrix, Y: FloatArray) -> FloatArray:
    """Return the product XᵀY for a dense or sparse matrix X."""
    return sum_rows(lambda rows: rows_of(X, rows).T @ Y[rows], X.shape[0]).astype(np.result_type(X.dtype, Y.dtype))


def project(X: Mapping[str, Matrix], V: Mapping[str, FloatArray]) -> FloatArray:
    """Return the projections summed over all modalities t, Σ_t X_t V_t."""
    return reduce(np.add, (times(X[t], V[t]) for t in X))


def sum_rows(work: Callable[[slice], Any], rows: int) -> FloatArray:
    """Call `work` for all blocks of rows in parallel; return the sum of the results as doubles."""
    total: Any = 0.0
    for part in each_block(work, rows, ROWS) if rows else [work(slice(0, 0))]:
        total = total + np.asarray(part, dtype=np.float64)
    return np.asarray(total)


def gram(X: Matrix) -> FloatArray:
    """Return XᵀX in double precision, so that it can be centred and inverted."""
    return cross_product(X, X)


def cross_product(A: Matrix, B: Matrix, weights: FloatArray | None = None) -> FloatArray:
    """Return AᵀB, or Aᵀ diag(weights) B if weights are given, in double precision."""

    def work(rows: slice) -> FloatArray:
        a = A[rows].astype(np.float64)
        b = a if A is B else B[rows].astype(np.float64)  # BLAS computes only half of aᵀa
        part = a.T @ (b if weights is None else scale_rows(b, weights[rows]))
        return np.asarray(part.toarray() if sparse.issparse(part) else part)

    return sum_rows(work, A.shape[0])


def weighted_gram(U: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """Return the weighted sum of the bases' Gram matrices, Σ_t λ_t U_tᵀU_t."""
    return np.asarray(np.sum([weights[t] * (U[t].T @ U[t]) for t in U], axis=0))


def squared_norm(X: Matrix) -> float:
    """Return the sum of squares ‖X‖² of a dense or sparse X."""
    values = X.data if sparse.issparse(X) else X.reshape(-1)
    blocks = range(0, len(values), ROWS)
    return float(sum(float(np.vdot(values[i : i + ROWS], values[i : i + ROWS])) for i in blocks))


def column_means(X: Matrix) -> FloatArray:
    """Return the column means 1ᵀX / N in double precision, unlike SciPy's mean of a sparse X."""
    return np.asarray(sum_rows(lambda rows: column_sums(X[rows]), X.shape[0]) / X.shape[0])


def column_sums(X: Matrix) -> FloatArray:
    """Return the column sums 1ᵀX in double precision."""
    return np.asarray(X.astype(np.float64).sum(axis=0))


def inner(A: FloatArray, B: FloatArray) -> float:
    """Return ⟨A, B⟩, the sum of the elementwise products, in double precision."""
    return float(np.sum(A.astype(np.float64) * B))


def reconstruction_error(squared: float, U: FloatArray, XtY: FloatArray, YtY: FloatArray) -> float:
    """Return the error ‖X − YUᵀ‖² = ‖X‖² − 2⟨U, XᵀY⟩ + ⟨UᵀU, YᵀY⟩ without a pass over X."""
    return squared - 2 * inner(U, XtY) + inner(U.T @ U, YtY)


def drop_tiny(factor: FloatArray) -> FloatArray:
    """Return the array with values up to TINY replaced by 0."""
    return np.where(factor > TINY, factor, 0)
