"""The leaderboard: measured and published scores, and classifier scores on the same features.

An entry is the mean over seeds for one method and setting, data set, split, code length, direction, score
definition, protocol and order of ties. It is read from the headers of saved runs. Published scores are shown
only beside runs that have the paper's settings and the data set's default split; `defaults` has the
fingerprints of that data and split.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import stdtrit

from smfh.datasets import DATASETS, DatasetSource
from smfh.experiments.comparison import setting_of
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.metrics.significance import MIN_SEED_ERRORS
from smfh.paper.plan import paper_method
from smfh.paper.published import COLUMNS, ENDS, ROW, TABLE_1, published_score
from smfh.paper.tables import DEFINITIONS
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import ClassifierLevelKey, RunRecord, SavedRuns
from smfh.runs.run_file import FIGURES, finite

TIE_RULES: Mapping[str, str] = {
    "database": "Ties are in database order.",
    "tie_aware": "Ties: the mean over all orders.",
    "worst": "Ties: relevant items last.",
    "best": "Ties: relevant items first.",
}
OTHER_SPLIT, OTHER_DATA, UNKNOWN_SPLIT = "other split", "other version of the data", "unknown split"
MEASURES = {definition: measure for measure, definition in DEFINITIONS.items()}  # inverse of DEFINITIONS
Search = tuple[str, str, str]  # source, target, protocol
Setting = tuple[DatasetSource, HashMethod]  # the method with its code length and seed 0
Fingerprints = tuple[str, str]  # of data and split
Defaults = Mapping[DatasetSource, Fingerprints]  # of the data set as it is loaded by default
Levels = Mapping[Fingerprints, ClassifierLevel]
MIN_SEEDS = 3  # of an entry that is ranked
NO_LEVEL = ClassifierLevel({}, {}, ())


@dataclass(frozen=True)
class Entry:
    """One row of the leaderboard: a method in one setting, and its scores."""

    source: DatasetSource
    method: HashMethod  # with its code length and its lowest seed
    search: Search
    definition: str
    ties: str
    deviates: str  # how the data differs from the default, such as "other split"; "" if it does not
    values: tuple[float, ...]  # score for each seed; empty: published, but not measured
    chance: float | None
    published: float | None
    classifier: float | None  # score of tuned classifiers on the same features; None: not measured
    kernel_ridge: float | None  # score of kernel ridge regression on the features of SMFH+
    codes: float | None = None  # distinct codes in the database, mean over seeds; None: not known
    is_repeatable: bool = True  # whether the seeds are 0 … n − 1, as those of a comparison

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over seeds; None for fewer than two seeds."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def is_complete(self) -> bool:
        """Whether the entry is ranked: enough seeds, from 0, on the default data and split, not corrupted."""
        is_usual = not self.deviates and not self.source.corruptions
        return len(self.values) >= MIN_SEEDS and self.is_repeatable and is_usual

    @property
    def error(self) -> float:
        """Standard error of the mean over seeds: s / √n."""
        return (self.deviation or 0.0) / float(np.sqrt(max(len(self.values), 1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean over seeds, by Student's t."""
        half = float(stdtrit(len(self.values) - 1, 0.975)) * self.error
        return (self.mean or 0.0) - half, (self.mean or 0.0) + half

    @property
    def direction(self) -> str:
        return f"{self.search[0]} → {self.search[1]}"

    @property
    def words(self) -> str:
        """How the score is defined, in sentences: measure, ties and protocol."""
        return f"{AP_DEFINITIONS[self.definition].words} {TIE_RULES[self.ties]} {PROTOCOLS[self.search[2]]}"


def load_fingerprints(source: DatasetSource) -> Fingerprints:
    """Load a data set with its default split, and return the fingerprints of both."""
    data, split = source.load()
    return data.fingerprint, split.fingerprint


def classifier_levels(store: SavedRuns, records: Sequence[RunRecord], defaults: Defaults) -> Levels:
    """Return saved scores of classifiers by data and split, on the data of these runs and of `defaults`."""
    known = {*defaults.values(), *((record.key.data, record.key.split) for record in records)}
    found = {one: store.classifier_level(ClassifierLevelKey(*one)) for one in known}
    return {one: level for one, level in found.items() if level is not None}


def leaderboard(records: Sequence[RunRecord], defaults: Defaults, levels: Levels) -> list[Entry]:
    """Return entries for all up-to-date runs, then for published scores without such a run."""
    groups: dict[tuple[DatasetSource, HashMethod, int, str, str], list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.method.seed):
        if record.is_current:
            setting, key = setting_of(record.method), record.key
            group = (record.source, setting, record.method.bits, key.data, key.split)
            groups.setdefault(group, []).append(record)
    measured = [entry for runs in groups.values() for entry in _measured(runs, defaults, levels)]
    return [*measured, *_unmeasured(measured, defaults, levels)]


