"""Compare methods, code lengths and seeds on one data set: train missing runs, read saved scores.

comparison = Comparison(source, methods, bits=(16, 32, 64), seeds=3)
grid = Grid(comparison, *source.load())
train_grid(grid, store)                          # trains only runs that are not saved
points(grid, store, View("text", "image"))       # reads saved scores
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Event
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from smfh.datasets import DatasetSource
from smfh.hamming import DISTANCES
from smfh.hashing import COMPARED, METHODS, HashMethod, make_method
from smfh.jobs import Call, CancelledJobError, JobContext, here
from smfh.metrics import AP_DEFINITIONS, GRADED, HEADLINE, PAIR_RETRIEVAL, APDefinition, APScore, Scores
from smfh.plots import Curve
from smfh.retrieval.classifiers import ClassifierLevel, measure_classifier_level
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import (
    ClassifierLevelKey,
    RunKey,
    RunRecord,
    SavedRuns,
    classifier_level_key,
    ensure_saved,
    run_key,
    text_to_image_first,
)
from smfh.types import (
    FloatArray,
    InputError,
    MultimodalDataset,
    OnStep,
    Point,
    Split,
    TrainingStep,
    parameters,
    unknown,
)

MAX_METHODS, MAX_LENGTHS, MAX_SEEDS, MAX_RUNS = 24, 12, 20, 500
OF_A_RUN = ("bits", "seed")  # parameters that differ between the runs of one setting
DEFAULT_BITS, DEFAULT_SEEDS = (16, 32, 64, 128), 3
RADIUS, MAX_RADIUS = 2, 8  # radius of the look-up in bits: default and largest
Problems = Mapping[HashMethod, tuple[str, ...]]  # failed runs, with the reasons


@dataclass(frozen=True)
class Comparison:
    """Methods to compare, each with every code length in `bits` and with seeds 0 to `seeds` − 1."""

    source: DatasetSource
    methods: tuple[HashMethod, ...]
    bits: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(dict.fromkeys(map(setting_of, self.methods))))
        object.__setattr__(self, "bits", tuple(sorted(set(self.bits))))
        counts = {
            "methods": (len(self.methods), MAX_METHODS),
            "code lengths": (len(self.bits), MAX_LENGTHS),
            "seeds": (self.seeds, MAX_SEEDS),
        }
        problems = [
            f"A comparison needs 1 to {limit} {what}; got {count}."
            for what, (count, limit) in counts.items()
            if not 1 <= count <= limit
        ]
        for length in self.bits if self.methods else ():
            try:
                replace(self.methods[0], bits=length)
            except InputError as error:
                problems += error.problems
        runs = len(self.methods) * len(self.bits) * self.seeds
        if not problems and runs > MAX_RUNS:
            problems.append(f"{runs:,} runs are too many; a comparison has at most {MAX_RUNS}.")
        if problems:
            raise InputError(problems)

    @property
    def trainings(self) -> tuple[HashMethod, ...]:
        """The method of every run, ordered by seed, so that a page can draw the first curves early."""
        return tuple(
            replace(method, bits=bits, seed=seed)
            for seed in range(self.seeds)
            for bits in self.bits
            for method in self.methods
        )

    @cached_property
    def titles(self) -> Mapping[HashMethod, str]:
        """The title of each method; several settings of SMFH get titles such as SMFH (α 2, m 50)."""
        titles = {}
        for method in self.methods:
            others = [other for other in self.methods if other.name == method.name]
            values = [
                f"{about.symbol} {value_in_words(getattr(method, name))}"
                for name, about in parameters(method).items()
                if len({getattr(other, name) for other in others}) > 1
            ]
            titles[method] = f"{method.title} ({', '.join(values)})" if values else method.title
        return titles


def default_comparison(source: DatasetSource) -> Comparison:
    """Return what Compare shows by default: every method with its best preset."""
    methods = tuple(best_method(name, source.name) for name in COMPARED)
    return Comparison(source, methods, DEFAULT_BITS, DEFAULT_SEEDS)


def best_method(name: str, dataset: str) -> HashMethod:
    """Return the method with its best preset, or with its defaults if this data set has no such preset."""
    method = METHODS[name]
    has_preset = method.best in method.preset_names(dataset)
    return make_method(name, **(method.preset_values(method.best) if has_preset else {}))


def setting_of(method: HashMethod) -> HashMethod:
    """Return the method with default bits and seed, so that runs with the same other parameters are equal."""
    default = type(method)()
    return replace(method, bits=default.bits, seed=default.seed)


def name_training(method: HashMethod) -> str:
    """Return the name of a run as text, such as "SMFH, 32 bits, seed 1"."""
    return f"{method.title}, {method.bits} bits, seed {method.seed}"


def value_in_words(value: Any) -> str:
    """Return a parameter's value as text; a tuple is joined by slashes, an empty one is "equal"."""
    if isinstance(value, tuple):
        return "/".join(map(value_in_words, value)) or "equal"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class GridKey:
    """The key that identifies a grid of runs in the job queue."""

    data: str
    split: str
    methods: tuple[HashMethod, ...]
    bits: tuple[int, ...]
    seeds: int


