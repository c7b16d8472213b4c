"""All studies of one storage: make, join, open, list, rename, delete."""

import time
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import optuna
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import TrialState

from smfh.datasets import DatasetSource
from smfh.files import guarded
from smfh.memory import Memory
from smfh.tuning.plan import StudyPlan, check_name, differences, read_plan
from smfh.tuning.storage import errors_in_words, open_storage, shown_address, usual_address
from smfh.tuning.study import BEHAVIOUR, FINISHED, MAKER, PLAN, Study, StudyKey, Trial, behaviour_of, best_of
from smfh.types import InputError

READY = "ready"  # attribute of a study whose trials all stand in line
MADE_WITHIN = 30.0  # seconds; a study that is not ready then was left by a program that was killed
GLANCE = 0.1
REMEMBERED = 100  # studies that were opened


@dataclass(frozen=True)
class StudyRecord:
    """What a list tells of a study."""

    name: str
    plan: StudyPlan | None  # None where it cannot be read
    problem: str  # why not
    total: int
    done: int  # complete, pruned or failed
    running: int
    best: Trial | None
    begun: datetime | None
    seconds: float  # of all trials that are over


class Studies:
    """Studies in a database, or with `own` data in memory alone."""

    def __init__(self, address: str = "", own: DatasetSource | None = None, owner: str = "") -> None:
        self.own, self.owner = own, owner
        self.address = "memory" if own is not None else address or usual_address()
        self.where = self.address if own is not None else shown_address(self.address)
        self.storage: BaseStorage = InMemoryStorage() if own is not None else open_storage(self.address)
        self._opened: Memory[int, optuna.Study] = Memory(REMEMBERED)  # which know their finished trials

    def create(self, plan: StudyPlan, maker: str = "") -> Study:
        """A new study with all its trials in the line; refused where there is one of this name."""
        with errors_in_words(self.where):
            if (inner := self._make(plan, maker)) is None:
                raise InputError(f"There is a study {plan.name!r} already; join it or choose another name.")
        return self._study(inner, plan)

    def open(self, name: str) -> Study:
        """The study of this name."""
        with guarded(f"The study {name!r}"), errors_in_words(self.where):
            if not self._is_ready(name):
                raise InputError(
                    f"There is no study {name!r}; there are {', '.join(self.names()) or 'none'}."
                )
            load = partial(optuna.load_study, study_name=name, storage=self.storage)
            inner = self._opened.get(self.storage.get_study_id_from_name(name), load)
            return self._study(inner, read_plan(name, inner.user_attrs[PLAN], self.own))

    def join(self, plan: StudyPlan, maker: str = "") -> Study:
        """The study of this name if there is one, else a new one; refused where it has another plan.

        Another budget is no other plan: it becomes that of the study.
        """
        with errors_in_words(self.where):
            if (inner := self._make(plan, maker)) is not None:
                return self._study(inner, plan)
        study = self.open(plan.name)
        if other := differences(replace(study.plan, trials=plan.trials, minutes=plan.minutes), plan):
            raise InputError(
                [f"There is a study {plan.name!r} already; join it as it is, or choose another name.", *other]
            )
        if study.plan != plan and plan.way == "search":
            study.set_budget(plan.trials, plan.minutes)
        return study

    def _study(self, inner: optuna.Study, plan: StudyPlan) -> Study:
        return Study(inner, self.storage, plan, StudyKey(self.where, plan.name, self.owner))

    def _make(self, plan: StudyPlan, maker: str) -> optuna.Study | None:
        """A new study; None where there is one of this name, which another program may just have made."""
        make = partial(
            optuna.create_study,
            storage=self.storage,
            study_name=plan.name,
            directions=list(plan.goal.directions),
        )
        try:
            inner = make()
        except DuplicatedStudyError:
            if self._is_ready(plan.name):
                return None
            self.delete(plan.name)
            inner = make()
        inner.set_user_attr(PLAN, plan.to_json())
        inner.set_user_attr(BEHAVIOUR, behaviour_of(plan))
        inner.set_user_attr(MAKER, maker)
        for point in plan.points:
            inner.enqueue_trial(point)
        inner.set_user_attr(READY, True)
        return inner

    def _is_ready(self, name: str) -> bool:
        """Whether it is there with all its trials in line; waits for whoever is making it."""
        until = time.monotonic() + MADE_WITHIN
        while True:
            try:
                said = self.storage.get_study_user_attrs(self.storage.get_study_id_from_name(name))
            except KeyError:
                return False
            if READY in said or PLAN not in said or time.monotonic() > until:
                return READY in said
            time.sleep(GLANCE)

    def names(self) -> list[str]:
        """Of all studies of ours, the newest first."""
        with guarded(f"The list of studies in {self.where}"), errors_in_words(self.where):
            found = self.storage.get_all_studies()
        return [one.study_name for one in reversed(found) if READY in one.user_attrs]

    def records(self) -> list[StudyRecord]:
        """All of them, the newest first; also those that cannot be read."""
        return [self._record(name) for name in self.names()]

    def _record(self, name: str) -> StudyRecord:
        try:
            study = self.open(name)
            trials = study.trials
        except InputError as error:
            return StudyRecord(name, None, " ".join(error.problems), 0, 0, 0, None, None, 0.0)
        spent = [(t.ended - t.started).total_seconds() for t in trials if t.started and t.ended]
        return StudyRecord(
            name=name,
            plan=study.plan,
            problem="",
            total=len(trials),
            done=sum(trial.state in FINISHED for trial in trials),
            running=sum(trial.state == "running" for trial in trials),
            best=best_of(trials, study.plan),
            begun=min((t.started for t in trials if t.started), default=None),
            seconds=sum(spent),
        )

    def delete(self, name: str) -> None:
        """Remove it with all its trials; nothing happens where it is gone already."""
        with errors_in_words(self.where):
            try:
                optuna.delete_study(study_name=name, storage=self.storage)
            except KeyError:
                return

    def rename(self, name: str, to: str) -> Study:
        """The study under another name; refused while somebody works on it, or where the name is taken."""
        study, to = self.open(name), check_name(to)
        if study.optuna.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            raise InputError(f"Somebody works on the study {name!r}: stop it first, then rename it.")
        with errors_in_words(self.where):
            try:
                optuna.copy_study(
                    from_study_name=name, from_storage=self.storage, to_storage=self.storage, to_study_name=to
                )
            except DuplicatedStudyError as error:
                raise InputError(f"There is a study {to!r} already; choose another name.") from error
        self.delete(name)
        return self.open(to)
