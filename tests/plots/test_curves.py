"""Curves of searches: what the traces hold, what the titles say, and where lines are named."""

from dataclasses import replace

import numpy as np
import pytest
from chart_examples import make_scores
from hypothesis import given
from hypothesis import strategies as st

from smfh.plots import (
    Curve,
    chart_html,
    hit_rate_by_radius,
    method_look,
    precision_at_k,
    precision_by_recall,
    recall_at_k,
    size_by_radius,
)
from smfh.plots.lines import MOST_END_NAMES, apart
from smfh.types import InputError

WAYS = (("text", "image"), ("image", "text"))
CURVES = [
    Curve(method, method.upper(), (make_scores(seed, *way),))
    for seed, (method, way) in enumerate((method, way) for method in ("smfh-plus", "smfh") for way in WAYS)
]
SEEDED = Curve("smfh", "SMFH", (make_scores(1), make_scores(2)))


def test_colour_and_symbol_tell_the_method_and_the_dash_the_direction():
    chart = precision_at_k(CURVES)
    for curve, line in zip(CURVES, chart.figure().data, strict=False):
        assert line.name == f"{curve.title} {curve.direction}"
        np.testing.assert_array_equal(line.y, curve.scores[0].precision)
        np.testing.assert_array_equal(line.x, np.arange(1, 41))
        look = method_look(curve.method)
        assert (line.line.color, line.marker.symbol) == (look.colour, look.symbol)
    assert [line.dash for line in chart.lines[:4]] == ["solid", "dash", "solid", "dash"]


def test_one_direction_needs_no_arrow_and_each_method_has_its_dash():
    lines = precision_at_k([CURVES[0], replace(CURVES[2], pinned=True)]).lines
    assert [line.name for line in lines[:2]] == ["SMFH-PLUS", "SMFH (pinned)"]
    assert [line.dash for line in lines[:2]] == [method_look(name).dash for name in ("smfh-plus", "smfh")]
    assert [line.faint for line in lines[:2]] == [False, True]


def test_the_mean_lies_in_the_band_of_its_seeds():
    band, line, *_ = precision_at_k([SEEDED]).figure().data
    seeds = np.stack([scores.precision for scores in SEEDED.scores])
    np.testing.assert_allclose(line.y, seeds.mean(axis=0))
    np.testing.assert_allclose(band.y, [*seeds.max(axis=0), *seeds.min(axis=0)[::-1]])  # there and back
    assert precision_at_k(CURVES[:1]).lines[0].bands == ()


def test_chance_is_drawn_once_for_all_that_have_the_same():
    alike, other = make_scores(1), replace(make_scores(2), chance_precision=0.9, source="audio")
    lines = precision_at_k([Curve("smfh", "A", (alike,)), Curve("cvh", "B", (alike,))]).lines
    assert [line.name for line in lines] == ["A", "B", "chance"]
    np.testing.assert_allclose(lines[-1].y, alike.chance_precision)
    names = [line.name for line in precision_at_k([Curve("smfh", "A", (s,)) for s in (alike, other)]).lines]
    assert names[2:] == ["chance text → image", "chance audio → image"]


def test_recall_meets_chance_at_the_end_of_the_database():
    line, chance = recall_at_k([CURVES[0]]).lines
    assert line.y[-1] == pytest.approx(1)
    assert chance.y[-1] == pytest.approx(1)
    np.testing.assert_allclose(np.diff(chance.y), chance.y[0])


def test_a_query_without_anything_relevant_has_no_chance():
    scores = make_scores()
    halved = replace(scores, within=replace(scores.within, recall=scores.within.recall / 2))
    assert recall_at_k([Curve("smfh", "SMFH", (halved,))]).lines[-1].y[-1] == pytest.approx(0.5)