@dataclass(frozen=True, eq=False)
class Grid:
    """The runs of a comparison, together with their loaded data and split."""

    comparison: Comparison
    data: MultimodalDataset
    split: Split

    @cached_property
    def keys(self) -> Mapping[HashMethod, RunKey]:
        """The key of every run, by method; the checksum of the data is computed only once."""
        first, *others = self.comparison.trainings
        key = run_key(self.data, self.split, first)
        return {first: key} | {method: replace(key, method=method) for method in others}

    @cached_property
    def key(self) -> GridKey:
        """The key that identifies this grid in the job queue."""
        first, own = next(iter(self.keys.values())), self.comparison
        return GridKey(first.data, first.split, own.methods, own.bits, own.seeds)

    @cached_property
    def classifier_key(self) -> ClassifierLevelKey:
        """The key under which the scores of classifiers on this data and split are saved."""
        return classifier_level_key(self.data, self.split)

    @property
    def directions(self) -> list[tuple[str, str]]:
        """All pairs (source, target) of different modalities, text → image first."""
        names = tuple(self.data.modalities)
        return text_to_image_first([(s, t) for t in names for s in names if s != t])

    def found(self, store: SavedRuns) -> dict[HashMethod, RunRecord]:
        """Return the saved runs of this grid, by method."""
        records = {method: store.find(key) for method, key in self.keys.items()}
        return {method: record for method, record in records.items() if record is not None}

    def missing(self, store: SavedRuns) -> list[HashMethod]:
        """Return the method of each run that is not saved, in training order."""
        return [method for method, key in self.keys.items() if store.find(key) is None]


def estimate_seconds(
    trainings: Sequence[HashMethod], records: Iterable[RunRecord], data: str
) -> dict[HashMethod, float]:
    """Return the estimated seconds of each run, by method; empty if no run on this data is saved.

    An estimate uses saved runs of the same setting, else of the same method, else all; among these, only runs
    with the nearest code length. Time is assumed to be proportional to the number of bits.
    """
    measured: dict[object, dict[int, list[float]]] = {}  # by setting, name or None, and by bits
    for record in records:
        if record.key.data == data:
            method, seconds = record.method, record.timing.run
            for group in (setting_of(method), method.name, None):
                measured.setdefault(group, {}).setdefault(method.bits, []).append(seconds / method.bits)
    if not measured:
        return {}
    means = {
        group: {bits: float(np.mean(rates)) for bits, rates in by_bits.items()} for group, by_bits in measured.items()
    }
    estimates = {}
    for method in trainings:
        by_bits = means.get(setting_of(method)) or means.get(method.name) or means[None]
        nearest = min(by_bits, key=lambda bits: (abs(bits - method.bits), bits))
        estimates[method] = by_bits[nearest] * method.bits
    return estimates


@dataclass(frozen=True)
class GridProgress:
    """The progress of a grid: the number of finished runs, the current run and the time left."""

    done: int
    total: int
    trained: int  # runs that this job trained, without failed ones
    current: HashMethod | None
    seconds_left: float | None  # None if nothing was measured yet


