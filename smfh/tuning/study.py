"""A study: its plan, and its trials as they are in the storage now."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from smfh.files import guarded
from smfh.hashing import HashMethod
from smfh.runs.key import behaviour
from smfh.runs.scores import finite
from smfh.tuning.goals import FIGURES, PartScores
from smfh.tuning.plan import StudyPlan
from smfh.tuning.storage import PUT_BACK, WORKER, errors_in_words
from smfh.types import InputError, parameters

State = Literal["waiting", "running", "complete", "pruned", "failed"]
STATES: Mapping[TrialState, State] = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
}
FINISHED: tuple[State, ...] = ("complete", "pruned", "failed")
PLAN, BEHAVIOUR, DATA, MAKER = "plan", "behaviour", "data", "maker"  # attributes of a study
PARTS, PROBLEM = "parts", "problem"  # and of a trial


@dataclass(frozen=True)
class Trial:
    """One setting and how it did so far; trial 0 is the start."""

    number: int
    state: State
    parameters: Mapping[str, float]  # what is tuned; empty where a waiting trial has no values yet
    values: tuple[float, ...]  # of the goal; of a pruned trial over the parts it has
    parts: tuple[PartScores, ...]  # in the order of the folds
    started: datetime | None
    ended: datetime | None
    problem: str = ""  # why it failed
    put_back: str = ""  # why it had to wait again, if it had
    worker: str = ""  # machine and process

    @property
    def is_start(self) -> bool:
        return self.number == 0

    @property
    def seconds(self) -> float:
        """Of a training, as a mean over the parts."""
        return float(np.mean([part.seconds for part in self.parts])) if self.parts else 0.0

    def measure(self, name: str, direction: str = "") -> float:
        """One of MEASURES as a mean over the parts, in a direction or over all."""
        return float(np.mean([part.measure(name, direction) for part in self.parts]))


@dataclass(frozen=True)
class StudyKey:
    """What makes two studies the same; for a queue of jobs."""

    address: str
    name: str
    owner: str = ""


class Study:
    """One study of a storage; Studies makes it."""

    def __init__(self, inner: optuna.Study, storage: BaseStorage, plan: StudyPlan, key: StudyKey) -> None:
        self.optuna, self.storage, self.plan, self.key = inner, storage, plan, key

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def maker(self) -> str:
        """Who made it, as a hash; "" for nobody in particular."""
        with errors_in_words(self.key.address):
            return str(self.optuna.user_attrs.get(MAKER, ""))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All of them as they are now, by number."""
        with self._read():
            return tuple(self._trial(frozen) for frozen in self.optuna.get_trials(deepcopy=False))

    @property
    def best(self) -> Trial | None:
        """The finished trial with the best value, or of a front the best mean; None before the first."""
        return best_of(self.trials, self.plan)

    @property
    def front(self) -> tuple[Trial, ...]:
        """The finished trials that none is better than in all objectives."""
        with self._read():
            return tuple(self._trial(frozen) for frozen in self.optuna.best_trials)

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Whatever a database refuses, or holds that no study of ours has, is told in words."""
        with guarded(f"The study {self.name!r}"), errors_in_words(self.key.address):
            yield

    @cached_property
    def is_current(self) -> bool:
        """Whether its method behaves as it did when the study was made."""
        with errors_in_words(self.key.address):
            return bool(self.optuna.user_attrs.get(BEHAVIOUR) == behaviour_of(self.plan))

    def check_current(self) -> None:
        """Refuse to add to a study whose trials another version has made."""
        if not self.is_current:
            raise InputError(
                f"The study {self.name!r} was made by another version, whose {self.plan.method.title} gives "
                "other codes. Its trials can be looked at and exported; for more of them make a new study."
            )

    def check_data(self, fingerprints: Sequence[str]) -> None:
        """Refuse to add trials on other data than that of the first."""
        known = self.optuna.user_attrs.get(DATA)
        if known is None:
            self.optuna.set_user_attr(DATA, list(fingerprints))
        elif known != list(fingerprints):
            raise InputError(
                f"The data is not what the study {self.name!r} began with; for this data make a new study."
            )

    def method_of(self, trial: Trial) -> HashMethod:
        """What the trial trains."""
        return self.plan.method_of(trial.parameters)

    def set_budget(self, trials: int = 0, minutes: float = 0.0) -> None:
        """Let a search have so many trials or minutes in all; those that stand in line already stay there."""
        if self.plan.way == "sweep":
            raise InputError(f"{self.name!r} is a sweep: it has its points, and no budget.")
        self.plan = replace(self.plan, trials=trials, minutes=minutes)
        with errors_in_words(self.key.address):
            self.optuna.set_user_attr(PLAN, self.plan.to_json())
            self.add_trials(trials - len(self.optuna.get_trials(deepcopy=False)))

    def add_trials(self, number: int) -> None:
        """Put so many more into the line, whose values are chosen when it is their turn."""
        for _ in range(number):
            self.optuna.enqueue_trial({})

    def _trial(self, frozen: FrozenTrial) -> Trial:
        kinds = {one.name: int if one.whole else float for one in self.plan.ranges}
        values = {
            **(self.plan.start if frozen.number == 0 else {}),
            **frozen.system_attrs.get("fixed_params", {}),
            **frozen.params,
        }
        return Trial(
            number=frozen.number,
            state=STATES[frozen.state],
            parameters={name: kind(values[name]) for name, kind in kinds.items() if name in values},
            values=tuple(frozen.values or ()),
            parts=read_parts(frozen.user_attrs.get(PARTS, [])),
            started=frozen.datetime_start,
            ended=frozen.datetime_complete,
            problem=str(frozen.user_attrs.get(PROBLEM, "")),
            put_back=str(frozen.user_attrs.get(PUT_BACK, "")),
            worker=str(frozen.user_attrs.get(WORKER, "")),
        )


def read_parts(said: Sequence[Mapping[str, Any]]) -> tuple[PartScores, ...]:
    """What `write_parts` has written."""
    with guarded("A trial's scores"):
        return tuple(_read_part(**one) for one in said)


def _read_part(
    dataset: str, fold: int, bits: int, seconds: float, directions: Mapping[str, Mapping[str, float]]
) -> PartScores:
    """A part whose every value is of its kind, whatever the database says."""
    told = {
        str(way): {str(name): finite(x) for name, x in figures.items()} for way, figures in directions.items()
    }
    if not told or any(set(FIGURES) - figures.keys() for figures in told.values()):
        raise InputError(
            f"A trial's scores have {', '.join(FIGURES)} in every direction; got {str(told)[:80]}."
        )
    return PartScores(str(dataset), int(fold), int(bits), finite(seconds), told)


def write_parts(parts: Sequence[PartScores]) -> list[dict[str, Any]]:
    """The parts as an attribute of a trial."""
    return [asdict(part) for part in parts]


def best_of(trials: Sequence[Trial], plan: StudyPlan) -> Trial | None:
    """The best of those that are complete; the first of equals."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return max(complete, key=lambda trial: plan.goal.worth(trial.values), default=None)


def behaviour_of(plan: StudyPlan) -> str:
    """How the method behaves where the study looks."""
    about = parameters(plan.method).get("graph_sample")
    tuned = any(one.name == "graph_sample" for one in plan.ranges)
    samples = about is not None and (tuned or plan.method.get_params()["graph_sample"] != about.neutral)
    return behaviour(plan.method.name, samples)
