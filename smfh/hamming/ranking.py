"""Ranking by Hamming or asymmetric distance, ties in database order; counts by distance and relevance."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smfh.hamming.asymmetric import Weights, check_weights, tie_levels, weighted_distances
from smfh.hamming.codes import check_padding, check_pair, distances
from smfh.hamming.index import (
    BATCH_QUERIES,
    BLOCK_ITEMS,
    DEEP_SHARE,
    MAX_DISTINCT_QUERIES,
    MAX_DISTINCT_SHARE,
    MAX_FEW_QUERIES,
    MIN_QUERIES,
    SHALLOW_SHARE,
    CodeIndex,
    Ranking,
    check_search,
    count_octets,
    find_distinct,
    is_plain,
    rank_plainly,
    to_blocks,
    to_octets,
)
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

MAX_LEVELS = 1 << 22  # levels of queries × codes in memory at once
MAX_BLOCK_PAIRS = 1 << 18  # pairs of a query and an item that a thread compares at once
TALLY_QUERIES = 8  # queries at once in a thread; their distances to all items should fit in the cache


def rank(queries: Words, database: Words, top: int | None = None, weights: Weights | None = None) -> Ranking:
    """Find the `top` nearest items of every query and their distances, nearest first.

    If `top` is None, all items are ranked. If `weights` of the queries' bits are given, distances are
    asymmetric. Ties are in database order. Both results have the shape (queries, min(top, items)). Use a
    CodeIndex to search the same database repeatedly.
    """
    depth = check_search(queries, database, top, len(database), weights)
    if len(queries) <= MAX_FEW_QUERIES:
        return rank_plainly(queries, database, depth, weights)
    share = depth / max(len(database), 1)
    is_worthwhile = len(queries) >= MIN_QUERIES and not SHALLOW_SHARE < share < DEEP_SHARE
    return CodeIndex(database, MAX_DISTINCT_SHARE if is_worthwhile else 0).rank(queries, top, weights)


def own_ranks(queries: Words, database: Words, weights: Weights | None = None) -> IntArray:
    """Return the rank (from 1) of item i among the results of query i; ties are in database order."""
    rows = np.arange(len(database))

    def work(block: slice) -> IntArray:
        own = rows[block, None]
        if weights is None:
            far: IntArray = distances(queries[block], database)
        else:
            far = weighted_distances(queries[block], database, weights[block])
        limit = np.take_along_axis(far, own, axis=1)
        before = (far < limit) | ((far == limit) & (rows < own))
        return np.asarray(1 + np.count_nonzero(before, axis=1))

    return np.concatenate(over_rows(work, len(queries), max(1, MAX_BLOCK_PAIRS // max(len(database), 1))))


def judge(order: IntArray, query_labels: Words, database_labels: Words) -> BoolArray:
    """Return whether each ranked item is relevant: whether item and query share a label (labels are packed)."""
    check_pair(query_labels, database_labels)
    relevance = np.zeros(order.shape, dtype=np.bool_)

    def work(rows: slice) -> None:
        for wanted, labels in zip(query_labels[rows].T, database_labels.T, strict=True):
            relevance[rows] |= (labels[order[rows]] & wanted[:, None]) != 0

    over_rows(work, len(order), BATCH_QUERIES)
    return relevance


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of all items by distance and relevance, and sums of precisions; one row per query.

    The columns are the Hamming distances from 0 to the number of bits, or the levels of asymmetric distances:
    the distinct distances of each query, nearest first.
    """

    items_at: IntArray  # (queries, columns), number of items at each distance
    relevant_at: IntArray  # (queries, columns), number of relevant items at each distance
    precision_sums: FloatArray  # (queries,), Σ_k P@k · rel(k) over the ranking of all items


def tally(queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int) -> Tally:
    """Count all items by distance and relevance; an item is relevant if it shares a label with the query.

    Tie-aware scores, look-up by radius and average precision over all items need only these counts.
    """
    check_pair(queries, database)
    check_pair(query_labels, database_labels)
    check_padding(queries, bits)
    check_padding(database, bits)
    _check_labels(queries, database, query_labels, database_labels)
    both = np.hstack([queries, query_labels])
    if len(queries) < MIN_QUERIES or (once := find_distinct(both, MAX_DISTINCT_QUERIES)) is None:
        return _tally(queries, database, query_labels, database_labels, bits)
    words = queries.shape[1]
    distinct = _tally(once.codes[:, :words], database, once.codes[:, words:], database_labels, bits)
    return Tally(*(of_query[once.which] for of_query in vars(distinct).values()))


