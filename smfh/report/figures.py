"""The figures of a comparison, from the store alone: the same on the page and in the report."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from smfh.comparison import Grid, MeanCurves, mean_curves, points
from smfh.comparison.grid import template
from smfh.plots import Chart, Measured, MethodCurve, curves_over_k, radius_over_seeds, score_curves
from smfh.plots.published import Published, with_crosses
from smfh.report.view import View
from smfh.store import RunStore
from smfh.types import FloatArray, InputError

PRECISION = "P@K = Σ_(k≤K) rel(k) / K, mean over queries"
RECALL = "R@K = Σ_(k≤K) rel(k) / R, mean over queries"
RADIUS = "within radius ρ: relevant / items, and relevant / R"
HITS = "queries with a relevant item within radius {} / all queries"
SECONDS = "wall-clock seconds of a training"
MICROSECONDS = "wall-clock time of all queries / their number"
KEPT = 4096  # curves of hits in memory, each of bits + 1 numbers


def every_chart(
    grid: Grid, store: RunStore, view: View, published: Sequence[Published] = (), log: bool = False
) -> dict[str, Chart]:
    """All figures by a short name; `log` is for those over K."""
    curves = mean_curves(grid, store, view.bits, view.source, view.target, view.protocol)
    return {
        "map": score_chart(grid, store, view, published),
        "precision": precision_chart(curves, log),
        "recall": recall_chart(curves, log),
        "radius": radius_chart(curves),
        "hits": hit_chart(grid, store, view),
        "training": training_chart(grid, store, view),
        "encoding": encoding_chart(grid, store, view),
    }


def score_chart(grid: Grid, store: RunStore, view: View, published: Sequence[Published] = ()) -> Chart:
    """The chosen mAP over code lengths, with chance, and with what a paper prints at these lengths."""
    found = points(grid, store, "map", view.metric, view.protocol, [(view.source, view.target)])
    chart = score_curves(
        [point.measured for point in found],
        view.metric.label,
        chance=found[0].chance if found else None,
        formula=view.metric.formula,
    )
    crosses = [cross for cross in published if cross.at in {point.bits for point in found}]
    return with_crosses(chart, crosses) if crosses else chart


def precision_chart(curves: Sequence[MeanCurves], log: bool = False) -> Chart:
    chance = np.full(curves[0].precision.shape[1], curves[0].chance_precision) if curves else None
    drawn = [_over_k(curve, curve.precision) for curve in curves]
    return curves_over_k("precision", drawn, PRECISION, log=log, chance=chance)


def recall_chart(curves: Sequence[MeanCurves], log: bool = False) -> Chart:
    return curves_over_k("recall", [_over_k(curve, curve.recall) for curve in curves], RECALL, log=log)


def radius_chart(curves: Sequence[MeanCurves]) -> Chart:
    """Precision against recall within a growing radius."""
    drawn = [
        MethodCurve(curve.method.name, curve.title, curve.radius_recall.mean(axis=0), curve.radius_precision)
        for curve in curves
    ]
    return radius_over_seeds(drawn, RADIUS)


def _over_k(curve: MeanCurves, values: FloatArray) -> MethodCurve:
    return MethodCurve(curve.method.name, curve.title, np.arange(1.0, values.shape[1] + 1), values)


def hit_chart(grid: Grid, store: RunStore, view: View) -> Chart:
    """How many queries a look-up within the radius answers, over code lengths."""
    values: dict[tuple[str, str, int], list[float]] = {}
    for cell, run in grid.found(store).items():
        try:
            hits = hits_within(store, run.record.id, view.source, view.target, view.protocol)
        except InputError:  # damaged: the store has marked it
            continue
        title = grid.comparison.titles[template(cell)]
        values.setdefault((cell.name, title, cell.bits), []).append(float(hits[min(view.radius, cell.bits)]))
    measured = [
        _spread(method, title, view.direction, bits, shares)
        for (method, title, bits), shares in values.items()
    ]
    return score_curves(measured, "look-up hit rate", formula=HITS.format(view.radius))


def _spread(method: str, title: str, direction: str, bits: int, values: Sequence[float]) -> Measured:
    mean = float(np.mean(values))
    return Measured(method, title, direction, bits, mean, min(values), max(values), mean, mean)


@lru_cache(maxsize=KEPT)
def hits_within(store: RunStore, id: str, source: str, target: str, protocol: str) -> FloatArray:
    """The share of queries that find something relevant within radius 0 … bits; a run never changes."""
    run = store.get(id)
    if run is None:
        raise InputError(f"There is no run {id[:12]} any more.")
    found = np.cumsum(run.result(source, target, protocol).ranking.counts.relevant, axis=1)
    shares: FloatArray = np.mean(found > 0, axis=0)
    return shares


def training_chart(grid: Grid, store: RunStore, view: View) -> Chart:
    found = points(grid, store, "training", view.metric, view.protocol, [(view.source, view.target)])
    return score_curves(
        [point.measured for point in found], "training time (s)", lowest=True, formula=SECONDS, log=True
    )


def encoding_chart(grid: Grid, store: RunStore, view: View) -> Chart:
    found = points(grid, store, "encoding", view.metric, view.protocol, [(view.source, view.target)])
    queries = len(grid.split.queries)
    measured = [
        _spread(
            point.method.name,
            point.title,
            point.direction,
            point.bits,
            [1e6 * seconds / queries for seconds in point.values],
        )
        for point in found
    ]
    return score_curves(measured, "encoding time (µs a query)", lowest=True, formula=MICROSECONDS, log=True)
