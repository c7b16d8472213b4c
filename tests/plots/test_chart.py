"""Tables that no spreadsheet runs, and axes as Plotly wants them."""

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.plots import csv_of
from smfh.plots.chart import Axis, Mark, draw_marks, short


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "-", "+"]
)
def test_a_formula_becomes_text(cell):
    header, row = read(csv_of([{"name": cell, cell: 1}]))
    assert row[0] == header[1] == "'" + cell


@pytest.mark.parametrize("cell", ["-0.5", "+3", "-1e-05", "-.5", "7"])
def test_a_number_in_text_stays_a_number(cell):
    assert read(csv_of([{"x": cell}]))[1] == [cell]


def test_numbers_are_written_plainly_and_what_is_missing_is_left_out():
    text = csv_of([{"a": -0.5, "b": 3}, {"a": float("nan"), "c": None, "d": "x"}])
    assert text == '"a","b","c","d"\r\n-0.5,3,"",""\r\n"","","","x"\r\n'
    assert csv_of([]) == "\r\n"


def test_a_cell_cannot_hide_another_behind_a_semicolon():
    assert '"a;=1+1"' in csv_of([{"x": "a;=1+1"}])


@given(st.lists(st.text(), max_size=5))
def test_any_text_comes_back_and_none_begins_like_a_formula(texts):
    for given_text, (cell,) in zip(texts, read(csv_of({"text": text} for text in texts))[1:], strict=True):
        assert cell in (given_text, "'" + given_text)
        if cell[:1] in tuple("=+-@\t\r"):
            float(cell)  # only a number may


def test_an_axis_speaks_in_exponents_where_it_is_logarithmic():
    layout = Axis("K", log=True, limits=(1, 1000)).layout()
    assert layout["type"] == "log"
    assert layout["range"] == [0, 3]
    assert Axis("K", limits=(1, 1000)).layout()["range"] == [1, 1000]


def test_ticks_are_named():
    layout = Axis("class", names=("<i>a</i>", "b" * 40)).layout()
    assert layout["ticktext"] == ["&lt;i&gt;a&lt;/i&gt;", "b" * 23 + "…"]
    assert Axis("bits", ticks=(16, 32)).layout()["ticktext"] == ["16", "32"]


@pytest.mark.parametrize("log", [False, True])
def test_a_mark_stands_at_its_place_and_its_label_inside(log):
    figure = go.Figure()
    marks = (Mark("early", 2), Mark("late", 1200))
    draw_marks(figure, marks, Axis("K", log=log, limits=(1, 1000)))
    assert [(line.x0, line.x1) for line in figure.layout.shapes] == [(2, 2), (1200, 1200)]
    early, late = figure.layout.annotations
    assert (early.xanchor, late.xanchor) == ("left", "right")
    assert (early.x, late.x) == pytest.approx(tuple(np.log10([2, 1000])) if log else (2, 1000))


def test_many_names_leave_some_out():
    layout = Axis("class", names=tuple(map(str, range(100)))).layout()
    assert layout["tickvals"] == list(range(0, 100, 3))
    assert layout["ticktext"][1] == "3"


def test_short_names_stay():
    assert short("dog") == "dog"
    assert short("x" * 24) == "x" * 24
    assert len(short("x" * 25)) == 24
