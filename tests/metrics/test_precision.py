"""Average precision against numbers computed by hand, and against all orders of ties."""

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from smfh.metrics import (
    AP_DEFINITIONS,
    APDefinition,
    average_precision,
    chance,
    radius_curve,
    recall_curve,
    tied_average_precision,
)
from smfh.types import DistanceCounts, InputError

slowly = settings(deadline=None)
DENOMINATORS = ("found", "capped", "all")  # of average precision; "depth" is P@K
RRNRN = np.array([[True, True, False, True, False]])


def slow_ap(ranking, total, definition):
    """AP by its definition, exactly."""
    places = ranking if definition.top is None else ranking[: definition.top]
    hits, precisions = 0, Fraction(0)
    for k, relevant in enumerate(places, start=1):
        if relevant:
            hits += 1
            precisions += Fraction(hits, k)
    capped = total if definition.top is None else min(total, definition.top)
    if definition.divide_by == "depth":
        return Fraction(hits, len(places))
    denominator = {"found": hits, "capped": capped, "all": total}[definition.divide_by]
    return precisions / denominator if denominator else Fraction(0)


def all_orders(distances, relevant):
    """Every ranking that ties allow; each choice of places for a distance's hits is equally likely."""
    groups = []
    for d in sorted(set(distances)):
        members = [hit for at, hit in zip(distances, relevant, strict=True) if at == d]
        chosen = combinations(range(len(members)), sum(members))
        groups.append([[i in places for i in range(len(members))] for places in chosen])
    return [list(chain(*order)) for order in product(*groups)]


def count(*databases):
    """The counts of queries, one for each (distances, relevance)."""
    size = 1 + max(max(distances) for distances, _ in databases)
    items = [np.bincount(distances, minlength=size) for distances, _ in databases]
    hits = [np.bincount(distances, relevant, minlength=size).astype(int) for distances, relevant in databases]
    return DistanceCounts(items=np.array(items), relevant=np.array(hits))


definitions = st.builds(
    APDefinition, top=st.none() | st.integers(1, 8), divide_by=st.sampled_from(DENOMINATORS)
) | st.builds(APDefinition, top=st.integers(1, 8), divide_by=st.just("depth"))


@st.composite
def databases(draw):
    """Distances and relevance of up to seven items, with gaps and ties."""
    items = draw(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=7))
    return [d for d, _ in items], [hit for _, hit in items]


# R R N R N with 6 relevant items in the database; precisions at the hits are 1/1, 2/2, 3/4.
@pytest.mark.parametrize(
    ("top", "divide_by", "expected"),
    [
        (5, "found", (1 + 1 + 3 / 4) / 3),  # 3 hits among five → 0.9167
        (5, "capped", (1 + 1 + 3 / 4) / 5),  # min(6, 5) → 0.55
        (5, "all", (1 + 1 + 3 / 4) / 6),  # R = 6 → 0.4583
        (3, "found", (1 + 1) / 2),  # 2 hits among three → 1
        (3, "capped", (1 + 1) / 3),  # min(6, 3) → 0.6667
        (3, "all", (1 + 1) / 6),  # → 0.3333
        (5, "depth", 3 / 5),  # 3 hits among five
        (3, "depth", 2 / 3),
    ],
)
def test_average_precision_by_hand(top, divide_by, expected):
    ap = average_precision(RRNRN, np.array([6]), APDefinition(top, divide_by))
    assert ap == pytest.approx([expected], abs=1e-15)


@pytest.mark.parametrize("divide_by", DENOMINATORS)
def test_whole_ranking_by_hand(divide_by):
    # R = 3, all found: (1 + 1 + 3/4) / 3 by any denominator
    ap = average_precision(RRNRN, np.array([3]), APDefinition(None, divide_by))
    assert ap == pytest.approx([2.75 / 3], abs=1e-15)


