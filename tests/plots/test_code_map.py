"""The map of codes and the buckets by the data in their traces."""

import numpy as np
import pytest

from smfh.plots import bucket_sizes, code_map

POSITIONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def drawn(**more):
    rows, classes = np.array([40, 10, 30, 20]), np.array([2, 0, 2, 0])
    return code_map("PCA", POSITIONS, rows, classes, ("a", "<b>", "c"), ["w", "x", "<y>", "z"], 4, **more)


def test_a_brushed_point_tells_its_row():
    figure = drawn().figure()
    by_class = {trace.name: list(trace.customdata) for trace in figure.data}
    assert by_class == {"a": [10, 20], "c": [40, 30]}


def test_classes_differ_by_colour_and_shape():
    one, other = drawn().figure().data
    assert one.marker.color != other.marker.color
    assert one.marker.symbol != other.marker.symbol


def test_the_query_and_its_answers_are_marked_and_carry_no_row():
    marks = drawn(query=np.array([0.5, 0.5]), answers=np.array([1, 2])).figure().data[2:]
    answers, query = marks
    assert (list(answers.x), list(answers.y)) == ([1.0, 0.0], [0.0, 1.0])
    assert (list(query.x), list(query.y)) == ([0.5], [0.5])
    assert answers.customdata is query.customdata is None
    table = drawn(query=np.array([0.5, 0.5]), answers=np.array([1, 2])).rows()
    assert [row["answer"] for row in table] == [0, 1, 1, 0]


def test_dragging_brushes():
    assert drawn().figure().layout.dragmode == "select"


def test_a_part_of_the_database_is_told():
    chart = code_map("t-SNE", POSITIONS, np.arange(4), np.zeros(4, dtype=int), ("a",), list("wxyz"), 5000)
    assert "4 of 5,000 items" in chart.title


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1], {"1": 3}),
        ([5, 2, 1, 1], {"1": 2, "2": 2, "3–4": 0, "5–8": 5}),
        ([4, 3, 2], {"1": 0, "2": 2, "3–4": 7}),
    ],
)
def test_items_are_counted_by_how_many_share_their_code(sizes, expected):
    rows = bucket_sizes(np.array(sizes)).rows()
    assert {row["items that share a code"]: row["items in such buckets"] for row in rows} == expected


def test_the_fullest_bucket_is_told():
    assert bucket_sizes(np.array([5, 2, 1])).title == "8 items share 3 codes; the fullest bucket holds 5"
