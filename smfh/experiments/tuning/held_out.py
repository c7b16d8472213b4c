"""Test a trial and the starting point (trial 0) on the held-out queries; save each test with the study."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from smfh.datasets import load_set
from smfh.experiments.folds import BASE_MEASURES, average_searches, combine_measures
from smfh.experiments.tuning.goals import MEASURES
from smfh.experiments.tuning.storage import errors_in_words
from smfh.experiments.tuning.study import Study
from smfh.files import convert_errors, read_json
from smfh.jobs import Call, JobContext, here
from smfh.metrics import Scores
from smfh.metrics.significance import Difference, compare_pairs, in_words
from smfh.runs import SavedRuns, ensure_saved, ready_searches
from smfh.runs.run_file import finite
from smfh.types import InputError, MissingFilesError, OnStep, unknown

SEEDS, PROTOCOL = 5, "training"
ALL, THE_START = "all directions", "the start"  # THE_START is part of saved tests
ATTRIBUTE = "confirmed"  # name of a study's attribute, followed by the trial's number
CORRECTION = (
    "Each further test is another opportunity to win by chance. Therefore, with k tests in a study, every interval, "
    "including those of earlier tests, has a confidence level of 100 − 5/k % instead of 95 % (Bonferroni); all "
    "intervals together then have a level of 95 %. Tests in other studies of the same data are not counted."
)

Searches = Mapping[str, Scores]  # scores of one run, by direction


@dataclass(frozen=True)
class MeasuredPair:
    """A score on the held-out queries for both the starting point (trial 0) and another trial."""

    dataset: str
    direction: str  # or ALL, the mean over all directions
    measure: str  # a key of MEASURES
    start: tuple[float, ...]  # values of the starting point, by seed
    chosen: tuple[float, ...]  # values of the trial, by seed
    difference: Difference | None  # paired over queries; None if the measure is not a mean over queries

    @property
    def gain(self) -> float:
        return float(np.mean(self.chosen) - np.mean(self.start))


@dataclass(frozen=True)
class Confirmation:
    """The result of testing a trial and the starting point (trial 0) on the held-out queries."""

    number: int  # of the trial
    figures: tuple[MeasuredPair, ...]
    place: int = 1  # 1 for the first test of the study, 2 for the second
    at: str = ""  # date and time, UTC

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences about the tested differences, one each."""
        lines = [
            in_words(one.difference, f"on {one.dataset}, {one.direction}, {BASE_MEASURES[one.measure]}")
            for one in self.figures
            if one.difference is not None
        ]
        return tuple(line[0].upper() + line[1:] for line in lines)


def confirm(
    study: Study,
    number: int,
    store: SavedRuns,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_step: OnStep | None = None,
    yield_turn: Callable[[], None] = lambda: None,
    call: Call = here,
) -> Confirmation:
    """Train a trial and trial 0 with SEEDS seeds each, and score both on the held-out queries.

    A saved test is returned at once. `on_progress` is called with the numbers of finished and of all runs.
    """
    if (saved := confirmations(study).get(number)) is not None:
        return saved
    study.check_current()
    trial = next((one for one in study.trials if one.number == number and one.parameters), None)
    if trial is None or study.method_of(trial) == study.plan.method:
        raise InputError(
            f"Trial {number} has the same settings as the starting point of the study, so there is nothing to test. "
            "Choose another trial."
        )
    settings = {THE_START: study.plan.method, f"trial {number}": study.method_of(trial)}
    lengths = study.plan.bits or (0,)  # 0: the code length of each setting
    total = len(study.plan.sources) * len(lengths) * len(settings) * SEEDS
    done, figures = 0, []
    for source in study.plan.sources:
        try:
            data, split = call(load_set, source)
        except MissingFilesError:  # a worker on another machine may not have them
            data, split = load_set(source)
        for bits in lengths:
            found: dict[str, list[Searches]] = {title: [] for title in settings}
            for (title, method), seed in product(settings.items(), range(SEEDS)):
                on_progress(done, total)
                yield_turn()
                run = replace(method, seed=seed, bits=bits or method.bits)
                record = ensure_saved(store, source, run, data, split, on_step, call)
                wanted = (PROTOCOL, study.plan.distance)
                searches = [one for one in ready_searches(record.directions) if one[2:] == wanted]
                found[title].append(
                    {f"{a} → {b}": store.scores(record, data, split, a, b, *wanted) for a, b, *_ in searches}
                )
                done += 1
            used = dict.fromkeys([bits] if bits else [method.bits for method in settings.values()])
            figures += compare_runs(f"{source.card.title}, {' against '.join(map(str, used))} bits", found)
    on_progress(total, total)
    now = datetime.now(UTC).isoformat(" ", "seconds")
    confirmation = Confirmation(number, tuple(figures), len(confirmations(study)) + 1, now)
    with errors_in_words(study.key.address):
        study.optuna.set_user_attr(f"{ATTRIBUTE} {number}", json.dumps(asdict(confirmation)))
    return confirmations(study)[number]


