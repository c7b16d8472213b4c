"""Rankings by Hamming distance, ties in database order, with or without relevance."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.codes import WORD, any_common, check_padding, check_pair, distances, query_blocks
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

QUERIES_AT_ONCE = 64  # of a thread: they share what is in its cache
SCANNED_AT_ONCE = 8  # of those, fewer, since their distances to all items should stay there too
LANES = 64  # items that the kernels meet together


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
    words, bits = _by_word(database), WORD * database.shape[1]

    def work(rows: slice) -> None:
        room = min(len(database), depth * (bits + 1))  # no distance keeps more than are asked for
        kept, far = np.empty((2, rows.stop - rows.start, room), dtype=np.int32)
        kernels.rank_inplace(queries[rows], words, len(database), bits, order[rows], nearest[rows], kept, far)

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


def scan(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int, depth: int
) -> Scan:
    """Rank all items for every query, where relevant means to share a set bit of the packed labels.

    One pass a query serves precision and recall at every depth, tie-aware scores and look-up by radius.
    """
    _check_scan(queries, database, query_labels, database_labels, bits)
    if (kernels := compiled()) is None:
        return scan_plainly(queries, database, query_labels, database_labels, bits, depth)
    depth = min(depth, len(database))
    result = Scan(
        order=np.empty((len(queries), depth), dtype=np.int32),
        distances=np.empty((len(queries), depth), dtype=np.uint16),
        relevance=np.empty((len(queries), depth), dtype=np.bool_),
        items_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        relevant_at=np.empty((len(queries), bits + 1), dtype=np.int64),
    )
    words, labels = _by_word(database), _by_word(database_labels)

    def work(rows: slice) -> None:
        kernels.scan_inplace(
            queries[rows],
            words,
            query_labels[rows],
            labels,
            len(database),
            bits.bit_length(),
            _cells(words, bits),
            result.order[rows],
            result.distances[rows],
            result.relevance[rows],
            result.items_at[rows],
            result.relevant_at[rows],
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return result


def scan_plainly(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int, depth: int
) -> Scan:
    """The same by sorting, where Numba is missing."""
    parts = []
    for block in query_blocks(len(queries), len(database)):
        order, near, relevance = _ranked_relevance(
            queries[block], database, query_labels[block], database_labels
        )
        parts.append(
            (
                order[:, :depth],
                near[:, :depth],
                relevance[:, :depth],
                _histogram(near, np.ones_like(relevance), bits),
                _histogram(near, relevance, bits),
            )
        )
    return Scan(*map(np.concatenate, zip(*parts, strict=True)))


def sum_precisions(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int
) -> FloatArray:
    """Σ_k P@k · rel(k) over the whole ranking of every query.

    It needs all items in their order, so it is a pass of its own, for those who ask for it.
    """
    _check_scan(queries, database, query_labels, database_labels, bits)
    if (kernels := compiled()) is None:
        return sum_precisions_plainly(queries, database, query_labels, database_labels)
    words, labels, sums = _by_word(database), _by_word(database_labels), np.empty(len(queries))

    def work(rows: slice) -> None:
        kernels.precisions_inplace(
            queries[rows],
            words,
            query_labels[rows],
            labels,
            len(database),
            bits.bit_length(),
            _cells(words, bits),
            sums[rows],
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return sums


def sum_precisions_plainly(
    queries: Words, database: Words, query_labels: Words, database_labels: Words
) -> FloatArray:
    """The same by sorting, where Numba is missing."""
    sums = np.empty(len(queries))
    for block in query_blocks(len(queries), len(database)):
        relevance = _ranked_relevance(queries[block], database, query_labels[block], database_labels)[2]
        precision = np.cumsum(relevance, axis=1) / np.arange(1, len(database) + 1)
        sums[block] = np.sum(precision, axis=1, where=relevance)
    return sums


def _ranked_relevance(
    queries: Words, database: Words, query_labels: Words, database_labels: Words
) -> tuple[IntArray, NDArray[np.uint16], BoolArray]:
    order, near = rank_plainly(queries, database, len(database))
    relevance = np.take_along_axis(any_common(query_labels, database_labels), order, axis=1)
    return order, near, relevance


def _histogram(near: NDArray[np.uint16], chosen: BoolArray, bits: int) -> IntArray:
    """How many chosen items lie at each distance 0 … bits, a row a query."""
    cells = near + (bits + 1) * np.arange(len(near))[:, None]
    return np.bincount(cells[chosen], minlength=len(near) * (bits + 1)).reshape(-1, bits + 1)


def _check_scan(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int
) -> None:
    check_pair(queries, database)
    check_pair(query_labels, database_labels)
    check_padding(queries, bits)
    check_padding(database, bits)


def _by_word(rows: Words) -> Words:
    """(words, items), with room behind the last item that the kernels may read."""
    words = np.zeros((rows.shape[1], -(-len(rows) // LANES) * LANES), dtype=np.uint64)
    words[:, : len(rows)] = rows.T
    return words


def _cells(words: Words, bits: int) -> NDArray[np.uint8 | np.uint16]:
    """Room for distance and relevance of all items to some queries, as narrow as they allow."""
    narrow = bits.bit_length() < 8
    return np.empty((SCANNED_AT_ONCE, words.shape[1]), dtype=np.uint8 if narrow else np.uint16)


def compiled() -> ModuleType | None:
    """The Numba kernels, or None where Numba is missing."""
    try:
        from smfh.hamming import kernels
    except ImportError:
        return None
    return kernels
