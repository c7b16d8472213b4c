"""Average precision of a ranking, and its range over all orders of tied items.

Average precision needs ranked relevance: a queries × depth matrix that is True where the k-th result is
relevant. Its range needs only counts by distance: the number of items at each distance, without their order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.metrics.definitions import APDefinition
from smfh.parallel import over_rows
from smfh.types import BoolArray, DistanceCounts, FloatArray, InputError, IntArray

BLOCK_CELLS = 1 << 15  # numbers in memory at once, per block of queries


def chance(counts: DistanceCounts) -> DistanceCounts:
    """Return counts in which all items are tied, so that AP averaged over orders of ties is that of a random order."""
    return DistanceCounts(
        items=counts.items.sum(axis=1, keepdims=True), relevant=counts.relevant.sum(axis=1, keepdims=True)
    )


def average_precision(relevance: BoolArray, total_relevant: IntArray, definition: APDefinition) -> FloatArray:
    """Return AP = Σ_(k≤K) P@k · rel(k) / denominator, or P@K, of each query; 0 without relevant results.

    Parameters
    ----------
    relevance : bool array (queries, depth)
        Whether each result is relevant, in ranked order. If the depth is below K, AP needs all relevant
        items to be among these results.
    total_relevant : int array (queries,)
        Number of relevant items in the whole database.
    definition : APDefinition

    Examples
    --------
    >>> ranking = np.array([[True, True, False, True, False]])
    >>> average_precision(ranking, np.array([6]), APDefinition(5, "capped")).round(3)
    array([0.55])
    """
    top = relevance[:, : definition.top]
    found = np.count_nonzero(top, axis=1)
    cut_short = np.count_nonzero(found < total_relevant)
    if cut_short and not definition.counts_hits and (definition.top is None or top.shape[1] < definition.top):
        raise InputError(
            f"{definition.label} needs {definition.top or 'all'} results per query; got {top.shape[1]}, "
            f"so relevant items are missing for {cut_short} queries. Rank more items."
        )
    sums, step = found.astype(np.float64), max(1, BLOCK_CELLS // top.shape[1])
    if not definition.counts_hits:
        for block in (slice(start, start + step) for start in range(0, len(top), step)):
            precisions = np.cumsum(top[block], axis=1) / np.arange(1, top.shape[1] + 1)
            sums[block] = np.sum(precisions, axis=1, where=top[block])
    depth = np.full(len(top), top.shape[1])
    return np.asarray(sums / definition.denominator(found, total_relevant, depth))


@dataclass(frozen=True, eq=False)
class TiedAP:
    """Expected, best and worst AP of each query over all orders of tied items; arrays (queries,)."""

    expected: FloatArray  # if all orders are equally likely
    best: FloatArray
    worst: FloatArray


def tied_average_precision(counts: DistanceCounts, definition: APDefinition) -> TiedAP:
    """Return the expected, best and worst AP of each query over all orders of tied items.

    If all n items at one distance, r of them relevant, rank within the top K, they add the sum of precisions
    that _expected_sum, _best_sum or _worst_sum returns. At the distance that straddles K, only n' of n items
    rank within K. The number j of relevant items among these n' is hypergeometric; given j, all their orders
    are equally likely. Let "whole" be the sum over the distances that are entirely within K, and "cut" the
    sum over the n' items:

        expected = Σ_j P(j) (E[whole] + E[cut | j]) / denominator(j)
        best     = max_j (best whole + best cut given j) / denominator(j)
        worst    = min_j (worst whole + worst cut given j) / denominator(j)

    All j are tried, because with "found" one more relevant item can lower the mean.
    """
    counts = _merge_beyond(counts, definition.top)
    H = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, counts.items.sum(axis=1).max() + 1))])  # Σ_(i≤k) 1/i
    columns = min(definition.top or 0, len(H)) + counts.items.shape[1]

    def work(block: slice) -> FloatArray:
        return _tied_block(counts.items[block], counts.relevant[block], definition, H)

    blocks = over_rows(work, len(counts.items), max(1, BLOCK_CELLS // columns))
    expected, best, worst = np.concatenate(blocks, axis=1)
    return TiedAP(expected, best, worst)


def _merge_beyond(counts: DistanceCounts, top: int | None) -> DistanceCounts:
    """Merge distances beyond the first `top` items of every query; the order of such items has no effect."""
    if top is None:
        return counts
    is_beyond: BoolArray = np.all(np.cumsum(counts.items, axis=1) >= top, axis=0)
    last = int(np.argmax(is_beyond)) + 1 if is_beyond.any() else len(is_beyond)
    if last + 1 >= len(is_beyond):
        return counts
    items, relevant = (np.column_stack([x[:, :last], x[:, last:].sum(axis=1)]) for x in (counts.items, counts.relevant))
    return DistanceCounts(items, relevant)


def chance_average_precision(counts: DistanceCounts, definition: APDefinition) -> FloatArray:
    """Return the expected AP of each query in a random order, computed once for queries with equal counts."""
    random = chance(counts)
    sizes, same = np.unique(np.hstack([random.items, random.relevant]), axis=0, return_inverse=True)
    few = DistanceCounts(sizes[:, :1], sizes[:, 1:])
    return tied_average_precision(few, definition).expected[same]


def _tied_block(n: IntArray, r: IntArray, definition: APDefinition, H: FloatArray) -> FloatArray:
    """Return expected, best and worst AP, (3, queries), from n items, r relevant, at each distance."""
    K = len(H) if definition.top is None else definition.top
    c, p = (np.cumsum(n, axis=1) - n, np.cumsum(r, axis=1) - r)  # items, and relevant items, at smaller distances
    whole = c + n <= K
    cut = np.count_nonzero(whole, axis=1, keepdims=True)  # the first distance that does not fit into K
    n_cut, r_cut = (np.take_along_axis(np.pad(x, ((0, 0), (0, 1))), cut, axis=1) for x in (n, r))
    c_cut, p_cut = (np.sum(x, axis=1, where=whole, keepdims=True) for x in (n, r))
    places = np.minimum(K - c_cut, n_cut)  # 0 if no distance straddles K
    j, P = _hypergeometric(n_cut, r_cut, places)
    denominator = definition.denominator(p_cut + j, *(x.sum(axis=1, keepdims=True) for x in (r, n)))
    sums: Sequence[Callable[..., FloatArray]] = (_expected_sum, _best_sum, _worst_sum)
    if definition.counts_hits:  # the number of relevant items is the same for every order of ties
        sums = (lambda n, r, c, p, H: r.astype(np.float64),) * 3
    expected, best, worst = (
        (add(n, r, c, p, H).sum(axis=1, where=whole, keepdims=True) + add(places, j, c_cut, p_cut, H)) / denominator
        for add in sums
    )
    best, worst = best.max(axis=1), worst.min(axis=1)
    # the clip removes rounding errors: without ties all three are the same number
    return np.stack([np.clip(np.sum(P * expected, axis=1), worst, best), best, worst])


def _expected_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """Return the sum of the precisions at the tied relevant items, as a mean over all orders of the ties:

        (r/n) [ (p+1)(H_(c+n) − H_c) + (r−1)/(n−1) · (n − (c+1)(H_(c+n) − H_c)) ]

    n items are tied, r of them relevant; c items are nearer, p of them relevant; H are the harmonic numbers.
    The i-th of the n items is relevant with probability r/n. If it is, on average p + 1 + (i−1)(r−1)/(n−1) of
    the first c + i items are relevant.
    """
    span = H[c + n] - H[c]
    others = (r - 1) / np.maximum(n - 1, 1)  # no effect for n = 1, where n − (c+1) span = 0
    return np.asarray(r / np.maximum(n, 1) * ((p + 1) * span + others * (n - (c + 1) * span)))


def _best_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """Return the sum of the precisions at the tied relevant items if these come first among the ties:

        Σ_(i≤r) (p+i)/(c+i) = r + (p−c)(H_(c+r) − H_c)

    r of the tied items are relevant; c items are nearer, p of them relevant; H are the harmonic numbers.
    """
    return np.asarray(r + (p - c) * (H[c + r] - H[c]))


def _worst_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """Return the sum of the precisions at the tied relevant items if these come last among the ties:

        Σ_(i≤r) (p+i)/(c+n−r+i) = r + (p−c−n+r)(H_(c+n) − H_(c+n−r))

    n items are tied, r of them relevant; c items are nearer, p of them relevant; H are the harmonic numbers.
    """
    return np.asarray(r + (p - c - n + r) * (H[c + n] - H[c + n - r]))


def _hypergeometric(n: IntArray, r: IntArray, places: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the possible numbers j of relevant items in `places` places and their probabilities P(j).

    Of n items, r are relevant, so P(j) = C(r, j) C(n−r, places−j) / C(n, places). It is computed from
    P(j)/P(j−1) = (r−j+1)(places−j+1) / (j (n−r−places+j)) in logarithms, because the binomials overflow. Both
    results have one row per query; a row with fewer possible j repeats the last one with probability 0.
    """
    low, high = np.maximum(0, places - (n - r)), np.minimum(r, places)
    j = low + np.arange(np.max(high - low) + 1)
    feasible, step = j <= high, j[:, 1:]
    ratio = (r - step + 1) * (places - step + 1) / (step * (n - r - places + step))
    logs = np.cumsum(np.log(ratio, where=feasible[:, 1:], out=np.zeros(step.shape)), axis=1)
    logs = np.pad(logs, ((0, 0), (1, 0)))
    P = np.exp(logs - logs.max(axis=1, keepdims=True)) * feasible
    return np.minimum(j, high), P / P.sum(axis=1, keepdims=True)
