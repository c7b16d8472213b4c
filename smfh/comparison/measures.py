"""What the finished cells say, from the store alone: nothing is trained and nothing is ranked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from smfh.comparison.grid import Grid, cell_of
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.plots import Measured
from smfh.store import Judged, RunStore, StoredRun
from smfh.types import FloatArray, InputError, unknown

USUAL = AP_DEFINITIONS["found"]


class Seen(NamedTuple):
    """One cell in one direction."""

    run: StoredRun
    judged: Judged
    source: str  # modality of the queries
    target: str


@dataclass(frozen=True)
class Measure:
    """What an axis can show of a cell."""

    title: str
    value: Callable[[Seen], float]
    ties: Callable[[Seen], tuple[float, float]] | None = None  # worst and best that they allow
    lowest: bool = False  # less is better


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "map": Measure(
            "mAP",
            lambda seen: seen.judged.scores.mean_average_precision,
            lambda seen: (seen.judged.scores.worst, seen.judged.scores.best),
        ),
        "tie_aware": Measure("mAP, ties averaged", lambda seen: seen.judged.scores.tie_aware),
        "p_at_100": Measure("P@100", lambda seen: seen.judged.scores.precision_at_100),
        "hit_rate": Measure("look-up hit rate, radius 2", lambda seen: seen.judged.hit_rate),
        "training": Measure("training seconds", lambda seen: seen.run.record.seconds, lowest=True),
        "encoding": Measure(
            "seconds to encode all queries",
            lambda seen: seen.run.record.timing.encoding[seen.source],
            lowest=True,
        ),
    }
)


@dataclass(frozen=True)
class Point:
    """One method at one length in one direction, over seeds."""

    method: HashMethod  # with the comparison's usual bits and seed
    title: str
    bits: int
    source: str
    target: str
    values: tuple[float, ...]  # a seed each, of those that are finished
    worst: float  # mean over seeds of the worst that ties allow; the mean where there are none
    best: float
    chance: float  # of mAP
    without_relevant: int  # queries that nothing could answer

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Standard deviation over seeds; 0 for a single one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def direction(self) -> str:
        return f"{self.source}→{self.target}"

    @property
    def measured(self) -> Measured:
        """As charts want it; the band of seeds is from the lowest to the highest."""
        return Measured(
            method=self.method.name,
            title=self.title,
            direction=self.direction,
            at=self.bits,
            mean=self.mean,
            low=min(self.values),
            high=max(self.values),
            worst=self.worst,
            best=self.best,
        )


def points(
    grid: Grid,
    store: RunStore,
    measure: str = "map",
    definition: APDefinition = USUAL,
    protocol: str = "training",
    directions: Sequence[tuple[str, str]] | None = None,
) -> list[Point]:
    """Every method at every length with a finished cell, in the order of the comparison."""
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    runs = grid.found(store)
    return [
        _point(grid, method, bits, seen, MEASURES[measure])
        for source, target in (grid.directions if directions is None else directions)
        for method in grid.comparison.methods
        for bits in grid.comparison.bits
        if (seen := _seen(grid, runs, method, bits, (source, target, protocol), definition))
    ]


@dataclass(frozen=True, eq=False)
class MeanCurves:
    """Curves of one method, each (seeds, places); their mean is along the first axis."""

    method: HashMethod
    title: str
    precision: FloatArray  # at 1 … depth
    recall: FloatArray
    radius_precision: FloatArray  # within radius 0 … bits
    radius_recall: FloatArray
    chance_precision: float


def mean_curves(
    grid: Grid,
    store: RunStore,
    bits: int,
    source: str,
    target: str,
    protocol: str = "training",
) -> list[MeanCurves]:
    """The curves of every method that has a finished cell at this length."""
    runs, curves = grid.found(store), []
    for method in grid.comparison.methods:
        seen = _seen(grid, runs, method, bits, (source, target, protocol), USUAL)
        if not seen:
            continue
        judged = [one.judged for one in seen]
        curves.append(
            MeanCurves(
                method=method,
                title=grid.comparison.titles[method],
                precision=np.stack([one.precision_curve for one in judged]),
                recall=np.stack([one.recall_curve for one in judged]),
                radius_precision=np.stack([one.by_radius.precision for one in judged]),
                radius_recall=np.stack([one.by_radius.recall for one in judged]),
                chance_precision=judged[0].scores.chance_precision,
            )
        )
    return curves


def query_precisions(
    grid: Grid,
    store: RunStore,
    bits: int,
    source: str,
    target: str,
    protocol: str = "training",
    definition: APDefinition = USUAL,
) -> dict[str, FloatArray]:
    """The AP of every query by title of the method, (seeds, queries): for `significance.compare_pairs`."""
    runs = grid.found(store)
    by_title = {
        grid.comparison.titles[method]: [
            one.judged.average_precision
            for one in _seen(grid, runs, method, bits, (source, target, protocol), definition)
        ]
        for method in grid.comparison.methods
    }
    return {title: np.stack(rows) for title, rows in by_title.items() if rows}


def _seen(
    grid: Grid,
    runs: Mapping[HashMethod, StoredRun],
    method: HashMethod,
    bits: int,
    direction: tuple[str, str, str],
    definition: APDefinition,
) -> list[Seen]:
    """The finished seeds of a method at a length; one that turns out to be damaged is as if missing."""
    seen = []
    for seed in range(grid.comparison.seeds):
        run = runs.get(cell_of(method, bits, seed))
        if run is None:
            continue
        try:
            seen.append(Seen(run, run.judged(*direction, definition), *direction[:2]))
        except InputError:  # the store has marked it, and the Runs page tells
            continue
    return seen


def _point(grid: Grid, method: HashMethod, bits: int, seen: Sequence[Seen], about: Measure) -> Point:
    values = tuple(about.value(one) for one in seen)
    ties = [about.ties(one) for one in seen] if about.ties else [(value, value) for value in values]
    worst, best = np.mean(ties, axis=0).tolist()
    first = seen[0]
    return Point(
        method=method,
        title=grid.comparison.titles[method],
        bits=bits,
        source=first.source,
        target=first.target,
        values=values,
        worst=worst,
        best=best,
        chance=first.judged.scores.chance,
        without_relevant=first.judged.scores.queries_without_relevant,
    )
