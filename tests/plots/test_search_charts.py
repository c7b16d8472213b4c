"""Distances, two codes bit by bit, the map of codes and identical codes, by the data in their traces."""

import numpy as np
import pytest
from chart_examples import COUNTS

from smfh.plots import bit_strips, bucket_sizes, code_map, distance_histogram


def test_the_mean_over_queries():
    chart = distance_histogram(COUNTS, radius=1)
    relevant, other = chart.figure().data
    np.testing.assert_array_equal(relevant.x, [0, 1, 2, 3])
    np.testing.assert_array_equal(relevant.y, [0.5, 1, 1, 0])
    np.testing.assert_array_equal(other.y, [0, 2, 3.5, 2])
    assert chart.title == "Within radius 1: 3.500 items, 1.500 of the 2.500 relevant ones"
    (line,) = chart.figure().layout.shapes
    assert line.x0 == 1.5  # between the last distance inside and the first outside


QUERY = np.array([1, 1, 0, 0, 1], dtype=bool)
RESULT = np.array([1, 0, 0, 1, 1], dtype=bool)


def test_symbols_show_agreement_and_value_of_every_bit():
    figure = bit_strips(QUERY, RESULT).figure()
    drawn = {trace.name: sorted(zip(trace.x, trace.y, strict=True)) for trace in figure.data}
    assert drawn == {
        "on in both codes": [(0, 0), (0, 1), (4, 0), (4, 1)],
        "off in both codes": [(2, 0), (2, 1)],
        "on in this code only": [(1, 0), (3, 1)],
        "off in this code only": [(1, 1), (3, 0)],
    }
    assert bit_strips(QUERY, RESULT).title == "3 of 5 bits agree; bits 1, 3 differ"


def test_heavier_bits_are_larger():
    weights = np.array([2.0, 1.0, 0.5, 1.5, 0.0])
    weighted = bit_strips(QUERY, RESULT, weights)
    assert [row["weight"] for row in weighted.table] == weights.tolist()
    sizes = {
        int(bit): size
        for trace in weighted.figure().data
        for (bit, *_), size in zip(trace.customdata, trace.marker.size, strict=True)
    }
    assert sorted(sizes, key=sizes.get) == [4, 2, 1, 3, 0]


POSITIONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def map_chart(**more):
    rows, classes = np.array([40, 10, 30, 20]), np.array([2, 0, 2, 0])
    return code_map("PCA", POSITIONS, rows, classes, ("a", "<b>", "c"), ["w", "x", "<y>", "z"], 4, **more)


def test_custom_data_of_a_point_is_its_row():
    figure = map_chart().figure()
    by_class = {trace.name: list(trace.customdata) for trace in figure.data}
    assert by_class == {"a": [10, 20], "c": [40, 30]}


def test_query_and_results_are_marked_without_custom_data():
    marks = map_chart(query=np.array([0.5, 0.5]), results=np.array([1, 2])).figure().data[2:]
    results, query = marks
    assert (list(results.x), list(results.y)) == ([1.0, 0.0], [0.0, 1.0])
    assert (list(query.x), list(query.y)) == ([0.5], [0.5])
    assert results.customdata is query.customdata is None
    table = map_chart(query=np.array([0.5, 0.5]), results=np.array([1, 2])).rows()
    assert [row["result"] for row in table] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1], {"1": 3}),
        ([5, 2, 1, 1], {"1": 2, "2": 2, "3–4": 0, "5–8": 5}),
        ([4, 3, 2], {"1": 0, "2": 2, "3–4": 7}),
    ],
)
def test_items_are_counted_by_size_of_identical_codes(sizes, expected):
    rows = bucket_sizes(np.array(sizes)).rows()
    assert {row["items with the same code"]: row["items"] for row in rows} == expected
