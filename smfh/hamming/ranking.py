"""One ranking by Hamming distance, ties in database order, for search, evaluation and benchmark alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smfh.hamming import plain
from smfh.hamming.codes import check_padding, check_pair
from smfh.hamming.index import (
    BLOCK,
    DEEP,
    FEW,
    FEW_ASKED,
    MANY,
    QUERIES_AT_ONCE,
    SHALLOW,
    CodeIndex,
    count_octets,
    find_distinct,
    to_blocks,
    to_octets,
)
from smfh.parallel import over_rows
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

TALLIED_AT_ONCE = 8  # queries of a thread, few, since their distances to all items should stay in the cache


def rank(queries: Words, database: Words, top: int | None = None) -> tuple[IntArray, NDArray[np.uint16]]:
    """The `top` nearest items of every query and their distances, nearest first; None: all items.

    Equal distances keep database order. Both results are (queries, min(top, items)). Who searches one
    database again and again makes a CodeIndex of it.
    """
    check_pair(queries, database)
    share_found = 1.0 if top is None else top / max(len(database), 1)
    pays = len(queries) >= MANY and not SHALLOW < share_found < DEEP
    return CodeIndex(database, FEW if pays else 0).rank(queries, top)


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


def tally(
    queries: Words,
    database: Words,
    query_labels: Words,
    database_labels: Words,
    bits: int,
    before: tuple[IntArray, IntArray] | None = None,
) -> Tally:
    """Count all items by distance and relevance; relevant is what shares a set bit of the packed labels.

    One pass a query serves tie-aware scores, look-up by radius and average precision over all items. Where
    these are but a part of the database, `before` says how many items, and how many relevant ones, stand
    before the first one of the part at each distance, both (queries, bits + 1).
    """
    check_pair(queries, database)
    check_pair(query_labels, database_labels)
    check_padding(queries, bits)
    check_padding(database, bits)
    if (len(query_labels), len(database_labels)) != (len(queries), len(database)):
        raise InputError(
            f"{len(queries)} queries and {len(database)} items need a row of labels each; "
            f"got {len(query_labels)} and {len(database_labels)}."
        )
    both = np.hstack([queries, query_labels])
    if before or len(queries) < MANY or (asked := find_distinct(both, FEW_ASKED)) is None:
        return _tally(queries, database, query_labels, database_labels, bits, before)
    words = queries.shape[1]
    once = _tally(asked.codes[:, :words], database, asked.codes[:, words:], database_labels, bits)
    return Tally(*(of_query[asked.which] for of_query in vars(once).values()))


def _tally(
    queries: Words,
    database: Words,
    query_labels: Words,
    database_labels: Words,
    bits: int,
    before: tuple[IntArray, IntArray] | None = None,
) -> Tally:
    if before is None and plain.is_plain(len(queries) * len(database)):
        return Tally(*plain.tally(queries, database, query_labels, database_labels, bits))
    from smfh.hamming import kernels

    result = Tally(
        items_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        relevant_at=np.empty((len(queries), bits + 1), dtype=np.int64),
        precision_sums=np.empty(len(queries)),
    )
    codes = max(count_octets(queries), count_octets(database))
    labels = max(count_octets(query_labels), count_octets(database_labels))
    blocks, label_blocks = to_blocks(database, codes), to_blocks(database_labels, labels)
    query_octets, query_label_octets = to_octets(queries, codes), to_octets(query_labels, labels)
    shift = bits.bit_length()
    starts = np.zeros((len(queries) if before else 0, 1 << shift), dtype=np.int64)
    if before:
        items, relevant = before
        starts[:, : bits + 1] = items + (relevant.astype(np.int64) << 32)

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
            starts[rows],
        )

    over_rows(work, len(queries), QUERIES_AT_ONCE)
    return result
