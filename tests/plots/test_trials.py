"""Charts of trials by their data: what a click tells, where the chosen one is, what the titles say."""

import numpy as np
import pytest
from chart_examples import DOTS, KNOBS, MARKUP

from smfh import plots
from smfh.plots import Axis, Chart, Mark, TrialDot
from smfh.plots.theme import PINK
from smfh.plots.trials import short_number

ALPHA = Axis("α", log=True)
ONES = {dot.number: 1.0 for dot in DOTS}
CHARTS = {
    "history": lambda chosen: plots.trial_history(DOTS, "mAP", chosen),
    "slices": lambda chosen: plots.trial_slices(DOTS, KNOBS, "mAP", chosen),
    "contour": lambda chosen: plots.trial_contour(DOTS, *KNOBS, "mAP", chosen),
    "map": lambda chosen: plots.sweep_map(DOTS, *KNOBS, "mAP", chosen),
    "curve": lambda chosen: plots.sweep_curve(DOTS, KNOBS[0], (), chosen),
    "seconds": lambda chosen: plots.sweep_seconds(DOTS, KNOBS[0], chosen),
    "lines": lambda chosen: plots.trial_lines(DOTS, KNOBS, "mAP", chosen),
    "front": lambda chosen: plots.trial_front(DOTS, "s", "mAP", ONES, [8], chosen),
    "times": lambda chosen: plots.trial_times(DOTS, chosen),
}


def dot(number: int, alpha: float, *scores: float, **others: bool) -> TrialDot:
    return TrialDot(number, {"α": alpha}, float(np.mean(scores)), {"mAP": scores}, (0.5, 1.5), **others)


@pytest.mark.parametrize("name", CHARTS)
def test_the_chosen_trial_is_marked_in_every_chart_and_no_other_is(name):
    assert is_marked(CHARTS[name](4))
    assert not is_marked(CHARTS[name](None))
    assert not is_marked(CHARTS[name](999))


def is_marked(chart: Chart) -> bool:
    """Whether anything that has a width is drawn in the colour of what is chosen."""
    drawn = [trace.to_plotly_json() for trace in chart.figure().data]
    edges = [trace["marker"]["line"] for trace in drawn if trace["type"] == "bar"]
    scatters = [trace for trace in drawn if trace["type"] != "bar"]
    return PINK in str(scatters) or any(edge["color"] == PINK and max(edge["width"]) > 0 for edge in edges)


@pytest.mark.parametrize("name", CHARTS)
def test_a_click_tells_the_number_of_a_trial(name):
    told = [trace.customdata for trace in CHARTS[name](None).figure().data if trace.customdata is not None]
    numbers = {int(number) for data in told for number in np.ravel(data)}
    finished = {one.number for one in DOTS if not one.pruned}
    assert finished <= numbers <= {one.number for one in DOTS}


def test_the_curve_goes_through_means_within_a_band():
    chart = plots.sweep_curve(
        [dot(2, 10, 0.4, 0.6), dot(1, 1, 0.1, 0.3)], ALPHA, [Mark("start", 1), Mark("paper", 1)]
    )
    (line,) = chart.lines
    assert line.x.tolist() == [1, 10]
    assert line.y.tolist() == pytest.approx([0.2, 0.5])
    assert line.bands[0].low.tolist() == [0.1, 0.4]
    assert line.bands[0].high.tolist() == [0.3, 0.6]
    assert list(line.carried) == [1, 2]
    assert [mark.label for mark in chart.marks] == ["start, paper"]
    assert chart.title == "Highest at α 10: mAP (0.500)"


def test_a_value_that_a_log_axis_cannot_show_is_left_out():
    dots = [dot(0, 0, 0.5, start=True), dot(1, 1, 0.6)]
    assert [line.x.tolist() for line in plots.sweep_curve(dots, ALPHA).lines] == [[1]]
    assert len(plots.trial_slices(dots, [ALPHA], "mAP").rows()) == 1
    assert len(plots.trial_history(dots, "mAP").rows()) == 2


def test_the_times_along_a_parameter_are_means():
    assert plots.sweep_seconds([dot(1, 1, 0.5)], ALPHA).rows()[0]["seconds of a training"] == 1.0


def test_the_map_has_a_cell_for_each_pair_and_none_for_a_start_beside_the_grid():
    pairs = [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)]
    dots = [TrialDot(k + 1, {"α": a, "μ": b}, k / 10, {}, ()) for k, (a, b) in enumerate(pairs)]
    start = TrialDot(0, {"α": 9.0, "μ": 1.0}, 0.9, {}, (), start=True)
    chart = plots.sweep_map([start, *dots], Axis("α"), Axis("μ"), "mAP")
    assert chart.values.tolist() == [[0.0, 0.2], [0.1, pytest.approx(0.3)]]
    assert chart.numbers.tolist() == [[1, 3], [2, 4]]
    assert chart.title == "mAP is highest at α 2, μ 2: 0.300"
    within = TrialDot(0, {"α": 1.0, "μ": 1.0}, 0.9, {}, (), start=True)
    assert plots.sweep_map([within, *dots[1:]], Axis("α"), Axis("μ"), "mAP").numbers[0, 0] == 0


def test_the_history_rises_with_the_best_of_what_was_not_given_up():
    dots = [dot(0, 1, 0.5, start=True), dot(1, 2, 0.9, pruned=True), dot(2, 3, 0.4), dot(3, 4, 0.6)]
    chart = plots.trial_history(dots, "mAP")
    assert chart.path.tolist() == [[0, 0.5], [2, 0.5], [3, 0.6]]
    assert chart.title == "Best mAP so far 0.600 by trial 3, 0.500 at the start"


def test_the_front_is_a_line_in_order():
    dots = [dot(1, 1, 0.5), dot(2, 1, 0.7), dot(3, 1, 0.1)]
    chart = plots.trial_front(dots, "seconds", "mAP", {1: 1.0, 2: 3.0, 3: 2.0}, [2, 1])
    assert chart.path.tolist() == [[1.0, 0.5], [3.0, 0.7]]
    assert chart.title.startswith("2 trials are on the front")


def test_lines_leave_out_what_was_given_up_and_lie_between_the_ends():
    chart = plots.trial_lines(DOTS, KNOBS, "mAP")
    assert len(chart.rows()) == len(DOTS) - 1
    heights = [y for trace in chart.figure().data for y in trace.y if y is not None]
    assert min(heights) == 0
    assert max(heights) == 1


def test_titles_say_the_finding():
    assert plots.parameter_importance({MARKUP: 0.8, "μ": 0.2}).title.endswith(
        "explains 80% of the differences between trials"
    )
    best = plots.best_so_far({"a": [0.1, 0.5, 0.3], "b": [0.4]}, "mAP")
    assert best.title == "a has the highest mAP: 0.500"
    assert plots.best_so_far({"a": [0.1, 0.5, 0.3]}, "mAP").lines[0].y.tolist() == [0.1, 0.5, 0.5]
    times = plots.trial_times([TrialDot(0, {}, 0.1, {}, (), lasted=2.0)])
    assert times.title == "1 trial, 2.000 s each on average"


def test_numbers_are_short():
    assert [short_number(x) for x in (0.06324, 25.0, 1000, 20000.0)] == ["0.0632", "25", "1000", "20000"]
