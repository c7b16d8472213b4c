"""Curves over answers and over the radius, by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.metrics import precision_curve, radius_curve, recall_curve
from smfh.types import DistanceCounts

slowly = settings(deadline=None)


def test_curves_by_hand():
    # R N R, R = 2: precision 1, 1/2, 2/3; recall 1/2, 1/2, 1
    # N R N, R = 4: precision 0, 1/2, 1/3; recall 0, 1/4, 1/4
    relevance = np.array([[True, False, True], [False, True, False]])
    assert precision_curve(relevance) == pytest.approx([1 / 2, 1 / 2, 1 / 2])
    assert recall_curve(relevance, np.array([2, 4])) == pytest.approx([1 / 4, 3 / 8, 5 / 8])


@slowly
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 9))
def test_precision_curve_is_the_share_of_relevant_ones_at_each_depth(seed, queries, depth):
    relevance = np.random.default_rng(seed).random((queries, depth)) < 0.5
    means = [relevance[:, :k].mean() for k in range(1, depth + 1)]
    assert precision_curve(relevance) == pytest.approx(means)


# Three bits, database of 6. Query 1: 1 of 2 relevant at distance 0, 2 of 3 at 1, 0 of 1 at 3; R = 3.
# Query 2: nothing at 0 and 1, 1 of 4 at 2, 1 of 2 at 3; R = 2.
BALLS = DistanceCounts(
    items=np.array([[2, 3, 0, 1], [0, 0, 4, 2]], dtype=np.uint16),
    relevant=np.array([[1, 2, 0, 0], [0, 0, 1, 1]], dtype=np.uint16),
)


def test_radius_curve_by_hand():
    curve = radius_curve(BALLS)
    # precision 1/2, 3/5, 3/5, 3/6 and 0 (empty), 0 (empty), 1/4, 2/6
    assert curve.precision == pytest.approx([1 / 4, 3 / 10, 17 / 40, 5 / 12])
    # recall 1/3, 1, 1, 1 and 0, 0, 1/2, 1
    assert curve.recall == pytest.approx([1 / 6, 1 / 2, 3 / 4, 1])
    assert curve.items == pytest.approx([1, 5 / 2, 9 / 2, 6])
    assert curve.hits == pytest.approx([1 / 2, 1 / 2, 1, 1])


def test_a_look_up_can_succeed_without_a_hit():
    curve = radius_curve(DistanceCounts(items=np.array([[3, 1]]), relevant=np.array([[0, 1]])))
    assert (curve.items[0], curve.hits[0], curve.precision[0]) == (3, 0, 0)
