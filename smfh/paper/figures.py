"""Figures 2, 3 and 4 from the trainings that there are; crosses where the paper prints a number."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from smfh.comparison import Grid, Point, mean_curves, points
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS
from smfh.paper.plan import FIGURE_BITS, paper_method
from smfh.paper.published import COLUMNS, TASKS, published_score
from smfh.plots import (
    Axis,
    Chart,
    Measured,
    MethodCurve,
    Published,
    convergence,
    curves_over_k,
    score_curves,
    with_crosses,
)
from smfh.plots.lines import LineChart
from smfh.store import RunStore

NOTE = "Nothing is measured yet. Press Measure, and it appears here."
DEFINITION = AP_DEFINITIONS["found"]
SAMPLE_AXIS = Axis("graph sample m (items)")
P_AT_K = "P@K = Σ_(k≤K) rel(k) / K, mean over queries"
R_AT_K = "R@K = Σ_(k≤K) rel(k) / R, mean over queries"
MAP_LENGTHS = tuple(bits for measure, bits in COLUMNS if measure == "map")


def figure_2(dataset: str, grid: Grid, store: RunStore) -> dict[str, Chart]:
    """mAP over code length, by direction."""
    return {direction: _over_bits(dataset, direction, grid, store) for direction in TASKS}


def _over_bits(dataset: str, direction: str, grid: Grid, store: RunStore) -> Chart:
    found = [without_ties(point) for point in points(grid, store, "map", directions=[_ends(direction)])]
    crosses = [
        _cross(dataset, direction, method.name, bits, at=bits)
        for method in grid.comparison.methods
        for bits in MAP_LENGTHS
    ]
    return _crossed(score_curves(found, DEFINITION.label, formula=DEFINITION.formula), crosses)


def figure_3(dataset: str, grid: Grid, store: RunStore) -> dict[tuple[str, str], Chart]:
    """Precision and recall among the first K answers, by direction and by what is drawn."""
    charts: dict[tuple[str, str], Chart] = {}
    for direction in TASKS:
        curves = mean_curves(grid, store, FIGURE_BITS, *_ends(direction))
        precision, recall = (
            [
                MethodCurve(of.method.name, of.title, np.arange(1.0, of.precision.shape[1] + 1), values)
                for of in curves
                for values in [getattr(of, what)]
            ]
            for what in ("precision", "recall")
        )
        crosses = [
            _cross(dataset, direction, method.name, FIGURE_BITS, at=100, measure="p_at_100")
            for method in grid.comparison.methods
        ]
        charts[direction, "precision"] = _crossed(curves_over_k("precision", precision, P_AT_K), crosses)
        charts[direction, "recall"] = _crossed(curves_over_k("recall", recall, R_AT_K), [])
    return charts


def figure_4a(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """mAP of SMFH over the number of items in the graph, both directions."""
    found = points(grid, store, "map", directions=[_ends(direction) for direction in TASKS])
    measured = [
        replace(without_ties(point), title=METHODS["smfh"].title, at=sample_of(point.method))
        for point in found
    ]
    usual = sample_of(paper_method("smfh", dataset))
    crosses = [_cross(dataset, direction, "smfh", FIGURE_BITS, at=usual) for direction in TASKS]
    chart = score_curves(measured, DEFINITION.label, SAMPLE_AXIS, formula=DEFINITION.formula)
    return _crossed(replace(chart, title=best_samples(measured)) if measured else chart, crosses)


def best_samples(measured: Sequence[Measured]) -> str:
    """Which m is best in each direction."""
    by_direction = {point.direction: point for point in sorted(measured, key=lambda point: point.mean)}
    return "SMFH is best " + ", ".join(
        f"{direction} at m = {best.at:,} ({best.mean:.3f})" for direction, best in by_direction.items()
    )


def without_ties(point: Point) -> Measured:
    """Ties stand in database order, as in the paper; the Compare page tells what they could do."""
    return replace(point.measured, worst=point.mean, best=point.mean)


def sample_of(method: object) -> int:
    """m, which SMFH alone has."""
    m: int = getattr(method, "graph_sample")  # noqa: B009  a method in general has no such field
    return m


def figure_4b(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """The objective of SMFH and its terms, iteration by iteration."""
    run = next(iter(grid.found(store).values()), None)
    return replace(convergence(run.hasher.trace if run else ()), note=NOTE)


def _cross(
    dataset: str, direction: str, method: str, bits: int, at: float, measure: str = "map"
) -> Published | None:
    """What Table 1 has for this point; None where it has nothing."""
    value = published_score(dataset, direction, method, measure, bits)
    if value is None:
        return None
    return Published(method, METHODS[method].title, direction.replace("->", "→"), at, value)


def _crossed(chart: LineChart, crosses: Sequence[Published | None]) -> Chart:
    return with_crosses(replace(chart, note=NOTE), [cross for cross in crosses if cross is not None])


def _ends(direction: str) -> tuple[str, str]:
    """text->image as a pair."""
    source, target = direction.split("->")
    return source, target
