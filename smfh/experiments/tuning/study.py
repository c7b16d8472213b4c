"""Studies and their trials, always read from the database."""

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any, Literal

import numpy as np
import optuna
import psutil
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState

from smfh.datasets import DatasetSource
from smfh.experiments.folds import BASE_MEASURES, FoldScores
from smfh.experiments.tuning.goals import Goal
from smfh.experiments.tuning.plan import MAX_TRIALS, Range, StudyPlan, check_name, plan_differences, read_plan
from smfh.experiments.tuning.storage import default_address, errors_in_words, hide_password, is_absent, open_storage
from smfh.files import convert_errors
from smfh.files.atomic import MACHINE
from smfh.hashing import HashMethod
from smfh.runs.run_file import finite
from smfh.types import InputError

State = Literal["waiting", "running", "complete", "pruned", "failed"]
STATES: Mapping[TrialState, State] = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",  # stopped early
    TrialState.FAIL: "failed",
}
FINISHED: tuple[State, ...] = ("complete", "pruned", "failed")
PLAN, VERSION, DATA, CREATOR, READY = "plan", "version", "data", "maker", "ready"  # attributes of a study
SHIPPED, NOTE = "shipped", "note"  # attributes of a study; NOTE followed by a number, the note on this trial
FOLDS, PROBLEM, WORKER = "parts", "problem", "worker"  # attributes of a trial
PROCESS = secrets.token_hex(4)  # a restarted program may get the same process id
MAX_NOTE_LENGTH = 500
CREATION_TIMEOUT_SECONDS = 30.0  # a study not ready by then was left incomplete by a killed program
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Trial:
    """A trial of a study: one setting with its scores so far; trial 0 is the starting point.

    A trial that was repeated because its worker was lost keeps its number.
    """

    number: int
    state: State
    parameters: Mapping[str, float]  # tuned parameters; empty before they have been chosen
    values: tuple[float, ...]  # of the objectives; if stopped early, means over the finished folds
    folds: tuple[FoldScores, ...]
    started: datetime | None
    ended: datetime | None
    problem: str = ""  # why the trial failed
    note: str = ""  # written by a person

    @property
    def is_start(self) -> bool:
        return self.number == 0

    @property
    def seconds(self) -> float:
        """Mean training time over the folds, in seconds."""
        return float(np.mean([fold.seconds for fold in self.folds])) if self.folds else 0.0

    @property
    def duration(self) -> float:
        """Seconds from `started` to `ended`; 0 until the trial is finished."""
        return (self.ended - self.started).total_seconds() if self.started and self.ended else 0.0

    def by_fold(self, goal: Goal) -> tuple[float, ...]:
        """Return the trial's score by the study's goal on each fold (means over data sets and code lengths)."""
        numbers = dict.fromkeys(fold.fold for fold in self.folds)
        by_number = ([goal.worth(goal.of_fold(fold)) for fold in self.folds if fold.fold == k] for k in numbers)
        return tuple(float(np.mean(values)) for values in by_number)

    def measure(self, name: str, direction: str = "") -> float:
        """Return a score by name (a key of MEASURES) as a mean over the folds, in one direction or over all."""
        return float(np.mean([fold.measure(name, direction) for fold in self.folds]))


