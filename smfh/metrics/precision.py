"""Average precision from ranked relevance, or from counts by distance, which tell what ties can do to it.

Ranked relevance is a queries × depth matrix: is the k-th answer relevant? Counts by distance know how many
items lie at each Hamming distance, not their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smfh.metrics.curves import check_ranking
from smfh.metrics.definitions import APDefinition
from smfh.parallel import over_rows
from smfh.types import BoolArray, DistanceCounts, FloatArray, InputError, IntArray

BLOCK_CELLS = 1 << 15  # numbers that a step over queries × places holds at once


def chance(counts: DistanceCounts) -> DistanceCounts:
    """The same database at one single distance: a random order, whose expected AP is the chance level."""
    return DistanceCounts(
        items=counts.items.sum(axis=1, keepdims=True), relevant=counts.relevant.sum(axis=1, keepdims=True)
    )


def average_precision(relevance: BoolArray, total_relevant: IntArray, definition: APDefinition) -> FloatArray:
    """AP = Σ_(k≤K) P@k · rel(k) / denominator for every query, or P@K; 0 where nothing relevant is found.

    `relevance` (queries, depth) is in ranked order, `total_relevant` (queries,) counts the whole database.
    The depth may be less than K only where everything relevant has been found: the rest then adds nothing.
    """
    check_ranking(relevance, total_relevant)
    top = relevance[:, : definition.top]
    found = np.count_nonzero(top, axis=1)
    cut_short = np.count_nonzero(found < total_relevant)
    if cut_short and not definition.counts_hits and (definition.top is None or top.shape[1] < definition.top):
        raise InputError(
            f"{definition.label} needs {definition.top or 'all'} answers a query; got {top.shape[1]}, "
            f"which leave out relevant items of {cut_short} queries. Rank deeper."
        )
    looked_at = np.full(len(top), top.shape[1])
    places = np.arange(1, top.shape[1] + 1)
    sums = found.astype(np.float64)
    for block in () if definition.counts_hits else _blocks(*top.shape):
        sums[block] = np.sum(np.cumsum(top[block], axis=1) / places, axis=1, where=top[block])
    scores: FloatArray = sums / definition.denominator(found, total_relevant, looked_at)
    return scores


@dataclass(frozen=True, eq=False)
class TiedAP:
    """The AP of every query over all orders of items at equal distance; each (queries,)."""

    expected: FloatArray  # every order equally likely
    best: FloatArray
    worst: FloatArray


def tied_average_precision(counts: DistanceCounts, definition: APDefinition) -> TiedAP:
    """The expected, best and worst AP of every query over all orders within equal distance.

    A distance whose n items, r of them relevant, all stand within the top K adds the sum of precisions
    given by the three functions below. The one that straddles K has places for n' of its n items. The number
    j of relevant ones among these is hypergeometric, and given j they lie anywhere in the n' places:

        expected = Σ_j P(j) (E[whole] + E[cut | j]) / denominator(j)
        best     = max_j (best whole + best cut given j) / denominator(j)

    and worst with min. All j are tried: under "found" one more hit of low precision can lower the mean.
    """
    H = _harmonic_numbers(int(counts.items.sum(axis=1).max()))
    columns = min(definition.top or 0, len(H)) + counts.items.shape[1]

    def work(block: slice) -> FloatArray:
        return _tied_block(counts.items[block], counts.relevant[block], definition, H)

    blocks = over_rows(work, len(counts.items), max(1, BLOCK_CELLS // columns))
    expected, best, worst = np.concatenate(blocks, axis=1)
    return TiedAP(expected, best, worst)


def chance_average_precision(counts: DistanceCounts, definition: APDefinition) -> FloatArray:
    """The expected AP of every query in a random order; it depends on N and R alone, so few are computed."""
    random = chance(counts)
    sizes, same = np.unique(np.hstack([random.items, random.relevant]), axis=0, return_inverse=True)
    few = DistanceCounts(sizes[:, :1], sizes[:, 1:])
    return tied_average_precision(few, definition).expected[same]


def _tied_block(n: IntArray, r: IntArray, definition: APDefinition, H: FloatArray) -> FloatArray:
    """Expected, best and worst AP as rows, for the counts (queries, distances) of some queries."""
    K = len(H) if definition.top is None else definition.top
    c, p = np.cumsum(n, axis=1) - n, np.cumsum(r, axis=1) - r  # what stands before each distance
    whole = c + n <= K
    cut = np.count_nonzero(whole, axis=1, keepdims=True)  # the first distance that does not fit
    n_cut, r_cut = (np.take_along_axis(np.pad(x, ((0, 0), (0, 1))), cut, axis=1) for x in (n, r))
    c_cut, p_cut = (np.sum(x, axis=1, where=whole, keepdims=True) for x in (n, r))
    places = np.minimum(K - c_cut, n_cut)  # 0 where no distance straddles K
    j, P = _hypergeometric(n_cut, r_cut, places)
    denominator = definition.denominator(p_cut + j, *(x.sum(axis=1, keepdims=True) for x in (r, n)))
    sums = (_hits, _hits, _hits) if definition.counts_hits else (_expected_sum, _best_sum, _worst_sum)
    expected, best, worst = (
        (add(n, r, c, p, H).sum(axis=1, where=whole, keepdims=True) + add(places, j, c_cut, p_cut, H))
        / denominator
        for add in sums
    )
    best, worst = best.max(axis=1), worst.min(axis=1)
    # the clip removes rounding only: where nothing can change, all three are the same number
    return np.stack([np.clip(np.sum(P * expected, axis=1), worst, best), best, worst])


def _hits(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """r, in any order."""
    return r.astype(np.float64)


def _expected_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """(r/n) [ (p+1)(H_(c+n) − H_c) + (r−1)/(n−1) · (n − (c+1)(H_(c+n) − H_c)) ], in any order.

    Place i of the n holds a relevant item with probability r/n, which then sees p + 1 + (i−1)(r−1)/(n−1)
    relevant items among c + i.
    """
    span = H[c + n] - H[c]
    others = (r - 1) / np.maximum(n - 1, 1)  # of no account for n = 1, where n − (c+1) span = 0
    precisions: FloatArray = r / np.maximum(n, 1) * ((p + 1) * span + others * (n - (c + 1) * span))
    return precisions


def _best_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """Σ_(i≤r) (p+i)/(c+i) = r + (p−c)(H_(c+r) − H_c): relevant items first."""
    precisions: FloatArray = r + (p - c) * (H[c + r] - H[c])
    return precisions


def _worst_sum(n: IntArray, r: IntArray, c: IntArray, p: IntArray, H: FloatArray) -> FloatArray:
    """Σ_(i≤r) (p+i)/(c+n−r+i) = r + (p−c−n+r)(H_(c+n) − H_(c+n−r)): relevant items last."""
    precisions: FloatArray = r + (p - c - n + r) * (H[c + n] - H[c + n - r])
    return precisions


def _harmonic_numbers(last: int) -> FloatArray:
    """H_k = Σ_(i≤k) 1/i for k = 0 … last."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, last + 1))])


