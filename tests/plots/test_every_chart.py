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


def test_every_function_that_makes_a_chart_is_registered():
    made = set()
    for function in filter(inspect.isfunction, vars(plots).values()):
        what = inspect.signature(function).return_annotation
        if inspect.isclass(what) and issubclass(what, Chart):
            made.add(function.__name__)
    assert made - {"with_crosses"} == CHARTS.keys()  # which changes a chart that is there


@pytest.mark.parametrize("name", CHARTS)
def test_without_data_there_are_axes_and_a_note(name):
    chart = empty(name)
    figure = chart.figure()
    assert not figure.data
    assert figure.layout.uirevision == full(name).figure().layout.uirevision  # an update keeps the zoom
    assert [note.text.replace("<br>", " ") for note in figure.layout.annotations] == [chart.note]
    assert figure.layout.xaxis.title.text or name in BARE
    assert chart.title
    assert chart.description
    assert chart.rows() == []


@pytest.mark.parametrize("name", CHARTS)
def test_the_look_is_common(name):
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
def test_names_are_escaped(name):
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
def test_no_cell_is_a_formula(name):
    for text in TEXTS:
        rows = full(name, text).rows()
        assert rows
        header, *lines = csv.reader(io.StringIO(csv_of(rows), newline=""))
        for cell in (cell for line in (header, *lines) for cell in line):
            assert not cell.startswith(tuple("=+-@\t\r\n")) or math.isfinite(float(cell))
        numbers = [v for row in rows for v in row.values() if isinstance(v, float) and math.isfinite(v)]
        assert {repr(v) for v in numbers} <= {cell for line in lines for cell in line}