@dataclass(frozen=True)
class StudyKey:
    """The key that identifies a study in the job queue."""

    address: str  # without its password
    name: str


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study, over all its workers."""

    done: int
    total: int  # 0 if the study is limited by minutes
    running: int  # trials of workers that are alive
    best: Trial | None
    seconds: float  # working time of the finished trials
    seconds_left: float | None  # None if nothing was measured yet
    began: datetime | None  # when the first trial began
    has_scores: bool = False  # whether any trial was scored on a fold

    @property
    def is_done(self) -> bool:
        return not self.seconds_left and self.done == self.total


class Study:
    """A study in a database; use `Studies` to create or open one."""

    def __init__(self, inner: optuna.Study, storage: BaseStorage, plan: StudyPlan, key: StudyKey) -> None:
        self.optuna, self.storage, self.plan, self.key = inner, storage, plan, key

    @property
    def name(self) -> str:
        return self.plan.name

    def _attribute(self, name: str, default: object = "") -> Any:
        with self.reading():
            return self.optuna.user_attrs.get(name, default)

    @property
    def is_shipped(self) -> bool:
        """Whether the study is shipped with the program and was not run on this computer."""
        return bool(self._attribute(SHIPPED))

    @property
    def creator(self) -> str:
        """Hash of the visitor who created the study; "" if unknown."""
        return str(self._attribute(CREATOR))

    @property
    def note(self) -> str:
        return str(self._attribute(NOTE))

    @cached_property
    def is_current(self) -> bool:
        """Whether the method still has the version with which the study was created."""
        return bool(self._attribute(VERSION, 1) == self.plan.method.version)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, sorted by number; of a repeated trial only the last attempt."""
        kinds, points, trials = (
            {one.name: int if one.whole else float for one in self.plan.ranges},
            self.plan.points,
            [],
        )
        with self.reading():
            latest = {number_of(frozen): frozen for frozen in self.optuna.get_trials(deepcopy=False)}
            attributes = self.optuna.user_attrs
            for number, frozen in sorted(latest.items()):
                preset = points[number] if number < len(points) else frozen.system_attrs.get("fixed_params", {})
                values = {**preset, **frozen.params}
                trials.append(
                    Trial(
                        number=number,
                        state=STATES[frozen.state],
                        parameters={name: kind(values[name]) for name, kind in kinds.items() if name in values},
                        values=tuple(frozen.values or ()),
                        folds=read_folds(frozen.user_attrs.get(FOLDS, [])),
                        started=frozen.datetime_start,
                        ended=frozen.datetime_complete,
                        problem=str(frozen.user_attrs.get(PROBLEM, "")),
                        note=str(attributes.get(f"{NOTE} {number}", "")),
                    )
                )
        return tuple(trials)

    @property
    def best(self) -> Trial | None:
        """The best complete trial by `Goal.worth`, the first one in a tie; None if no trial is complete."""
        return best_of(self.trials, self.plan)

    @property
    def progress(self) -> StudyProgress:
        """The current progress of the study, over all workers."""
        trials, plan = self.trials, self.plan
        finished = [trial for trial in trials if trial.state in FINISHED]
        spent = sum(trial.duration for trial in finished)
        by_minutes = plan.way == "search" and plan.minutes > 0
        left, running = None, 0
        if any(trial.state == "running" for trial in trials):  # does not count those whose worker is known to be lost
            with self.reading():
                stale = set[int]()
                if isinstance(self.storage, RDBStorage):
                    stale |= set(self.storage._get_stale_trial_ids(self.storage.get_study_id_from_name(self.name)))
                active = self.optuna.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
                running = sum(one._trial_id not in stale and not is_lost(one) for one in active)
        if by_minutes:
            left = max(0.0, plan.minutes * 60 - spent)
        elif finished:
            left = spent / len(finished) * (len(trials) - len(finished))
        return StudyProgress(
            done=len(finished),
            total=0 if by_minutes else len(trials),
            running=running,
            best=best_of(trials, plan),
            seconds=spent,
            seconds_left=left,
            began=min((trial.started for trial in trials if trial.started), default=None),
            has_scores=any(trial.folds for trial in trials),
        )

    def set_note(self, text: str, number: int | None = None) -> None:
        """Save a note on the study, or on the trial with this number; "" removes it."""
        if len(text) > MAX_NOTE_LENGTH:
            raise InputError(f"A note has at most {MAX_NOTE_LENGTH} characters; got {len(text)}.")
        with self.reading():
            self.optuna.set_user_attr(NOTE if number is None else f"{NOTE} {number}", text)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert database errors and invalid values in the study to InputError."""
        with convert_errors(f"The study {self.name!r}"), errors_in_words(self.key.address):
            yield

    def check_current(self) -> None:
        """Raise InputError if the study was created with a different version of the method."""
        if not self.is_current:
            raise InputError(
                f"The study {self.name!r} was created with a different version of {self.plan.method.title}, which "
                "produces different codes. You can view and export its trials; create a new study to add more."
            )

    def check_data(self, fingerprints: Sequence[str]) -> None:
        """Save the data's fingerprints at the first call; later, raise InputError if they differ."""
        known = self.optuna.user_attrs.get(DATA)
        if known is None:
            self.optuna.set_user_attr(DATA, list(fingerprints))
        elif known != list(fingerprints):
            raise InputError(f"The data changed since the study {self.name!r} began; create a new study.")

    def method_of(self, trial: Trial) -> HashMethod:
        """Return the method with the parameters of a trial."""
        return self.plan.method_of(trial.parameters)

    def set_budget(self, trials: int = 0, minutes: float = 0.0) -> None:
        """Change the number of trials or minutes of a search; trials that already wait are not removed."""
        if self.plan.way == "sweep":
            raise InputError(f"{self.name!r} is a sweep, so its number of trials is fixed.")
        self.plan = replace(self.plan, trials=trials, minutes=minutes)
        with errors_in_words(self.key.address):
            self.optuna.set_user_attr(PLAN, self.plan.to_json())
            self.add_trials(trials - len(self.trials))

    def add_trials(self, number: int) -> None:
        """Add `number` waiting trials; Optuna chooses their values when they begin."""
        for _ in range(number):
            self.optuna.enqueue_trial({})

    def add_points(self, spans: Mapping[str, tuple[float, float]], points: int) -> int:
        """Add `points` values of each parameter, from low to high, to a sweep; return how many trials are new."""
        if self.plan.way != "sweep" or self.plan.listed:
            raise InputError(f"{self.name!r} is not a sweep over ranges; give it more trials instead.")
        known, finer = [trial.parameters for trial in self.trials], list[Range]()
        for one in self.plan.ranges:
            low, high = spans[one.name]
            finer.append(replace(one, low=max(low, one.low), high=min(high, one.high), points=points))
        grid = (dict(zip(spans, values, strict=True)) for values in product(*(one.values for one in finer)))
        new = [point for point in grid if point not in known]
        if len(known) + len(new) > MAX_TRIALS:
            raise InputError(f"A study has at most {MAX_TRIALS} trials; {self.name!r} has {len(known)}.")
        with errors_in_words(self.key.address):
            for point in new:
                self.optuna.enqueue_trial(point)
        return len(new)


