"""Two codes side by side."""

import numpy as np
import pytest

from smfh.plots import bit_strips, csv_of
from smfh.types import InputError

QUERY = np.array([1, 1, 0, 0, 1], dtype=bool)
RESULT = np.array([1, 0, 0, 1, 1], dtype=bool)


def test_every_bit_of_both_codes_is_drawn_by_shape_and_colour():
    figure = bit_strips(QUERY, RESULT).figure()
    drawn = {trace.name: sorted(zip(trace.x, trace.y, strict=True)) for trace in figure.data}
    assert drawn == {
        "both on": [(0, 0), (0, 1), (4, 0), (4, 1)],
        "both off": [(2, 0), (2, 1)],
        "on here alone": [(1, 0), (3, 1)],
        "off here alone": [(1, 1), (3, 0)],
    }
    looks = [(trace.marker.symbol, trace.marker.color) for trace in figure.data]
    assert len({symbol for symbol, _ in looks}) == 4
    agreeing, differing = {colour for _, colour in looks[:2]}, {colour for _, colour in looks[2:]}
    assert not agreeing & differing


def test_the_title_counts_the_agreements():
    assert bit_strips(QUERY, RESULT).title == "3 of 5 bits agree; bits 1, 3 differ"
    assert bit_strips(QUERY, QUERY).title == "5 of 5 bits agree"
    one = QUERY ^ np.eye(5, dtype=bool)[2]
    assert bit_strips(QUERY, one).title == "4 of 5 bits agree; bit 2 differs"
    assert bit_strips(np.zeros(64, bool), np.ones(64, bool)).title.endswith("6, 7 and 56 more differ")


def test_long_codes_are_wrapped_and_each_line_says_where_it_begins():
    rng = np.random.default_rng(0)
    query, result = rng.random((2, 80)) < 0.5
    figure = bit_strips(query, result).figure()
    assert sum(len(trace.x) for trace in figure.data) == 160
    assert max(max(trace.x) for trace in figure.data) == 31
    names = figure.layout.yaxis.ticktext
    assert names == ("query 0", "result 0", "query 32", "result 32", "query 64", "result 64")
    assert figure.layout.height > bit_strips(QUERY, RESULT).figure().layout.height


def test_its_rows_are_the_bits():
    rows = bit_strips(QUERY, RESULT).rows()
    assert rows[1] == {"bit": 1, "query": 1, "result": 0, "agree": "no"}
    assert len(rows) == 5
    assert csv_of(rows).splitlines()[0] == '"bit","query","result","agree"'


def test_codes_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="as many bits"):
        bit_strips(QUERY, RESULT[:4])
