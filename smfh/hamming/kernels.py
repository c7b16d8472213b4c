"""Compiled kernels that rank items, or count them by distance and relevance, for a batch of queries.

Codes and labels are blocks of octets, (blocks, octets, items): octet o of all items of a block is contiguous,
so that a loop over the items uses the widest vectors of the processor. A block stays in the cache while it is
compared with every query. Items are ordered by a counting sort, since there are few different distances.
Identical codes are compared once, and the lists of their items are merged.

All compiled code is in this file, because Numba's cache does not notice changes in other files.
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
# The compiler may reorder sums, so that it can vectorise them.
compiled_sum = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
operation: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic  # called without `context`
LANES = 64  # number of items whose distances are compared with a bound at once
SUMMED_OCTETS = 16  # so many octets differ in at most 128 bits, a sum that fits in one octet
HALF_BITS = 32
LOW_HALF = (1 << HALF_BITS) - 1
ONE = np.uint64(1)
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: similar codes get distant slots


@operation
def popcount(context: Any, word: Any) -> Any:
    """Return the number of 1 bits in a word of any width."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


@operation
def which_within(context: Any, distances: Any, start: Any, bound: Any) -> Any:
    """Return a word of LANES bits; bit i is 1 if distances[start + i] ≤ bound."""

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
    """Set `sums` to Σ_o popcount(q_o ⊕ i_o) over octets first ≤ o < end, for each item of a block."""
    for i in range(sums.shape[0]):
        sums[i] = _differing_in_four(query, block, first, i)
    for o in range(first + 4, end, 4):
        for i in range(sums.shape[0]):
            sums[i] += _differing_in_four(query, block, o, i)


@compiled
def _measure_inplace(query: Octets, block: Octets, sums: Octets, distances: IntArray) -> None:
    """Set d_i = Σ_o popcount(q_o ⊕ i_o) for each item of a block; `sums` is working memory."""
    if distances.itemsize == 1:
        _sum_inplace(query, block, 0, block.shape[0], distances)
        return
    distances[:] = 0
    for first in range(0, block.shape[0], SUMMED_OCTETS):
        _sum_inplace(query, block, first, min(first + SUMMED_OCTETS, block.shape[0]), sums)
        for i in range(distances.shape[0]):
            distances[i] += sums[i]


@compiled
def _drop_inplace(candidates: IntArray, bound: int, within: int, top: int) -> int:
    """Drop candidates that cannot be among the `top` nearest; return the number of the others.

    The `within` candidates at distances up to the bound stay, and so do the first top − within at bound + 1.
    """
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
    """Append the items of a block within the bound to `candidates`; return bound, within, number.

    There are `number` candidates, `within` of them within the bound. As soon as `top` candidates are within
    the bound, later items at the distance `bound` are not needed, so the bound decreases.
    """
    for start in range(0, distances.shape[0], LANES):
        if bound < 0:
            break
        near = which_within(distances, start, bound)
        while near:
            i = start + np.int64(popcount((near & (~near + ONE)) - ONE))  # position of the lowest 1 bit
            near &= near - ONE
            distance = np.int64(distances[i])
            if distance <= bound:  # the bound may have decreased since
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
    """Replace the number of items at each distance by the number of items at smaller distances."""
    before = 0
    for distance in range(counts.shape[0]):
        here = counts[distance]
        counts[distance] = before
        before += here


