"""The objective and its terms, as training reports them."""

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.plots import convergence, term_colour
from smfh.types import TrainingStep


@pytest.fixture(scope="module")
def trace(planted):
    data, split = planted
    return SMFHPlus(bits=8, iterations=4, rounds=2, anchors=20).fit(data.take(split.train)).trace


def lines_of(chart):
    return {line.name: line for line in chart.lines}


def test_the_objective_and_every_term_are_drawn(trace):
    chart = convergence(trace)
    lines = lines_of(chart)
    assert list(lines) == ["objective", *trace[0].terms]
    np.testing.assert_array_equal(lines["objective"].x, [1, 2, 3, 4, 5, 6])
    np.testing.assert_allclose(lines["objective"].y, [step.objective for step in trace])
    np.testing.assert_allclose(lines["graph"].y, [step.terms["graph"] for step in trace])
    traces = {drawn.name: drawn for drawn in chart.figure().data}
    np.testing.assert_array_equal(traces["graph"].y, lines["graph"].y)
    assert traces["graph"].line.color == term_colour("graph")


def test_modalities_of_a_term_differ_by_their_marks(trace):
    lines = lines_of(convergence(trace))
    image, text = lines["reconstruction (image)"], lines["reconstruction (text)"]
    assert image.colour == text.colour
    assert image.symbol != text.symbol


def test_the_refinement_is_shaded(trace):
    chart = convergence(trace)
    (mark,) = chart.marks
    assert (mark.label, mark.start, mark.end) == ("refinement", 4.5, 6.5)
    (shape,) = chart.figure().layout.shapes
    assert (shape.type, shape.x0, shape.x1) == ("rect", 4.5, 6.5)
    assert convergence(trace[:4]).marks == ()


def test_relative_values_begin_at_one_and_nothing_is_divided_by_nothing(trace):
    for line in convergence(trace, relative=True).lines:
        assert line.y[0] == 1
    steps = [TrainingStep(k, {"a": 4.0 / k, "zero": 0.0}, 0.1) for k in (1, 2)]
    assert list(lines_of(convergence(steps, relative=True))) == ["objective", "a"]
    np.testing.assert_array_equal(lines_of(convergence(steps, relative=True))["a"].y, [1, 0.5])
    assert list(lines_of(convergence(steps))) == ["objective", "a", "zero"]


def test_a_pinned_run_is_dotted_beside_and_hidden_together(trace):
    chart = convergence(trace, pinned=trace[:3])
    lines = lines_of(chart)
    now, pinned = lines["graph"], lines["graph (pinned)"]
    assert (now.colour, now.group) == (pinned.colour, pinned.group)
    assert (now.dash, pinned.dash) == ("solid", "dot")
    assert len(pinned.x) == 3
    assert [line.name for line in chart.lines if line.listed and "pinned" in line.name] == [
        "objective (pinned)"
    ]


def test_nothing_moves_while_it_grows(trace):
    early, late = (convergence(trace[:n], total=30, log=True).figure() for n in (2, 6))
    for figure in (early, late):
        assert tuple(figure.layout.xaxis.range) == (1, 30)
        assert figure.layout.yaxis.type == "log"
    assert early.layout.uirevision == late.layout.uirevision
    assert early.layout.height == late.layout.height
    look = [[(drawn.name, drawn.line.color, drawn.marker.symbol) for drawn in f.data] for f in (early, late)]
    assert look[0] == look[1]


def test_the_title_tells_how_far_it_fell_in_the_first_phase_alone():
    steps = [TrainingStep(k, {"a": value}, 0.1) for k, value in enumerate((8.0, 6.0, 2.0), start=1)]
    after = TrainingStep(4, {"a": 100.0}, 0.2, phase="refinement")
    assert convergence([*steps, after]).title == "The objective fell by 75.0% in 3 iterations"
    assert convergence(steps[::-1]).title == "The objective rose by 300.0% in 3 iterations"
    assert convergence(steps[:1]).title == "The objective starts at 8.000"
    assert "from 8.000 to 2.000" in convergence([*steps, after]).description


def test_the_rows_hold_every_value(trace):
    rows = convergence(trace).rows()
    assert len(rows) == len(trace) * (1 + len(trace[0].terms))
    assert rows[0] == {"line": "objective", "iteration": 1, "weighted value": trace[0].objective}
