"""One contract for every chart that is entered, with data and without; one without an example fails it."""

import csv
import inspect
import io
import json
import math

import pytest
from chart_examples import MARKUP, empty, full
from hostile_texts import TEXTS

from smfh import plots
from smfh.plots import CHARTS, Chart, csv_of

BARE = {"bit_tiles"}  # tiles need no axes


def test_every_function_of_the_room_that_makes_a_chart_is_entered():
    functions = filter(inspect.isfunction, vars(plots).values())
    made = {
        function.__name__
        for function in functions
        if inspect.isclass(what := inspect.signature(function).return_annotation) and issubclass(what, Chart)
    }
    assert made - {"with_crosses"} == CHARTS.keys()  # which changes a chart that is there


@pytest.mark.parametrize("name", CHARTS)
def test_without_data_there_are_axes_and_a_note(name):
    chart = empty(name)
    figure = chart.figure()
    assert not figure.data
    assert [note.text.replace("<br>", " ") for note in figure.layout.annotations] == [chart.note]
    assert figure.layout.xaxis.title.text or name in BARE
    assert chart.title
    assert chart.description
    assert chart.rows() == []


@pytest.mark.parametrize("name", CHARTS)
def test_with_data_it_looks_like_the_others(name):
    chart = full(name)
    figure = chart.figure()
    assert figure.data
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"
    assert figure.layout.meta["description"] == chart.description
    assert figure.layout.xaxis.title.text or name in BARE
    assert figure.layout.yaxis.title.text or name in BARE
    assert figure.layout.font.size >= 15
    assert figure.layout.title.text
    assert not chart.figure(titled=False).layout.title.text


@pytest.mark.parametrize("name", CHARTS)
def test_names_of_the_data_are_no_markup(name):
    read = [text for text in TEXTS if text.startswith(("<", "%{", "&"))]
    for text in (MARKUP, *read):
        drawn = json.loads(full(name, text).figure().to_json())
        drawn["layout"].pop("meta")  # is read aloud, not drawn
        for trace in drawn["data"]:
            if "customdata" not in trace.get("hovertemplate", ""):
                trace.pop("customdata", None)  # what a click tells is not drawn
        assert not [word for word in strings(drawn) if text[:10] in word]


def strings(value):
    """Every text inside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for own in value.values() if isinstance(value, dict) else value:
            yield from strings(own)


@pytest.mark.parametrize("name", CHARTS)
def test_no_cell_of_its_table_is_a_formula(name):
    for text in TEXTS:
        rows = full(name, text).rows()
        header, *lines = csv.reader(io.StringIO(csv_of(rows), newline=""))
        for cell in (cell for line in (header, *lines) for cell in line):
            assert not cell.startswith(tuple("=+-@\t\r\n")) or is_number(cell)
        numbers = [v for row in rows for v in row.values() if isinstance(v, float) and math.isfinite(v)]
        assert {repr(v) for v in numbers} <= {cell for line in lines for cell in line}


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", CHARTS)
def test_an_update_keeps_what_the_reader_zoomed_and_hid(name):
    assert full(name).figure().layout.uirevision == empty(name).figure().layout.uirevision


@pytest.mark.parametrize("name", CHARTS)
def test_its_data_come_as_a_table(name):
    rows = full(name).rows()
    table = list(csv.DictReader(io.StringIO(csv_of(rows), newline="")))
    assert len(table) == len(rows) > 0
    assert list(table[0])[: len(rows[0])] == list(rows[0])


def test_no_two_kinds_share_what_the_reader_zoomed():
    kinds = [full(name).kind for name in CHARTS]
    assert len(set(kinds)) == len(kinds)