def _hypergeometric(n: IntArray, r: IntArray, places: IntArray) -> tuple[IntArray, FloatArray]:
    """All feasible j and P(j) = C(r, j) C(n−r, places−j) / C(n, places); from columns, a row a query.

    From P(j)/P(j−1) = (r−j+1)(places−j+1) / (j (n−r−places+j)), in logarithms and scaled to sum 1, since the
    binomials overflow. Rows with fewer values repeat their last j with probability 0.
    """
    low, high = np.maximum(0, places - (n - r)), np.minimum(r, places)
    j = low + np.arange(np.max(high - low) + 1)
    feasible, step = j <= high, j[:, 1:]
    ratio = (r - step + 1) * (places - step + 1) / (step * (n - r - places + step))
    logs = np.cumsum(np.log(ratio, where=feasible[:, 1:], out=np.zeros(step.shape)), axis=1)
    logs = np.pad(logs, ((0, 0), (1, 0)))
    P = np.exp(logs - logs.max(axis=1, keepdims=True)) * feasible
    return np.minimum(j, high), P / P.sum(axis=1, keepdims=True)


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows that hold at most BLOCK_CELLS cells together, or one row at a time."""
    step = max(1, BLOCK_CELLS // max(columns, 1))
    return (slice(start, start + step) for start in range(0, rows, step))
