"""Curves of searches and scores: data of the traces, titles, names of lines, and published numbers."""

from dataclasses import replace

import numpy as np
import pytest
from chart_examples import make_scores
from hypothesis import given
from hypothesis import strategies as st

from smfh.plots import (
    Curve,
    Published,
    agreement,
    chart_html,
    hit_rate_by_radius,
    method_look,
    precision_at_k,
    score_curves,
    size_by_radius,
)
from smfh.plots.chart import Axis
from smfh.plots.lines import Line, LineChart, space_out
from smfh.types import Point

WAYS = (("text", "image"), ("image", "text"))
CURVES = [
    Curve(method, method.upper(), (make_scores(seed, *way),))
    for seed, (method, way) in enumerate((method, way) for method in ("smfh-plus", "smfh") for way in WAYS)
]
SEEDED = Curve("smfh", "SMFH", (make_scores(1), make_scores(2)))


def test_colour_and_symbol_show_the_method_and_the_dash_the_direction():
    chart = precision_at_k(CURVES)
    for curve, line in zip(CURVES, chart.figure().data, strict=False):
        assert line.name == f"{curve.title} {curve.direction}"
        np.testing.assert_array_equal(line.y, curve.scores[0].precision)
        np.testing.assert_array_equal(line.x, np.arange(1, 41))
        look = method_look(curve.method)
        assert (line.line.color, line.marker.symbol) == (look.colour, look.symbol)
    assert [line.dash for line in chart.lines[:4]] == ["solid", "dash", "solid", "dash"]


def test_the_band_covers_the_seeds():
    band, line, *_ = precision_at_k([SEEDED]).figure().data
    seeds = np.stack([scores.precision for scores in SEEDED.scores])
    np.testing.assert_allclose(line.y, seeds.mean(axis=0))
    np.testing.assert_allclose(band.y, [*seeds.max(axis=0), *seeds.min(axis=0)[::-1]])  # there and back
    assert precision_at_k(CURVES[:1]).lines[0].bands == ()


@pytest.mark.parametrize(("marked", "K"), [(20, 20), (10_000, 40)])
def test_the_title_compares_at_the_marked_K(marked, K):
    chart = precision_at_k(CURVES[:2], marked=marked, log=True)
    values = [curve.scores[0].precision[K - 1] for curve in CURVES[:2]]
    assert chart.title.endswith(f"has the highest precision among the first {K} results: {max(values):.3f}")
    assert [mark.at for mark in chart.marks] == [K]


@pytest.mark.parametrize("radius", [0, 2, 8])
def test_look_up_curves_equal_the_scores(radius):
    hits, sizes = hit_rate_by_radius(CURVES, radius), size_by_radius(CURVES, radius)
    for curve, hit, size in zip(CURVES, hits.lines, sizes.lines, strict=True):
        assert hit.y[radius] == curve.scores[0].within.hits[radius]
        assert size.y[radius] == curve.scores[0].within.items[radius]
    assert f"within radius {radius}" in hits.title


@given(st.lists(st.floats(0, 300), min_size=1, max_size=10), st.floats(1, 30))
def test_names_do_not_overlap_and_stay_inside(wanted, gap):
    heights = space_out(np.sort(wanted), gap, 300)
    assert np.all(np.diff(heights) >= gap - 1e-9)
    assert heights[0] >= 0
    assert heights[-1] <= 300 + 1e-9
    if len(wanted) == 1 or np.diff(np.sort(wanted)).min() >= gap:
        np.testing.assert_allclose(heights, np.sort(wanted), atol=1e-9)  # unchanged if there is no overlap


def test_exported_html_is_escaped_and_self_contained():
    text = chart_html(precision_at_k([replace(SEEDED, title="CVH <b></script>")]), "figure-1")
    assert 'id="figure-1"' in text
    assert "CVH &lt;b&gt;" in text  # the description
    assert "CVH <b>" not in text
    assert text.count("<script") == text.count("</script>")
    assert "src=" not in text


def point(method, at, *values, ties=None, chance=None, direction="text → image"):
    return Point(method, method.upper(), direction, at, values, ties, chance)


def test_scores_are_sorted_with_both_bands():
    tied = point("smfh", 64, 0.5, 0.7, ties=(0.45, 0.8))
    chart = score_curves([tied, point("smfh", 16, 0.4), point("smfh-plus", 64, 0.7)])
    ties, seeds, line, *_ = chart.figure().data
    np.testing.assert_array_equal(line.x, [16, 64])
    np.testing.assert_allclose(line.y, [0.4, 0.6])
    np.testing.assert_allclose(seeds.y, [0.4, 0.7, 0.5, 0.4])  # there and back
    np.testing.assert_allclose(ties.y, [0.4, 0.8, 0.45, 0.4])
    np.testing.assert_array_equal(ties.x, [16, 64, 64, 16])
    assert chart.title == "SMFH-PLUS has the highest mAP@100 at 64 bits: 0.700"
    row = {"line": "SMFH", "code length (bits)": 64, "mAP@100": pytest.approx(0.6)}
    bands = {"ties, low": 0.45, "ties, high": 0.8, "seeds, low": 0.5, "seeds, high": 0.7}
    assert chart.rows()[1] == row | bands


def test_a_click_returns_the_method():
    points = [point("smfh", 16, 0.4, 0.6), point("smfh", 32, 0.5, 0.7), point("cvh", 16, 0.2)]
    figure = score_curves([replace(point, chance=0.1) for point in points]).figure()
    assert [trace.name for trace in figure.data] == ["SMFH: seeds", "SMFH", "CVH", "chance"]
    assert [trace.customdata for trace in figure.data][0::3] == [None, None]
    assert [list(map(list, figure.data[k].customdata)) for k in (1, 2)] == [[["SMFH"], ["SMFH"]], [["CVH"]]]


def test_the_title_counts_agreement_of_measured_cells():
    pairs = ((0.60, 0.62), (0.66, 0.60), (0.2, None))
    chart = agreement([Published("smfh", "SMFH", "text → image", 32, *pair, "") for pair in pairs], 0.03)
    assert chart.title == "1 of 2 measured cells lie within 0.03 of the published number"
    band, diagonal, cloud = chart.figure().data
    assert list(diagonal.x) == list(diagonal.y)
    assert (list(cloud.x), list(cloud.y)) == ([0.60, 0.66], [0.62, 0.60])
    assert min(band.y) < 0 < max(band.y)


def test_directions_of_a_single_method_differ_in_colour():
    text, image, *_ = precision_at_k(CURVES[:2]).lines
    assert (text.name, image.name) == ("text → image", "image → text")
    assert text.colour == method_look("smfh-plus").colour != image.colour


@pytest.mark.parametrize("codes", [(12.0,), (12.0, 12.0), (0.0, 0.0)])
def test_a_name_stands_beside_equal_values_on_a_log_axis(codes):
    """The number of distinct codes may be the same at every length."""
    line = Line("SMFH", np.arange(1.0, len(codes) + 1), np.array(codes), colour="#000")
    look = {"kind": "codes", "title": "Codes", "description": "Codes by bits", "y": Axis("codes", log=True)}
    figure = LineChart(x=Axis("bits", limits=(1.0, 2.0)), lines=(line,), **look).figure()
    assert [note.text for note in figure.layout.annotations] == ["SMFH"]
