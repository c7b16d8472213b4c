"""Counts and pairs of classes."""

import numpy as np

from smfh.plots import label_counts, label_pairs

LABELS = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0]], dtype=bool)
NAMES = ("1", "2", "3", "empty")  # names that look like numbers stay names


def test_the_largest_class_comes_first_and_an_empty_one_not_at_all():
    chart = label_counts(LABELS, NAMES)
    (bars,) = chart.figure().data
    assert (list(bars.y), list(bars.x)) == ([0, 1, 2], [4, 3, 1])
    assert list(bars.customdata) == ["2", "3", "1"]
    layout = chart.figure().layout.yaxis
    assert (list(layout.tickvals), list(layout.ticktext)) == ([0, 1, 2], ["2", "3", "1"])
    assert layout.autorange == "reversed"
    assert chart.title == "“2” is the largest class: 4 of 5 items (the largest 3 of 4)"
    assert chart.rows()[0] == {"class": "2", "kind": "items", "items": 4}


def test_many_classes_are_cut_to_the_largest():
    labels = np.tri(60, dtype=bool)  # class k has 60 − k items
    chart = label_counts(labels, [f"class {k}" for k in range(60)])
    assert len(chart.rows()) == 40
    assert chart.rows()[-1] == {"class": "class 39", "kind": "items", "items": 21}
    assert label_pairs(labels, [f"class {k}" for k in range(60)]).values.shape == (40, 40)


def test_pairs_of_classes_are_counted_and_the_diagonal_left_out():
    chart = label_pairs(LABELS, NAMES)
    assert chart.row_names == ("2", "3", "1")
    np.testing.assert_array_equal(chart.values, [[np.nan, 2, 1], [2, np.nan, 0], [1, 0, np.nan]])
    assert chart.title == "“2” and “3” come together most: 2 items"
    assert chart.figure().data[0].zmax == 2


def test_single_labels_have_no_pairs_and_it_says_so():
    chart = label_pairs(np.eye(3, dtype=bool), NAMES[:3])
    assert chart.title == "No item carries two classes"
    assert not chart.figure().data
    assert "No item carries two classes" in chart.figure().layout.annotations[0].text


def test_names_with_markup_are_shown_as_they_are():
    figure = label_counts(LABELS, ("a", "<b>bold</b>", "c", "d")).figure()
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;bold&lt;/b&gt;"
    assert "<b>" not in figure.layout.title.text
    assert figure.data[0].customdata[0] == "&lt;b&gt;bold&lt;/b&gt;"
