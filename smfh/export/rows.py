"""Every measure of every finished run as plain rows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from smfh.comparison import Grid, View, setting_of
from smfh.comparison.grid import OF_A_RUN
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.runs import RunRecord, RunStore
from smfh.types import InputError

Row = dict[str, str | float | int | None]
RADIUS = 2


def csv_rows(
    grid: Grid, store: RunStore, view: View, directions: Sequence[tuple[str, str]] | None = None
) -> list[Row]:
    """A row for each run, direction and protocol; for `plots.csv_of`, which makes formulas harmless."""
    told = grid.directions if directions is None else directions
    return [
        row
        for record in grid.found(store).values()
        for direction in told
        for protocol in PROTOCOLS
        for row in _row(grid, store, view, record, direction, protocol)
    ]


def _row(
    grid: Grid, store: RunStore, view: View, record: RunRecord, direction: tuple[str, str], protocol: str
) -> Iterator[Row]:
    source, target = direction
    try:
        scores = store.scores(record, grid.data, grid.split, source, target, protocol)
    except InputError:  # damaged: the store has marked it, and the Runs page tells
        return
    precision = scores.average_precision[view.definition]
    yield {
        "data": record.source.name,
        "method": record.method.name,
        "title": grid.comparison.titles[setting_of(record.method)],
        "bits": record.method.bits,
        "seed": record.method.seed,
        "from": source,
        "to": target,
        "database": protocol,
        "definition": view.metric.formula,
        view.metric.label: precision.mean,
        "chance": precision.chance,
        "ties at worst": precision.worst,
        "ties averaged": precision.tie_aware,
        "ties at best": precision.best,
        "P@100": scores.precision_at_100,
        f"look-up hit rate, radius {RADIUS}": float(scores.within.hits[min(RADIUS, scores.bits)]),
        "queries": scores.queries,
        "queries without relevant": scores.queries_without_relevant,
        "training seconds": record.timing.training,
        "encoding seconds": record.timing.encoding[source],
        "settings": settings_of(record.method),
        "run": record.id,
    }


def settings_of(method: HashMethod) -> str:
    """Such as graph_weight = 2.0, iterations = 30: all but bits and seed, as usual or not."""
    return ", ".join(f"{name} = {value}" for name, value in asdict(method).items() if name not in OF_A_RUN)