def train_grid(
    grid: Grid,
    store: SavedRuns,
    on_progress: Callable[[GridProgress], None] = lambda progress: None,
    on_step: OnStep | None = None,
    yield_turn: Callable[[], None] = lambda: None,
    call: Call = here,
    at_once: int = 1,
) -> Problems:
    """Train and save all missing runs of a grid, `at_once` at a time; return the problems of failed runs.

    `on_progress` and `yield_turn` are called before each run, `on_step` after each iteration, and `call`
    executes the training in a worker.
    """
    problems: dict[HashMethod, tuple[str, ...]] = {}
    missing, total = grid.missing(store), len(grid.keys)
    saved, stopped = total - len(missing), Event()

    def step(one: TrainingStep) -> None:
        if stopped.is_set():
            raise CancelledJobError
        if on_step is not None:
            on_step(one)

    def train(method: HashMethod) -> None:
        store.check_space()  # if the folder is full, no further run can be saved
        try:
            ensure_saved(store, grid.comparison.source, method, grid.data, grid.split, step, call)
        except InputError as error:
            problems[method] = error.problems

    def report(left: Sequence[HashMethod], running: int = 0) -> None:
        done = len(missing) - len(left) - running
        seconds = estimate_seconds(left, store.records(), grid.data.fingerprint)
        known = sum(seconds.values()) / at_once if seconds else None if running or left else 0.0
        current = left[0] if left else None
        on_progress(GridProgress(saved + done, total, done - len(problems), current, known))

    def wait_for_one(running: set[Future[None]]) -> set[Future[None]]:
        ended, left = wait(running, return_when=FIRST_COMPLETED)
        for one in ended:
            one.result()
        return left

    with ThreadPoolExecutor(at_once) as pool:
        running: set[Future[None]] = set()
        try:
            for place, method in enumerate(missing):
                if len(running) == at_once:
                    running = wait_for_one(running)
                report(missing[place:], len(running))
                yield_turn()
                running.add(pool.submit(train, method))
            while len(running) > 1:
                running = wait_for_one(running)
                report((), len(running))
            wait_for_one(running)
            report(())
        except BaseException:
            stopped.set()
            raise
    return problems


def grid_work(grid: Grid, store: SavedRuns) -> Callable[[JobContext], Problems]:
    """Return a function for the job queue that trains the missing runs of a grid."""
    return lambda context: train_grid(
        grid, store, context.report, context.check, context.yield_turn, context.call, context.at_once
    )


def classifier_work(grid: Grid, store: SavedRuns) -> Callable[[JobContext], ClassifierLevel]:
    """Return a function for the job queue that measures and saves the scores of classifiers, without codes."""

    def work(context: JobContext) -> ClassifierLevel:
        data = grid.data.without_looks()
        level: ClassifierLevel = context.call(measure_classifier_level, data, grid.split, on_progress=context.report)
        store.save_classifier_level(grid.classifier_key, level)
        return level

    return work


@dataclass(frozen=True)
class View:
    """The choice of scores to show: direction, definition, database and distance."""

    source: str  # modality of the queries
    target: str  # modality that is searched
    definition: str = "found"  # a key of AP_DEFINITIONS
    protocol: str = "training"
    bits: int = 64  # code length of the curves
    radius: int = RADIUS  # of the look-up, in bits
    distance: str = "hamming"  # a key of DISTANCES

    def __post_init__(self) -> None:
        choices = {"definition": AP_DEFINITIONS, "protocol": PROTOCOLS, "distance": DISTANCES}
        wrong = [(name, known) for name, known in choices.items() if getattr(self, name) not in known]
        if problems := [text for name, known in wrong for text in unknown(name, getattr(self, name), known).problems]:
            raise InputError(problems)

    @property
    def direction(self) -> str:
        return f"{self.source} → {self.target}"

    @property
    def metric(self) -> APDefinition:
        return AP_DEFINITIONS[self.definition]

    @property
    def headline_views(self) -> list["View"]:
        """Copies of this choice for mAP@100, whole-ranking mAP and P@100, which are shown together."""
        return [replace(self, definition=name) for name in dict.fromkeys([self.definition, *HEADLINE])]

    @property
    def graded(self) -> list[str]:
        """NDCG, number of codes and, if partners are in the database, measures of pair retrieval."""
        return [name for name in GRADED if self.protocol == "unseen" or name not in PAIR_RETRIEVAL]

    def towards(self, source: str, target: str) -> "View":
        """Return a copy of this choice for another direction of search."""
        return replace(self, source=source, target=target)


class ScoredRun(NamedTuple):
    """A run of a grid with the scores chosen by a View."""

    record: RunRecord
    scores: Scores
    precision: APScore


