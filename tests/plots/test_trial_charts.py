"""Charts of trials: what a click gives, which trial is marked, what the titles say."""

from typing import Any

import numpy as np
import pytest
from chart_examples import DOTS, KNOBS, MARKUP

from smfh import plots
from smfh.plots import Axis, Chart, Mark, TrialDot
from smfh.plots.chart import short_number
from smfh.plots.theme import GREEN, ORANGE, PINK

ALPHA = Axis("α", log=True)
PLACES = {dot.number: (1.0, dot.score) for dot in DOTS}
CHARTS = {
    "history": lambda selected: plots.trial_history(DOTS, "mAP", selected),
    "slices": lambda selected: plots.trial_slices(DOTS, KNOBS, "mAP", selected),
    "contour": lambda selected: plots.trial_contour(DOTS, *KNOBS, "mAP", selected),
    "map": lambda selected: plots.sweep_map(DOTS, *KNOBS, "mAP", selected),
    "curve": lambda selected: plots.sweep_curve(DOTS, KNOBS[0], "mAP", selected=selected),
    "lines": lambda selected: plots.trial_lines(DOTS, KNOBS, "mAP", selected),
    "front": lambda selected: plots.trial_front(DOTS, "s", "mAP", PLACES, [8], selected),
}


def dot(number: int, alpha: float, *scores: float, **others: bool) -> TrialDot:
    mean, band = float(np.mean(scores)), (min(scores), max(scores))
    return TrialDot(number, {"α": alpha}, mean, {"P@100": mean - 0.1}, 1.0, band, **others)


def trace(chart: Chart, name: str) -> Any:
    return next(one for one in chart.figure().data if one.name == name)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_marks_only_the_selected_trial(name):
    assert is_marked(CHARTS[name](4))
    assert not is_marked(CHARTS[name](None))
    assert not is_marked(CHARTS[name](999))


def is_marked(chart: Chart) -> bool:
    """Whether anything that has a width is drawn in the colour of the selected trial."""
    return PINK in str([one.to_plotly_json() for one in chart.figure().data])


@pytest.mark.parametrize("name", CHARTS)
def test_a_click_gives_the_number_of_a_trial(name):
    told = [one.customdata for one in CHARTS[name](None).figure().data if one.customdata is not None]
    numbers = {int(number) for data in told for number in np.ravel(data)}
    finished = {one.number for one in DOTS if not one.stopped_early}
    assert finished <= numbers <= {one.number for one in DOTS}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_marks_the_start_and_the_best_trial(name):
    colours = str([one.to_plotly_json() for one in CHARTS[name](None).figure().data])
    assert ORANGE in colours
    assert GREEN in colours


def test_the_goal_is_the_thick_line_with_its_folds_and_its_parts_below():
    dots = [dot(2, 10, 0.4, 0.6), dot(0, 1, 0.1, 0.3, is_start=True), dot(1, 100, 0.2, 0.4)]
    chart = plots.sweep_curve(dots, ALPHA, "mAP", (5.0, 50.0), [Mark("paper", 3)])
    goal, part, band = trace(chart, "mAP"), trace(chart, "P@100"), trace(chart, "lowest to highest fold")
    assert (list(goal.x), list(goal.y)) == ([1, 10, 100], pytest.approx([0.2, 0.5, 0.3]))
    assert list(band.y) == [0.3, 0.6, 0.4, 0.2, 0.4, 0.1]  # back along the lowest folds
    assert goal.line.width > 2 * part.line.width
    assert (goal.yaxis, part.yaxis) == (None, "y2")
    assert list(goal.customdata) == [0, 2, 1]
    figure = chart.figure()
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert figure.layout.yaxis.rangemode == "normal"  # the axis does not begin at 0
    assert [(shape.name, shape.x0, shape.x1) for shape in figure.layout.shapes] == [
        ("paper", 3, 3),
        ("within 1 SE of the best", 5, 50),
    ]
    assert {"best 0.500", "start 0.200"} <= {one.text for one in figure.data}
    assert chart.title == "Highest mAP at α 10: 0.500; start: 0.200"


def test_the_start_has_a_tick_and_its_neighbour_gives_way():
    values = [1.0, 10.0, 100.0, 1000.0]
    dots = [dot(k, x, 0.5) for k, x in enumerate(values, 1)] + [dot(0, 11, 0.5, is_start=True)]
    figure = plots.sweep_curve(dots, ALPHA, "mAP").figure()
    assert list(figure.layout.xaxis.tickvals) == [1, 11, 100, 1000]


