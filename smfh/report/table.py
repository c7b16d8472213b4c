"""Every measure of every finished cell as plain rows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from smfh.comparison import Grid
from smfh.comparison.grid import CELL, template
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.store import RunStore, StoredRun
from smfh.types import InputError

Row = dict[str, str | float | int | None]


def csv_rows(
    grid: Grid,
    store: RunStore,
    definition: str = "found",
    directions: Sequence[tuple[str, str]] | None = None,
) -> list[Row]:
    """A row for each cell, direction and protocol; for `plots.csv_of`, which makes formulas harmless."""
    told = grid.directions if directions is None else directions
    metric = AP_DEFINITIONS[definition]
    return [row for run in grid.found(store).values() for row in _rows(grid, run, metric, told)]


def _rows(
    grid: Grid, run: StoredRun, metric: APDefinition, directions: Sequence[tuple[str, str]]
) -> Iterator[Row]:
    title = grid.comparison.titles[template(run.record.method)]
    for source, target in directions:
        for protocol in PROTOCOLS:
            try:
                yield _row(run, title, source, target, protocol, metric)
            except InputError:  # damaged: the store has marked it, and the Runs page tells
                continue


def _row(run: StoredRun, title: str, source: str, target: str, protocol: str, metric: APDefinition) -> Row:
    record = run.record
    judged = run.judged(source, target, protocol, metric)
    scores = judged.scores
    return {
        "data": record.dataset,
        "method": record.method.name,
        "title": title,
        "bits": record.method.bits,
        "seed": record.method.seed,
        "from": source,
        "to": target,
        "database": protocol,
        "definition": metric.formula,
        metric.label: scores.mean_average_precision,
        "chance": scores.chance,
        "ties at worst": scores.worst,
        "ties averaged": scores.tie_aware,
        "ties at best": scores.best,
        "P@100": scores.precision_at_100,
        "look-up hit rate, radius 2": judged.hit_rate,
        "queries": scores.queries,
        "queries without relevant": scores.queries_without_relevant,
        "training seconds": record.seconds,
        "encoding seconds": record.timing.encoding[source],
        "settings": settings_of(record.method),
        "run": record.id,
    }


def settings_of(method: HashMethod) -> str:
    """Such as graph_weight = 2.0, iterations = 30: all but bits and seed, as usual or not."""
    values: dict[str, object] = asdict(method)  # type: ignore[call-overload]
    return ", ".join(f"{name} = {value}" for name, value in values.items() if name not in CELL)
