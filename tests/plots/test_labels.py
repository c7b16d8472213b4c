"""Counts and pairs of classes, and which answers for which."""

import numpy as np

from smfh.plots import confusion, label_counts, label_pairs

NAMES = ("1", "2", "3", "empty")  # names that look like numbers stay names
SIZES = np.array([1, 4, 3, 0])
PAIRS = np.array([[1, 1, 0, 0], [1, 4, 2, 0], [0, 2, 3, 0], [0, 0, 0, 0]])


def test_the_largest_class_comes_first_and_an_empty_one_not_at_all():
    chart = label_counts(SIZES, NAMES)
    (bars,) = chart.figure().data
    assert (list(bars.y), list(bars.x)) == ([0, 1, 2], [4, 3, 1])
    assert list(bars.customdata) == ["2", "3", "1"]
    layout = chart.figure().layout.yaxis
    assert (list(layout.tickvals), list(layout.ticktext)) == ([0, 1, 2], ["2", "3", "1"])
    assert layout.autorange == "reversed"
    assert chart.title == "“2” is the largest class: 4 items (drawn: 3 of 4 classes)"
    assert chart.rows()[0] == {"class": "2", "kind": "items", "items": 4}


def test_many_classes_are_cut_to_the_largest():
    names = [f"class {k}" for k in range(60)]
    chart = label_counts(np.arange(60, 0, -1), names)
    assert len(chart.rows()) == 40
    assert chart.rows()[-1] == {"class": "class 39", "kind": "items", "items": 21}
    assert label_pairs(np.ones((60, 60)), names).values.shape == (40, 40)


def test_pairs_of_classes_are_drawn_and_the_diagonal_left_out():
    chart = label_pairs(PAIRS, NAMES)
    assert chart.down.names == ("2", "3", "1")
    np.testing.assert_array_equal(chart.values, [[np.nan, 2, 1], [2, np.nan, 0], [1, 0, np.nan]])
    assert chart.title == "“2” and “3” come together most: 2 items"
    assert chart.figure().data[0].zmax == 2


def test_single_labels_have_no_pairs_and_it_says_so():
    chart = label_pairs(np.diag([3, 2, 1]), NAMES[:3])
    assert chart.title == "No item carries two classes"
    assert not chart.figure().data
    assert "No item carries two classes" in chart.figure().layout.annotations[0].text


def test_the_classes_that_are_mixed_up_most_are_told():
    chart = confusion(np.array([[0.75, 0.25], [0, 1]]), ("art", "history"), top=2)
    assert chart.title == "“art” is answered by “history” most: 0.250 of the first 2"
    assert chart.rows()[1] == {"queried class": "art", "retrieved class": "history", "share of answers": 0.25}
    assert "no two classes" in confusion(np.ones((1, 1)), ("art",), top=2).title
