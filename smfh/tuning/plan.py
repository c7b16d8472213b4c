"""What a study is to do: a value that decides all its trials, and can be written down and read again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, Literal, get_args

from smfh.datasets import DatasetSource, make_source
from smfh.evaluation import PROTOCOLS
from smfh.files import read_json
from smfh.hashing import HashMethod, make_method
from smfh.tuning.goals import Goal
from smfh.tuning.ranges import Range, problems_of
from smfh.types import InputError, unknown

Way = Literal["sweep", "search"]
PLAIN = ("way", "trials", "minutes", "folds")  # fields that are written as they are
LONGEST_NAME = 80
MOST_TRIALS, MOST_MINUTES, MOST_FOLDS, MOST_SWEPT = 500, 24 * 60, 20, 2


@dataclass(frozen=True)
class StudyPlan:
    """Trial 0 is `method` as it stands; every other one differs from it in the ranges alone."""

    name: str
    sources: tuple[DatasetSource, ...]
    method: HashMethod
    ranges: tuple[Range, ...]
    way: Way = "search"
    trials: int = 40  # of a search, trial 0 included; 0: as many as the minutes allow
    minutes: float = 0.0  # of a search: of work, all workers together
    goal: Goal = field(default_factory=Goal)
    folds: int = 3  # validation parts of each set, each with a seed of its own
    lengths: tuple[int, ...] = ()  # code lengths over which a trial is judged; none: the method's
    protocols: tuple[str, ...] = ("training",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name(self.name))
        if problems := _problems(self):
            raise InputError(problems)

    @property
    def bits(self) -> tuple[int, ...]:
        """The code lengths over which a trial is judged; none where length itself is tuned."""
        if any(one.name == "bits" for one in self.ranges):
            return ()
        return self.lengths or (self.method.bits,)

    @property
    def start(self) -> dict[str, float]:
        """What is tuned, as it stands before."""
        return {one.name: getattr(self.method, one.name) for one in self.ranges}

    @property
    def points(self) -> list[dict[str, float]]:
        """What the trials are given when the study is made: all of a sweep, the start alone of a search."""
        if self.way == "search":
            return [self.start] + [{}] * (max(self.trials, 1) - 1)
        names = [one.name for one in self.ranges]
        grid = [dict(zip(names, values, strict=True)) for values in product(*(r.values for r in self.ranges))]
        return [self.start, *(point for point in grid if point != self.start)]

    def method_of(self, values: Mapping[str, float]) -> HashMethod:
        """The method that a trial with these values trains."""
        return self.method.set_params(**values)

    def to_json(self) -> str:
        """All of it save its name as text."""
        said: dict[str, Any] = {
            **{name: getattr(self, name) for name in PLAIN},
            "sources": [
                {"name": one.name, "options": {} if one.name == "own" else asdict(one)}
                for one in self.sources
            ],
            "method": {"name": self.method.name, "parameters": self.method.get_params()},
            "ranges": [asdict(one) for one in self.ranges],
            "goal": asdict(self.goal),
            "lengths": self.lengths,
            "protocols": self.protocols,
        }
        return json.dumps(said)


def read_plan(name: str, text: str, own: DatasetSource | None = None) -> StudyPlan:
    """What `to_json` has written, every value checked; `own` stands in for data that is in no file."""
    try:
        said = read_json(text)
        return StudyPlan(
            name=name,
            **{plain: said[plain] for plain in PLAIN},
            sources=tuple(_read_source(one["name"], one["options"], own) for one in said["sources"]),
            method=make_method(said["method"]["name"], **said["method"]["parameters"]),
            ranges=tuple(Range(**one) for one in said["ranges"]),
            goal=Goal(**said["goal"]),
            lengths=tuple(said["lengths"]),
            protocols=tuple(said["protocols"]),
        )
    except InputError:
        raise
    except Exception as error:  # whatever a forged text makes its readers raise
        raise InputError(f"Its plan cannot be read: {type(error).__name__} at {error}.") from error


def differences(first: StudyPlan, second: StudyPlan) -> list[str]:
    """In what two plans of one name differ, in words."""
    one, other = (json.loads(plan.to_json()) for plan in (first, second))
    return [f"Its {part} is {one[part]}, not {other[part]}." for part in one if one[part] != other[part]]


def check_name(name: str) -> str:
    """The name without spaces around it: a line that can be read. It is never a path."""
    name = name.strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"A study's name has from 1 to {LONGEST_NAME} characters that can be read; got {name[:100]!r}."
        )
    return name


def _read_source(name: str, options: Mapping[str, Any], own: DatasetSource | None) -> DatasetSource:
    if own is not None and name == own.name:
        return own
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    return make_source(name, **values)


def _problems(plan: StudyPlan) -> list[str]:
    problems = problems_of(plan.method, plan.ranges)
    if plan.way not in get_args(Way):
        problems += unknown("way to tune", plan.way, get_args(Way)).problems
    if not plan.sources:
        problems.append("A study needs a data set.")
    if not 1 <= plan.folds <= MOST_FOLDS:
        problems.append(f"A study has from 1 to {MOST_FOLDS} validation parts; got {plan.folds}.")
    if plan.way == "search":
        if not 0 <= plan.trials <= MOST_TRIALS or not 0 <= plan.minutes <= MOST_MINUTES:
            problems.append(
                f"A search has at most {MOST_TRIALS} trials or {MOST_MINUTES} minutes; "
                f"got {plan.trials} and {plan.minutes:g}."
            )
        elif bool(plan.trials) == bool(plan.minutes):
            problems.append("A search ends after a number of trials or of minutes; say one of them.")
    elif len(plan.ranges) > MOST_SWEPT:
        problems.append(f"A sweep goes over one or two parameters; got {len(plan.ranges)}.")
    elif not problems and len(plan.points) > MOST_TRIALS:
        problems.append(f"{len(plan.points):,} points are too many; a sweep has at most {MOST_TRIALS}.")
    for protocol in plan.protocols or ("",):
        if protocol not in PROTOCOLS:
            problems += unknown("protocol", protocol, PROTOCOLS).problems
    for bits in plan.lengths:
        try:
            plan.method.set_params(bits=bits)
        except InputError as error:
            problems += error.problems
    return problems
