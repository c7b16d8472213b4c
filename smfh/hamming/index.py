"""A database made ready for searches: its distinct codes, each with the rows that have it.

Codes learnt from labels repeat: 760 are distinct among the 2,173 of Wiki. A search meets each of them once
and merges the rows of the nearest; the answers, ties included, are those of a search through all items. Equal
queries are asked once as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smfh.hamming import plain
from smfh.hamming.codes import check_pair, distances
from smfh.parallel import over_rows
from smfh.types import InputError, IntArray, Words

Octets = NDArray[np.uint8]
Found = tuple[IntArray, NDArray[np.uint16]]  # rows and their distances

BLOCK = 4096  # codes that stay in the cache while the queries of a thread meet them
QUERIES_AT_ONCE = 64  # of a thread
FEW = 0.4  # distinct codes among all, at most, for lists of rows to pay; as measured, like all that follows
FEW_ASKED = 0.8  # distinct queries among all, at most, to be asked once each
SHALLOW, DEEP = 1 / 32, 1 / 8  # of all items: so few are merged; to find so many, one pass goes over all
SAMPLE = 4096  # items that tell whether it is worth to look at all of them
MANY = 200  # queries that together pay for finding the distinct codes


class Distinct(NamedTuple):
    """The distinct rows of codes in order of their first appearance, and who has them."""

    codes: Words  # (distinct, words)
    which: IntArray  # (items,), of the distinct codes
    starts: IntArray  # (distinct + 1,): code c is that of rows[starts[c] : starts[c + 1]], ascending
    rows: IntArray  # (items,)


def find_distinct(codes: Words, share: float = FEW) -> Distinct | None:
    """The distinct codes; None where they seem, or are, more than this share of all, which is soon known.

    Of s items with one of D codes each, D (1 − e^(−s/D)) codes are to be expected; where a sample has more
    than the mean of that and s, the rest is not looked at.
    """
    if plain.is_plain(len(codes)):
        return None
    from smfh.hamming import kernels

    most = int(share * len(codes))
    if len(codes) > SAMPLE and most:
        some = codes[:: -(-len(codes) // SAMPLE)]
        if _number(some, int(len(some) - most * np.expm1(-len(some) / most)) // 2) is None:
            return None
    if (numbered := _number(codes, most)) is None:
        return None
    firsts, which = numbered
    starts, rows = np.zeros(len(firsts) + 1, dtype=np.int64), np.empty_like(which)
    kernels.list_inplace(which, starts, rows)
    return Distinct(codes[firsts], which, starts, rows)


def _number(codes: Words, most: int) -> tuple[IntArray, IntArray] | None:
    """Where each distinct code appears first, and which of them every item has; None for more than `most`."""
    from smfh.hamming import kernels

    if not most:
        return None
    table = np.full(1 << (2 * most).bit_length(), -1, dtype=np.int32)
    firsts, which = np.empty(most, dtype=np.int32), np.empty(len(codes), dtype=np.int32)
    number = kernels.number_inplace(np.array(codes, order="C"), table, firsts, which)
    return None if number < 0 else (firsts[:number], which)


class CodeIndex:
    """What `rank` searches, made once for any number of searches; immutable, so that threads share it.

    Where more than a `share` of the codes is distinct, all of them are met as they are.
    """

    def __init__(self, database: Words, share: float = FEW) -> None:
        check_pair(database, database)
        self.items = len(database)
        self.distinct = find_distinct(database, share)
        self._codes = database if self.distinct is None else self.distinct.codes
        self._blocks = to_blocks(self._codes, count_octets(self._codes))

    def rank(self, queries: Words, top: int | None = None) -> Found:
        """The `top` nearest items of every query and their distances, nearest first; None: all items.

        Equal distances keep database order. Both results are (queries, min(top, items)).
        """
        if top is not None and top < 1:
            raise InputError(f"A ranking needs at least one place; got top={top}. Use None for all items.")
        check_pair(queries, self._codes)
        depth = self.items if top is None else min(top, self.items)
        asked = find_distinct(queries, FEW_ASKED) if len(queries) >= MANY else None
        found = self._rank(queries if asked is None else asked.codes, depth)
        return found if asked is None else (found[0][asked.which], found[1][asked.which])

    def _rank(self, queries: Words, depth: int) -> Found:
        if self.distinct is None and plain.is_plain(len(queries) * self.items):
            return plain.rank(queries, self._codes, depth)
        from smfh.hamming import kernels

        order = np.empty((len(queries), depth), dtype=np.int32)
        nearest = np.empty((len(queries), depth), dtype=np.uint16)
        octets = max(self._blocks.shape[1], count_octets(queries))
        blocks = self._blocks if octets == self._blocks.shape[1] else to_blocks(self._codes, octets)
        query_octets = to_octets(queries, octets)

        def find_codes_inplace(rows: slice, order: IntArray, nearest: IntArray) -> None:
            candidates = np.empty((len(order), min(len(self._codes), 2 * order.shape[1]), 2), dtype=np.int32)
            far = np.empty(BLOCK, dtype=np.min_scalar_type(8 * octets + 1))  # one more: beyond any bound
            asked = query_octets[rows]
            kernels.rank_inplace(asked, blocks, len(self._codes), far, candidates, order, nearest)

        def work(rows: slice) -> None:
            if self.distinct is None:
                find_codes_inplace(rows, order[rows], nearest[rows])
                return
            _, which, starts, listed = self.distinct
            if depth > SHALLOW * self.items:
                far = distances(queries[rows], self._codes)
                kernels.sort_all_inplace(far, starts, which, order[rows], nearest[rows])
                return
            shape = len(order[rows]), min(depth, len(self._codes))
            codes, far = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.uint16)
            find_codes_inplace(rows, codes, far)
            kernels.merge_inplace(codes, far, starts, listed, order[rows], nearest[rows])

        if depth:
            over_rows(work, len(queries), QUERIES_AT_ONCE)
        return order, nearest


def count_octets(codes: Words) -> int:
    """Octets of a row to compare, in fours: all but the last four where these are empty in every row."""
    words: int = codes.shape[1]
    return 8 * words - (0 if int(np.bitwise_or.reduce(codes[:, -1])) >> 32 else 4)


def to_octets(codes: Words, octets: int) -> Octets:
    """(items, octets), the lowest first."""
    return np.array(np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)[:, :octets])


def to_blocks(codes: Words, octets: int) -> Octets:
    """(blocks, octets, BLOCK): an octet of all items of a block side by side, zeros behind the last item."""
    blocks = np.zeros((-(-len(codes) // BLOCK), octets, BLOCK), dtype=np.uint8)
    for number, block in enumerate(blocks):
        rows = to_octets(codes[number * BLOCK : (number + 1) * BLOCK], octets)
        block[:, : len(rows)] = rows.T
    return blocks
