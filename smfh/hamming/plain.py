"""Ranking in NumPy, used for one or two queries and until the kernels are compiled."""

from collections.abc import Callable

import numpy as np

from smfh.hamming.asymmetric import Weights, distances_in_bits, weighted_distances
from smfh.hamming.codes import distances
from smfh.types import Distances, FloatArray, IntArray, Words

MAX_PAIRS = 1 << 23  # pairs of a query and an item; they take half a second and 230 MB
MAX_FEW_QUERIES = 2  # queries up to which NumPy is faster than arranging the database for the kernels
_conditions: list[Callable[[], bool]] = []  # empty, or the condition of `rank_plainly_while`


def rank_plainly_while(condition: Callable[[], bool]) -> None:
    """Use NumPy for small searches while `condition()` is true, instead of waiting for the compiler."""
    _conditions[:] = [condition]


def is_plain(pairs: int) -> bool:
    """Whether a search with this many pairs of query and item should use NumPy now."""
    return pairs <= MAX_PAIRS and any(condition() for condition in _conditions)


def rank(queries: Words, database: Words, depth: int, weights: Weights | None = None) -> tuple[IntArray, Distances]:
    """Return the `depth` nearest items of each query and their distances, ties in database order."""
    every: IntArray = (
        distances(queries, database) if weights is None else weighted_distances(queries, database, weights)
    )
    order = np.empty((len(queries), depth), dtype=np.int32)
    nearest = np.empty((len(queries), depth), dtype=every.dtype)
    for q, far in enumerate(every if depth else ()):
        if depth < len(far):
            near = np.flatnonzero(far <= np.partition(far, depth - 1)[depth - 1])
            rows = near[np.argsort(far[near], kind="stable")[:depth]]
        else:
            rows = np.argsort(far, kind="stable")
        order[q], nearest[q] = rows, far.take(rows)
    return order, nearest if weights is None else distances_in_bits(nearest, weights.shape[1])


def tally(
    d: IntArray, columns: int, query_labels: Words, database_labels: Words
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the numbers of items and of relevant items at each distance, and Σ_k P@k · rel(k), by query.

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