def number_of(frozen: FrozenTrial) -> int:
    """Return the number of a trial; for a repeated trial, the number of the first attempt."""
    first = RetryHeartbeatStaleTrialCallback.retried_trial_number(frozen)
    return frozen.number if first is None else int(first)


def worker_name() -> str:
    """Return a name that identifies this process as a worker: computer, process id and a random text."""
    return f"{MACHINE} {os.getpid()} {PROCESS}"


def is_lost(frozen: FrozenTrial) -> bool:
    """Whether the worker of a running trial was a process of this computer that has ended."""
    machine, _, own = str(frozen.user_attrs.get(WORKER, "")).partition(" ")
    pid, _, process = own.partition(" ")
    is_other = machine == MACHINE and pid.isdecimal() and process != PROCESS
    return is_other and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid)))


def best_of(trials: Sequence[Trial], plan: StudyPlan) -> Trial | None:
    complete = [trial for trial in trials if trial.state == "complete"]
    return max(complete, key=lambda trial: plan.goal.worth(trial.values), default=None)


def read_folds(content: Sequence[Mapping[str, Any]]) -> tuple[FoldScores, ...]:
    """Return the scores that are stored with a trial; raise InputError if they are not valid."""
    folds = []
    with convert_errors("A trial's scores"):
        for one in content:
            directions = {
                str(direction): {str(name): finite(value) for name, value in measures.items()}
                for direction, measures in one["directions"].items()
            }
            if not directions or any(set(BASE_MEASURES) - measures.keys() for measures in directions.values()):
                raise InputError(
                    f"The scores of a trial must contain {', '.join(BASE_MEASURES)} for every "
                    f"direction; got {str(directions)[:80]}."
                )
            folds.append(
                FoldScores(
                    dataset=str(one["dataset"]),
                    fold=int(one["fold"]),
                    bits=int(one["bits"]),
                    seconds=finite(one["seconds"]),
                    directions=directions,
                    examples={int(row): tuple(map(int, rows)) for row, rows in one.get("examples", {}).items()},
                    precision=tuple(map(finite, one.get("precision", ()))),
                )
            )
    return tuple(folds)


@dataclass(frozen=True)
class StudyRecord:
    """An entry in the list of studies."""

    name: str
    plan: StudyPlan | None  # None if the study cannot be read
    problem: str  # why the study cannot be read
    trials: int
    progress: StudyProgress | None