def test_named_definitions_by_hand():
    # one hit at place 2 and one at 150 of 200, R = 2; within 100 the sum is 1/2, over all 1/2 + 2/150
    ranking = np.zeros((1, 200), dtype=bool)
    ranking[0, [1, 149]] = True
    ap = {name: average_precision(ranking, np.array([2]), d)[0] for name, d in AP_DEFINITIONS.items()}
    by_hand = {"found": 1 / 2, "capped": 1 / 4, "all": 1 / 4, "full": (1 / 2 + 2 / 150) / 2}
    assert ap == pytest.approx(by_hand | {"precision": 1 / 100})


@slowly
@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 3), definitions)
def test_average_precision_equals_its_definition(ranking, missed, definition):
    if definition.top is None or definition.top > len(ranking):
        missed = 0  # the ranking must then be complete
    total = sum(ranking) + missed
    ap = average_precision(np.array([ranking]), np.array([total]), definition)
    assert ap == pytest.approx([float(slow_ap(ranking, total, definition))], abs=1e-12)


def test_a_short_ranking_is_rejected_unless_it_is_complete():
    definition = APDefinition(top=10, divide_by="all")
    with pytest.raises(InputError, match=r"mAP@10 \(all\) needs 10 results per query; got 5.*for 1 queries"):
        average_precision(RRNRN, np.array([4]), definition)
    with pytest.raises(InputError, match=r"mAP \(whole ranking\) needs all results"):
        average_precision(RRNRN, np.array([4]), AP_DEFINITIONS["full"])
    # all three are found: five further answers would add nothing
    deeper = np.pad(RRNRN, ((0, 0), (0, 5)))
    three = np.array([3])
    assert average_precision(RRNRN, three, definition) == average_precision(deeper, three, definition)


def test_average_precision_does_not_depend_on_blocks(monkeypatch):
    relevance = np.random.default_rng(0).random((7, 6)) < 0.4
    total = relevance.sum(axis=1)
    whole = average_precision(relevance, total, AP_DEFINITIONS["full"])
    monkeypatch.setattr("smfh.metrics.precision.BLOCK_CELLS", 13)  # two queries at a time
    np.testing.assert_array_equal(average_precision(relevance, total, AP_DEFINITIONS["full"]), whole)
    assert len(set(whole)) > 1


def test_tied_average_precision_by_hand():
    # distance 0: one relevant item; distance 1: R and N. Either R R N: (1 + 2/2)/2 = 1 or R N R: (1 + 2/3)/2
    tied = tied_average_precision(count(([0, 1, 1], [1, 1, 0])), AP_DEFINITIONS["full"])
    assert tied.best == pytest.approx([1.0])
    assert tied.worst == pytest.approx([5 / 6])
    assert tied.expected == pytest.approx([11 / 12])


def test_one_more_hit_can_lower_average_precision():
    # R at distance 0, four N at 1, then R and N at 2, cut at K = 6.
    # With the hit inside: (1 + 2/6)/2 = 2/3. Without it: 1/1 = 1, which is the best.
    counts = count(([0, 1, 1, 1, 1, 2, 2], [1, 0, 0, 0, 0, 1, 0]))
    found = tied_average_precision(counts, APDefinition(6, "found"))
    assert (found.best[0], found.worst[0], found.expected[0]) == pytest.approx((1, 2 / 3, 5 / 6))
    # over R = 2 the hit can only help: (1 + 2/6)/2 or 1/2
    every = tied_average_precision(counts, APDefinition(6, "all"))
    assert (every.best[0], every.worst[0], every.expected[0]) == pytest.approx((2 / 3, 1 / 2, 7 / 12))


