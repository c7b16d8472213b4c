"""The database by distance."""

import numpy as np
import pytest

from smfh.plots import distance_histogram
from smfh.types import DistanceCounts, InputError

COUNTS = DistanceCounts(
    items=np.array([[1, 2, 5, 2], [0, 4, 4, 2]]), relevant=np.array([[1, 1, 0, 0], [0, 1, 2, 0]])
)


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
    chart = distance_histogram(COUNTS, radius=2, query=1)
    assert [bars.values.tolist() for bars in chart.series] == [[0, 1, 2, 0], [0, 3, 2, 2]]
    assert chart.title == "Within radius 2 lie 8 items, 3 of the 3 relevant ones"
    assert chart.rows()[2] == {"Hamming distance (bits)": 1, "kind": "relevant", "items": 1}


def test_without_a_radius_the_whole_database_is_told():
    chart = distance_histogram(COUNTS, query=0)
    assert chart.title == "The database has 10 items, 2 of the 2 relevant ones"
    assert not chart.figure().layout.shapes


@pytest.mark.parametrize("query", [-1, 2])
def test_a_query_that_is_not_there_is_refused(query):
    with pytest.raises(InputError, match=f"0 to 1; got {query}"):
        distance_histogram(COUNTS, query=query)
