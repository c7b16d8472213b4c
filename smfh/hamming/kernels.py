"""Distances, counts and places of a few queries at a time, compiled on first use.

Codes and labels come word by word, (words, items), and in blocks of items that stay in the cache while every
query meets them. Items are placed by counting, not by sorting: a distance is at most the number of bits.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from smfh.types import BoolArray, FloatArray, IntArray, Words

compiled = njit(cache=True, nogil=True, error_model="numpy")
BLOCK = 4096  # items; their codes and distances fit into the nearest cache
HALF = 32
LOW = (1 << HALF) - 1
STRIDE = 128  # distances looked at together when most are too far


@intrinsic
def _popcount(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled
def _first_word_inplace(word: int, codes: Words, distances: IntArray) -> None:
    for i in range(codes.shape[0]):
        distances[i] = _popcount(word ^ codes[i])  # type: ignore[call-arg]


@compiled
def _next_word_inplace(word: int, codes: Words, distances: IntArray) -> None:
    for i in range(codes.shape[0]):
        distances[i] += _popcount(word ^ codes[i])  # type: ignore[call-arg]


@compiled
def _distances_inplace(query: Words, database: Words, start: int, distances: IntArray) -> None:
    """d_i = Σ_w popcount(q_w ⊕ i_w) from item `start` on; a word at a time, which vectorises"""
    stop = start + distances.shape[0]
    _first_word_inplace(query[0], database[0, start:stop], distances)
    for w in range(1, database.shape[0]):
        _next_word_inplace(query[w], database[w, start:stop], distances)


@compiled
def _starts_inplace(counts: IntArray) -> None:
    """Counts by distance become the place of the first item at each distance."""
    place = 0
    for distance in range(counts.shape[0]):
        here = counts[distance]
        counts[distance] = place
        place += here


@compiled
def _count_within_inplace(distances: IntArray, last: IntArray, counts: IntArray) -> int:
    """How many distances are at most the one in `last`, in all and by strides.

    `last` has the type of the distances, so that the inner loop vectorises.
    """
    bound, total = last[0], 0
    for stride in range(counts.shape[0]):
        part = distances[stride * STRIDE : (stride + 1) * STRIDE]
        count = 0
        for i in range(part.shape[0]):
            count += part[i] <= bound
        counts[stride] = count
        total += count
    return total


@compiled
def _enough_inplace(distances: IntArray, top: int, bits: int, last: IntArray, counts: IntArray) -> None:
    """Set `last` to a distance within which at least `top` items lie, and hardly more if all goes well.

    The first items tell where that may be, since any part of the database has much the same distances.
    """
    sample = distances[:BLOCK]
    seen = np.zeros(bits + 1, dtype=np.int64)
    for i in range(sample.shape[0]):
        seen[sample[i]] += 1
    wanted = top * sample.shape[0] / distances.shape[0]
    guess, within = 0, seen[0]
    while within < wanted:
        guess += 1
        within += seen[guess]
    last[0] = guess
    while _count_within_inplace(distances, last, counts) < top:
        last[0] += 1


@compiled
def rank_inplace(
    queries: Words, database: Words, order: IntArray, nearest: IntArray, distances: IntArray, bits: int
) -> None:
    """Fill `order` and `nearest` (queries, top) with the nearest items, ties in database order.

    `distances` (queries, items) is room to work in, of 8 bits where the distances allow it.
    """
    items, top = database.shape[1], order.shape[1]
    for start in range(0, items, BLOCK):
        for q in range(queries.shape[0]):
            _distances_inplace(queries[q], database, start, distances[q, start : start + BLOCK])
    last = np.zeros(1, dtype=distances.dtype)
    kept = np.empty(items, dtype=np.int32)
    within = np.empty(-(-items // STRIDE), dtype=np.int32)
    for q in range(queries.shape[0]):
        far = distances[q]
        _enough_inplace(far, top, bits, last, within)
        places, count = np.zeros(bits + 1, dtype=np.int64), 0
        for stride in range(within.shape[0]):
            if within[stride]:
                for i in range(stride * STRIDE, min((stride + 1) * STRIDE, items)):
                    if far[i] <= last[0]:
                        kept[count] = i
                        count += 1
                        places[far[i]] += 1
        _starts_inplace(places)
        for k in range(count):
            distance = far[kept[k]]
            place = places[distance]
            places[distance] = place + 1
            if place < top:
                order[q, place] = kept[k]
                nearest[q, place] = distance


@compiled
def _relevant_inplace(query: Words, labels: Words, start: int, relevant: BoolArray) -> None:
    """True where ⋁_w (q_w ∧ i_w ≠ 0), from item `start` on"""
    relevant[:] = False
    for w in range(labels.shape[0]):
        word, here = query[w], labels[w, start : start + relevant.shape[0]]
        for i in range(here.shape[0]):
            relevant[i] |= (word & here[i]) != 0


@compiled
def scan_inplace(
    queries: Words,
    database: Words,
    query_labels: Words,
    database_labels: Words,
    distances: IntArray,
    relevant: BoolArray,
    order: IntArray,
    nearest: IntArray,
    relevance: BoolArray,
    items_at: IntArray,
    relevant_at: IntArray,
    precisions: FloatArray,
) -> None:
    """Rank all items, and count them by distance and relevance.

    `precisions` becomes Σ_k P@k · rel(k) over the whole ranking; `distances` and `relevant` (queries, items)
    are room to work in.
    """
    items, top, bits = database.shape[1], order.shape[1], items_at.shape[1] - 1
    # items in the low half of a word, relevant ones in the high half: one access counts both
    counts = np.zeros((queries.shape[0], bits + 1), dtype=np.int64)
    for start in range(0, items, BLOCK):
        for q in range(queries.shape[0]):
            far, hit = distances[q, start : start + BLOCK], relevant[q, start : start + BLOCK]
            _distances_inplace(queries[q], database, start, far)
            _relevant_inplace(query_labels[q], database_labels, start, hit)
            count = counts[q]
            for i in range(far.shape[0]):
                count[far[i]] += 1 + (np.int64(hit[i]) << HALF)
    for q in range(queries.shape[0]):
        far, hit, count = distances[q], relevant[q], counts[q]
        items_at[q] = count & LOW
        relevant_at[q] = count >> HALF
        _starts_inplace(count)
        total = 0.0
        for i in range(items):
            distance, is_relevant = far[i], np.int64(hit[i])
            before = count[distance]
            count[distance] = before + 1 + (is_relevant << HALF)
            place = before & LOW
            total += is_relevant * ((before >> HALF) + 1) / (place + 1.0)
            if place < top:
                order[q, place] = i
                nearest[q, place] = distance
                relevance[q, place] = hit[i]
        precisions[q] = total