@compiled
def _sort_inplace(candidates: IntArray, counts: IntArray, order: IntArray, nearest: IntArray) -> None:
    """Fill `order` and `nearest` with the candidates sorted by distance, ties in the given order."""
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
    """Fill `order` and `nearest` (queries, top) with the nearest items and their distances.

    Ties are in database order. `distances` (items of a block) and `candidates` (queries, places, 2) are
    working memory; there are 2 · top places, or one for each item if that is fewer.
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
            distances[items - first :] = ~distances.dtype.type(0)  # padding: beyond every bound
            bounds[q], within[q], number[q] = _keep_inplace(
                distances, first, top, bounds[q], within[q], number[q], counts[q], candidates[q]
            )
    for q in range(queries.shape[0]):
        _sort_inplace(candidates[q, : number[q]], counts[q], order[q], nearest[q])


@compiled
def _fill_tables_inplace(weights: IntArray, tables: IntArray) -> None:
    """Set tables[o, x] to the sum of the weights of those bits of octet o that are 1 in x; (octets, 256)."""
    tables[:, 0] = 0
    for o in range(tables.shape[0]):
        for x in range(1, 256):
            lowest = popcount(np.uint8((x & -x) - 1))
            tables[o, x] = tables[o, x & (x - 1)] + weights[8 * o + lowest]


@compiled
def _heaviness(x: np.uint8, planes: Octets, o: int) -> np.uint8:
    return np.uint8(
        popcount(np.uint8(x & planes[0, o]))
        + 2 * popcount(np.uint8(x & planes[1, o]))
        + 4 * popcount(np.uint8(x & planes[2, o]))
        + 8 * popcount(np.uint8(x & planes[3, o]))
    )


@compiled
def _bound_below_inplace(query: Octets, block: Octets, planes: Octets, lower: IntArray) -> None:
    """Set `lower` to Σ_k v_k [b_k ≠ q_k] for the bits b of each item of a block and the query's bits q.

    Bit j of the quantised weight v_k is bit k of planes[j].
    """
    lower[:] = 0
    for o in range(block.shape[0]):
        for i in range(lower.shape[0]):
            lower[i] += _heaviness(np.uint8(block[o, i] ^ query[o]), planes, o)


@compiled
def _keep_weighted_inplace(
    query: Octets,
    block: Octets,
    tables: IntArray,
    lower: IntArray,
    unit: int,
    first: int,
    top: int,
    bound: int,
    number: int,
    candidates: IntArray,
) -> tuple[int, int]:
    """Append the items of a block within the bound to `candidates`; return bound and number.

    A distance is at least unit · lower. A candidate is a word with the distance in its high half and the item
    in its low half, so that sorting leaves ties in database order. When `candidates` is full, only the `top`
    nearest stay, and a later item is added only if it is nearer than the last of these.
    """
    largest = np.int64(~lower.dtype.type(0)) - 1  # padding is larger
    for start in range(0, lower.shape[0], LANES):
        if bound < 0:
            break
        near = which_within(lower, start, min(bound // unit, largest))
        while near:
            i = start + np.int64(popcount((near & (~near + ONE)) - ONE))  # position of the lowest 1 bit
            near &= near - ONE
            distance = np.int64(0)
            for o in range(query.shape[0]):
                distance += np.int64(tables[o, block[o, i] ^ query[o]])
            if distance > bound:
                continue
            if number == candidates.shape[0]:
                candidates.sort()
                number, bound = top, (candidates[top - 1] >> HALF_BITS) - 1
            if distance <= bound:
                candidates[number] = (distance << HALF_BITS) | (first + i)
                number += 1
    return bound, number


@compiled
def rank_weighted_inplace(
    queries: Octets,
    weights: IntArray,
    planes: Octets,
    units: IntArray,
    blocks: Octets,
    items: int,
    lower: IntArray,
    candidates: IntArray,
    order: IntArray,
    nearest: IntArray,
) -> None:
    """Fill `order` and `nearest` (queries, top) with the items at the smallest asymmetric distances.

    Ties are in database order. `planes` (queries, 4, octets) contain the bits of v_k = ⌊w_k / unit⌋, so that
    most items are excluded by counting bits. The distances of the others are read from tables. `lower` (items
    of a block) and `candidates` (queries, places) are working memory; there are more than `top` places, or
    one for each item.
    """
    number_of_queries, size, top = queries.shape[0], blocks.shape[2], order.shape[1]
    bounds = np.full(number_of_queries, LOW_HALF - 1, dtype=np.int64)
    number = np.zeros(number_of_queries, dtype=np.int64)
    tables = np.empty((number_of_queries, queries.shape[1], 256), dtype=np.uint32)
    for q in range(number_of_queries):
        _fill_tables_inplace(weights[q], tables[q])
    for b in range(blocks.shape[0]):
        first = b * size
        for q in range(number_of_queries):
            _bound_below_inplace(queries[q], blocks[b], planes[q], lower)
            lower[items - first :] = ~lower.dtype.type(0)  # padding: beyond every bound
            bounds[q], number[q] = _keep_weighted_inplace(
                queries[q], blocks[b], tables[q], lower, units[q], first, top, bounds[q], number[q], candidates[q]
            )
    for q in range(number_of_queries):
        found = candidates[q, : number[q]]
        found.sort()
        for p in range(top):
            order[q, p], nearest[q, p] = found[p] & LOW_HALF, found[p] >> HALF_BITS


@compiled
def _are_equal(a: Words, b: Words) -> bool:
    differing = np.uint64(0)
    for w in range(a.shape[0]):
        differing |= a[w] ^ b[w]
    return bool(differing == 0)


@compiled
def number_inplace(codes: Words, table: IntArray, firsts: IntArray, which: IntArray) -> int:
    """Number the distinct codes from 0 in order of first appearance; return how many there are.

    If there are more distinct codes than `firsts` has elements, −1 is returned. Otherwise which[i] becomes
    the number of the code of row i, and firsts[c] the first row with code c. `table` is working memory for a
    hash table: all its elements must be −1, and its length must be a power of two and exceed that of
    `firsts`.
    """
    number, last = 0, table.shape[0] - 1
    for i in range(codes.shape[0]):
        hashed = np.uint64(0)
        for w in range(codes.shape[1]):
            hashed = (hashed ^ codes[i, w]) * HASH_FACTOR
            hashed ^= hashed >> np.uint64(HALF_BITS)
        slot = np.int64(hashed & np.uint64(last))
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
    """List the rows of each code: rows[starts[c] : starts[c + 1]], in ascending order, have code c.

    `starts` and `rows` are filled; all elements of `starts` must be 0 before.
    """
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
    """Move the first element of a heap down until the heap is in order again."""
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

    `codes` and `far` (queries, some) are the nearest codes and their distances, sorted by distance and then
    by first row. At most `top` codes are needed, because each has at least one row.
    """
    some, top = codes.shape[1], order.shape[1]
    heap, place = np.empty(some, dtype=np.int64), np.empty(some, dtype=np.int64)
    for q in range(codes.shape[0]):
        first, p = 0, 0
        while p < top:
            end = first
            while end < some and far[q, end] == far[q, first]:
                place[end] = starts[codes[q, end]]
                heap[end - first] = (np.int64(rows[place[end]]) << HALF_BITS) | end  # ascending: already a heap
                end += 1
            size = end - first
            while size and p < top:
                k = heap[0] & LOW_HALF
                order[q, p], nearest[q, p] = heap[0] >> HALF_BITS, far[q, first]
                p += 1
                place[k] += 1
                if place[k] < starts[codes[q, k] + 1]:
                    heap[0] = (np.int64(rows[place[k]]) << HALF_BITS) | k
                else:
                    size -= 1
                    heap[0] = heap[size]
                _sink_inplace(heap, size)
            first = end