@pytest.mark.parametrize(("marked", "K"), [(20, 20), (10_000, 40)])
def test_the_marked_place_is_the_one_that_the_title_tells(marked, K):
    chart = precision_at_k(CURVES[:2], marked=marked, log=True)
    values = [curve.scores[0].precision[K - 1] for curve in CURVES[:2]]
    assert chart.title.endswith(f"has the highest precision among the first {K} answers: {max(values):.3f}")
    assert [(mark.label, mark.at) for mark in chart.marks] == [(f"K = {K}", K)]
    assert chart.figure().layout.xaxis.type == "log"
    for value in values:
        assert f"{value:.3f}" in chart.description


def test_one_line_alone_beats_nobody():
    value = CURVES[0].scores[0].precision[9]
    assert precision_at_k(CURVES[:1], marked=10).title == (
        f"SMFH-PLUS: precision {value:.3f} among the first 10 answers"
    )


@pytest.mark.parametrize("radius", [0, 2, 8])
def test_look_ups_by_radius_are_the_scores_own(radius):
    hits, sizes = hit_rate_by_radius(CURVES, radius), size_by_radius(CURVES, radius)
    for curve, hit, size in zip(CURVES, hits.lines, sizes.lines, strict=True):
        assert hit.y[radius] == curve.scores[0].within.hits[radius]
        assert size.y[radius] == curve.scores[0].within.items[radius]
    assert f"within radius {radius}" in hits.title


def test_precision_over_recall_is_called_by_its_radius():
    (line,) = precision_by_recall([SEEDED]).lines
    within = [scores.within for scores in SEEDED.scores]
    np.testing.assert_allclose(line.x, np.mean([curve.recall for curve in within], axis=0))
    np.testing.assert_allclose(line.y, np.mean([curve.precision for curve in within], axis=0))
    assert line.points == tuple(f"radius {k}" for k in range(9))


def test_few_lines_are_named_where_they_end_and_many_in_a_legend():
    figure = precision_at_k(CURVES).figure()
    assert not figure.layout.showlegend
    named = [note for note in figure.layout.annotations if note.xanchor == "left"]
    ends = {note.text.replace("<br>", " "): note for note in named}
    for curve in CURVES:
        note = ends[f"{curve.title} {curve.direction}".replace(" → ", "\u00a0→\u00a0")]
        assert (note.x, note.y) == (40, curve.scores[0].precision[-1])
        assert note.font.color == method_look(curve.method).colour
    many = [replace(CURVES[0], title=f"method {k}") for k in range(MOST_END_NAMES)]
    assert precision_at_k(many).figure().layout.showlegend  # with chance they are one more
    assert hit_rate_by_radius(CURVES).figure().layout.showlegend  # all meet at the last radius


@given(st.lists(st.floats(0, 300), min_size=1, max_size=10), st.floats(1, 30))
def test_names_stay_in_order_apart_and_inside(wanted, gap):
    heights = apart(np.sort(wanted), gap, 300)
    assert np.all(np.diff(heights) >= gap - 1e-9)
    assert heights[0] >= 0
    assert heights[-1] <= 300 + 1e-9
    if len(wanted) == 1 or np.diff(np.sort(wanted)).min() >= gap:
        np.testing.assert_allclose(heights, np.sort(wanted), atol=1e-9)  # nobody moves without need


@pytest.mark.parametrize(
    "scores", [(), (make_scores(bits=8), make_scores(bits=16)), CURVES[0].scores + CURVES[1].scores]
)
def test_a_curve_is_of_one_direction_and_length(scores):
    with pytest.raises(InputError, match="one seed at least, in one direction and length; got"):
        Curve("smfh", "SMFH", scores)


def test_a_chart_outside_the_app_is_escaped_and_fetches_nothing():
    text = chart_html(precision_at_k([replace(SEEDED, title="CVH <b></script>")]), "figure-1")
    assert 'id="figure-1"' in text
    assert "CVH &lt;b&gt;" in text  # the description
    assert "CVH <b>" not in text
    assert text.count("<script") == text.count("</script>")
    assert "src=" not in text
