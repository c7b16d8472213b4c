"""Curves of real searches: what the traces hold, and what the titles say."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.evaluation import evaluate
from smfh.hashing import SMFH, SMFHPlus
from smfh.metrics import look_up
from smfh.plots import (
    Axis,
    Measured,
    Run,
    hit_rate_by_radius,
    method_colour,
    precision_at_k,
    recall_at_k,
    score_curves,
    size_by_radius,
)
from smfh.types import DistanceCounts


@pytest.fixture(scope="module")
def runs(planted):
    data, split = planted
    methods = (SMFHPlus(bits=16, iterations=5, anchors=20), SMFH(bits=16, iterations=5, graph_sample=100))
    fitted = [(method, method.fit(data.take(split.train))) for method in methods]
    return [
        Run(method.name, method.title, evaluate(hasher, data, split, source, target))
        for method, hasher in fitted
        for source, target in hasher.directions
    ]


def test_every_run_has_its_curve_its_colour_and_its_dash(runs):
    chart = precision_at_k(runs)
    drawn = chart.figure().data
    assert [line.name for line in drawn] == [*(f"{run.title} {run.direction}" for run in runs), "chance"]
    assert {run.direction for run in runs} == {"text→image", "image→text"}
    for run, line in zip(runs, drawn, strict=False):
        np.testing.assert_array_equal(line.y, run.result.precision_curve)
        np.testing.assert_array_equal(line.x, np.arange(1, len(line.y) + 1))
        assert line.line.color == method_colour(run.method)
    assert [line.line.dash for line in drawn] == ["solid", "dash", "solid", "dash", "dot"]
    np.testing.assert_allclose(drawn[-1].y, runs[0].result.scores.chance_precision)


def test_one_direction_needs_no_arrow_and_a_pinned_run_is_dotted(runs):
    pinned = Run(runs[2].method, runs[2].title, runs[2].result, pinned=True)
    lines = precision_at_k([runs[0], pinned]).lines
    assert [line.name for line in lines] == ["SMFH+", "SMFH (pinned)", "chance"]
    assert [line.dash for line in lines] == ["solid", "dot", "dot"]
    assert lines[1].faint


def test_recall_meets_chance_at_the_end_of_the_database(runs):
    chart = recall_at_k(runs[:1])
    line, chance = chart.lines
    np.testing.assert_array_equal(line.y, runs[0].result.recall_curve)
    assert len(line.x) == runs[0].result.ranking.counts.items[0].sum()  # all of it was ranked
    assert line.y[-1] == pytest.approx(1)
    assert chance.y[-1] == pytest.approx(1)
    np.testing.assert_allclose(np.diff(chance.y), chance.y[0])


def test_a_query_without_anything_relevant_has_no_chance(runs):
    result = runs[0].result
    relevant = result.ranking.counts.relevant.copy()
    relevant[: len(relevant) // 2] = 0  # half of the 60 queries
    counts = DistanceCounts(result.ranking.counts.items, relevant)
    halved = replace(result, ranking=replace(result.ranking, counts=counts))
    assert recall_at_k([Run("smfh", "SMFH", halved)]).lines[-1].y[-1] == pytest.approx(0.5)


@pytest.mark.parametrize(("marked", "K"), [(50, 50), (10_000, 180)])
def test_the_marked_place_is_the_one_that_the_title_tells(runs, marked, K):
    chart = precision_at_k(runs[:2], marked=marked, log=True)
    best = max(run.result.precision_curve[K - 1] for run in runs[:2])
    assert chart.title.endswith(f"has the highest precision among the first {K} answers: {best:.3f}")
    assert [(mark.label, mark.start) for mark in chart.marks] == [(f"K = {K}", K)]
    assert chart.figure().layout.xaxis.type == "log"
    for run in runs[:2]:
        assert f"{run.result.precision_curve[K - 1]:.3f}" in chart.description


def test_one_line_alone_beats_nobody(runs):
    value = runs[0].result.precision_curve[99]
    assert precision_at_k(runs[:1]).title == f"SMFH+: precision {value:.3f} among the first 100 answers"


@pytest.mark.parametrize("radius", [0, 2, 16])
def test_look_ups_by_radius_are_the_metrics_own(runs, radius):
    hits, sizes = hit_rate_by_radius(runs, radius), size_by_radius(runs, radius)
    for run, hit, size in zip(runs, hits.lines, sizes.lines, strict=True):
        found = look_up(run.result.ranking.counts, radius)
        assert hit.y[radius] == pytest.approx(found.hit_rate)
        assert size.y[radius] == pytest.approx(found.items.mean())
    assert f"within radius {radius}" in hits.title


def measured(method, direction, at, mean):
    return Measured(
        method, method.upper(), direction, at, mean, mean - 0.01, mean + 0.02, mean - 0.1, mean + 0.2
    )


def test_scores_are_drawn_in_order_with_both_bands():
    points = [
        measured("smfh", "text→image", 64, 0.6),
        measured("smfh", "text→image", 16, 0.4),
        measured("smfh-plus", "text→image", 64, 0.7),
    ]
    chart = score_curves(points)
    ties, seeds, line, *_ = chart.figure().data
    np.testing.assert_array_equal(line.x, [16, 64])
    np.testing.assert_array_equal(line.y, [0.4, 0.6])
    np.testing.assert_allclose(seeds.y, [0.42, 0.62, 0.59, 0.39])  # there and back
    np.testing.assert_allclose(ties.y, [0.6, 0.8, 0.5, 0.3])
    np.testing.assert_array_equal(ties.x, [16, 64, 64, 16])
    assert ties.legendgroup == line.legendgroup
    assert chart.title == "SMFH-PLUS has the highest mAP@100 at 64 bits: 0.700"
    assert list(chart.figure().layout.xaxis.tickvals) == [16, 64]
    assert chart.rows()[0] == {
        "line": "SMFH",
        "code length (bits)": 16,
        "mAP@100": 0.4,
        "ties, low": pytest.approx(0.3),
        "ties, high": pytest.approx(0.6),
        "seeds, low": pytest.approx(0.39),
        "seeds, high": pytest.approx(0.42),
    }


def test_of_times_the_lowest_is_told():
    points = [measured("smfh", "both", 1000, 3.0), measured("smfh-plus", "both", 1000, 2.0)]
    chart = score_curves(points, "training time (s)", Axis("graph sample m (items)"), lowest=True)
    assert chart.title == "SMFH-PLUS has the lowest training time (s) at 1000 items: 2.000"