@compiled
def sort_all_inplace(far: IntArray, starts: IntArray, which: IntArray, order: IntArray, nearest: IntArray) -> None:
    """Fill `order` and `nearest` (queries, top) in one pass over all items.

    `far` (queries, codes) contains the distances to the distinct codes.
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
    """Add `flag` to cells_i if item i and the query share a label: ⋁_o (q_o ∧ i_o ≠ 0)."""
    common[:] = 0
    for o in range(block.shape[0]):
        for i in range(common.shape[0]):
            common[i] |= block[o, i] & query[o]
    for i in range(common.shape[0]):
        cells[i] += flag * (common[i] != 0)  # without a branch, so that the loop is vectorised


@compiled_sum
def _sum_precisions(before: IntArray, at: IntArray, starts: IntArray) -> float:
    """Return the sum of the precisions (relevant before + 1) / (items before + 1) at relevant items."""
    total = 0.0
    for k in range(before.shape[0]):
        both = before[k] + starts[at[k]]
        total += (np.int32(both >> HALF_BITS) + 1.0) / (
            np.int32(both & LOW_HALF) + 1.0
        )  # vector instructions convert 32-bit integers
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
) -> None:
    """Count all items by distance and relevance, and sum the precisions at the relevant items.

    `cells` (some, blocks, items of a block) is working memory: an element is d + 2^shift · relevant for the
    distance d and the relevance (0 or 1) of an item. So many queries are counted at a time.
    """
    some, memory = cells.shape[0], np.empty(blocks.shape[2], dtype=np.uint8)
    before, at = np.empty(items, dtype=np.int64), np.empty(items, dtype=np.uint16)
    for first in range(0, queries.shape[0], some):
        end = min(first + some, queries.shape[0])
        for b in range(blocks.shape[0]):
            for q in range(first, end):
                row = cells[q - first, b]
                _measure_inplace(queries[q], blocks[b], memory, row)
                _flag_inplace(query_labels[q], label_blocks[b], 1 << shift, memory, row)
        for q in range(first, end):
            row = cells[q - first].reshape(-1)[:items]
            precision_sums[q] = _tally_row_inplace(row, shift, before, at, items_at[q], relevant_at[q])


@compiled
def tally_levels_inplace(
    levels: IntArray,
    which: IntArray,
    query_labels: Octets,
    label_blocks: Octets,
    shift: int,
    items_at: IntArray,
    relevant_at: IntArray,
    precision_sums: FloatArray,
) -> None:
    """Count items as `tally_inplace` does, but by levels instead of distances.

    The level of item i for query q is levels[q, which[i]].
    """
    items, size = which.shape[0], label_blocks.shape[2]
    cells, memory = np.zeros((label_blocks.shape[0], size), dtype=np.int32), np.empty(size, dtype=np.uint8)
    before, at = np.empty(items, dtype=np.int64), np.empty(items, dtype=np.int32)
    row = cells.reshape(-1)[:items]
    for q in range(levels.shape[0]):
        for i in range(items):
            row[i] = levels[q, which[i]]
        for b in range(label_blocks.shape[0]):
            _flag_inplace(query_labels[q], label_blocks[b], 1 << shift, memory, cells[b])
        precision_sums[q] = _tally_row_inplace(row, shift, before, at, items_at[q], relevant_at[q])


@compiled
def _tally_row_inplace(
    cells: IntArray, shift: int, before: IntArray, at: IntArray, items_at: IntArray, relevant_at: IntArray
) -> float:
    """Count the items of one query by distance and relevance; return its sum of precisions.

    An item ranks after all nearer items, which are added at the end, and after earlier items at its distance.
    """
    # One word counts both: items in its low half, relevant items in its high half.
    counts = np.zeros(1 << shift, dtype=np.int64)
    number = 0
    for i in range(cells.shape[0]):
        cell = int(cells[i])
        distance, relevant = cell & ((1 << shift) - 1), cell >> shift
        here = counts[distance]
        before[number], at[number] = here, distance
        counts[distance] = here + 1 + (relevant << HALF_BITS)
        number += relevant
    for d in range(items_at.shape[0]):
        items_at[d], relevant_at[d] = counts[d] & LOW_HALF, counts[d] >> HALF_BITS
    _starts_inplace(counts)
    return _sum_precisions(before[:number], at[:number], counts)