def widen(difference: Difference, tests: int) -> Difference:
    """Return a difference with its confidence interval widened for this number of tests (Bonferroni).

    The bootstrap means are nearly normal, so each half of the interval grows by a ratio of normal quantiles.
    """
    tail = (1 - difference.level) / 2
    ratio = NormalDist().inv_cdf(1 - tail / tests) / NormalDist().inv_cdf(1 - tail / difference.pairs)
    mean, low, high = difference.mean, difference.low, difference.high
    return replace(difference, low=mean - ratio * (mean - low), high=mean + ratio * (high - mean), pairs=tests)


def confirm_work(study: Study, number: int, store: SavedRuns) -> Callable[[JobContext], Confirmation]:
    """Return a function for the job queue that calls `confirm` and reports (done, total) runs."""
    return lambda context: confirm(
        study, number, store, lambda *done: context.report(done), context.check, context.yield_turn, context.call
    )


def confirmations(study: Study) -> dict[int, Confirmation]:
    """Return the tests of a study on held-out queries, keyed by trial number, the oldest first.

    Their intervals are widened for the number of tests that the study has made.
    """
    with convert_errors(f"The tests of {study.name!r} on held-out queries"), errors_in_words(study.key.address):
        attributes = study.optuna.user_attrs.items()
        found = [read_test(read_json(text)) for name, text in attributes if name.startswith(ATTRIBUTE)]
        tests = {}
        for place, test in enumerate(sorted(found, key=lambda one: (one.place, one.number)), start=1):
            figures = tuple(
                replace(one, difference=one.difference and widen(one.difference, len(found))) for one in test.figures
            )
            tests[test.number] = replace(test, figures=figures, place=place)
        return tests


def compare_runs(dataset: str, found: Mapping[str, Sequence[Searches]]) -> list[MeasuredPair]:
    """Compare a trial with trial 0 by every measure, in each direction and over all directions."""

    pairs, all_ways = [], list(next(iter(found.values()))[0])
    for direction, measure in product((*all_ways, ALL), MEASURES):
        ways = all_ways if direction == ALL else [direction]
        start, chosen = (
            tuple(
                float(np.mean([combine_measures(measure, average_searches([run[way]])) for way in ways]))
                for run in runs
            )
            for runs in found.values()
        )
        difference = None
        if measure in BASE_MEASURES:  # average precision, mean over the directions, (seeds, queries)
            by_query = {
                title: np.mean([[run[way].average_precision[measure].by_query for way in ways] for run in runs], axis=1)
                for title, runs in found.items()
            }
            difference = compare_pairs(by_query)[0]
        pairs.append(MeasuredPair(dataset, direction, measure, start, chosen, difference))
    return pairs


def read_test(content: Mapping[str, Any]) -> Confirmation:
    """Return the test on held-out queries in parsed JSON; raise InputError if it is not valid."""
    figures = []
    for one in content["figures"]:
        difference, measure = one["difference"], str(one["measure"])
        if measure not in MEASURES:
            raise unknown("measure", measure[:40], MEASURES)
        if difference is not None:
            if measure not in BASE_MEASURES:
                raise InputError(f"A paired test of {measure} is not possible: it is not computed for each query.")
            values: dict[str, Any] = {name: str(difference[name]) for name in ("first", "second")}
            values |= {name: int(difference[name]) for name in ("queries", "seeds", "pairs")}
            values |= {name: finite(difference[name]) for name in ("mean", "low", "high", "level")}
            error = None if difference["seed_error"] is None else finite(difference["seed_error"])
            difference = Difference(**values, seed_error=error)
        start, chosen = (tuple(map(finite, one[name])) for name in ("start", "chosen"))
        figures.append(MeasuredPair(str(one["dataset"]), str(one["direction"]), measure, start, chosen, difference))
    place, at = int(content.get("place", 1)), str(content.get("at", ""))[:40]
    return Confirmation(int(content["number"]), tuple(figures), place, at)
