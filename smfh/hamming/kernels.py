"""Nearest items, and counts by distance and relevance, of a few queries at a time; compiled on first use.
Where codes repeat, each is met once, and the lists of the items that have it are merged.

Codes and labels come as blocks of octets, (blocks, octets, items): octet o of all items of a block lies side
by side, so that a plain loop over the items becomes the processor's widest vectors, whichever it has. A block
stays in the cache while every query meets it. Items are put in order by counting, not by sorting: a distance
is at most the number of bits.

All that is compiled stands in this file, since Numba's cache would not see a change in another one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from smfh.types import FloatArray, IntArray, Words

Octets = NDArray[np.uint8]

compiled = njit(cache=True, nogil=True, error_model="numpy")
# a sum may be taken in any order, so that it is taken in vectors
compiled_sum = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
operation: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic  # called without the context
LANES = 64  # items whose distances are compared with a bound together
SUMMED = 16  # octets whose distances are summed as octets: at most 128
HALF = 32
LOW = (1 << HALF) - 1
ONE = np.uint64(1)
SCATTER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: near codes get far slots of a table


@operation
def popcount(context: Any, word: Any) -> Any:
    """How many bits of a word, of any width, are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


@operation
def which_within(context: Any, distances: Any, start: Any, bound: Any) -> Any:
    """Bit i is set where distances[start + i] is at most `bound`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cell, place = context.get_value_type(signature.args[0].dtype), ir.IntType(32)
        vector = ir.VectorType(cell, LANES)
        row = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(row.data, [arguments[1]]), vector.as_pointer())
        unset = ir.Constant(vector, ir.Undefined)
        single = builder.insert_element(unset, builder.trunc(arguments[2], cell), place(0))
        bounds = builder.shuffle_vector(single, unset, ir.Constant(ir.VectorType(place, LANES), [0] * LANES))
        within = builder.icmp_unsigned("<=", builder.load(pointer, align=1), bounds)
        return builder.bitcast(within, ir.IntType(LANES))

    return types.uint64(distances, types.int64, types.int64), generate


@compiled
def _differing(query: Octets, block: Octets, o: int, i: int) -> np.uint8:
    return np.uint8(popcount(np.uint8(block[o, i] ^ query[o])))


@compiled
def _differing_in_four(query: Octets, block: Octets, o: int, i: int) -> np.uint8:
    return np.uint8(
        _differing(query, block, o, i)
        + _differing(query, block, o + 1, i)
        + _differing(query, block, o + 2, i)
        + _differing(query, block, o + 3, i)
    )


@compiled
def _sum_inplace(query: Octets, block: Octets, first: int, end: int, sums: IntArray) -> None:
    """Σ_o popcount(q_o ⊕ i_o) over the octets from `first` to `end`, of every item of a block."""
    for i in range(sums.shape[0]):
        sums[i] = _differing_in_four(query, block, first, i)
    for o in range(first + 4, end, 4):
        for i in range(sums.shape[0]):
            sums[i] += _differing_in_four(query, block, o, i)


@compiled
def _measure_inplace(query: Octets, block: Octets, sums: Octets, distances: IntArray) -> None:
    """d_i = Σ_o popcount(q_o ⊕ i_o) of every item of a block; `sums` is room for what fits into octets."""
    if distances.itemsize == 1:
        _sum_inplace(query, block, 0, block.shape[0], distances)
        return
    distances[:] = 0
    for first in range(0, block.shape[0], SUMMED):
        _sum_inplace(query, block, first, min(first + SUMMED, block.shape[0]), sums)
        for i in range(distances.shape[0]):
            distances[i] += sums[i]


@compiled
def _drop_inplace(candidates: IntArray, bound: int, within: int, top: int) -> int:
    """Keep the candidates that can be among the `top`: those within the bound, then the first just beyond."""
    number, beyond = 0, top - within
    for k in range(candidates.shape[0]):
        item, distance = candidates[k, 0], candidates[k, 1]
        if distance <= bound or (distance == bound + 1 and beyond > 0):
            candidates[number, 0], candidates[number, 1] = item, distance
            number += 1
            beyond -= distance > bound
    return number


@compiled
def _keep_inplace(
    distances: IntArray,
    first: int,
    top: int,
    bound: int,
    within: int,
    number: int,
    counts: IntArray,
    candidates: IntArray,
) -> tuple[int, int, int]:
    """Add the items of a block that are near enough to the `number` candidates so far.

    As soon as `top` lie within the bound, a later one at that distance comes too late: the bound sinks.
    """
    for start in range(0, distances.shape[0], LANES):
        if bound < 0:
            break
        near = which_within(distances, start, bound)
        while near:
            i = start + np.int64(popcount((near & (~near + ONE)) - ONE))  # the lowest bit that is set
            near &= near - ONE
            distance = np.int64(distances[i])
            if distance <= bound:  # which may have sunk since
                if number == candidates.shape[0]:
                    number = _drop_inplace(candidates, bound, within, top)
                candidates[number, 0], candidates[number, 1] = first + i, distance
                number += 1
                counts[distance] += 1
                within += 1
                while within >= top:
                    within -= counts[bound]
                    bound -= 1
    return bound, within, number


@compiled
def _starts_inplace(counts: IntArray) -> None:
    """Counts by distance become what stands before the first item at each distance."""
    before = 0
    for distance in range(counts.shape[0]):
        here = counts[distance]
        counts[distance] = before
        before += here


@compiled
def _sort_inplace(candidates: IntArray, counts: IntArray, order: IntArray, nearest: IntArray) -> None:
    """The nearest candidates and their distances in order of distance, ties as they come."""
    counts[:] = 0
    for k in range(candidates.shape[0]):
        counts[candidates[k, 1]] += 1
    _starts_inplace(counts)
    for k in range(candidates.shape[0]):
        item, distance = candidates[k, 0], candidates[k, 1]
        position = counts[distance]
        counts[distance] += 1
        if position < order.shape[0]:
            order[position], nearest[position] = item, distance


@compiled
def rank_inplace(
    queries: Octets,
    blocks: Octets,
    items: int,
    distances: IntArray,
    candidates: IntArray,
    order: IntArray,
    nearest: IntArray,
) -> None:
    """Fill `order` and `nearest` (queries, top) with the nearest items, ties in database order.

    `distances` (items of a block) and `candidates` (queries, 2 · top or all items, 2) are room to work in.
    """
    bits, size, top = 8 * blocks.shape[1], blocks.shape[2], order.shape[1]
    counts = np.zeros((queries.shape[0], bits + 1), dtype=np.int64)
    bounds = np.full(queries.shape[0], bits, dtype=np.int64)
    within, number = np.zeros((2, queries.shape[0]), dtype=np.int64)
    sums = np.empty(size, dtype=np.uint8)
    for b in range(blocks.shape[0]):
        first = b * size
        for q in range(queries.shape[0]):
            _measure_inplace(queries[q], blocks[b], sums, distances)
            distances[items - first :] = ~distances.dtype.type(0)  # behind the last item: beyond every bound
            bounds[q], within[q], number[q] = _keep_inplace(
                distances, first, top, bounds[q], within[q], number[q], counts[q], candidates[q]
            )
    for q in range(queries.shape[0]):
        _sort_inplace(candidates[q, : number[q]], counts[q], order[q], nearest[q])


@compiled
def _are_equal(a: Words, b: Words) -> bool:
    differing = np.uint64(0)
    for w in range(a.shape[0]):
        differing |= a[w] ^ b[w]
    return bool(differing == 0)


@compiled
def number_inplace(codes: Words, table: IntArray, firsts: IntArray, which: IntArray) -> int:
    """Number the distinct rows as they first appear: `which` of them each row is, `firsts` where they do.

    Returns how many there are, or −1 as soon as they are more than `firsts` has room for. `table`, all −1,
    has a power of two slots, more than that.
    """
    number, last = 0, table.shape[0] - 1
    for i in range(codes.shape[0]):
        scattered = np.uint64(0)
        for w in range(codes.shape[1]):
            scattered = (scattered ^ codes[i, w]) * SCATTER
            scattered ^= scattered >> np.uint64(HALF)
        slot = np.int64(scattered & np.uint64(last))
        while table[slot] >= 0 and not _are_equal(codes[firsts[table[slot]]], codes[i]):
            slot = (slot + 1) & last
        if table[slot] < 0:
            if number == firsts.shape[0]:
                return -1
            table[slot], firsts[number] = number, i
            number += 1
        which[i] = table[slot]
    return number


@compiled
def list_inplace(which: IntArray, starts: IntArray, rows: IntArray) -> None:
    """The rows that have code c, ascending, are rows[starts[c] : starts[c + 1]]; `starts` comes as zeros."""
    for i in range(which.shape[0]):
        starts[which[i] + 1] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    following = starts.copy()
    for i in range(which.shape[0]):
        rows[following[which[i]]] = i
        following[which[i]] += 1


@compiled
def _sink_inplace(heap: IntArray, size: int) -> None:
    """Let the first of a heap sink to its place."""
    key, k = heap[0], 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[k] = heap[child]
        k = child
    heap[k] = key


@compiled
def merge_inplace(
    codes: IntArray, far: IntArray, starts: IntArray, rows: IntArray, order: IntArray, nearest: IntArray
) -> None:
    """Fill `order` and `nearest` (queries, top) from the nearest distinct codes and the rows of each.

    `codes` and `far` (queries, some) have the codes in order of distance, then of their first rows. No more
    than `top` of them are needed: whatever comes earlier in that order has a row that comes earlier too.
    """
    some, top = codes.shape[1], order.shape[1]
    heap, place = np.empty(some, dtype=np.int64), np.empty(some, dtype=np.int64)
    for q in range(codes.shape[0]):
        first, p = 0, 0
        while p < top:
            end = first
            while end < some and far[q, end] == far[q, first]:
                place[end] = starts[codes[q, end]]
                heap[end - first] = (np.int64(rows[place[end]]) << HALF) | end  # ascending: a heap as it is
                end += 1
            size = end - first
            while size and p < top:
                k = heap[0] & LOW
                order[q, p], nearest[q, p] = heap[0] >> HALF, far[q, first]
                p += 1
                place[k] += 1
                if place[k] < starts[codes[q, k] + 1]:
                    heap[0] = (np.int64(rows[place[k]]) << HALF) | k
                else:
                    size -= 1
                    heap[0] = heap[size]
                _sink_inplace(heap, size)
            first = end


@compiled
def sort_all_inplace(
    far: IntArray, starts: IntArray, which: IntArray, order: IntArray, nearest: IntArray
) -> None:
    """Fill `order` and `nearest` (queries, top) by one pass over all items, each as far as its code.

    `far` (queries, codes) has the distances of the distinct codes.
    """
    top, counts, everything = order.shape[1], np.zeros(far.max() + 1, dtype=np.int64), np.empty_like(which)
    for q in range(far.shape[0]):
        for c in range(far.shape[1]):
            counts[far[q, c]] += starts[c + 1] - starts[c]
        _starts_inplace(counts)
        for i in range(which.shape[0]):
            distance = far[q, which[i]]
            everything[counts[distance]] = i
            counts[distance] += 1
        for p in range(top):
            order[q, p] = everything[p]
            nearest[q, p] = far[q, which[everything[p]]]
        for d in range(counts.shape[0]):
            counts[d] = 0


@compiled
def _flag_inplace(query: Octets, block: Octets, flag: int, common: Octets, cells: IntArray) -> None:
    """cells_i += flag where ⋁_o (q_o ∧ i_o ≠ 0): item and query share a label"""
    common[:] = 0
    for o in range(block.shape[0]):
        for i in range(common.shape[0]):
            common[i] |= block[o, i] & query[o]
    for i in range(common.shape[0]):
        cells[i] += flag * (common[i] != 0)  # no branch, or it would not be done in vectors


@compiled_sum
def _sum_precisions(before: IntArray, at: IntArray, starts: IntArray) -> float:
    """Σ (relevant + 1) / (items + 1) over the relevant items, from what stands before each of them."""
    total = 0.0
    for k in range(before.shape[0]):
        both = before[k] + starts[at[k]]
        total += (np.int32(both >> HALF) + 1.0) / (np.int32(both & LOW) + 1.0)  # vectors convert 32 bits
    return total


@compiled
def tally_inplace(
    queries: Octets,
    blocks: Octets,
    query_labels: Octets,
    label_blocks: Octets,
    items: int,
    shift: int,
    cells: IntArray,
    items_at: IntArray,
    relevant_at: IntArray,
    precision_sums: FloatArray,
    starts: IntArray,
) -> None:
    """Count all items by distance and relevance, and sum the precisions at the relevant ones.

    `cells` (some, blocks, items of a block) is room for d + 2^shift · relevant of some queries at a time.
    `starts` (queries, 2^shift) tells what stands before the first item at each distance, items in the low
    half of a word; empty: what is nearer among these items.
    """
    some = cells.shape[0]
    room, nothing = np.empty(blocks.shape[2], dtype=np.uint8), np.empty(0, dtype=np.int64)
    before, at = np.empty(items, dtype=np.int64), np.empty(items, dtype=np.uint16)
    for first in range(0, queries.shape[0], some):
        end = min(first + some, queries.shape[0])
        for b in range(blocks.shape[0]):
            for q in range(first, end):
                row = cells[q - first, b]
                _measure_inplace(queries[q], blocks[b], room, row)
                _flag_inplace(query_labels[q], label_blocks[b], 1 << shift, room, row)
        for q in range(first, end):
            row = cells[q - first].reshape(-1)[:items]
            first_at = starts[q] if starts.shape[0] else nothing
            precision_sums[q] = _tally_row_inplace(
                row, shift, before, at, items_at[q], relevant_at[q], first_at
            )


@compiled
def _tally_row_inplace(
    cells: IntArray,
    shift: int,
    before: IntArray,
    at: IntArray,
    items_at: IntArray,
    relevant_at: IntArray,
    starts: IntArray,
) -> float:
    """Counts of one query; returns its sum of precisions.

    What stands before an item is what is nearer, known at the end, and what came earlier at its own distance.
    """
    # items in the low half of a word, relevant ones in the high half: one access counts both
    counts = np.zeros(1 << shift, dtype=np.int64)
    number = 0
    for i in range(cells.shape[0]):
        cell = int(cells[i])
        distance, relevant = cell & ((1 << shift) - 1), cell >> shift
        here = counts[distance]
        before[number], at[number] = here, distance
        counts[distance] = here + 1 + (relevant << HALF)
        number += relevant
    for d in range(items_at.shape[0]):
        items_at[d], relevant_at[d] = counts[d] & LOW, counts[d] >> HALF
    if starts.shape[0]:
        counts[:] = starts
    else:
        _starts_inplace(counts)
    return _sum_precisions(before[:number], at[:number], counts)
