"""Curves over depth and radius by hand; how scores print; examples in docstrings."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.metrics import (
    AP_DEFINITIONS,
    RankedQueries,
    definitions,
    measure_ties,
    precision,
    precision_curve,
    radius_curve,
    recall_curve,
    score,
)
from smfh.metrics import scores as scores_module
from smfh.types import DistanceCounts, data

slowly = settings(deadline=None)


def test_curves_by_hand():
    # R N R, R = 2: precision 1, 1/2, 2/3; recall 1/2, 1/2, 1
    # N R N, R = 4: precision 0, 1/2, 1/3; recall 0, 1/4, 1/4
    relevance = np.array([[True, False, True], [False, True, False]])
    assert precision_curve(relevance) == pytest.approx([1 / 2, 1 / 2, 1 / 2])
    assert recall_curve(relevance, np.array([2, 4])) == pytest.approx([1 / 4, 3 / 8, 5 / 8])


@slowly
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 9))
def test_precision_curve_is_the_share_of_relevant_items_at_each_depth(seed, queries, depth):
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


def test_a_look_up_may_find_items_without_a_hit():
    curve = radius_curve(DistanceCounts(items=np.array([[3, 1]]), relevant=np.array([[0, 1]])))
    assert (curve.items[0], curve.hits[0], curve.precision[0]) == (3, 0, 0)


@pytest.fixture
def scores():
    relevance = np.array([[True, False, True], [False, True, False]])
    counts = DistanceCounts(items=np.array([[1, 2], [2, 1]]), relevant=np.array([[1, 1], [1, 0]]))
    sums, tied = measure_ties([(counts, np.array([5 / 3, 1 / 2]))], AP_DEFINITIONS)
    within = np.stack([counts.items, counts.relevant], axis=1)
    ranked = RankedQueries(relevance, within, sums, tied, np.array([0.7, 0.8]))
    return score(("text", "image", "unseen", "hamming"), ranked, np.array([1, 7]), distinct_codes=2)


def test_repr_is_one_readable_paragraph(scores):
    text = repr(scores)
    assert text.startswith(
        "<Scores text → image, unseen items, 1 bits, hamming distance, 2 queries, 2 distinct codes: mAP@100"
    )
    assert "NDCG@100 0.750" in text
    assert "2 distinct codes" in text
    assert len(text) < 400
    assert len(repr(scores.average_precision["found"])) < 200


def test_pair_retrieval_by_hand(scores):
    assert scores.pair_retrieval == {"recall_at_1": 0.5, "recall_at_5": 0.5, "recall_at_10": 1.0, "median_rank": 4.0}


def test_notebook_table_lists_every_definition(scores):
    table = scores._repr_html_()
    assert "2 distinct codes" in table
    assert table.count("<tr>") == 1 + len(AP_DEFINITIONS)
    assert all(definition.label in table for definition in AP_DEFINITIONS.values())


@pytest.mark.parametrize("module", [definitions, precision, scores_module, data])
def test_examples_in_docstrings_hold(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed
