"""Distances, counts and places of a few queries at a time, compiled on first use.

Codes and labels come word by word, (words, items), and in blocks of items that stay in the cache while every
query meets them. A query is ranked by counting, not by sorting: a distance is at most the number of bits.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from smfh.types import BoolArray, FloatArray, IntArray, Words

BLOCK = 4096  # items; their codes and distances fit into the nearest cache
HALF = 32
LOW = (1 << HALF) - 1
STRIDE = 64  # distances looked at together when most are too far


@intrinsic
def _popcount(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(cache=True, nogil=True)
def _first_word_inplace(word: int, codes: Words, distances: IntArray) -> None:
    for i in range(codes.shape[0]):
        distances[i] = _popcount(word ^ codes[i])  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def _next_word_inplace(word: int, codes: Words, distances: IntArray) -> None:
    for i in range(codes.shape[0]):
        distances[i] += _popcount(word ^ codes[i])  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def _distances_inplace(query: Words, database: Words, start: int, distances: IntArray) -> None:
    """d_i = Σ_w popcount(q_w ⊕ i_w) from item `start` on; a word at a time, which vectorises"""
    stop = start + distances.shape[0]
    _first_word_inplace(query[0], database[0, start:stop], distances)
    for w in range(1, database.shape[0]):
        _next_word_inplace(query[w], database[w, start:stop], distances)


@njit(cache=True, nogil=True)
def _starts_inplace(counts: IntArray) -> None:
    """Counts by distance become the place of the first item at each distance."""
    place = 0
    for distance in range(counts.shape[0]):
        here = counts[distance]
        counts[distance] = place
        place += here


@njit(cache=True, nogil=True)
def _any_within(distances: IntArray, last: int) -> bool:
    found = 0
    for i in range(distances.shape[0]):
        found |= distances[i] <= last
    return found != 0


@njit(cache=True, nogil=True)
def rank_inplace(
    queries: Words, database: Words, order: IntArray, nearest: IntArray, distances: IntArray, bits: int
) -> None:
    """Fill `order` and `nearest` (queries, top) with the nearest items, ties in database order.

    `distances` (queries, items) is room to work in, of 8 bits where the distances allow it.
    """
    items, top = database.shape[1], order.shape[1]
    counts = np.zeros((queries.shape[0], bits + 1), dtype=np.int64)
    for start in range(0, items, BLOCK):
        for q in range(queries.shape[0]):
            here, count = distances[q, start : start + BLOCK], counts[q]
            _distances_inplace(queries[q], database, start, here)
            for i in range(here.shape[0]):
                count[here[i]] += 1
    for q in range(queries.shape[0]):
        far, place = distances[q], counts[q]
        within, last = 0, 0  # the distance that fills the last place
        while within + place[last] < top:
            within += place[last]
            last += 1
        _starts_inplace(place)
        for start in range(0, items, STRIDE):
            if _any_within(far[start : start + STRIDE], last):
                for i in range(start, min(start + STRIDE, items)):
                    distance = far[i]
                    if distance <= last:
                        at = place[distance]
                        place[distance] = at + 1
                        if at < top:
                            order[q, at] = i
                            nearest[q, at] = distance


@njit(cache=True, nogil=True)
def _relevant_inplace(query: Words, labels: Words, start: int, relevant: BoolArray) -> None:
    """True where ⋁_w (q_w ∧ i_w ≠ 0), from item `start` on"""
    relevant[:] = False
    for w in range(labels.shape[0]):
        word, here = query[w], labels[w, start : start + relevant.shape[0]]
        for i in range(here.shape[0]):
            relevant[i] |= (word & here[i]) != 0


@njit(cache=True, nogil=True)
def scan_inplace(
    queries: Words,
    database: Words,
    query_labels: Words,
    database_labels: Words,
    inverse: FloatArray,
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

    `precisions` becomes Σ_k P@k · rel(k) over the whole ranking; `inverse` holds 1/k for k = 1 … items;
    `distances` and `relevant` (queries, items) are room to work in.
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
            total += is_relevant * ((before >> HALF) + 1) * inverse[place]
            if place < top:
                order[q, place] = i
                nearest[q, place] = distance
                relevance[q, place] = hit[i]
        precisions[q] = total
