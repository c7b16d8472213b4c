"""One ranking by Hamming distance, ties in database order, for search, evaluation and benchmark alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.codes import check_padding, check_pair
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

BLOCK = 4096  # items that stay in the cache while the queries of a thread meet them
QUERIES_AT_ONCE = 64  # of a thread
TALLIED_AT_ONCE = 8  # of those, fewer, since their distances to all items should stay in the cache too


def rank(queries: Words, database: Words, top: int | None = None) -> tuple[IntArray, NDArray[np.uint16]]:
    """The `top` nearest items of every query and their distances, nearest first; None: all items.

    Equal distances keep database order. Both results are (queries, min(top, items)).
    """
    from smfh.hamming import kernels

    if top is not None and top < 1:
        raise InputError(f"A ranking needs at least one place; got top={top}. Use None for all items.")
    check_pair(queries, database)
    items = len(database)
    depth = items if top is None else min(top, items)
    order = np.empty((len(queries), depth), dtype=np.int32)
    nearest = np.empty((len(queries), depth), dtype=np.uint16)
    if depth == 0:
        return order, nearest
    octets = _octets(queries, database)
    blocks, query_octets = _blocks(database, octets), _rows(queries, octets)

    def work(rows: slice) -> None:
        distances = np.empty(BLOCK, dtype=np.min_scalar_type(8 * octets + 1))  # one more: beyond any bound
        candidates = np.empty((rows.stop - rows.start, min(items, 2 * depth), 2), dtype=np.int32)
        kernels.rank_inplace(
            query_octets[rows], blocks, items, distances, candidates, order[rows], nearest[rows]
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return order, nearest


def judge(order: IntArray, query_labels: Words, database_labels: Words) -> BoolArray:
    """True where a ranked item is relevant: it shares a set bit of the packed labels with its query."""
    check_pair(query_labels, database_labels)
    relevance = np.zeros(order.shape, dtype=np.bool_)

    def work(rows: slice) -> None:
        for asked, labels in zip(query_labels[rows].T, database_labels.T, strict=True):
            relevance[rows] |= (labels[order[rows]] & asked[:, None]) != 0

    over_rows(work, len(order), QUERIES_AT_ONCE)
    return relevance


@dataclass(frozen=True, eq=False)
class Tally:
    """What is known of the database as a ranking of all of it would tell, without holding one."""

    items_at: IntArray  # (queries, bits + 1), at each distance
    relevant_at: IntArray  # (queries, bits + 1)
    precision_sums: FloatArray  # (queries,), Σ_k P@k · rel(k) over the ranking of all items


def tally(queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int) -> Tally:
    """Count all items by distance and relevance; relevant is what shares a set bit of the packed labels.

    One pass a query serves tie-aware scores, look-up by radius and average precision over all items.
    """
    from smfh.hamming import kernels

    check_pair(queries, database)
    check_pair(query_labels, database_labels)
    check_padding(queries, bits)
    check_padding(database, bits)
    if (len(query_labels), len(database_labels)) != (len(queries), len(database)):
        raise InputError(
            f"{len(queries)} queries and {len(database)} items need a row of labels each; "
            f"got {len(query_labels)} and {len(database_labels)}."
        )
    result = Tally(
        items_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        relevant_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        precision_sums=np.empty(len(queries)),
    )
    codes, labels = _octets(queries, database), _octets(query_labels, database_labels)
    blocks, label_blocks = _blocks(database, codes), _blocks(database_labels, labels)
    query_octets, query_label_octets = _rows(queries, codes), _rows(query_labels, labels)
    shift = bits.bit_length()

    def work(rows: slice) -> None:
        kernels.tally_inplace(
            query_octets[rows],
            blocks,
            query_label_octets[rows],
            label_blocks,
            len(database),
            shift,
            np.empty((TALLIED_AT_ONCE, len(blocks), BLOCK), dtype=np.min_scalar_type((2 << shift) - 1)),
            result.items_at[rows],
            result.relevant_at[rows],
            result.precision_sums[rows],
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return result


def _octets(queries: Words, database: Words) -> int:
    """Octets of a row to compare, in fours: all but the last four where these are empty in every row."""
    last = int(np.bitwise_or.reduce(queries[:, -1]) | np.bitwise_or.reduce(database[:, -1]))
    words: int = database.shape[1]
    return 8 * words - (0 if last >> 32 else 4)


def _rows(codes: Words, octets: int) -> NDArray[np.uint8]:
    """(items, octets), the lowest first."""
    return np.array(np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)[:, :octets])


def _blocks(codes: Words, octets: int) -> NDArray[np.uint8]:
    """(blocks, octets, BLOCK): an octet of all items of a block side by side, zeros behind the last item."""
    blocks = np.zeros((-(-len(codes) // BLOCK), octets, BLOCK), dtype=np.uint8)
    for number, block in enumerate(blocks):
        rows = _rows(codes[number * BLOCK : (number + 1) * BLOCK], octets)
        block[:, : len(rows)] = rows.T
    return blocks
