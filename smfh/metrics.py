"""Scores of a retrieval, from ranked relevance or from counts by distance alone.

Ranked relevance is a queries × depth matrix: is the k-th answer relevant? Counts by distance know how many
items lie at each Hamming distance, not their order, and so tell what ties can do to a score.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from smfh.parallel import over_rows
from smfh.types import BoolArray, DistanceCounts, FloatArray, InputError, IntArray, unknown

DivideBy = Literal["found", "capped", "all"]
BLOCK_CELLS = 1 << 15  # numbers that a step over queries × places holds at once


def chance(counts: DistanceCounts) -> DistanceCounts:
    """The same database at one single distance: a random order, whose expected AP is the chance level."""
    return DistanceCounts(
        items=counts.items.sum(axis=1, keepdims=True), relevant=counts.relevant.sum(axis=1, keepdims=True)
    )


@dataclass(frozen=True)
class APDefinition:
    """Which average precision is meant: how deep it looks, and what its sum is divided by."""

    top: int | None = 100  # K; None: the whole ranking
    divide_by: DivideBy = "found"

    def __post_init__(self) -> None:
        problems: list[str] = []
        whole = isinstance(self.top, int | np.integer) and not isinstance(self.top, bool)
        if self.top is not None and (not whole or self.top < 1):
            problems.append(f"top must be a whole number from 1, or None for all items; got {self.top!r}.")
        if self.divide_by not in get_args(DivideBy):
            problems += unknown("denominator", self.divide_by, get_args(DivideBy)).problems
        if problems:
            raise InputError(problems)

    @property
    def label(self) -> str:
        """What an axis or a column calls the mean of this AP."""
        if self.top is None:
            return "mAP"  # all three denominators are R here
        return f"mAP@{self.top}" + ("" if self.divide_by == "found" else f" ({self.divide_by})")

    @property
    def words(self) -> str:
        """The definition as one sentence."""
        if self.top is None:
            where, by = "in the whole ranking", "by the number of relevant items in the database"
        else:
            where = f"among the first {self.top} answers"
            by = {
                "found": "by the number of relevant items found there",
                "capped": f"by the number of relevant items in the database, at most {self.top}",
                "all": "by the number of all relevant items in the database",
            }[self.divide_by]
        return (
            f"For each query the precisions at the relevant items {where} are added up and divided {by}, "
            "a query with nothing relevant counts as 0, and mAP is the mean over all queries."
        )

    @property
    def formula(self) -> str:
        """The definition as a line of text; rel(k) is 1 where the k-th answer is relevant."""
        if self.top is None:
            return "AP = Σ_k P@k · rel(k) / R"
        K = self.top
        by = {"found": f"Σ_(k≤{K}) rel(k)", "capped": f"min(R, {K})", "all": "R"}[self.divide_by]
        return f"AP@{K} = Σ_(k≤{K}) P@k · rel(k) / {by}"

    def denominator(self, found: IntArray, total: IntArray) -> IntArray:
        """found: Σ_(k≤K) rel(k); capped: min(R, K); all: R. At least 1, since the sum above a 0 is 0."""
        by = found if self.divide_by == "found" else total
        if self.divide_by == "capped" and self.top is not None:
            by = np.minimum(total, self.top)
        return np.maximum(by, 1)


AP_DEFINITIONS: Mapping[str, APDefinition] = MappingProxyType(
    {
        "found": APDefinition(),  # the paper's
        "capped": APDefinition(divide_by="capped"),
        "all": APDefinition(divide_by="all"),
        "full": APDefinition(top=None, divide_by="all"),
    }
)


def average_precision(relevance: BoolArray, total_relevant: IntArray, definition: APDefinition) -> FloatArray:
    """AP = Σ_(k≤K) P@k · rel(k) / denominator for every query; 0 where nothing relevant is found.

    `relevance` (queries, depth) is in ranked order, `total_relevant` (queries,) counts the whole database.
    The depth may be less than K only where everything relevant has been found: the rest then adds nothing.
    """
    _check_ranking(relevance, total_relevant)
    top = relevance[:, : definition.top]
    found = np.count_nonzero(top, axis=1)
    cut_short = np.count_nonzero(found < total_relevant)
    if cut_short and (definition.top is None or top.shape[1] < definition.top):
        raise InputError(
            f"{definition.label} needs {definition.top or 'all'} answers a query; got {top.shape[1]}, "
            f"which leave out relevant items of {cut_short} queries. Rank deeper."
        )
    places = np.arange(1, top.shape[1] + 1)
    sums = np.empty(len(top))
    for block in _blocks(*top.shape):
        sums[block] = np.sum(np.cumsum(top[block], axis=1) / places, axis=1, where=top[block])
    return sums / definition.denominator(found, total_relevant)


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
    denominator = definition.denominator(p_cut + j, r.sum(axis=1, keepdims=True))
    expected, best, worst = (
        (add(n, r, c, p, H).sum(axis=1, where=whole, keepdims=True) + add(places, j, c_cut, p_cut, H))
        / denominator
        for add in (_expected_sum, _best_sum, _worst_sum)
    )
    best, worst = best.max(axis=1), worst.min(axis=1)
    # the clip removes rounding only: where nothing can change, all three are the same number
    return np.stack([np.clip(np.sum(P * expected, axis=1), worst, best), best, worst])


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


def precision_at(relevance: BoolArray, k: int) -> FloatArray:
    """P@k = Σ_(i≤k) rel(i) / k for every query."""
    _check_ranking(relevance)
    if not 1 <= k <= relevance.shape[1]:
        raise InputError(f"k of P@k lies from 1 to the {relevance.shape[1]} ranked answers; got {k}.")
    precision: FloatArray = np.count_nonzero(relevance[:, :k], axis=1) / k
    return precision


def precision_curve(relevance: BoolArray) -> FloatArray:
    """mean_q Σ_(i≤k) rel_q(i) / k for k = 1 … depth: the mean over queries of P@k."""
    _check_ranking(relevance)
    queries, depth = relevance.shape
    precision: FloatArray = np.cumsum(relevance.sum(axis=0)) / (queries * np.arange(1, depth + 1))
    return precision


def recall_curve(relevance: BoolArray, total_relevant: IntArray) -> FloatArray:
    """mean_q Σ_(i≤k) rel_q(i) / R_q for k = 1 … depth: the mean over queries of R@k, 0 where R_q = 0."""
    _check_ranking(relevance, total_relevant)
    # einsum: a product would turn the whole matrix into floats first
    return np.cumsum(np.einsum("q,qk->k", 1 / np.maximum(total_relevant, 1), relevance)) / len(relevance)


@dataclass(frozen=True, eq=False)
class RadiusCurve:
    """Means over queries among the items within radius ρ = 0 … bits; each (bits + 1,)."""

    precision: FloatArray
    recall: FloatArray


def radius_curve(counts: DistanceCounts) -> RadiusCurve:
    """mean_q of the precision and of the recall of the look-up within each radius ρ = 0 … bits.

    As in a look-up, an empty ball has precision 0, and a query with nothing relevant has recall 0.
    """
    items, relevant = np.cumsum(counts.items, axis=1), np.cumsum(counts.relevant, axis=1)
    return RadiusCurve(
        precision=np.mean(relevant / np.maximum(items, 1), axis=0),
        recall=np.mean(relevant / np.maximum(relevant[:, -1:], 1), axis=0),
    )


@dataclass(frozen=True, eq=False)
class Lookup:
    """What every query finds within a Hamming radius; each array (queries,)."""

    radius: int
    precision: FloatArray  # 0 where nothing is found: a failed look-up counts as zero
    recall: FloatArray  # 0 where nothing is relevant
    items: IntArray  # found

    @property
    def succeeded(self) -> float:
        """The share of queries that find any item: mean_q [items_q > 0]."""
        return float(np.mean(self.items > 0))

    @property
    def hit_rate(self) -> float:
        """The share of queries that find a relevant item: mean_q [precision_q > 0]."""
        return float(np.mean(self.precision > 0))


def look_up(counts: DistanceCounts, radius: int) -> Lookup:
    """precision = Σ_(d≤ρ) relevant_d / Σ_(d≤ρ) items_d and recall = Σ_(d≤ρ) relevant_d / R of every query."""
    bits = counts.items.shape[1] - 1
    if not 0 <= radius <= bits:
        raise InputError(f"A radius among codes of {bits} bits lies from 0 to {bits}; got {radius}.")
    items, relevant = (x[:, : radius + 1].sum(axis=1) for x in (counts.items, counts.relevant))
    return Lookup(
        radius=radius,
        precision=relevant / np.maximum(items, 1),
        recall=relevant / np.maximum(counts.total_relevant, 1),
        items=items,
    )


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows that hold at most BLOCK_CELLS cells together, or one row at a time."""
    step = max(1, BLOCK_CELLS // max(columns, 1))
    return (slice(start, start + step) for start in range(0, rows, step))


def _check_ranking(relevance: BoolArray, total_relevant: IntArray | None = None) -> None:
    problems = []
    if relevance.ndim != 2 or relevance.dtype != np.bool_ or relevance.size == 0:
        problems.append(
            "Ranked relevance must be a boolean queries × depth matrix with something in it; "
            f"got {relevance.dtype} of shape {relevance.shape}."
        )
    if total_relevant is not None:
        if total_relevant.shape != relevance.shape[:1] or not np.issubdtype(total_relevant.dtype, np.integer):
            problems.append(
                f"total_relevant must be a whole number for each of {len(relevance)} queries; "
                f"got {total_relevant.dtype} of shape {total_relevant.shape}."
            )
        elif not problems and (bad := np.count_nonzero(relevance.sum(axis=1) > total_relevant)):
            problems.append(
                f"{bad} queries find more relevant items than total_relevant says there are; "
                "it counts the whole database."
            )
    if problems:
        raise InputError(problems)
