"""The objective and its terms, as training reports them, a panel for each phase."""

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.plots import convergence
from smfh.plots.theme import term_colour
from smfh.types import TrainingStep


@pytest.fixture(scope="module")
def trace(planted):
    data, split = planted
    return SMFHPlus(bits=8, iterations=4, rounds=2, anchors=20).fit(data.take(split.train)).trace


def steps_of(*values, phase="descent", first=1):
    return [TrainingStep(k, {"a": value}, 0.1, phase) for k, value in enumerate(values, start=first)]


def lines_of(panel):
    return {line.name: line for line in panel.lines}


def test_the_objective_and_every_term_are_drawn_phase_by_phase(trace):
    chart = convergence(trace)
    descent, refinement = chart.panels
    for panel, steps, iterations in ((descent, trace[:4], [1, 2, 3, 4]), (refinement, trace[4:], [5, 6])):
        lines = lines_of(panel)
        assert list(lines) == ["objective", *trace[0].terms]
        np.testing.assert_array_equal(lines["objective"].x, iterations)
        np.testing.assert_allclose(lines["objective"].y, [step.objective for step in steps])
        np.testing.assert_allclose(lines["graph"].y, [step.terms["graph"] for step in steps])
    first, second = (drawn for drawn in chart.figure().data if drawn.name == "graph")
    assert (first.xaxis, first.yaxis, second.xaxis, second.yaxis) == ("x", "y", "x2", "y2")
    assert first.line.color == second.line.color == term_colour("graph")


def test_panels_lie_side_by_side_on_scales_of_their_own_and_say_what_happened(trace):
    layout = convergence(trace).figure().layout
    edges = [*layout.xaxis.domain, *layout.xaxis2.domain]
    assert edges == sorted(set(edges))
    assert layout.yaxis2.anchor == "x2"
    assert layout.yaxis2.matches is None
    written = [note.text.replace("<br>", " ") for note in layout.annotations if note.xref == "paper"]
    assert written == [panel.title.replace(":", "") for panel in convergence(trace).panels]
    assert "xaxis2" not in convergence(trace[:4]).figure().layout


def test_each_line_is_named_once_where_it_ends(trace):
    figure = convergence(trace).figure()
    assert not figure.layout.showlegend
    named = [note for note in figure.layout.annotations if note.xref == "x2"]
    assert {note.text.replace("<br>", " ") for note in named} == {"objective", *trace[0].terms}
    assert not [note for note in figure.layout.annotations if note.xref == "x"]
    assert {note.x for note in named} == {6}


def test_modalities_of_a_term_differ_by_their_marks(trace):
    lines = lines_of(convergence(trace).panels[0])
    image, text = lines["reconstruction (image)"], lines["reconstruction (text)"]
    assert image.colour == text.colour
    assert image.symbol != text.symbol


def test_relative_values_begin_at_one_in_each_phase_and_nothing_is_divided_by_nothing(trace):
    for panel in convergence(trace, relative=True).panels:
        assert [line.y[0] for line in panel.lines] == [1] * len(panel.lines)
    steps = [TrainingStep(k, {"a": 4.0 / k, "zero": 0.0}, 0.1) for k in (1, 2)]
    (panel,) = convergence(steps, relative=True).panels
    assert list(lines_of(panel)) == ["objective", "a"]
    np.testing.assert_array_equal(lines_of(panel)["a"].y, [1, 0.5])
    assert list(lines_of(convergence(steps).panels[0])) == ["objective", "a", "zero"]


def test_a_pinned_run_is_dotted_beside(trace):
    (panel,) = convergence(trace[:4], pinned=trace[:3]).panels
    lines = lines_of(panel)
    now, pinned = lines["graph"], lines["graph (pinned)"]
    assert now.colour == pinned.colour
    assert (now.dash, pinned.dash) == ("solid", "dot")
    assert len(pinned.x) == 3
    listed = [line.name for line in panel.lines if line.listed]
    assert listed == ["objective", *trace[0].terms, "objective (pinned)"]


def test_nothing_moves_while_it_grows(trace):
    early, late = (convergence(trace[:n], total=30, log=True).figure() for n in (2, 4))
    for figure in (early, late):
        assert tuple(figure.layout.xaxis.range) == (1, 30)
        assert figure.layout.yaxis.type == "log"
    assert early.layout.uirevision == late.layout.uirevision
    assert early.layout.height == late.layout.height
    assert early.layout.margin == late.layout.margin
    look = [[(drawn.name, drawn.line.color, drawn.marker.symbol) for drawn in f.data] for f in (early, late)]
    assert look[0] == look[1]


def test_the_title_tells_what_happened_in_each_phase():
    refined = steps_of(100.0, 97.0, phase="refinement", first=4)
    assert convergence([*steps_of(8.0, 6.0, 2.0), *refined]).title == (
        "Descent: −75.0 % in 3 iterations; refinement: −3.0 % in 2 rounds"
    )
    assert convergence(steps_of(2.0, 6.0, 8.0)).title == "Descent: +300.0 % in 3 iterations"
    assert convergence(steps_of(8.0)).title == "Descent: starts at 8.000"


def test_the_description_says_where_the_objective_rises():
    rising = convergence(steps_of(8.0, 5.0, 6.0, 5.5)).description
    assert "from 8.000 to 5.500" in rising
    assert "In 1 of 3 steps it rose: this descent is not monotone." in rising
    assert "rose" not in convergence(steps_of(8.0, 5.0, 5.0, 4.0)).description


def test_the_rows_hold_every_value(trace):
    rows = convergence(trace).rows()
    assert len(rows) == len(trace) * (1 + len(trace[0].terms))
    assert rows[0] == {
        "phase": "descent",
        "line": "objective",
        "iteration": 1,
        "weighted value": trace[0].objective,
    }