class Studies:
    """All studies of a database; studies of uploaded data exist in memory only."""

    def __init__(self, address: str = "", upload: DatasetSource | None = None) -> None:
        self.upload = upload
        self.address = "memory" if upload is not None else address or default_address()
        self.where = self.address if upload is not None else hide_password(self.address)
        # an open study caches its finished trials; by its id, too: a deleted study may have had the same name
        self._load = lru_cache(100)(lambda study_id, name: optuna.load_study(study_name=name, storage=self.storage))

    @cached_property
    def storage(self) -> BaseStorage:
        """The database, opened when it is first needed."""
        return InMemoryStorage() if self.upload is not None else open_storage(self.address)

    @property
    def _is_empty(self) -> bool:  # reading studies does not create the database file
        return self.upload is None and "storage" not in vars(self) and is_absent(self.address)

    def create(self, plan: StudyPlan, creator: str = "") -> Study:
        """Create a study with waiting trials; raise InputError if the name is taken."""
        with errors_in_words(self.where):
            if (inner := self._create(plan, creator)) is None:
                raise InputError(f"There is already a study named {plan.name!r}; choose another name.")
        return Study(inner, self.storage, plan, StudyKey(self.where, plan.name))

    def open(self, name: str) -> Study:
        """Return the study with this name; raise InputError if there is none."""
        with convert_errors(f"The study {name!r}"), errors_in_words(self.where):
            if not self._is_ready(name):
                raise InputError(f"There is no study {name!r}; there are {', '.join(self.names()) or 'none'}.")
            inner = self._load(self.storage.get_study_id_from_name(name), name)
            plan = read_plan(name, inner.user_attrs[PLAN], self.upload)
            return Study(inner, self.storage, plan, StudyKey(self.where, name))

    def join(self, plan: StudyPlan, creator: str = "") -> Study:
        """Open the study with this plan's name, or create it; raise InputError if its saved plan differs.

        Only the budget (trials or minutes) may differ; the study then gets the new budget.
        """
        with errors_in_words(self.where):
            if (inner := self._create(plan, creator)) is not None:
                return Study(inner, self.storage, plan, StudyKey(self.where, plan.name))
        study = self.open(plan.name)
        if other := plan_differences(replace(study.plan, trials=plan.trials, minutes=plan.minutes), plan):
            problem = f"There is already a study named {plan.name!r} with another plan; choose another name."
            raise InputError([problem, *other])
        if study.plan != plan and plan.way == "search":
            study.set_budget(plan.trials, plan.minutes)
        return study

    def find(self, plan: StudyPlan) -> Study | None:
        """Return a study with this plan, under any name, that can be continued; None if there is none."""
        for name in sorted(self.names(), key=lambda name: name != plan.name):  # the one of this name first
            with suppress(InputError):  # a study that cannot be read
                study = self.open(name)
                if not plan_differences(study.plan, plan) and study.is_current:
                    return study
        return None

    def names(self) -> list[str]:
        """Return the names of the studies that this package created, newest first."""
        if self._is_empty:
            return []
        with convert_errors(f"The list of studies in {self.where}"), errors_in_words(self.where):
            found = self.storage.get_all_studies()
        return [one.study_name for one in reversed(found) if READY in one.user_attrs]

    def records(self) -> list[StudyRecord]:
        """Return the list of studies, newest first, including studies that cannot be read."""
        records = []
        for name in self.names():
            try:
                study = self.open(name)
                records.append(StudyRecord(name, study.plan, "", len(study.trials), study.progress))
            except InputError as error:
                records.append(StudyRecord(name, None, " ".join(error.problems), 0, None))
        return records

    def delete(self, name: str) -> None:
        """Delete a study with all its trials; do nothing if there is no such study."""
        with errors_in_words(self.where), suppress(KeyError):
            optuna.delete_study(study_name=name, storage=self.storage)

    def rename(self, name: str, to: str) -> Study:
        """Rename and return a study; raise InputError if a trial is running or the name is taken."""
        study, to = self.open(name), check_name(to)
        if study.progress.running:
            raise InputError(f"A trial of the study {name!r} is running: stop it, then rename the study.")
        with errors_in_words(self.where):
            try:
                optuna.copy_study(
                    from_study_name=name, from_storage=self.storage, to_storage=self.storage, to_study_name=to
                )
            except DuplicatedStudyError as error:
                raise InputError(f"There is already a study named {to!r}; choose another name.") from error
        self.delete(name)
        return self.open(to)

    def _create(self, plan: StudyPlan, creator: str) -> optuna.Study | None:
        """Create a study, replacing an incomplete one; return None if a complete one has this name."""
        create = partial(
            optuna.create_study, storage=self.storage, study_name=plan.name, directions=list(plan.goal.directions)
        )
        try:
            inner = create()
        except DuplicatedStudyError:
            if self._is_ready(plan.name):
                return None
            self.delete(plan.name)
            inner = create()
        for name, value in ((PLAN, plan.to_json()), (VERSION, plan.method.version), (CREATOR, creator)):
            inner.set_user_attr(name, value)
        for point in plan.points:
            inner.enqueue_trial(point)
        inner.set_user_attr(READY, True)
        return inner

    def _is_ready(self, name: str) -> bool:
        """Whether the study exists with all its trials; waits while another program creates it."""
        deadline = time.monotonic() + CREATION_TIMEOUT_SECONDS
        while not self._is_empty:
            try:
                attributes = self.storage.get_study_user_attrs(self.storage.get_study_id_from_name(name))
            except KeyError:
                return False
            if READY in attributes or PLAN not in attributes or time.monotonic() > deadline:
                return READY in attributes
            time.sleep(POLL_SECONDS)
        return False