def test_contours_are_empty_where_no_trial_is_near():
    dots = [TrialDot(k, {"α": x, "μ": x}, x, {}, 1.0) for k, x in enumerate(np.linspace(0, 1, 30))]
    contour = plots.trial_contour(dots, Axis("α"), Axis("μ"), "mAP").figure().data[0]
    assert np.isnan(contour.z[0, -1])  # the corners beside the diagonal
    assert np.isnan(contour.z[-1, 0])
    near = np.diagonal(contour.z)
    assert not np.isnan(near).any()
    assert (np.diff(near) > 0).all()


def test_log_axes_leave_out_zero():
    dots = [dot(0, 0, 0.5, is_start=True), dot(1, 1, 0.6)]
    chart = plots.sweep_curve(dots, ALPHA, "mAP")
    assert list(trace(chart, "mAP").x) == [1]
    assert list(trace(chart, "start (trial 0)").y) == [0.5, 0.5]  # the level of the start is a line
    slices = plots.trial_slices([*dots, dot(2, 0, 0.7)], [ALPHA], "mAP")
    assert [(row["trial"], row["α"]) for row in slices.rows()] == [(0, 0.5), (1, 1)]  # the start is at the edge
    assert len(plots.trial_history(dots, "mAP").rows()) == 2


def test_map_has_a_cell_for_each_pair_and_none_for_a_start_outside_the_grid():
    pairs = [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)]
    dots = [TrialDot(k + 1, {"α": a, "μ": b}, k / 10, {}, 1.0) for k, (a, b) in enumerate(pairs)]
    start = TrialDot(0, {"α": 9.0, "μ": 1.0}, 0.9, {}, 1.0, is_start=True)
    chart = plots.sweep_map([start, *dots], Axis("α"), Axis("μ"), "mAP")
    assert chart.values.tolist() == [[0.0, 0.2], [0.1, pytest.approx(0.3)]]
    cells = next(one for one in chart.figure().data if one.customdata is not None)
    assert dict(zip(cells.customdata, zip(cells.x, cells.y, strict=True), strict=True)) == {
        **{1: (0, 0), 2: (0, 1), 3: (1, 0), 4: (1, 1)}
    }
    assert chart.title == "Highest mAP at α 2, μ 2: 0.300; start: 0.900"
    assert trace(chart, "start (trial 0)").x[0] > 1  # beyond the last column
    within = TrialDot(0, {"α": 1.0, "μ": 1.0}, 0.9, {}, 1.0, is_start=True)
    assert 0 in plots.sweep_map([within, *dots[1:]], Axis("α"), Axis("μ"), "mAP").figure().data[1].customdata


def test_history_line_is_the_best_of_finished_trials():
    dots = [dot(0, 1, 0.5, is_start=True), dot(1, 2, 0.9, stopped_early=True), dot(2, 3, 0.4), dot(3, 4, 0.6)]
    chart = plots.trial_history(dots, "mAP")
    line = trace(chart, "best so far")
    assert (list(line.x), list(line.y)) == ([0, 2, 3], [0.5, 0.5, 0.6])
    assert chart.title == "Best mAP so far: 0.600 in trial 3; start: 0.500"


def test_front_is_a_line_in_order():
    dots = [dot(1, 1, 0.5), dot(2, 1, 0.7), dot(3, 1, 0.1)]
    places = {1: (1.0, 0.5), 2: (3.0, 0.7), 3: (2.0, 0.1)}
    chart = plots.trial_front(dots, "seconds", "mAP", places, [2, 1])
    line = trace(chart, "Pareto front")
    assert (list(line.x), list(line.y)) == ([1.0, 3.0], [0.5, 0.7])
    assert chart.title.startswith("2 trials are on the Pareto front")


def test_titles_state_the_finding():
    chart = plots.parameter_importance({MARKUP: 0.8, "μ": 0.2}, DOTS)
    assert chart.title.endswith("explains 80% of the differences between trials")
    assert [row["parameter: start → best"] for row in chart.rows()] == [f"{MARKUP}: 1 → 100", "μ: 1 → 1"]


