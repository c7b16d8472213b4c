"""What the finished runs of a grid say, from the store alone: nothing is trained."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from smfh.comparison.grid import Grid
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, HEADLINE, APDefinition, APScore, Scores
from smfh.plots import Curve
from smfh.runs import KeptRuns, RunRecord
from smfh.types import FloatArray, InputError, Point, unknown

RADIUS, MOST_RADIUS = 2, 8  # of the usual look-up, and of the widest


class Measured(NamedTuple):
    """One run of a grid, searched in one direction, by one definition."""

    record: RunRecord
    scores: Scores
    precision: APScore


@dataclass(frozen=True)
class Measure:
    """What an axis can show of a run."""

    title: str
    value: Callable[[Measured], float]
    ties: Callable[[Measured], tuple[float, float]] | None = None  # worst and best that they allow
    has_chance: bool = False


def _hits(radius: int, run: Measured) -> float:
    """The share of queries that find something relevant within the radius."""
    return float(run.scores.within.hits[min(radius, run.scores.bits)])


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "map": Measure(
            "score",
            lambda run: run.precision.mean,
            lambda run: (run.precision.worst, run.precision.best),
            has_chance=True,
        ),
        "tie_aware": Measure("score, ties averaged", lambda run: run.precision.tie_aware),
        "training": Measure("training seconds", lambda run: run.record.timing.training),
        "encoding": Measure(
            "µs to encode a query",
            lambda run: 1e6 * run.record.timing.encoding[run.scores.source] / run.scores.queries,
        ),
        **{
            f"hits_{radius}": Measure(f"look-up hit rate, radius {radius}", partial(_hits, radius))
            for radius in range(MOST_RADIUS + 1)
        },
    }
)


@dataclass(frozen=True)
class View:
    """How runs are looked at: one direction, definition and protocol."""

    source: str  # modality of the queries
    target: str  # modality that is searched
    definition: str = "found"  # a key of AP_DEFINITIONS
    protocol: str = "training"
    bits: int = 64  # of curves at one length
    radius: int = RADIUS  # of the look-up

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.definition not in AP_DEFINITIONS:
            problems += unknown("definition", self.definition, AP_DEFINITIONS).problems
        if self.protocol not in PROTOCOLS:
            problems += unknown("protocol", self.protocol, PROTOCOLS).problems
        if problems:
            raise InputError(problems)

    @property
    def direction(self) -> str:
        return f"{self.source} → {self.target}"

    @property
    def metric(self) -> APDefinition:
        return AP_DEFINITIONS[self.definition]

    @property
    def told_together(self) -> list["View"]:
        """This one, and the same by mAP@100, over the whole ranking, and by P@100: none alone tells all."""
        return [replace(self, definition=name) for name in dict.fromkeys([self.definition, *HEADLINE])]

    def towards(self, source: str, target: str) -> "View":
        """The same in another direction."""
        return replace(self, source=source, target=target)


def points(grid: Grid, store: KeptRuns, view: View, measure: str = "map") -> list[Point]:
    """Every method at every length with a finished run, in the order of the comparison; a value a seed."""
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    about, found = MEASURES[measure], []
    for method, title in grid.comparison.titles.items():
        for bits in grid.comparison.bits:
            if runs := list(measured(grid, store, view, method, bits)):
                ties = np.mean([about.ties(run) for run in runs], axis=0) if about.ties else None
                found.append(
                    Point(
                        method=method.name,
                        title=title,
                        direction=view.direction,
                        at=bits,
                        values=tuple(about.value(run) for run in runs),
                        ties=None if ties is None else (float(ties[0]), float(ties[1])),
                        chance=runs[0].precision.chance if about.has_chance else None,
                    )
                )
    return found


def points_every_way(grid: Grid, store: KeptRuns, view: View, measure: str = "map") -> list[Point]:
    """The same in all directions."""
    return [
        point
        for direction in grid.directions
        for point in points(grid, store, view.towards(*direction), measure)
    ]


def curves(grid: Grid, store: KeptRuns, view: View) -> list[Curve]:
    """The scores of every method that has a finished run at the view's length, a seed each."""
    found = {
        method: tuple(run.scores for run in measured(grid, store, view, method, view.bits))
        for method in grid.comparison.methods
    }
    titles = grid.comparison.titles
    return [Curve(method.name, titles[method], scores) for method, scores in found.items() if scores]


def query_precisions(grid: Grid, store: KeptRuns, view: View) -> dict[str, FloatArray]:
    """The AP of every query by title of the method, (seeds, queries): for `significance.compare_pairs`."""
    by_title = {
        title: [run.precision.by_query for run in measured(grid, store, view, method, view.bits)]
        for method, title in grid.comparison.titles.items()
    }
    return {title: np.stack(rows) for title, rows in by_title.items() if rows}


def measured(grid: Grid, store: KeptRuns, view: View, method: HashMethod, bits: int) -> Iterator[Measured]:
    """The finished seeds of a method at a length; one that turns out to be damaged is as if missing."""
    for seed in range(grid.comparison.seeds):
        key = grid.keys.get(replace(method, bits=bits, seed=seed))
        record = None if key is None else store.find(key)
        if record is None:
            continue
        try:
            scores = store.scores(record, grid.data, grid.split, view.source, view.target, view.protocol)
        except InputError:  # the store has marked it, and the Runs page tells
            continue
        yield Measured(record, scores, scores.average_precision[view.definition])
