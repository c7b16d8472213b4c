"""Rankings by Hamming distance, ties in database order, with or without relevance."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.codes import WORD, any_common, check_padding, check_pair, distances, query_blocks
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

QUERIES_AT_ONCE = 4  # a thread's share: their distances to all items should fit into the cache beside it


def rank(queries: Words, database: Words, top: int | None = None) -> tuple[IntArray, NDArray[np.uint16]]:
    """The `top` nearest items of every query and their distances, nearest first; None: all items.

    Equal distances keep database order. Both results are (queries, min(top, items)).
    """
    if top is not None and top < 1:
        raise InputError(f"A ranking needs at least one place; got top={top}. Use None for all items.")
    check_pair(queries, database)
    depth = len(database) if top is None else min(top, len(database))
    order = np.empty((len(queries), depth), dtype=np.int32)
    nearest = np.empty((len(queries), depth), dtype=np.uint16)
    if depth == 0:
        return order, nearest
    if (kernels := compiled()) is None:
        return rank_plainly(queries, database, depth)
    words = np.ascontiguousarray(database.T)

    def work(rows: slice) -> None:
        room = _room(queries[rows], database)
        kernels.rank_inplace(queries[rows], words, order[rows], nearest[rows], room, WORD * len(words))

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return order, nearest


def rank_plainly(queries: Words, database: Words, depth: int) -> tuple[IntArray, NDArray[np.uint16]]:
    """The same by sorting, where Numba is missing."""
    order = np.empty((len(queries), depth), dtype=np.int32)
    nearest = np.empty((len(queries), depth), dtype=np.uint16)
    for block in query_blocks(len(queries), len(database)):
        d = distances(queries[block], database)
        # stable: ties keep database order, so runs agree; on 16 bits it is a radix sort
        order[block] = np.argsort(d, axis=1, kind="stable")[:, :depth]
        nearest[block] = np.take_along_axis(d, order[block], axis=1)
    return order, nearest


@dataclass(frozen=True, eq=False)
class Scan:
    """The nearest items of every query, and counts over the whole database."""

    order: IntArray  # (queries, depth)
    distances: NDArray[np.uint16]  # (queries, depth)
    relevance: BoolArray  # (queries, depth)
    items_at: IntArray  # (queries, bits + 1), at each distance
    relevant_at: IntArray  # (queries, bits + 1)
    precisions: FloatArray  # (queries,), Σ_k P@k · rel(k) over the whole ranking


def scan(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int, depth: int
) -> Scan:
    """Rank all items for every query, where relevant means to share a set bit of the packed labels.

    One pass a query serves precision and recall at every depth, tie-aware scores and look-up by radius.
    """
    check_pair(queries, database)
    check_pair(query_labels, database_labels)
    check_padding(queries, bits)
    check_padding(database, bits)
    if (kernels := compiled()) is None:
        return scan_plainly(queries, database, query_labels, database_labels, bits, depth)
    depth = min(depth, len(database))
    result = Scan(
        order=np.empty((len(queries), depth), dtype=np.int32),
        distances=np.empty((len(queries), depth), dtype=np.uint16),
        relevance=np.empty((len(queries), depth), dtype=np.bool_),
        items_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        relevant_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        precisions=np.empty(len(queries)),
    )
    words, labels = np.ascontiguousarray(database.T), np.ascontiguousarray(database_labels.T)

    def work(rows: slice) -> None:
        kernels.scan_inplace(
            queries[rows],
            words,
            query_labels[rows],
            labels,
            _room(queries[rows], database),
            np.empty((rows.stop - rows.start, len(database)), dtype=np.bool_),
            result.order[rows],
            result.distances[rows],
            result.relevance[rows],
            result.items_at[rows],
            result.relevant_at[rows],
            result.precisions[rows],
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return result


def scan_plainly(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int, depth: int
) -> Scan:
    """The same by sorting, where Numba is missing."""
    parts = []
    for block in query_blocks(len(queries), len(database)):
        order, near = rank_plainly(queries[block], database, len(database))
        relevance = np.take_along_axis(any_common(query_labels[block], database_labels), order, axis=1)
        precision = np.cumsum(relevance, axis=1) / np.arange(1, len(database) + 1)
        parts.append(
            (
                order[:, :depth],
                near[:, :depth],
                relevance[:, :depth],
                _histogram(near, np.ones_like(relevance), bits),
                _histogram(near, relevance, bits),
                np.sum(precision, axis=1, where=relevance),
            )
        )
    return Scan(*map(np.concatenate, zip(*parts, strict=True)))


def _histogram(near: NDArray[np.uint16], chosen: BoolArray, bits: int) -> IntArray:
    """How many chosen items lie at each distance 0 … bits, a row a query."""
    cells = near + (bits + 1) * np.arange(len(near))[:, None]
    return np.bincount(cells[chosen], minlength=len(near) * (bits + 1)).reshape(-1, bits + 1)


def _room(queries: Words, database: Words) -> NDArray[np.uint8 | np.uint16]:
    """Room for the distances of some queries, as narrow as they allow."""
    narrow = WORD * database.shape[1] < 256
    return np.empty((len(queries), len(database)), dtype=np.uint8 if narrow else np.uint16)


def compiled() -> ModuleType | None:
    """The Numba kernels, or None where Numba is missing."""
    try:
        from smfh.hamming import kernels
    except ImportError:
        return None
    return kernels
