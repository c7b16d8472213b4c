"""The paired bootstrap against all resamples of a few queries, and its sentences."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.metrics import AP_DEFINITIONS, APScore
from smfh.metrics.significance import Difference, compare_pairs, how_tested, in_words, resampled_means


def exact_quantile(difference: np.ndarray, share: float) -> float:
    """Over all n^n resamples, each equally likely."""
    means = np.sort([np.mean(drawn) for drawn in product(difference, repeat=len(difference))])
    return means[int(np.ceil(share * len(means))) - 1]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_agree_with_all_resamples_of_five_queries(level):
    a, b = np.array([[0.9, 0.2, 0.5, 0.7, 0.1]]), np.array([[0.5, 0.3, 0.1, 0.6, 0.15]])
    found = compare_pairs({"a": a, "b": b}, level, resamples=200_000)[0]
    assert found.mean == pytest.approx(0.15)
    for value, share in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
        # 200,000 draws miss a share of all resamples by 0.004 less than once in a thousand times
        around = [exact_quantile((a - b)[0], share + off) for off in (-0.004, 0.004)]
        assert around[0] - 1e-9 <= value <= around[1] + 1e-9


def test_resamples_are_drawn_evenly_and_the_same_for_every_column():
    values = np.eye(4)
    means = resampled_means(values, 40_000, seed=3)
    assert means.sum(axis=1) == pytest.approx(1)
    assert means.mean(axis=0) == pytest.approx(0.25, abs=0.005)
    shares = np.bincount((means[:, 0] * 4).astype(int), minlength=5) / len(means)
    assert shares == pytest.approx([81 / 256, 108 / 256, 54 / 256, 12 / 256, 1 / 256], abs=0.01)
    twice = resampled_means(np.stack([values[:, 0], values[:, 0]], axis=1), 100, seed=3)
    assert np.array_equal(twice[:, 0], twice[:, 1])


def test_blocks_hold_all_resamples(monkeypatch):
    monkeypatch.setattr("smfh.metrics.significance.BLOCK_DRAWS", 7 * 30)
    assert resampled_means(np.ones((30, 2)), 100, seed=0).shape == (100, 2)


def test_a_shared_difficulty_cancels_out(rng):
    hard = rng.random((1, 400))
    found = compare_pairs({"a": hard * 0.5 + 0.02, "b": hard * 0.5})[0]
    assert found.low == pytest.approx(0.02)
    assert found.high == pytest.approx(0.02)
    assert found.is_clear


def test_every_pair_is_listed_with_the_better_method_first(rng):
    by_method = {name: rng.random((2, 60)) / 4 + base for name, base in zip("abc", (0.1, 0.7, 0.4), strict=True)}
    found = compare_pairs(by_method)
    assert [(pair.first, pair.second) for pair in found] == [("b", "c"), ("b", "a"), ("c", "a")]
    assert all(pair.mean > 0 and pair.low <= pair.mean <= pair.high for pair in found)


def test_more_pairs_widen_the_intervals(rng):
    two = {name: rng.random((1, 100)) for name in "ab"}
    alone = compare_pairs(two)[0]
    among = next(p for p in compare_pairs(two | {"c": rng.random((1, 100))}) if {p.first, p.second} == {"a", "b"})
    assert among.mean == pytest.approx(alone.mean)
    assert among.low < alone.low < alone.high < among.high
    assert "3 pairs" in how_tested([among])
    assert "Bonferroni" not in how_tested([alone])


def test_noise_is_seldom_called_a_win():
    rng = np.random.default_rng(5)
    wins = [
        compare_pairs({"a": rng.random((1, 80)), "b": rng.random((1, 80))}, resamples=500)[0].is_clear
        for _ in range(300)
    ]
    assert 0 < np.mean(wins) < 0.1


def test_a_difference_within_the_seed_error_is_not_a_win():
    a, b = np.full((2, 50), 0.5), np.full((2, 50), 0.45)
    a[0] += 0.2
    a[1] -= 0.1
    found = compare_pairs({"a": a, "b": b})[0]
    assert found.low > 0
    assert found.seed_error == pytest.approx(0.15)
    assert not found.is_clear
    assert "seeds alone change it by ±0.300" in in_words(found, "here")


def test_sentences():
    won = Difference("A", "B", 0.0541, 0.0412, 0.0668, 0.01, 1693, 3, 0.95, 1)
    assert in_words(won, "at 64 bits, text→image") == (
        "A beats B at 64 bits, text→image: +0.054 (95 % interval +0.041 to +0.067 over 1,693 queries, 3 seeds)."
    )
    even = Difference("A", "B", 0.0041, -0.0112, 0.0004, None, 20, 1, 0.95, 1)
    assert in_words(even, "at 8 bits") == (
        "A and B cannot be told apart at 8 bits: +0.004 (95 % interval −0.011 to 0.000 over 20 queries, 1 seed)."
    )
    assert "one seed" in how_tested([even])
    assert "one seed" not in how_tested([won])
    assert "needs at least two methods" in how_tested([])


@settings(max_examples=25, deadline=None)
@given(shift=st.floats(-1, 1), queries=st.integers(2, 30))
def test_the_order_of_methods_does_not_matter(shift, queries):
    rng = np.random.default_rng(queries)
    a, b = rng.random((2, queries)), rng.random((2, queries)) + shift
    one, other = (compare_pairs({"a": a, "b": b}, resamples=200), compare_pairs({"b": b, "a": a}, resamples=200))
    assert one[0].is_clear == other[0].is_clear
    assert (one[0].low, one[0].high) == pytest.approx((other[0].low, other[0].high))


def test_margin_of_a_score_is_that_of_the_bootstrap(rng):
    by_query = rng.beta(2, 1, 400)
    score = APScore(AP_DEFINITIONS["found"], by_query, 0.0, 0.0, 0.0, 0.0)
    low, high = np.percentile(resampled_means(by_query[:, None], 10_000, 0), [2.5, 97.5])
    assert score.margin == pytest.approx((high - low) / 2, rel=0.05)