@dataclass(frozen=True)
class Measure:
    """A measured quantity of runs that a chart can show on an axis, such as a score or a time."""

    title: str
    value: Callable[[ScoredRun], float | None]  # None: not known for an older run
    ties: Callable[[ScoredRun], tuple[float, float]] | None = None  # values for worst and best order of ties
    has_chance: bool = False
    decimals: int = 3

    def text(self, point: Point) -> str:
        """Return a point's mean ± standard deviation as text."""
        spread = f" ± {point.deviation:.{self.decimals}f}" if len(point.values) > 1 else ""
        return f"{point.mean:.{self.decimals}f}{spread}"


DECIMALS = {"median_rank": 1, "distinct_codes": 0}
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
            "µs to encode a query", lambda run: 1e6 * run.record.timing.encoding[run.scores.source] / run.scores.queries
        ),
        **{
            name: Measure(
                label, partial(lambda name, run: run.scores.graded.get(name), name), decimals=DECIMALS.get(name, 3)
            )
            for name, (label, _) in GRADED.items()
        },
        **{
            f"hits_{radius}": Measure(  # share of queries with a relevant item within the radius
                f"look-up hit rate, radius {radius}",
                partial(lambda radius, run: float(run.scores.within.hits[min(radius, run.scores.bits)]), radius),
            )
            for radius in range(MAX_RADIUS + 1)
        },
    }
)


def scored_runs(grid: Grid, store: SavedRuns, view: View, method: HashMethod, bits: int) -> Iterator[ScoredRun]:
    """Yield the finished runs of a method at one code length, one per seed, without damaged ones."""
    for seed in range(grid.comparison.seeds):
        key = grid.keys.get(replace(method, bits=bits, seed=seed))
        if key is None or (record := store.find(key)) is None:
            continue
        try:
            search = (view.source, view.target, view.protocol, view.distance)
            scores = store.scores(record, grid.data, grid.split, *search)
        except InputError:  # the store has marked the run as damaged, and the Runs page shows it
            continue
        yield ScoredRun(record, scores, scores.average_precision[view.definition])


def points(grid: Grid, store: SavedRuns, view: View, measure: str = "map") -> list[Point]:
    """Return the points of a chart: one per method and code length, with a value per finished seed."""
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    if measure in GRADED and measure not in view.graded:
        return []  # the partners of the queries are not in this database
    about, found = MEASURES[measure], []
    for method, title in grid.comparison.titles.items():
        for bits in grid.comparison.bits:
            runs = list(scored_runs(grid, store, view, method, bits))
            if values := tuple(value for run in runs if (value := about.value(run)) is not None):
                ties = np.mean([about.ties(run) for run in runs], axis=0) if about.ties else None
                found.append(
                    Point(
                        method=method.name,
                        title=title,
                        direction=view.direction,
                        at=bits,
                        values=values,
                        ties=None if ties is None else (float(ties[0]), float(ties[1])),
                        chance=runs[0].precision.chance if about.has_chance else None,
                    )
                )
    return found


def points_every_way(grid: Grid, store: SavedRuns, view: View, measure: str = "map") -> list[Point]:
    """Return the points of a chart for all directions of search; see `points`."""
    return [point for direction in grid.directions for point in points(grid, store, view.towards(*direction), measure)]


def curves(grid: Grid, store: SavedRuns, view: View) -> list[Curve]:
    """Return a curve for each method that has finished runs at the chosen code length."""
    found = {
        method: tuple(run.scores for run in scored_runs(grid, store, view, method, view.bits))
        for method in grid.comparison.methods
    }
    titles = grid.comparison.titles
    return [Curve(method.name, titles[method], scores) for method, scores in found.items() if scores]


def query_precisions(grid: Grid, store: SavedRuns, view: View, measure: str = "map") -> dict[str, FloatArray]:
    """Return scores (seeds, queries) by method title, for `significance.compare_pairs`.

    `measure` is "map", "ndcg_at_100" or "recall_at_K"; other measures have no value per query.
    """

    def by_query(run: ScoredRun) -> FloatArray:
        if measure == "map":
            return run.precision.by_query
        if measure == "ndcg_at_100":
            return run.scores.ndcg
        ranks = run.scores.partner_ranks
        return np.zeros(0) if ranks is None else (ranks <= int(measure.removeprefix("recall_at_"))).astype(np.float64)

    by_title = {
        title: [by_query(run) for run in scored_runs(grid, store, view, method, view.bits)]
        for method, title in grid.comparison.titles.items()
    }
    return {title: np.stack(rows) for title, rows in by_title.items() if rows}
