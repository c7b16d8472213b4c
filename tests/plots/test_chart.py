"""Safe CSV, layouts of axes, and display in notebooks."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.plots import csv_of


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "-", "+"]
)
def test_a_formula_becomes_text(cell):
    header, row = read(csv_of([{"name": cell, cell: 1}]))
    assert row[0] == header[1] == "'" + cell


def test_missing_values_are_empty_cells():
    text = csv_of([{"a": -0.5, "b": 3}, {"a": float("nan"), "c": None, "d": "x"}])
    assert text == '"a","b","c","d"\r\n-0.5,3,"",""\r\n"","","","x"\r\n'
    assert csv_of([]) == "\r\n"


@given(st.lists(st.text(), max_size=5))
def test_any_text_is_preserved_and_never_a_formula(texts):
    for given_text, (cell,) in zip(texts, read(csv_of({"text": text} for text in texts))[1:], strict=True):
        assert cell in (given_text, "'" + given_text)
        if cell[:1] in tuple("=+-@\t\r"):
            float(cell)  # only a number may
