"""Sixty-four items at a time in the vectors of the processor.

Numba's own vectors are half as wide as they could be, and it keeps no mask of which items passed a test; so
these few operations are written in LLVM's language, which any processor gets in its own instructions. Codes
and labels come word by word, (words, items), and the items from `start` to `start + 64` must exist.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 64
WORD, PLACE = ir.IntType(64), ir.IntType(32)
Vector = Any  # a value of LLVM
Operation = Callable[[Vector, Vector], Vector]
operation: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic  # called without the context


@operation
def popcount(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@operation
def any_within(context: Any, query: Any, database: Any, start: Any, bound: Any) -> Any:
    """Is any of the 64 distances d_i = Σ_w popcount(q_w ⊕ i_w) at most `bound`?"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nearest = _distances(context, builder, signature.args, *arguments[:3])
        for half in (32, 16, 8):  # the minimum is cheaper than one mask for each of the eight vectors
            low, high = _part(builder, nearest, 0, half), _part(builder, nearest, half, half)
            nearest = builder.select(builder.icmp_signed("<", low, high), low, high)
        within = builder.icmp_signed("<=", nearest, _repeat(builder, arguments[3], 8))
        return builder.icmp_unsigned("!=", builder.bitcast(within, ir.IntType(8)), ir.IntType(8)(0))

    return types.boolean(query, database, types.int64, types.int64), generate


@operation
def which_within(context: Any, query: Any, database: Any, start: Any, bound: Any) -> Any:
    """Bit i is on where distance d_i is at most `bound`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        distances = _distances(context, builder, signature.args, *arguments[:3])
        within = builder.icmp_signed("<=", distances, _repeat(builder, arguments[3], LANES))
        return builder.bitcast(within, WORD)

    return types.uint64(query, database, types.int64, types.int64), generate


@operation
def fill_cells_inplace(
    context: Any, query: Any, database: Any, asked: Any, labels: Any, start: Any, shift: Any, cells: Any
) -> Any:
    """cells_i = d_i + 2^shift · [⋁_w (asked_w ∧ labels_i,w ≠ 0)]: distance and relevance in one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        query, database, asked, labels, start, shift, cells = arguments
        kinds = signature.args
        cell = context.get_value_type(kinds[6].dtype)
        far = _narrow(builder, _distances(context, builder, kinds, query, database, start), cell)
        common = _common(context, builder, kinds[2:], asked, labels, start)
        relevant = builder.icmp_unsigned("!=", common, ir.Constant(common.type, [0] * LANES))
        flag = _repeat(builder, builder.shl(cell(1), builder.trunc(shift, cell)), LANES)
        row = builder.select(relevant, builder.or_(far, flag), far)
        there = context.make_array(kinds[6])(context, builder, cells).data
        pointer = builder.bitcast(builder.gep(there, [start]), row.type.as_pointer())
        builder.store(row, pointer, align=1)
        return context.get_dummy_value()

    return types.void(query, database, asked, labels, types.int64, types.int64, cells), generate


@operation
def which_cells_within(context: Any, cells: Any, start: Any, shift: Any, bound: Any) -> Any:
    """Bit i is on where the distance in cells_i is at most `bound`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, start, shift, bound = arguments
        cell = context.get_value_type(signature.args[0].dtype)
        there = context.make_array(signature.args[0])(context, builder, cells).data
        row = _load(builder, builder.gep(there, [start]), ir.VectorType(cell, LANES))
        mask = builder.trunc(builder.sub(builder.shl(WORD(1), shift), WORD(1)), cell)
        distances = builder.and_(row, _repeat(builder, mask, LANES))
        bounds = _repeat(builder, builder.trunc(bound, cell), LANES)
        return builder.bitcast(builder.icmp_unsigned("<=", distances, bounds), WORD)

    return types.uint64(cells, types.int64, types.int64, types.int64), generate


def _distances(context: Any, builder: Any, kinds: Any, query: Any, database: Any, start: Any) -> Vector:
    """d_i = Σ_w popcount(q_w ⊕ i_w)"""
    vector = _wide(LANES)
    count = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
    )

    def differing(word: Vector, items: Vector) -> Vector:
        return builder.call(count, [builder.xor(word, items)])

    return _over_words(context, builder, kinds, query, database, start, differing, builder.add)


def _common(context: Any, builder: Any, kinds: Any, query: Any, database: Any, start: Any) -> Vector:
    """⋁_w (q_w ∧ i_w)"""
    return _over_words(context, builder, kinds, query, database, start, builder.and_, builder.or_)


def _over_words(
    context: Any,
    builder: Any,
    kinds: Any,
    query: Any,
    database: Any,
    start: Any,
    meet: Operation,
    combine: Operation,
) -> Vector:
    """Let each word of the query meet that of the 64 items, and combine what comes of it."""
    asked = context.make_array(kinds[0])(context, builder, query)
    searched = context.make_array(kinds[1])(context, builder, database)
    words, items = cgutils.unpack_tuple(builder, searched.shape, 2)

    def met(w: Any) -> Vector:
        word = _repeat(builder, builder.load(builder.gep(asked.data, [w])), LANES)
        place = builder.add(builder.mul(w, items), start)
        return meet(word, _load(builder, builder.gep(searched.data, [place]), _wide(LANES)))

    total = cgutils.alloca_once_value(builder, met(WORD(0)))
    with cgutils.for_range_slice(builder, WORD(1), words, WORD(1), inc=True) as (w, _):
        builder.store(combine(builder.load(total), met(w)), total)
    return builder.load(total)


def _narrow(builder: Any, vector: Vector, cell: Any) -> Vector:
    """The low part of every lane, in order.

    Eight lanes at a time are shifted into one another, which is cheaper than to shorten each eight alone;
    what then lies across is put in order by one permutation.
    """
    per_word = 64 // cell.width
    rows = []
    for first in range(0, LANES, 8 * per_word):
        packed = _part(builder, vector, first, 8)
        for k in range(1, per_word):
            shift = ir.Constant(_wide(8), [k * cell.width] * 8)
            packed = builder.or_(packed, builder.shl(_part(builder, vector, first + 8 * k, 8), shift))
        across = builder.bitcast(packed, ir.VectorType(cell, 8 * per_word))
        in_order = [per_word * i + k for k in range(per_word) for i in range(8)]
        rows.append(_chosen(builder, across, across, in_order))
    while len(rows) > 1:
        size = 2 * rows[0].type.count
        rows = [_chosen(builder, *pair, range(size)) for pair in zip(rows[::2], rows[1::2], strict=True)]
    return rows[0]


def _wide(lanes: int) -> Any:
    return ir.VectorType(WORD, lanes)


def _load(builder: Any, pointer: Any, kind: Any) -> Vector:
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=1)


def _repeat(builder: Any, value: Any, lanes: int) -> Vector:
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(nothing, value, PLACE(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(PLACE, lanes), [0] * lanes))


def _part(builder: Any, vector: Vector, first: int, lanes: int) -> Vector:
    return _chosen(builder, vector, vector, range(first, first + lanes))


def _chosen(builder: Any, one: Vector, other: Vector, lanes: Iterable[int]) -> Vector:
    """These lanes of two vectors, numbered through."""
    numbers = list(lanes)
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(PLACE, len(numbers)), numbers))
