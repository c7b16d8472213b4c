"""Queried class by retrieved class, worked out by hand."""

import numpy as np

from smfh.plots import confusion

LABELS = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
NAMES = ("art", "history", "music")


def test_the_share_of_answers_that_carry_each_class():
    queries = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    indices = np.array([[0, 1, 2], [0, 2, 3], [3, 2, 0]])
    chart = confusion(indices, queries, LABELS, NAMES, top=2)
    # art: answers 0 1 and 0 2, of four three are art and one is history; history: 3 2, both history
    assert chart.row_names == chart.column_names == ("art", "history")
    np.testing.assert_allclose(chart.values, [[0.75, 0.25], [0, 1]])
    assert chart.title == "“art” is answered by “history” most: 0.250 of the first 2"
    assert chart.rows()[1] == {
        "queried class": "art",
        "retrieved class": "history",
        "share of answers": 0.25,
    }


def test_a_query_of_two_classes_counts_for_both_and_depth_is_what_there_is():
    queries = np.array([[0, 1, 1]], dtype=bool)
    chart = confusion(np.array([[3, 2]]), queries, LABELS, NAMES, top=100)
    np.testing.assert_allclose(chart.values, [[1, 0.5], [1, 0.5]])
    assert "of the first 2" in chart.title


def test_one_class_cannot_be_mixed_up():
    chart = confusion(np.array([[0]]), np.array([[1, 0, 0]], dtype=bool), LABELS, NAMES)
    assert "no two classes" in chart.title
