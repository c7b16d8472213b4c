"""Means over seeds with their range, formulas on figures, and what a click on a point tells."""

import numpy as np
import pytest

from smfh.plots import Measured, MethodCurve, chart_html, curves_over_k, radius_over_seeds, score_curves

CURVES = [
    MethodCurve("smfh", "SMFH", np.arange(1.0, 4), np.array([[0.9, 0.5, 0.4], [0.7, 0.5, 0.2]])),
    MethodCurve("cvh", "CVH <b>", np.arange(1.0, 4), np.array([[0.3, 0.3, 0.3]])),
]


def point(method: str, at: float, mean: float, spread: float = 0.0) -> Measured:
    return Measured(method, method.upper(), "text→image", at, mean, mean - spread, mean + spread, mean, mean)


def test_the_mean_lies_in_the_band_of_its_seeds():
    band, line, other, chance = (
        curves_over_k("precision", CURVES, "P@K = …", marked=2, chance=np.full(3, 0.2)).figure().data
    )
    np.testing.assert_allclose(line.y, [0.8, 0.5, 0.3])
    np.testing.assert_allclose(band.y, [0.9, 0.5, 0.4, 0.2, 0.5, 0.7])  # there and back
    assert other.name == "CVH &lt;b&gt;"  # one seed: no band
    assert chance.name == "chance"


def test_the_title_tells_the_finding_at_the_marked_place():
    chart = curves_over_k("recall", CURVES, "R@K = …", marked=3)
    assert chart.title == "SMFH has the highest recall among the first 3 answers: 0.300"


def test_points_of_a_look_up_are_called_by_their_radius():
    line = radius_over_seeds(CURVES, "ρ").figure().data[1]
    assert list(line.text) == ["radius 0", "radius 1", "radius 2"]


@pytest.mark.parametrize("titled", [True, False])
def test_the_formula_stands_on_the_figure(titled):
    chart = score_curves([point("smfh", 16, 0.5)], formula="AP = Σ P@k < 1")
    label, formula = chart.figure(titled).layout.xaxis.title.text.split("<br>")
    assert label == "code length (bits)"
    assert formula == '<span style="font-size: 12px">AP = Σ P@k &lt; 1</span>'


def test_a_click_tells_the_method_even_behind_bands():
    measured = [point("smfh", 16, 0.5, 0.1), point("smfh", 32, 0.6, 0.1), point("cvh", 16, 0.2)]
    figure = score_curves(measured, chance=0.1).figure()
    assert [trace.name for trace in figure.data] == ["SMFH: seeds", "SMFH", "CVH", "chance"]
    assert [trace.customdata for trace in figure.data][0::3] == [None, None]
    assert [list(map(list, figure.data[k].customdata)) for k in (1, 2)] == [[["SMFH"], ["SMFH"]], [["CVH"]]]


def test_chance_lies_across_all_lengths_and_does_not_win_the_title():
    chart = score_curves([point("smfh", 16, 0.5), point("smfh", 64, 0.6)], chance=0.9)
    assert chart.lines[-1].name == "chance"
    np.testing.assert_array_equal(chart.lines[-1].x, [16, 64])
    assert chart.title.startswith("SMFH: mAP@100 0.600")


def test_a_log_axis_of_values_has_a_tick_for_every_power_of_ten():
    chart = score_curves([point("smfh", 16, 0.02), point("cvh", 16, 30.0)], "time (s)", log=True)
    assert chart.figure().layout.yaxis.tickvals == (0.01, 0.1, 1, 10, 100)
    assert score_curves([point("smfh", 16, 0.0)], log=True).y.ticks is None


def test_a_chart_outside_the_app_is_escaped_and_fetches_nothing():
    text = chart_html(curves_over_k("precision", CURVES, "</script>"), "figure-1")
    assert 'id="figure-1"' in text
    assert "CVH &lt;b&gt; 0.300" in text  # the description
    assert "CVH <b>" not in text
    assert text.count("<script") == text.count("</script>")
    assert "src=" not in text
