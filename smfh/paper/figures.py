"""Figures 2, 3 and 4 from the trainings that there are; crosses where the paper prints a number."""

from collections.abc import Sequence
from dataclasses import replace

from smfh.comparison import Grid, View, curves, points
from smfh.hashing import METHODS, SMFH
from smfh.metrics import AP_DEFINITIONS
from smfh.paper.plan import FIGURE_BITS, TABLE_BITS, paper_method
from smfh.paper.published import ENDS, TASKS, published_score
from smfh.plots import Axis, Chart, LineChart, convergence, precision_at_k, recall_at_k, score_curves
from smfh.plots.published import NOTE, Published, with_crosses
from smfh.runs import RunStore
from smfh.types import Point

DEFINITION = AP_DEFINITIONS["found"]
SAMPLE_AXIS = Axis("graph sample m (items)")


def figure_2(dataset: str, grid: Grid, store: RunStore) -> dict[str, Chart]:
    """mAP over code length, by direction."""
    charts: dict[str, Chart] = {}
    for direction, ends in ENDS.items():
        found = [replace(point, ties=None) for point in points(grid, store, View(*ends))]
        chart = score_curves(found, DEFINITION.label, formula=DEFINITION.formula)
        charts[direction] = _crossed(chart, _crosses(dataset, direction, grid, TABLE_BITS))
    return charts


def figure_3(dataset: str, grid: Grid, store: RunStore) -> dict[tuple[str, str], Chart]:
    """Precision and recall among the first K answers, by direction and by what is drawn."""
    charts: dict[tuple[str, str], Chart] = {}
    for direction, ends in ENDS.items():
        found = curves(grid, store, View(*ends, bits=FIGURE_BITS))
        crosses = _crosses(dataset, direction, grid, [FIGURE_BITS], "p_at_100", at=100)
        charts[direction, "precision"] = _crossed(precision_at_k(found), crosses)
        charts[direction, "recall"] = _crossed(recall_at_k(found), [])
    return charts


def figure_4a(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """mAP of SMFH over the number of items in the graph, both directions."""
    titles = grid.comparison.titles.items()
    samples = {title: method.graph_sample for method, title in titles if isinstance(method, SMFH)}
    measured = [
        replace(point, title=SMFH.title, at=samples[point.title], ties=None)
        for ends in ENDS.values()
        for point in points(grid, store, View(*ends))
    ]
    usual = paper_method("smfh", dataset)
    at = usual.graph_sample if isinstance(usual, SMFH) else 0
    crosses = [cross for way in TASKS for cross in _crosses(dataset, way, grid, [FIGURE_BITS], at=at)]
    chart = score_curves(measured, DEFINITION.label, SAMPLE_AXIS, formula=DEFINITION.formula)
    return _crossed(replace(chart, title=best_samples(measured)) if measured else chart, crosses)


def best_samples(measured: Sequence[Point]) -> str:
    """Which m is best in each direction; of a single one only what it scores."""
    best: dict[str, Point] = {}
    for point in measured:
        best[point.direction] = max(best.get(point.direction, point), point, key=lambda one: one.mean)
    samples = {point.at for point in measured}
    if len(samples) == 1:
        told = ", ".join(f"{point.mean:.3f} {way}" for way, point in best.items())
        return f"SMFH at m = {samples.pop():,}, the only one measured: {told}"
    told = ", ".join(f"{way} at m = {point.at:,} ({point.mean:.3f})" for way, point in best.items())
    return f"Of {len(samples)} samples measured, SMFH is best {told}"


def figure_4b(dataset: str, grid: Grid, store: RunStore) -> Chart:
    """The objective of SMFH and its terms, iteration by iteration."""
    record = next(iter(grid.found(store).values()), None)
    return replace(convergence(store.hasher(record).trace if record else ()), note=NOTE)


def _crosses(
    dataset: str, direction: str, grid: Grid, lengths: Sequence[int], measure: str = "map", at: float = 0
) -> list[Published]:
    """What Table 1 has for the methods of a grid at these lengths, each at its length or where it is said."""
    return [
        Published(name, METHODS[name].title, direction.replace("->", " → "), at or bits, value)
        for name in dict.fromkeys(method.name for method in grid.comparison.methods)
        for bits in lengths
        if (value := published_score(dataset, direction, name, measure, bits)) is not None
    ]


def _crossed(chart: LineChart, crosses: Sequence[Published]) -> Chart:
    return with_crosses(replace(chart, note=NOTE), crosses)
