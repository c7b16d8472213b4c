"""Every measure of every finished run as plain rows."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product

from smfh.comparison import Grid, View, setting_of
from smfh.comparison.grid import OF_A_RUN
from smfh.comparison.measures import RADIUS
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, APScore, Scores
from smfh.runs import KeptRuns, RunRecord
from smfh.types import InputError

Row = dict[str, str | float | int | None]


def csv_rows(
    grid: Grid, store: KeptRuns, view: View, directions: Sequence[tuple[str, str]] | None = None
) -> list[Row]:
    """A row for each run, direction and protocol; for `plots.csv_of`, which makes formulas harmless."""
    rows = []
    searches = product(directions or grid.directions, PROTOCOLS)
    for record, ((source, target), protocol) in product(grid.found(store).values(), searches):
        try:
            scores = store.scores(record, grid.data, grid.split, source, target, protocol)
        except InputError:  # damaged: the store has marked it, and the Runs page tells
            continue
        title = grid.comparison.titles[setting_of(record.method)]
        rows.append(_row(record, title, scores, scores.average_precision[view.definition]))
    return rows


def _row(record: RunRecord, title: str, scores: Scores, precision: APScore) -> Row:
    return {
        "data": record.source.name,
        "method": record.method.name,
        "title": title,
        "bits": record.method.bits,
        "seed": record.method.seed,
        "from": scores.source,
        "to": scores.target,
        "database": scores.protocol,
        "definition": precision.definition.formula,
        precision.definition.label: precision.mean,
        "chance": precision.chance,
        "ties at worst": precision.worst,
        "ties averaged": precision.tie_aware,
        "ties at best": precision.best,
        **{AP_DEFINITIONS[name].label: value for name, value in scores.headline.items()},
        f"look-up hit rate, radius {RADIUS}": float(scores.within.hits[min(RADIUS, scores.bits)]),
        "queries": scores.queries,
        "queries without relevant": scores.queries_without_relevant,
        "training seconds": record.timing.training,
        "encoding seconds": record.timing.encoding[scores.source],
        "settings": settings_of(record.method),
        "run": record.id,
    }


def settings_of(method: HashMethod) -> str:
    """Such as graph_weight = 2.0, iterations = 30: all but bits and seed, as usual or not."""
    return ", ".join(f"{name} = {value}" for name, value in asdict(method).items() if name not in OF_A_RUN)
