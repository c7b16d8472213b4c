"""Scores along an axis: seeds, ties and chance around them, formulas, and what a click on a point tells."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.plots import Axis, score_curves
from smfh.types import Point


def point(method, at, *values, ties=None, chance=None, direction="text → image"):
    return Point(method, method.upper(), direction, at, values, ties, chance)


def test_scores_are_drawn_in_order_with_both_bands():
    points = [
        point("smfh", 64, 0.5, 0.7, ties=(0.45, 0.8)),
        point("smfh", 16, 0.4),
        point("smfh-plus", 64, 0.7),
    ]
    chart = score_curves(points)
    ties, seeds, line, *_ = chart.figure().data
    np.testing.assert_array_equal(line.x, [16, 64])
    np.testing.assert_allclose(line.y, [0.4, 0.6])
    np.testing.assert_allclose(seeds.y, [0.4, 0.7, 0.5, 0.4])  # there and back
    np.testing.assert_allclose(ties.y, [0.4, 0.8, 0.45, 0.4])
    np.testing.assert_array_equal(ties.x, [16, 64, 64, 16])
    assert ties.legendgroup == line.legendgroup
    assert chart.title == "SMFH-PLUS has the highest mAP@100 at 64 bits: 0.700"
    assert list(chart.figure().layout.xaxis.tickvals) == [16, 64]
    assert chart.rows()[1] == {
        "line": "SMFH",
        "code length (bits)": 64,
        "mAP@100": pytest.approx(0.6),
        "ties, low": 0.45,
        "ties, high": 0.8,
        "seeds, low": 0.5,
        "seeds, high": 0.7,
    }


def test_of_times_the_lowest_is_told():
    points = [point("smfh", 1000, 3.0), point("smfh-plus", 1000, 2.0)]
    chart = score_curves(points, "training time (s)", Axis("graph sample m (items)"), time=True)
    assert chart.title == "SMFH-PLUS has the lowest training time (s) at 1000 items: 2.000"


@pytest.mark.parametrize("titled", [True, False])
def test_the_formula_stands_on_the_figure(titled):
    chart = score_curves([point("smfh", 16, 0.5)], formula="AP = Σ P@k < 1")
    label, formula = chart.figure(titled).layout.xaxis.title.text.split("<br>")
    assert label == "code length (bits)"
    assert formula == '<span style="font-size: 12px">AP = Σ P@k &lt; 1</span>'


def test_a_click_tells_the_method_even_behind_bands():
    points = [point("smfh", 16, 0.4, 0.6), point("smfh", 32, 0.5, 0.7), point("cvh", 16, 0.2)]
    figure = score_curves([replace(point, chance=0.1) for point in points]).figure()
    assert [trace.name for trace in figure.data] == ["SMFH: seeds", "SMFH", "CVH", "chance"]
    assert [trace.customdata for trace in figure.data][0::3] == [None, None]
    assert [list(map(list, figure.data[k].customdata)) for k in (1, 2)] == [[["SMFH"], ["SMFH"]], [["CVH"]]]


def test_chance_lies_across_all_lengths_and_does_not_win_the_title():
    chart = score_curves([point("smfh", bits, 0.5 + bits / 640, chance=0.9) for bits in (16, 64)])
    assert chart.lines[-1].name == "chance"
    np.testing.assert_array_equal(chart.lines[-1].x, [16, 64])
    np.testing.assert_array_equal(chart.lines[-1].y, [0.9, 0.9])
    assert chart.title.startswith("SMFH: mAP@100 0.600")


def test_the_chance_of_the_points_is_drawn_by_direction_where_it_differs():
    both = [
        point("smfh", 16, 0.5, chance=0.1),
        point("smfh", 16, 0.5, chance=0.2, direction="image → text"),
        point("cvh", 16, 0.3, chance=0.1),
    ]
    chance = {line.name: line.y.tolist() for line in score_curves(both).lines[3:]}
    assert chance == {"chance text → image": [0.1], "chance image → text": [0.2]}


def test_a_log_axis_of_values_has_a_tick_for_every_power_of_ten():
    chart = score_curves([point("smfh", 16, 0.02), point("cvh", 16, 30.0)], "time (s)", time=True)
    assert chart.figure().layout.yaxis.tickvals == (0.01, 0.1, 1, 10, 100)
    assert score_curves([point("smfh", 16, 0.0)], time=True).y.ticks is None


def test_a_name_stands_inside_where_a_line_ends_in_nothing_that_can_be_drawn():
    for values, log in (((0.0,), False), ((0.0,), True), ((float("nan"),), False)):
        figure = score_curves([point("smfh", 16, *values)], time=log).figure()
        (note,) = figure.layout.annotations
        assert (note.text, note.y) == ("SMFH", 0)  # the foot of the axis, or 10⁰
