"""Convergence charts: the objective and its terms, with a panel per phase."""

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.plots import answer_counts, convergence
from smfh.plots.theme import term_colour
from smfh.types import TrainingStep


@pytest.fixture(scope="module")
def trace(planted):
    data, split = planted
    return SMFHPlus(bits=8, iterations=4, rounds=2, anchors=20).fit(data.take(split.train)).trace


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


def test_relative_values_start_at_one_and_omit_zero_terms(trace):
    for panel in convergence(trace, relative=True).panels:
        assert [line.y[0] for line in panel.lines] == [1] * len(panel.lines)
    steps = [TrainingStep(k, {"a": 4.0 / k, "zero": 0.0}, 0.1) for k in (1, 2)]
    (panel,) = convergence(steps, relative=True).panels
    assert list(lines_of(panel)) == ["objective", "a"]
    np.testing.assert_array_equal(lines_of(panel)["a"].y, [1, 0.5])
    assert list(lines_of(convergence(steps).panels[0])) == ["objective", "a", "zero"]


def test_a_phase_without_change_has_no_panel():
    values = {"descent": (8.0, 6.0, 2.0), "refinement": (100.0, 100.0)}
    steps = [TrainingStep(k, {"a": x}, 0.1, phase) for phase, xs in values.items() for k, x in enumerate(xs, 1)]
    chart = convergence(steps)
    assert [panel.kind for panel in chart.panels] == ["descent"]
    assert chart.title.endswith("refinement: ±0 % in 2 rounds")
    assert all(line.listed for line in chart.panels[0].lines)


def test_answers_are_counted_and_the_measured_one_is_marked():
    chart = answer_counts(("none", "half", "all"), (1, 0, 3))
    assert chart.title == "4 answers"
    assert [row["students"] for row in chart.rows()] == [1, 0, 3]
    marked = answer_counts(("none", "half", "all"), (1, 0, 3), measured=1)
    assert marked.title == "4 answers; measured: half"
    assert [row["kind"] for row in marked.rows()] == ["other answers", "measured answer", "other answers"]
    assert answer_counts(("none", "half"), (1, 0)).title == "1 answer"


def test_many_answers_have_few_whole_ticks_and_no_answer_has_a_note():
    ticks = answer_counts(("none", "all"), (487, 3)).value.ticks
    assert len(ticks) <= 11
    assert all(isinstance(tick, int) for tick in ticks)
    assert not answer_counts(("none", "all"), (0, 0), measured=1).figure().data
