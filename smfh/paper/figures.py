"""Figures 2, 3 and 4 of the paper, drawn from finished runs, with crosses at published scores."""

from collections.abc import Sequence
from dataclasses import replace

from smfh.experiments.comparison import Grid, View, curves, points
from smfh.hashing import METHODS, SMFH
from smfh.metrics import AP_DEFINITIONS
from smfh.paper.plan import FIGURE_BITS, TABLE_BITS, paper_method
from smfh.paper.published import ENDS, published_score
from smfh.plots import (
    NOT_MEASURED,
    Axis,
    Chart,
    LineChart,
    Published,
    convergence,
    precision_at_k,
    recall_at_k,
    score_curves,
    with_crosses,
)
from smfh.runs import RunStore
from smfh.types import Point

DEFINITION = AP_DEFINITIONS["found"]
SAMPLE_AXIS = Axis("graph sample m (items)")


def figure_2(dataset: str, grid: Grid, store: RunStore) -> dict[str, Chart]:
    """Return charts of mAP by code length, one for each direction."""
    charts: dict[str, Chart] = {}
    for direction, ends in ENDS.items():
        measured = [replace(point, ties=None) for point in points(grid, store, View(*ends))]
        chart = score_curves(measured, DEFINITION.label, formula=DEFINITION.formula)
        charts[direction] = _add_crosses(chart, _crosses(dataset, direction, grid, TABLE_BITS))
    return charts


def figure_3(dataset: str, grid: Grid, store: RunStore) -> dict[tuple[str, str], Chart]:
    """Return charts of precision and recall of the first K results, by direction and measure."""
    charts: dict[tuple[str, str], Chart] = {}
    for direction, ends in ENDS.items():
        measured = curves(grid, store, View(*ends, bits=FIGURE_BITS))
        crosses = _crosses(dataset, direction, grid, [FIGURE_BITS], "p_at_100", at=100)
        charts[direction, "precision"] = _add_crosses(precision_at_k(measured), crosses)
        charts[direction, "recall"] = _add_crosses(recall_at_k(measured), [])
    return charts


def figure_4a(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """Return a chart of SMFH's mAP by the number m of items in the graph sample, in both directions."""
    titles = grid.comparison.titles.items()
    samples = {title: method.graph_sample for method, title in titles if isinstance(method, SMFH)}
    measured = [
        replace(point, title=SMFH.title, at=samples[point.title], ties=None)
        for ends in ENDS.values()
        for point in points(grid, store, View(*ends))
    ]
    paper = paper_method("smfh", dataset)
    at = paper.graph_sample if isinstance(paper, SMFH) else 0
    crosses = [cross for way in ENDS for cross in _crosses(dataset, way, grid, [FIGURE_BITS], at=at)]
    chart = score_curves(measured, DEFINITION.label, SAMPLE_AXIS, formula=DEFINITION.formula)
    return _add_crosses(replace(chart, title=best_samples(measured)) if measured else chart, crosses)


def best_samples(measured: Sequence[Point]) -> str:
    """Describe the best graph sample m for each direction; if there is only one m, its scores."""
    best: dict[str, Point] = {}
    for point in measured:
        best[point.direction] = max(best.get(point.direction, point), point, key=lambda one: one.mean)
    samples = {point.at for point in measured}
    if len(samples) == 1:
        scores = ", ".join(f"{point.mean:.3f} {way}" for way, point in best.items())
        return f"SMFH at m = {samples.pop():,}, the only one measured: {scores}"
    places = ", ".join(f"{way} at m = {point.at:,} ({point.mean:.3f})" for way, point in best.items())
    return f"Of {len(samples)} sample sizes measured, SMFH is best {places}"


def figure_4b(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """Return a chart of SMFH's objective and its terms by iteration."""
    record = next(iter(grid.found(store).values()), None)
    return replace(convergence(store.hasher(record).trace if record else ()), note=NOT_MEASURED)


def _crosses(
    dataset: str, direction: str, grid: Grid, lengths: Sequence[int], measure: str = "map", at: float = 0
) -> list[Published]:
    """Return the scores of Table 1 for a grid's methods, at x position `at` or at their code length."""
    return [
        Published(name, METHODS[name].title, direction.replace("->", " → "), at or bits, value)
        for name in dict.fromkeys(method.name for method in grid.comparison.methods)
        for bits in lengths
        if (value := published_score(dataset, direction, name, measure, bits)) is not None
    ]


def _add_crosses(chart: LineChart, crosses: Sequence[Published]) -> Chart:
    return with_crosses(replace(chart, note=NOT_MEASURED), crosses)