def _tally(queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int) -> Tally:
    if is_plain(len(queries) * len(database)):
        d = distances(queries, database)
        return Tally(*tally_plainly(d, bits + 1, query_labels, database_labels))
    from smfh.hamming import kernels

    result = _empty_tally(len(queries), bits + 1)
    codes = max(count_octets(queries), count_octets(database))
    labels = max(count_octets(query_labels), count_octets(database_labels))
    blocks, label_blocks = to_blocks(database, codes), to_blocks(database_labels, labels)
    query_octets, query_label_octets = to_octets(queries, codes), to_octets(query_labels, labels)
    shift = bits.bit_length()

    def work(rows: slice) -> None:
        cells = np.empty((TALLY_QUERIES, len(blocks), BLOCK_ITEMS), dtype=np.min_scalar_type((2 << shift) - 1))
        given = query_octets[rows], blocks, query_label_octets[rows], label_blocks, len(database), shift
        kernels.tally_inplace(*given, cells, *(x[rows] for x in vars(result).values()))

    over_rows(work, len(queries), BATCH_QUERIES)
    return result


def tally_plainly(
    d: IntArray, columns: int, query_labels: Words, database_labels: Words
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the numbers of items and of relevant items at each distance, and Σ_k P@k · rel(k), with NumPy.

    `d` (queries, items) contains the distances, which are whole numbers below `columns`.
    """
    relevant = (query_labels[:, None, :] & database_labels[None]).any(axis=2)
    cells = d + columns * np.arange(len(d))[:, None]
    items_at, relevant_at = (
        np.bincount(which.ravel(), minlength=len(d) * columns).reshape(len(d), columns)
        for which in (cells, cells[relevant])
    )
    in_order = np.take_along_axis(relevant, np.argsort(d, axis=1, kind="stable"), axis=1)
    precision = in_order.cumsum(axis=1) / np.arange(1, len(database_labels) + 1)
    return items_at, relevant_at, (precision * in_order).sum(axis=1)


def tally_weighted(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, weights: Weights
) -> Iterator[Tally]:
    """Count all items by asymmetric distance and relevance; yield a tally for each block of queries.

    A query can have as many different distances as there are distinct codes, so the tallies of all queries
    may not fit in memory.
    """
    check_weights(weights, queries)
    _check_labels(queries, database, query_labels, database_labels)
    codes, which = np.unique(database, axis=0, return_inverse=True)
    step = max(1, MAX_LEVELS // max(len(codes), 1))
    for rows in (slice(start, start + step) for start in range(0, len(queries), step)):
        levels = _distance_levels(queries[rows], codes, weights[rows])
        yield _tally_levels(levels, which.ravel(), query_labels[rows], database_labels)


def _distance_levels(queries: Words, codes: Words, weights: Weights) -> IntArray:
    """Return the rank of each code's asymmetric distance among the distinct distances of a query."""

    def work(rows: slice) -> IntArray:
        return tie_levels(weighted_distances(queries[rows], codes, weights[rows]))

    return np.concatenate(over_rows(work, len(queries), max(1, MAX_BLOCK_PAIRS // max(len(codes), 1))))


def _tally_levels(levels: IntArray, which: IntArray, query_labels: Words, database_labels: Words) -> Tally:
    """Count items by level and relevance; item i has the level levels[q, which[i]] for query q."""
    columns = int(levels.max(initial=0)) + 1
    if is_plain(len(levels) * len(which)):
        return Tally(*tally_plainly(levels[:, which], columns, query_labels, database_labels))
    from smfh.hamming import kernels

    result, shift = _empty_tally(len(levels), columns), columns.bit_length()
    octets = max(count_octets(query_labels), count_octets(database_labels))
    label_blocks, query_octets = to_blocks(database_labels, octets), to_octets(query_labels, octets)

    def work(rows: slice) -> None:
        filled = (x[rows] for x in vars(result).values())
        kernels.tally_levels_inplace(levels[rows], which, query_octets[rows], label_blocks, shift, *filled)

    over_rows(work, len(levels), TALLY_QUERIES)
    return result


def _empty_tally(queries: int, columns: int) -> Tally:
    items_at, relevant_at = np.empty((2, queries, columns), dtype=np.int64)
    return Tally(items_at, relevant_at, np.empty(queries))


def _check_labels(queries: Words, database: Words, query_labels: Words, database_labels: Words) -> None:
    if (len(query_labels), len(database_labels)) != (len(queries), len(database)):
        raise InputError(
            f"{len(queries)} queries and {len(database)} items need a row of labels each; "
            f"got {len(query_labels)} and {len(database_labels)}."
        )
