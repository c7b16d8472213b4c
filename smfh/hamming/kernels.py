"""Nearest items, and counts by distance and relevance, of a few queries at a time; compiled on first use.

Items come in blocks that stay in the cache while every query meets them. They are placed by counting, not by
sorting: a distance is at most the number of bits.
"""

import numpy as np
from numba import njit

from smfh.hamming.lanes import (
    LANES,
    any_within,
    fill_cells_inplace,
    popcount,
    which_cells_within,
    which_within,
)
from smfh.types import BoolArray, FloatArray, IntArray, Words

compiled = njit(cache=True, nogil=True, error_model="numpy")
# a sum may be taken in any order, so that it is taken in vectors
compiled_sum = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
BLOCK = 4096  # words; they fit into the nearest cache
HALF = 32
LOW = (1 << HALF) - 1
ONE, EVERY = np.uint64(1), ~np.uint64(0)


@compiled
def _distance(query: Words, database: Words, item: int | np.int64) -> np.int64:
    """d_i = Σ_w popcount(q_w ⊕ i_w)"""
    distance = np.uint64(0)
    for w in range(query.shape[0]):
        distance += popcount(query[w] ^ database[w, item])
    return np.int64(distance)


@compiled
def _block(words: int) -> int:
    """So many items that their words stay in the cache, in whole vectors."""
    return max(1, BLOCK // words // LANES) * LANES


@compiled
def _there(start: int, items: int) -> np.uint64:
    """The mask of the 64 items from `start` that are no padding."""
    left = items - start
    return EVERY if left >= LANES else (ONE << np.uint64(left)) - ONE


@compiled
def _trailing_zeros(mask: np.uint64) -> np.int64:
    return np.int64(popcount((mask & (~mask + ONE)) - ONE))


@compiled
def _starts_inplace(counts: IntArray) -> None:
    """Counts by distance become the place of the first item at each distance."""
    place = 0
    for distance in range(counts.shape[0]):
        here = counts[distance]
        counts[distance] = place
        place += here


@compiled
def _meet_inplace(
    query: Words,
    database: Words,
    first: int,
    end: int,
    bound: int,
    within: int,
    number: int,
    counts: IntArray,
    kept: IntArray,
    far: IntArray,
    top: int,
) -> tuple[int, int, int]:
    """Keep the items from `first` to `end` that are near enough.

    As soon as `top` items lie within the bound, a later one at that distance comes too late: the bound sinks.
    """
    for start in range(first, end, LANES):
        if any_within(query, database, start, bound):
            mask = which_within(query, database, start, bound) & _there(start, end)
            while mask:
                item = start + _trailing_zeros(mask)
                mask &= mask - ONE
                distance = _distance(query, database, item)
                if distance <= bound:
                    kept[number], far[number] = item, distance
                    number += 1
                    counts[distance] += 1
                    within += 1
                    while within >= top:
                        within -= counts[bound]
                        bound -= 1
    return bound, within, number


@compiled
def _place_inplace(
    number: int, counts: IntArray, kept: IntArray, far: IntArray, order: IntArray, nearest: IntArray
) -> None:
    _starts_inplace(counts)
    for k in range(number):
        place = counts[far[k]]
        counts[far[k]] = place + 1
        if place < order.shape[0]:
            order[place], nearest[place] = kept[k], far[k]


@compiled
def rank_inplace(
    queries: Words,
    database: Words,
    items: int,
    bits: int,
    order: IntArray,
    nearest: IntArray,
    kept: IntArray,
    far: IntArray,
) -> None:
    """Fill `order` and `nearest` (queries, top) with the nearest items, ties in database order.

    `kept` (queries, …) is room for all items that ever were near enough: at most `top` at each distance.
    """
    top, block = order.shape[1], _block(database.shape[0])
    counts = np.zeros((queries.shape[0], bits + 1), dtype=np.int64)
    bounds = np.full(queries.shape[0], bits, dtype=np.int64)
    within = np.zeros(queries.shape[0], dtype=np.int64)
    number = np.zeros(queries.shape[0], dtype=np.int64)
    for first in range(0, items, block):
        end = min(first + block, items)
        for q in range(queries.shape[0]):
            bounds[q], within[q], number[q] = _meet_inplace(
                queries[q],
                database,
                first,
                end,
                bounds[q],
                within[q],
                number[q],
                counts[q],
                kept[q],
                far[q],
                top,
            )
    for q in range(queries.shape[0]):
        _place_inplace(number[q], counts[q], kept[q], far[q], order[q], nearest[q])


@compiled
def _count_octets_inplace(cells: IntArray, counts: IntArray) -> None:
    """How often each cell occurs; eight counts side by side, since one would wait for itself."""
    octets = cells.view(np.uint64)
    mask = np.uint64(255)
    for i in range(octets.shape[0]):
        word = octets[i]
        for k in range(8):
            counts[k, (word >> np.uint64(8 * k)) & mask] += 1


@compiled
def _count_pairs_inplace(cells: IntArray, counts: IntArray) -> None:
    """The same of two octets each."""
    for i in range(0, cells.shape[0], 4):
        for k in range(4):
            counts[k, cells[i + k]] += 1


@compiled
def _fill_inplace(
    queries: Words,
    database: Words,
    asked: Words,
    labels: Words,
    bits_of_distance: int,
    cells: IntArray,
) -> None:
    """Distance and relevance of every item, (queries, items with padding)."""
    block = _block(database.shape[0] + labels.shape[0])
    for first in range(0, database.shape[1], block):
        for q in range(queries.shape[0]):
            for start in range(first, min(first + block, database.shape[1]), LANES):
                fill_cells_inplace(queries[q], database, asked[q], labels, start, bits_of_distance, cells[q])


@compiled
def scan_inplace(
    queries: Words,
    database: Words,
    asked: Words,
    labels: Words,
    items: int,
    shift: int,
    cells: IntArray,
    order: IntArray,
    nearest: IntArray,
    relevance: BoolArray,
    items_at: IntArray,
    relevant_at: IntArray,
) -> None:
    """Count all items by distance and relevance, and place the nearest ones.

    `cells` (some, items with padding) is room for d + 2^shift · relevant of some queries at a time.
    """
    some = cells.shape[0]
    counts = np.empty((8, 2 << shift), dtype=np.int64)
    for first in range(0, queries.shape[0], some):
        last = min(first + some, queries.shape[0])
        _fill_inplace(queries[first:last], database, asked[first:last], labels, shift, cells)
        for q in range(first, last):
            row = cells[q - first]
            _count_inplace(row, items, counts)
            _add_up_inplace(counts, items_at[q], relevant_at[q])
            _take_inplace(row, items, shift, items_at[q], order[q], nearest[q], relevance[q])


@compiled
def _count_inplace(row: IntArray, items: int, counts: IntArray) -> None:
    """How often each cell occurs, in several counts to be added up."""
    counts[:] = 0
    if row.itemsize == 1:
        _count_octets_inplace(row, counts)
    else:
        _count_pairs_inplace(row, counts)
    for i in range(items, row.shape[0]):
        counts[0, row[i]] -= 1  # padding


@compiled
def _add_up_inplace(counts: IntArray, items_at: IntArray, relevant_at: IntArray) -> None:
    """Counts of cells as counts of items and of relevant items by distance."""
    flag = counts.shape[1] // 2
    for d in range(items_at.shape[0]):
        others, relevant = 0, 0
        for k in range(counts.shape[0]):
            others += counts[k, d]
            relevant += counts[k, flag + d]
        items_at[d], relevant_at[d] = others + relevant, relevant


@compiled
def _take_inplace(
    row: IntArray,
    items: int,
    shift: int,
    items_at: IntArray,
    order: IntArray,
    nearest: IntArray,
    relevance: BoolArray,
) -> None:
    """The nearest items from their cells, ties in database order."""
    top, flag = order.shape[0], 1 << shift
    places = items_at.copy()
    _starts_inplace(places)
    last = places.shape[0] - 1
    while last > 0 and places[last] >= top:
        last -= 1
    for start in range(0, items, LANES):
        if last < 0:  # the first places are all taken by what is equal
            break
        mask = which_cells_within(row, start, shift, last) & _there(start, items)
        while mask:
            item = start + _trailing_zeros(mask)
            mask &= mask - ONE
            distance = row[item] & (flag - 1)
            place = places[distance]
            places[distance] = place + 1
            if place < top:
                order[place], nearest[place] = item, distance
                relevance[place] = row[item] >= flag
            if distance == last and place + 1 >= top:
                last -= 1  # whatever else lies there comes too late


@compiled_sum
def _sum_precisions(before: IntArray) -> float:
    """Σ (relevant + 1) / (items + 1) over the relevant items, from what stands before each of them."""
    total = 0.0
    for k in range(before.shape[0]):
        total += ((before[k] >> HALF) + 1.0) / ((before[k] & LOW) + 1.0)
    return total


@compiled
def precisions_inplace(
    queries: Words,
    database: Words,
    asked: Words,
    labels: Words,
    items: int,
    shift: int,
    cells: IntArray,
    precisions: FloatArray,
) -> None:
    """Σ_k P@k · rel(k) over the whole ranking of every query."""
    some, flag = cells.shape[0], 1 << shift
    before = np.empty(items, dtype=np.int64)
    for first in range(0, queries.shape[0], some):
        last = min(first + some, queries.shape[0])
        _fill_inplace(queries[first:last], database, asked[first:last], labels, shift, cells)
        for q in range(first, last):
            precisions[q] = _precisions(cells[q - first], items, shift, flag, before)


@compiled
def _precisions(row: IntArray, items: int, shift: int, flag: int, before: IntArray) -> float:
    # items in the low half of a word, relevant ones in the high half: one access counts both
    counts = np.zeros(flag, dtype=np.int64)
    for i in range(items):
        cell = np.int64(row[i])
        counts[cell & (flag - 1)] += 1 + ((cell >> shift) << HALF)
    _starts_inplace(counts)
    number = np.int64(0)
    for i in range(items):
        cell = np.int64(row[i])
        distance, relevant = cell & (flag - 1), cell >> shift
        before[number] = counts[distance]
        counts[distance] += 1 + (relevant << HALF)
        number += relevant
    return _sum_precisions(before[:number])
