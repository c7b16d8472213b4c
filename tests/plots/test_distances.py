"""The database by distance."""

import numpy as np
from chart_examples import COUNTS

from smfh.plots import distance_histogram
from smfh.types import DistanceCounts

ONE = DistanceCounts(COUNTS.items[1:], COUNTS.relevant[1:])


def test_the_mean_over_queries_relevant_and_not():
    chart = distance_histogram(COUNTS, radius=1)
    relevant, other = chart.figure().data
    np.testing.assert_array_equal(relevant.x, [0, 1, 2, 3])
    np.testing.assert_array_equal(relevant.y, [0.5, 1, 1, 0])
    np.testing.assert_array_equal(other.y, [0, 2, 3.5, 2])
    assert relevant.marker.color != other.marker.color
    assert relevant.marker.pattern.shape != other.marker.pattern.shape
    assert chart.figure().layout.barmode == "stack"
    assert chart.title == "Within radius 1 lie 3.500 items, 1.500 of the 2.500 relevant ones"
    (line,) = chart.figure().layout.shapes
    assert line.x0 == 1.5  # between the last distance inside and the first outside


def test_one_query_by_itself():
    chart = distance_histogram(ONE, radius=2)
    assert [bars.values.tolist() for bars in chart.series] == [[0, 1, 2, 0], [0, 3, 2, 2]]
    assert chart.title == "Within radius 2 lie 8 items, 3 of the 3 relevant ones"
    assert chart.rows()[2] == {"Hamming distance (bits)": 1, "kind": "relevant", "items": 1}


def test_without_a_radius_the_whole_database_is_told():
    assert distance_histogram(ONE).title == "The database has 10 items, 3 of the 3 relevant ones"
    assert distance_histogram(ONE, relevance_known=False).title == "The database has 10 items"
    assert not distance_histogram(ONE).figure().layout.shapes


def test_where_nobody_knows_what_is_right_there_is_one_kind_of_bar():
    chart = distance_histogram(ONE, radius=1, relevance_known=False)
    (bars,) = chart.figure().data
    np.testing.assert_array_equal(bars.y, [0, 4, 4, 2])
    assert chart.title == "Within radius 1 lie 4 of 10 items"
    assert [row["items"] for row in chart.rows()] == [0, 4, 4, 2]


def test_a_database_of_nothing_is_a_note():
    nothing = np.zeros((1, 9), dtype=np.int64)
    figure = distance_histogram(DistanceCounts(nothing, nothing), radius=2).figure()
    assert not figure.data
    assert len(figure.layout.annotations) == 1
