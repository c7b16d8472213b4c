"""A search index: the distinct codes of a database, each with the list of its rows.

Many items have identical codes: the 2,173 items of Wiki have 760 distinct codes. A search compares a query
with each distinct code once and merges the rows of the nearest codes. The results, including ties, equal
those of a search through all items. Identical queries are also searched only once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.asymmetric import Weights, check_weights, distances_in_bits, quantise, tie_levels, weighted_distances
from smfh.hamming.codes import check_pair, distances
from smfh.parallel import over_rows
from smfh.types import Distances, InputError, IntArray, Words

Octets = NDArray[np.uint8]
Ranking = tuple[IntArray, Distances]  # rows and their distances

BLOCK_ITEMS = 4096  # items of a block, which stays in the cache while a thread compares queries with it
MAX_FINE_OCTETS = 8  # octets of a code up to which the sum of the quantised weights is kept in one octet
BATCH_QUERIES = 64  # queries that a thread handles at a time
# Limits chosen by measurement:
MAX_DISTINCT_SHARE = 0.4  # share of distinct codes up to which lists of rows are faster
MAX_DISTINCT_QUERIES = 0.8  # share of distinct queries up to which searching each once is faster
SHALLOW_SHARE, DEEP_SHARE = 1 / 32, 1 / 8  # results/items: merge lists below, sort all above
SAMPLE_ITEMS = 4096  # items from which the number of distinct codes is estimated
MAX_FEW_QUERIES = 2  # queries up to which NumPy is faster than arranging the database for the kernels
MIN_QUERIES = 200  # number of queries from which finding the distinct codes pays off

# NumPy ranks one or two queries, and all small searches until the kernels are compiled:
MAX_PAIRS = 1 << 23  # pairs of a query and an item; they take half a second and 230 MB
_conditions: list[Callable[[], bool]] = []  # empty, or the condition of `rank_plainly_while`


def rank_plainly_while(condition: Callable[[], bool]) -> None:
    """Use NumPy for small searches while `condition()` is true, instead of waiting for the compiler."""
    _conditions[:] = [condition]


def is_plain(pairs: int) -> bool:
    """Whether a search with this many pairs of query and item should use NumPy now."""
    return pairs <= MAX_PAIRS and any(condition() for condition in _conditions)


def rank_plainly(queries: Words, database: Words, depth: int, weights: Weights | None = None) -> Ranking:
    """Return the `depth` nearest items of each query with NumPy, ties in database order."""
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


class Distinct(NamedTuple):
    """The distinct codes in order of first appearance, and the rows of each code."""

    codes: Words  # (distinct, words)
    which: IntArray  # (items,), index of each item's code in `codes`
    starts: IntArray  # (distinct + 1,): rows[starts[c] : starts[c + 1]], ascending, have code c
    rows: IntArray  # (items,)


def find_distinct(codes: Words, share: float = MAX_DISTINCT_SHARE) -> Distinct | None:
    """Find the distinct codes; return None if their share of all codes is, or seems, above `share`.

    A sample of items is examined first. If all items had D equally frequent codes, a sample of s items would have
    about D (1 − e^(−s/D)) distinct codes. D is set to `share` times the number of items. If the sample has more
    distinct codes than the mean of this number and s, the other items are not examined.
    """
    if is_plain(len(codes)):
        return None
    from smfh.hamming import kernels

    most = int(share * len(codes))
    if len(codes) > SAMPLE_ITEMS and most:
        some = codes[:: -(-len(codes) // SAMPLE_ITEMS)]
        if _number(some, int(len(some) - most * np.expm1(-len(some) / most)) // 2) is None:
            return None
    if (numbered := _number(codes, most)) is None:
        return None
    firsts, which = numbered
    starts, rows = np.zeros(len(firsts) + 1, dtype=np.int64), np.empty_like(which)
    kernels.list_inplace(which, starts, rows)
    return Distinct(codes[firsts], which, starts, rows)


def _number(codes: Words, most: int) -> tuple[IntArray, IntArray] | None:
    """Number the distinct codes; return the first row of each code and the code number of each item.

    If there are more than `most` distinct codes, return None.
    """
    from smfh.hamming import kernels

    if not most:
        return None
    table = np.full(1 << (2 * most).bit_length(), -1, dtype=np.int32)
    firsts, which = np.empty(most, dtype=np.int32), np.empty(len(codes), dtype=np.int32)
    number = kernels.number_inplace(np.array(codes, order="C"), table, firsts, which)
    return None if number < 0 else (firsts[:number], which)


class CodeIndex:
    """A search index for many searches of the same database; immutable, so threads can share it.

    Parameters
    ----------
    database
        Packed codes, one row per item.
    share
        If a larger share of the codes is distinct, identical codes are not merged.

    Examples
    --------
    >>> import numpy as np
    >>> from smfh.hamming import CodeIndex, pack
    >>> codes = pack(np.eye(3, dtype=bool))
    >>> rows, distances = CodeIndex(codes).rank(codes[:1], top=2)
    >>> rows.tolist(), distances.tolist()
    ([[0, 1]], [[0, 2]])
    """

    def __init__(self, database: Words, share: float = MAX_DISTINCT_SHARE) -> None:
        check_pair(database, database)
        self.items = len(database)
        self.distinct = find_distinct(database, share)
        self._codes = database if self.distinct is None else self.distinct.codes
        self._blocks = to_blocks(self._codes, count_octets(self._codes))

    def rank(self, queries: Words, top: int | None = None, weights: Weights | None = None) -> Ranking:
        """Find the `top` nearest items of every query and their distances, nearest first.

        If `top` is None, all items are ranked. If `weights` of the queries' bits are given, distances are
        asymmetric. Ties are in database order. Both results have the shape (queries, min(top, items)).
        """
        depth = check_search(queries, self._codes, top, self.items, weights)
        is_many = weights is None and len(queries) >= MIN_QUERIES
        if not is_many or (once := find_distinct(queries, MAX_DISTINCT_QUERIES)) is None:
            return self._rank(queries, depth, weights)
        order, nearest = self._rank(once.codes, depth)
        return order[once.which], nearest[once.which]

    def _rank(self, queries: Words, depth: int, weights: Weights | None = None) -> Ranking:
        is_few = len(queries) <= MAX_FEW_QUERIES and depth > DEEP_SHARE * self.items
        if self.distinct is None and (is_few or is_plain(len(queries) * self.items)):
            return rank_plainly(queries, self._codes, depth, weights)
        from smfh.hamming import kernels

        order = np.empty((len(queries), depth), dtype=np.int32)
        nearest = np.empty((len(queries), depth), dtype=np.uint16 if weights is None else np.uint32)
        octets = max(self._blocks.shape[1], count_octets(queries))
        blocks = self._blocks if octets == self._blocks.shape[1] else to_blocks(self._codes, octets)
        query_octets = to_octets(queries, octets)

        def find_codes_inplace(rows: slice, order: IntArray, nearest: IntArray) -> None:
            places = len(order), min(len(self._codes), 2 * order.shape[1])
            if weights is not None:
                kind = np.dtype(np.uint8 if octets <= MAX_FINE_OCTETS else np.uint16)
                lower: IntArray = np.empty(BLOCK_ITEMS, dtype=kind)
                given = quantise(weights[rows], octets, (1 << 8 * kind.itemsize) - 2)
                working = lower, np.empty(places, dtype=np.int64)
                kernels.rank_weighted_inplace(
                    query_octets[rows], *given, blocks, len(self._codes), *working, order, nearest
                )
                return
            candidates = np.empty((*places, 2), dtype=np.int32)
            far = np.empty(BLOCK_ITEMS, dtype=np.min_scalar_type(8 * octets + 1))  # + 1: beyond every bound
            batch = query_octets[rows]
            kernels.rank_inplace(batch, blocks, len(self._codes), far, candidates, order, nearest)

        def work(rows: slice) -> None:
            if self.distinct is None:
                find_codes_inplace(rows, order[rows], nearest[rows])
                return
            _, which, starts, listed = self.distinct
            if depth > SHALLOW_SHARE * self.items:
                if weights is None:
                    far: IntArray = distances(queries[rows], self._codes)
                    kernels.sort_all_inplace(far, starts, which, order[rows], nearest[rows])
                else:
                    far = weighted_distances(queries[rows], self._codes, weights[rows])
                    kernels.sort_all_inplace(tie_levels(far), starts, which, order[rows], nearest[rows])
                    nearest[rows] = np.take_along_axis(far, which[order[rows]], axis=1)
                return
            shape = len(order[rows]), min(depth, len(self._codes))
            codes, far = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=nearest.dtype)
            find_codes_inplace(rows, codes, far)
            kernels.merge_inplace(codes, far, starts, listed, order[rows], nearest[rows])

        if depth:
            over_rows(work, len(queries), BATCH_QUERIES)
        return order, nearest if weights is None else distances_in_bits(nearest, weights.shape[1])


def check_search(queries: Words, codes: Words, top: int | None, items: int, weights: Weights | None = None) -> int:
    """Check the arguments of a ranking; return the number of results per query."""
    if top is not None and top < 1:
        raise InputError(f"A ranking needs at least one result; got top={top}. Use None for all items.")
    check_pair(queries, codes)
    if weights is not None:
        check_weights(weights, queries)
    return items if top is None else min(top, items)


def count_octets(codes: Words) -> int:
    """Return the number of octets to compare: all, or four fewer if the last four are always 0."""
    words: int = codes.shape[1]
    return 8 * words - (0 if int(np.bitwise_or.reduce(codes[:, -1])) >> 32 else 4)


def to_octets(codes: Words, octets: int) -> Octets:
    """Return the lowest octets of the codes as an (items, octets) array, lowest first."""
    return np.array(np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)[:, :octets])


def to_blocks(codes: Words, octets: int) -> Octets:
    """Return the codes as (blocks, octets, BLOCK_ITEMS), the layout that the kernels use."""
    blocks = np.zeros((-(-len(codes) // BLOCK_ITEMS), octets, BLOCK_ITEMS), dtype=np.uint8)
    for number, block in enumerate(blocks):
        rows = to_octets(codes[number * BLOCK_ITEMS : (number + 1) * BLOCK_ITEMS], octets)
        block[:, : len(rows)] = rows.T
    return blocks