@settings(deadline=None, max_examples=300)
@given(st.lists(databases(), min_size=1, max_size=3), definitions)
def test_ties_agree_with_all_orders(queries, definition):
    tied = tied_average_precision(count(*queries), definition)
    for q, (distances, relevant) in enumerate(queries):
        orders = [slow_ap(order, sum(relevant), definition) for order in all_orders(distances, relevant)]
        assert tied.expected[q] == pytest.approx(float(sum(orders) / len(orders)), abs=1e-12)
        assert tied.best[q] == pytest.approx(float(max(orders)), abs=1e-12)
        assert tied.worst[q] == pytest.approx(float(min(orders)), abs=1e-12)


@pytest.mark.parametrize("name", AP_DEFINITIONS)
def test_unsigned_counts_do_not_wrap(name):
    signed = count(([0, 0, 1, 1, 2], [0, 0, 1, 0, 1]))  # fewer hits than items stand before distance 1
    unsigned = DistanceCounts(signed.items.astype(np.uint32), signed.relevant.astype(np.uint32))
    expected, got = (tied_average_precision(counts, AP_DEFINITIONS[name]) for counts in (signed, unsigned))
    assert (got.expected, got.best, got.worst) == (expected.expected, expected.best, expected.worst)


@slowly
@given(st.integers(0, 2**32 - 1), definitions, st.sampled_from([8, 50, 10**6]))
def test_database_order_is_between_worst_and_best(seed, definition, cells):
    rng = np.random.default_rng(seed)
    d, relevant = rng.integers(6, size=(4, 60)), rng.random((4, 60)) < rng.random((4, 1)) ** 2
    counts = count(*zip(d, relevant, strict=True))
    ranked = np.take_along_axis(relevant, np.argsort(d, axis=1, kind="stable"), axis=1)
    ap = average_precision(ranked, counts.total_relevant, definition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("smfh.metrics.precision.BLOCK_CELLS", cells)  # one query, some, or all at a time
        tied = tied_average_precision(counts, definition)
    assert (tied.worst <= tied.expected).all()
    assert (tied.expected <= tied.best).all()
    assert (tied.worst <= ap + 1e-12).all()
    assert (ap <= tied.best + 1e-12).all()


@slowly
@given(st.lists(st.booleans(), min_size=1, max_size=30), definitions)
def test_without_ties_expected_best_and_worst_are_equal(ranking, definition):
    ap = average_precision(np.array([ranking]), np.array([sum(ranking)]), definition)
    tied = tied_average_precision(count((range(len(ranking)), ranking)), definition)
    for which in (tied.expected, tied.best, tied.worst):
        assert which == pytest.approx(ap, abs=1e-12)


@pytest.mark.parametrize(("n", "r", "K"), [(180_000, 20_000, 100), (20_000, 10_000, 3_000), (3_000, 2_990, 1_000)])
def test_large_ties_are_computed_accurately(n, r, K):
    # 50 items, 30 relevant, at distance 0; then n items, r relevant, cut at K
    counts = DistanceCounts(items=np.array([[50, n]]), relevant=np.array([[30, r]]))
    first = 30 / 50 * sum((1 + (i - 1) * 29 / 49) / i for i in range(1, 51))
    i = np.arange(1, K - 50 + 1)

    # by R: place i is a hit with probability r/n and then sees the others' share of the i − 1 before it
    second = np.sum(r / n * (31 + (i - 1) * (r - 1) / (n - 1)) / (50 + i))
    tied = tied_average_precision(counts, APDefinition(K, "all"))
    assert tied.expected[0] == pytest.approx((first + second) / (30 + r), rel=1e-10)

    # by what is found: the same given j hits among K − 50 places, weighted by another's P(j)
    def given_hits(j):
        others = (j - 1) / (K - 51)
        return (first + np.sum(j / (K - 50) * (31 + (i - 1) * others) / (50 + i))) / (30 + j)

    feasible = np.arange(max(0, K - 50 - (n - r)), min(r, K - 50) + 1)
    P = stats.hypergeom.pmf(feasible, n, r, K - 50)
    tied = tied_average_precision(counts, APDefinition(K, "found"))
    assert tied.expected[0] == pytest.approx(P @ [given_hits(j) for j in feasible], rel=1e-8)


@pytest.mark.parametrize("name", AP_DEFINITIONS)
def test_chance_is_the_mean_over_random_orders(name):
    counts = count(([0] * 20 + [1] * 30 + [2] * 150, [1] * 10 + [0] * 100 + [1] * 15 + [0] * 75))
    definition, total = AP_DEFINITIONS[name], np.full(4_000, 25)
    ranking = np.arange(200) < 25
    shuffled = np.random.default_rng(0).permuted(np.tile(ranking, (4_000, 1)), axis=1)
    ap = average_precision(shuffled, total, definition)
    expected = tied_average_precision(chance(counts), definition).expected
    assert expected == pytest.approx(ap.mean(), abs=3 * ap.std() / 4_000**0.5)
    assert chance(counts).items.tolist() == [[200]]
    assert chance(counts).relevant.tolist() == [[25]]


@pytest.mark.parametrize("name", AP_DEFINITIONS)
def test_a_query_without_relevant_items_counts_as_zero(name):
    counts = DistanceCounts(items=np.array([[2, 1], [1, 2]]), relevant=np.array([[0, 0], [1, 0]]))
    definition = AP_DEFINITIONS[name]
    assert counts.queries_without_relevant == 1
    assert counts.total_relevant.tolist() == [0, 1]
    tied = tied_average_precision(counts, definition)
    relevance = np.array([[False, False, False], [True, False, False]])
    ranked = average_precision(relevance, counts.total_relevant, definition)
    for ap in (ranked, tied.expected, tied.best, tied.worst):
        assert ap == pytest.approx([0, 1 / 3 if definition.counts_hits else 1])
    assert recall_curve(relevance, counts.total_relevant) == pytest.approx([1 / 2] * 3)
    assert radius_curve(counts).recall == pytest.approx([1 / 2, 1 / 2])


def test_labels_and_formulas_of_definitions():
    assert AP_DEFINITIONS["found"] == APDefinition() == APDefinition(100, "found")
    labels = [definition.label for definition in AP_DEFINITIONS.values()]
    assert labels == ["mAP@100", "mAP@100 (capped)", "mAP@100 (all)", "mAP (whole ranking)", "P@100"]
    assert APDefinition(50).formula == "AP@50 = Σ_(k≤50) P@k · rel(k) / Σ_(k≤50) rel(k)"
    assert APDefinition(50, "capped").formula.endswith("/ min(R, 50)")
    assert APDefinition(50, "all").formula.endswith("/ R")
    assert AP_DEFINITIONS["full"].formula == "AP = Σ_k P@k · rel(k) / R"


def test_latex_formulas_of_definitions():
    assert APDefinition(50).latex == (
        r"\mathrm{AP}@50 = \frac{\sum_{k \le 50} P@k \cdot \mathrm{rel}(k)}{\sum_{k \le 50} \mathrm{rel}(k)}"
    )
    assert APDefinition(50, "capped").latex.endswith(r"{\min(R, 50)}")
    assert APDefinition(50, "all").latex.endswith("{R}")
    assert AP_DEFINITIONS["full"].latex == r"\mathrm{AP} = \frac{1}{R} \sum_k P@k \cdot \mathrm{rel}(k)"
    assert len({d.words for d in AP_DEFINITIONS.values()}) == len(AP_DEFINITIONS)
    for definition in AP_DEFINITIONS.values():
        assert "A query without relevant items counts as 0" in definition.words
    assert "first 50 results" in APDefinition(50).words


@pytest.mark.parametrize("top", [0, -1, 2.5, True, "all"])
def test_an_invalid_definition_lists_all_problems(top):
    with pytest.raises(InputError) as error:
        APDefinition(top, "relevant")
    assert error.value.problems == (
        f"top must be a whole number from 1, or None for all items; got {top!r}.",
        "Unknown denominator 'relevant'; choose from found, capped, all, depth.",
    )
