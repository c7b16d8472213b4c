"""The chosen trial on the queries, once, beside the start: is it better where it counts?"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource
from smfh.files import guarded, read_json
from smfh.hashing import HashMethod
from smfh.jobs import Call, Course, here
from smfh.metrics import Scores
from smfh.runs import KeptRuns, find_or_keep, ready_searches
from smfh.runs.scores import finite
from smfh.significance import Difference, compare_pairs, in_words
from smfh.tuning.goals import FIGURES, MEASURES, figures_of, measured
from smfh.tuning.storage import errors_in_words
from smfh.tuning.study import Study
from smfh.types import FloatArray, InputError, OnStep, unknown

SEEDS, PROTOCOL = 5, "training"
ALL = "all directions"
CONFIRMED = "confirmed"  # attribute, followed by the number of the trial

BySeed = tuple[float, ...]
Searches = Mapping[str, Scores]  # of one run, by direction


@dataclass(frozen=True)
class OnQueries:
    """One measure of both settings on the queries, in a direction or as a mean over all."""

    dataset: str
    direction: str
    measure: str  # of MEASURES
    start: BySeed
    chosen: BySeed
    difference: Difference | None  # the better less the other; None of what is no mean over queries

    @property
    def gain(self) -> float:
        return float(np.mean(self.chosen) - np.mean(self.start))


@dataclass(frozen=True)
class Confirmation:
    """What a trial does on the queries."""

    number: int
    figures: tuple[OnQueries, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Every tested difference as a sentence."""
        told = [
            in_words(one.difference, f"on {one.dataset}, {one.direction}, {FIGURES[one.measure]}")
            for one in self.figures
            if one.difference is not None
        ]
        return tuple(line[0].upper() + line[1:] for line in told)


def confirm(
    study: Study,
    number: int,
    store: KeptRuns,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_step: OnStep | None = None,
    give_way: Callable[[], None] = lambda: None,
    call: Call = here,
) -> Confirmation:
    """The trial and the start with SEEDS seeds each, asked by the queries; computed once and then kept.

    `on_progress` hears how many of the runs are there.
    """
    if (kept := confirmations(study).get(number)) is not None:
        return kept
    study.check_current()
    trial = next((one for one in study.trials if one.number == number and one.parameters), None)
    if trial is None or study.method_of(trial) == study.plan.method:
        raise InputError(f"Trial {number} cannot be confirmed: choose one that differs from the start.")
    settings = {"the start": study.plan.method, f"trial {number}": study.method_of(trial)}
    lengths = study.plan.bits or (0,)  # 0: as the setting says
    total = len(study.plan.sources) * len(lengths) * len(settings) * SEEDS
    done, figures = 0, []
    for source, bits in product(study.plan.sources, lengths):
        data, split = source.load()
        found: dict[str, list[dict[str, Scores]]] = {title: [] for title in settings}
        for (title, method), seed in product(settings.items(), range(SEEDS)):
            on_progress(done, total)
            give_way()
            run = replace(method, seed=seed, bits=bits or method.bits)
            record = find_or_keep(store, source, run, data, split, on_step, study.key.owner, call)
            ways = [way for *way, protocol in ready_searches(record.directions) if protocol == PROTOCOL]
            found[title].append(
                {f"{a} → {b}": store.scores(record, data, split, a, b, PROTOCOL) for a, b in ways}
            )
            done += 1
        figures += _figures(_titled(source, settings, bits), found)
    on_progress(total, total)
    confirmation = Confirmation(number, tuple(figures))
    with errors_in_words(study.key.address):
        study.optuna.set_user_attr(f"{CONFIRMED} {number}", json.dumps(asdict(confirmation)))
    return confirmation


def confirm_work(study: Study, number: int, store: KeptRuns) -> Callable[[Course], Confirmation]:
    """The confirmation as work of a queue, one step a run; reports (done, total)."""
    return lambda course: confirm(
        study, number, store, lambda *far: course.report(far), course.check, course.give_way, course.call
    )


def confirmations(study: Study) -> dict[int, Confirmation]:
    """All that were computed so far, by the number of the trial."""
    with guarded(f"What the queries said of {study.name!r}"), errors_in_words(study.key.address):
        said = {name: text for name, text in study.optuna.user_attrs.items() if name.startswith(CONFIRMED)}
        found = [_read(read_json(text)) for text in said.values()]
        return {one.number: one for one in found}


def _figures(dataset: str, found: Mapping[str, Sequence[Searches]]) -> list[OnQueries]:
    """Every measure in every direction, then as a mean over all: a query asks in each of them."""
    start, chosen = found.values()
    figures = []
    for direction, measure in product((*start[0], ALL), MEASURES):
        ways = list(start[0]) if direction == ALL else [direction]
        difference = None
        if measure in FIGURES:
            by_query = {title: _by_query(seeds, ways, measure) for title, seeds in found.items()}
            difference = compare_pairs(by_query)[0]
        values = (_by_seed(start, ways, measure), _by_seed(chosen, ways, measure))
        figures.append(OnQueries(dataset, direction, measure, *values, difference))
    return figures


def _by_query(seeds: Sequence[Searches], ways: Sequence[str], definition: str) -> FloatArray:
    """Average precisions as means over the ways, (seeds, queries)"""
    AP = [[searches[way].average_precision[definition].by_query for way in ways] for searches in seeds]
    means: FloatArray = np.mean(AP, axis=1)
    return means


def _by_seed(seeds: Sequence[Searches], ways: Sequence[str], measure: str) -> BySeed:
    """The measure of each seed, as a mean over the ways."""
    values = [[measured(measure, figures_of([searches[way]])) for way in ways] for searches in seeds]
    return tuple(float(np.mean(one)) for one in values)


def _titled(source: DatasetSource, settings: Mapping[str, HashMethod], bits: int) -> str:
    lengths = dict.fromkeys([bits] if bits else [method.bits for method in settings.values()])
    return f"{source.card.title}, {' against '.join(map(str, lengths))} bits"


def _read(said: Mapping[str, Any]) -> Confirmation:
    figures = [
        OnQueries(
            **{name: str(one[name]) for name in ("dataset", "direction", "measure")},
            start=tuple(map(finite, one["start"])),
            chosen=tuple(map(finite, one["chosen"])),
            difference=None if one["difference"] is None else _read_difference(one["difference"]),
        )
        for one in said["figures"]
    ]
    if strange := {one.measure for one in figures} - set(MEASURES):
        raise unknown("measure", min(strange)[:40], MEASURES)
    if any(one.difference is not None and one.measure not in FIGURES for one in figures):
        raise InputError("It holds a test of what is no mean over queries.")
    return Confirmation(int(said["number"]), tuple(figures))


def _read_difference(said: Mapping[str, Any]) -> Difference:
    """A difference whose every value is of its kind, whatever the database says."""
    mean, low, high, level = (finite(said[name]) for name in ("mean", "low", "high", "level"))
    error = None if said["seed_error"] is None else finite(said["seed_error"])
    queries, seeds, pairs = (int(said[name]) for name in ("queries", "seeds", "pairs"))
    return Difference(
        str(said["first"]), str(said["second"]), mean, low, high, error, queries, seeds, level, pairs
    )