def ranked(entries: Sequence[Entry], left_out: Collection[Setting] = ()) -> list[tuple[str, Entry]]:
    """Return the complete entries of each task, best first, with ranks such as "1" or, if tied, "1=".

    `left_out` are settings that are not ranked, such as those of lessons, which are weak on purpose.
    A task is a data set, search, measure, rule for ties and code length. The rank counts the entries that are
    better by more than two standard errors over seeds; equal ranks are ties.
    """
    tasks: dict[tuple[DatasetSource, Search, str, str, int], list[Entry]] = {}
    for entry in (entry for entry in entries if entry.is_complete):
        if (entry.source, replace(entry.method, seed=0)) in left_out:
            continue
        task = (entry.source, entry.search, entry.definition, entry.ties, entry.method.bits)
        tasks.setdefault(task, []).append(entry)
    rows: list[tuple[str, Entry]] = []
    for task in sorted(tasks, key=lambda task: (tasks[task][0].source.name, str(task[1:4]), task[4])):
        own = tasks[task]
        own.sort(key=lambda entry: -(entry.mean or 0.0))
        means = np.array([entry.mean or 0.0 for entry in own])
        errors = np.array([entry.error for entry in own])
        is_better = means - means[:, None] > MIN_SEED_ERRORS * np.hypot(errors, errors[:, None])
        places = (1 + is_better.sum(axis=1)).tolist()
        marks = [f"{place}{'=' * (places.count(place) > 1)}" for place in places]
        rows += zip(marks, own, strict=True)
    return rows


def _measured(runs: Sequence[RunRecord], defaults: Defaults, levels: Levels) -> Iterator[Entry]:
    """Yield leaderboard entries (one per search, measure and tie rule) for runs that differ only in seeds.

    If enough runs have the seeds 0, 1, 2, …, only these runs count, because a single command can repeat them.
    """
    first = [run for place, run in enumerate(runs) if run.method.seed == place]
    runs = first if len(first) >= MIN_SEEDS else runs
    source, method, key = runs[0].source, runs[0].method, runs[0].key
    level = levels.get((key.data, key.split), NO_LEVEL)
    if source not in defaults:
        deviates = UNKNOWN_SPLIT
    else:
        data, split = defaults[source]
        deviates = OTHER_SPLIT if key.split != split else OTHER_DATA if key.data != data else ""
    searches = [(a, b, protocol) for a, b, protocol, distance in runs[0].searches if distance == "hamming"]
    for search, definition, ties in product(searches, HEADLINE, TIE_RULES):
        saved = (*search, "hamming")
        headers = [run.searches[saved] for run in runs if saved in run.searches]
        figures = [dict(zip(FIGURES, header["figures"][definition], strict=True)) for header in headers]
        if ties == "database":
            values = [header["headline"][definition] for header in headers]
        else:
            values = [figure[ties] for figure in figures]
        codes = [one["distinct_codes"] for one in headers if one.get("distinct_codes") is not None]
        yield Entry(
            source=source,
            method=method,
            search=search,
            definition=definition,
            ties=ties,
            deviates=deviates,
            values=tuple(map(finite, values)),
            chance=finite(figures[0]["chance"]),
            published=None if deviates else published_beside(source, method, search, definition, ties),
            classifier=level.scores.get(search, {}).get(definition) if ties == "database" else None,
            kernel_ridge=level.kernel_ridge.get(search, {}).get(definition) if ties == "database" else None,
            is_repeatable=len(first) == len(runs),
            codes=float(np.mean(list(map(finite, codes)))) if codes else None,
        )


def published_beside(
    source: DatasetSource, method: HashMethod, search: Search, definition: str, ties: str
) -> float | None:
    """Return the score that the paper publishes for a run and a search; None if there is none.

    Only a run with the paper's settings has one, and only for ties in database order.
    """
    if search[2] != "training" or ties != "database" or definition not in MEASURES:
        return None
    if source != type(source)() or setting_of(method) != setting_of(paper_method(method.name, source.name)):
        return None
    row, direction = ROW.get(method.name, method.name), f"{search[0]}->{search[1]}"
    return published_score(source.name, direction, row, MEASURES[definition], method.bits)


def _unmeasured(measured: Sequence[Entry], defaults: Defaults, levels: Levels) -> Iterator[Entry]:
    """Yield an entry for each score of Table 1 that no measured entry shows."""
    shown = {_cell(entry) for entry in measured if entry.published is not None}
    for dataset, direction in ((dataset, way) for dataset, ways in TABLE_1.items() for way in ways):
        source, search = DATASETS[dataset](), (*ENDS[direction], "training")
        level = levels.get(defaults.get(source, ("", "")), NO_LEVEL)
        classifiers, ridge = level.scores.get(search, {}), level.kernel_ridge.get(search, {})
        for name, numbers in TABLE_1[dataset][direction].items():
            for (measure, bits), number in zip(COLUMNS, numbers, strict=True):
                method, definition = replace(paper_method(name, dataset), bits=bits), DEFINITIONS[measure]
                scores = number, classifiers.get(definition), ridge.get(definition)
                entry = Entry(source, method, search, definition, "database", "", (), None, *scores)
                if _cell(entry) not in shown:
                    yield entry


def _cell(entry: Entry) -> tuple[str, str, int, Search, str]:
    return entry.source.name, entry.method.name, entry.method.bits, entry.search, entry.definition