def test_a_single_trial_has_axes_of_the_plan():
    (one,) = dots = [dot(0, 35, 0.7, 0.71, is_start=True)]
    axis = Axis("α", log=True, limits=(0.35, 3500))
    layout = plots.sweep_curve(dots, axis, "mAP").figure().layout
    low, high = layout.yaxis.range
    assert low < one.band[0] < one.band[1] < high
    assert high - low < 0.05
    assert 10 ** layout.xaxis.range[0] < 0.35 < 3500 < 10 ** layout.xaxis.range[1]
    history = plots.trial_history(dots, "mAP", planned=40).figure().layout
    assert history.xaxis.range[0] < 0 < 39 < history.xaxis.range[1]
    assert history.yaxis.range[1] - history.yaxis.range[0] < 0.05


def test_numbers_have_no_exponent():
    assert [short_number(x) for x in (1e-5, 7.413e-5, 0.0632, 35, 1110.4, 1e6)] == [
        *("0.00001", "0.0000741", "0.0632", "35", "1110", "1000000")
    ]
    assert Axis("γ", log=True, ticks=(1e-5, 0.1)).layout()["ticktext"] == ["0.00001", "0.1"]


def test_the_label_of_the_start_lies_beside_the_line():
    def place(*scores: float) -> str:
        dots = [dot(k, 10.0**k, y, is_start=k == 1) for k, y in enumerate(scores)]
        chart = plots.sweep_curve(dots, ALPHA, "mAP")
        return next(one.textposition for one in chart.figure().data if "start" in str(one.text))

    assert place(0.5, 0.7, 0.8) == "bottom right"
    assert place(0.8, 0.7, 0.5) == "bottom left"


def test_a_front_of_two_directions_stars_the_trial_with_the_best_mean():
    dots = [dot(1, 1, 0.5), dot(2, 1, 0.6)]
    chart = plots.trial_front(dots, "second", "first", {1: (0.2, 0.8), 2: (0.7, 0.5)}, [1, 2])
    star = trace(chart, "best trial")
    assert (list(star.x), list(star.y), list(star.customdata)) == ([0.7], [0.5], [2])


def test_the_knee_of_the_front_has_a_label():
    dots = [dot(1, 1, 0.5), dot(2, 1, 0.7), dot(3, 1, 0.65)]
    places = {1: (1.0, 0.5), 2: (3.0, 0.7), 3: (1.5, 0.65)}
    chart = plots.trial_front(dots, "seconds", "mAP", places, [1, 2, 3], knee=3)
    knee = trace(chart, "knee of the front")
    assert (list(knee.x), list(knee.y), knee.text) == ([1.5], [0.65], "knee: trial 3")
    assert "knee of the front at trial 3" in chart.description
    assert "knee" not in plots.trial_front(dots, "seconds", "mAP", places, [1, 2, 3]).figure().to_json()


def test_densities_of_the_best_trials_lie_where_these_are():
    alphas = np.geomspace(0.01, 100, 40)
    dots = [dot(k, x, -abs(float(np.log10(x)) - 1)) for k, x in enumerate(alphas)]  # best at 10
    chart = plots.trial_densities(dots, [ALPHA], "mAP")
    best, rest = trace(chart, "best 4"), trace(chart, "all others")
    assert best.x[np.argmax(best.y)] == pytest.approx(10, rel=0.2)
    assert np.sum((best.y[1:] + best.y[:-1]) / 2) / (len(best.y) - 1) * 1.1 == pytest.approx(1, abs=0.02)
    assert rest.y[50] == pytest.approx(1, abs=0.3)  # nearly even
    assert chart.figure().layout.xaxis.type == "log"
    assert [row["group"] for row in chart.rows()].count("best 4") == 4
    assert chart.title.startswith("The 4 best of 40 trials agree most on α: from ")


def test_densities_leave_out_zero_on_log_axes_and_need_other_trials():
    dots = [dot(0, 0, 0.1, is_start=True), *(dot(k, 2.0, 0.5) for k in range(1, 5))]
    chart = plots.trial_densities(dots, [ALPHA], "mAP")
    assert np.isfinite(trace(chart, "best 3").y).all()  # all values are equal
    assert chart.title == "The 3 best of 5 trials agree most on α: at 2"
    assert not plots.trial_densities(dots[:3], [ALPHA], "mAP").figure().data
    stopped = [dot(k, 2.0, 0.9, stopped_early=True) for k in range(5, 9)]
    rows = plots.trial_densities([*dots, *stopped], [ALPHA], "mAP").rows()
    assert {row["trial"] for row in rows if row["group"] == "best 3"} == {1, 2, 3}
