"""The plan of a study: parameter ranges, budget, goal and folds, which can be saved as JSON."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np

from smfh.datasets import DatasetSource, make_source
from smfh.experiments.tuning.goals import Goal
from smfh.files import read_json
from smfh.hamming import DISTANCES
from smfh.hashing import HashMethod, make_method
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.types import InputError, parameters, unknown

Way = Literal["sweep", "search"]
SEARCHED = ("graph_weight", "projection_weight", "orthogonality_weight", "ridge")  # by a search by default
SWEEPS = {  # ready-made sweeps: title → parameters
    "α": ("graph_weight",),
    "μ": ("projection_weight",),
    "m": ("graph_sample",),
    "α × μ": ("graph_weight", "projection_weight"),
    "bits × α": ("bits", "graph_weight"),
}
MAX_POINTS, DIGITS = 64, 3  # most values in a sweep, and significant digits of each
MAX_NAME_LENGTH = 80
MAX_TRIALS, MAX_MINUTES, MAX_FOLDS, MAX_SWEPT = 500, 24 * 60, 20, 2
UNCHANGED = ("way", "trials", "minutes", "folds")  # fields that JSON stores without conversion


@dataclass(frozen=True)
class Range:
    """The range of a parameter in a study, from `low` to `high`; a sweep tries `points` values in it."""

    name: str
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False  # whole numbers only
    points: int = 9

    def __post_init__(self) -> None:
        problems = []
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            problems.append(f"{self.name} needs a range from low to high; got {self.low:g} to {self.high:g}.")
        elif self.scale == "log" and self.low <= 0:
            problems.append(f"{self.name} has a log scale and must begin above 0; got {self.low:g}.")
        if self.scale not in ("linear", "log"):
            problems.append(f"The scale of {self.name} is linear or log; got {self.scale!r}.")
        if self.whole and any(isfinite(end) and end != int(end) for end in (self.low, self.high)):
            problems.append(f"{self.name} takes whole numbers; got {self.low:g} to {self.high:g}.")
        if not 2 <= self.points <= MAX_POINTS:
            problems.append(f"A sweep of {self.name} needs 2 to {MAX_POINTS} values; got {self.points}.")
        if problems:
            raise InputError(problems)
        kind = int if self.whole else float
        object.__setattr__(self, "low", kind(self.low))
        object.__setattr__(self, "high", kind(self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def values(self) -> tuple[float, ...]:
        """The values that a sweep tries: both ends, and rounded values evenly spaced on the scale."""
        spaced = np.geomspace if self.scale == "log" else np.linspace
        inner = [float(f"{x:.{DIGITS}g}") for x in spaced(self.low, self.high, self.points)[1:-1]]
        values = [self.low, *(min(max(x, self.low), self.high) for x in inner), self.high]
        return tuple(dict.fromkeys(round(x) if self.whole else float(x) for x in values))


def tunable(method: HashMethod | type[HashMethod]) -> list[str]:
    """Return the names of a method's parameters that are single numbers, except the seed."""
    values = (method.of({}) if isinstance(method, type) else method).get_params()
    return [name for name in parameters(method) if name != "seed" and type(values[name]) in (int, float)]


def find_parameter(method: HashMethod, text: str) -> str:
    """Return the name of the tunable parameter whose name or symbol is `text`."""
    by_symbol = {parameters(method)[name].symbol: name for name in tunable(method)}
    name = by_symbol.get(text, text)
    check_tunable(method, [name])
    return name


def check_tunable(method: HashMethod, names: Sequence[str]) -> None:
    """Raise InputError if any name is not a tunable parameter of the method."""
    known = tunable(method)
    if strange := [name for name in names if name not in known]:
        listed = ", ".join(map(repr, strange))
        raise InputError(f"{method.title} has no tunable parameter {listed}; choose from {', '.join(known)}.")


def default_range(method: HashMethod, name: str) -> Range:
    """Return the range that a method declares for a parameter; for `bits` 8, 16, …, 128."""
    check_tunable(method, [name])
    if name == "bits":
        return Range("bits", 8, 128, "log", whole=True, points=5)
    about = parameters(method)[name]
    low, high = about.typical
    return Range(name, low, high, about.scale if low > 0 else "linear", isinstance(about.low, int))


def default_ranges(method: HashMethod) -> tuple[Range, ...]:
    """Return the ranges of the parameters that a search tunes by default."""
    known = tunable(method)
    names = [name for name in SEARCHED if name in known]
    return tuple(default_range(method, name) for name in names or known)


def range_problems(method: HashMethod, ranges: Sequence[Range]) -> list[str]:
    """Return a sentence for every reason why the method cannot be tuned over these ranges."""
    names, about = [one.name for one in ranges], parameters(method)
    problems = [f"{name} is listed twice." for name in dict.fromkeys(names) if names.count(name) > 1]
    if not ranges:
        problems.append(f"Choose at least one parameter to tune: {', '.join(tunable(method))}.")
    for one in ranges:
        try:
            check_tunable(method, [one.name])
        except InputError as error:
            problems += error.problems
            continue
        limits = about[one.name]
        kind: Any = int if isinstance(limits.low, int) else float
        problems += [
            f"{one.name} ({limits.symbol}) must be {limits.allowed_values}; its range has {end:g}."
            for end in (one.low, one.high)
            if not limits.accepts(kind(end))
        ]
        if isinstance(limits.low, int) and not one.whole:
            problems.append(f"{one.name} ({limits.symbol}) takes whole numbers; set whole=True in its range.")
    return problems


@dataclass(frozen=True)
class StudyPlan:
    """The definition of a study: data, method, parameter ranges, budget, goal and folds.

    Trial 0 is the starting point, `method` itself; other trials change only the parameters in `ranges`.
    """

    name: str
    sources: tuple[DatasetSource, ...]
    method: HashMethod
    ranges: tuple[Range, ...]
    way: Way = "search"
    trials: int = 40  # number in a search, including trial 0; 0: limited by minutes
    minutes: float = 0.0  # of a search: total working time of all workers; 0: limited by trials
    goal: Goal = field(default_factory=Goal)
    folds: int = 3  # validation folds of each data set, each with its own seed
    lengths: tuple[int, ...] = ()  # code lengths that a trial is averaged over; empty: the method's own
    protocols: tuple[str, ...] = ("training",)
    listed: tuple[tuple[float, ...], ...] = ()  # of a sweep: these settings instead of the ranges' values
    distance: str = "hamming"  # that items are ranked by: a key of DISTANCES

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name(self.name))
        problems = range_problems(self.method, self.ranges)
        choices: list[tuple[str, str, Collection[str]]] = [("way to tune", self.way, get_args(Way))]
        choices += [("protocol", one, PROTOCOLS) for one in self.protocols or ("",)]
        for kind, chosen, known in [*choices, ("distance", self.distance, DISTANCES)]:
            if chosen not in known:
                problems += unknown(kind, chosen, list(known)).problems
        if not self.sources:
            problems.append("A study needs a data set.")
        if not 1 <= self.folds <= MAX_FOLDS:
            problems.append(f"A study needs 1 to {MAX_FOLDS} validation folds; got {self.folds}.")
        if self.way == "search":
            if not 0 <= self.trials <= MAX_TRIALS or not 0 <= self.minutes <= MAX_MINUTES:
                problems.append(
                    f"A search has at most {MAX_TRIALS} trials or {MAX_MINUTES} minutes; "
                    f"got {self.trials} and {self.minutes:g}."
                )
            elif bool(self.trials) == bool(self.minutes):
                problems.append("A search ends after a number of trials or of minutes; set one of them.")
        elif self.listed:
            if any(len(one) != len(self.ranges) for one in self.listed) or len(self.listed) > MAX_TRIALS:
                problems.append(f"List at most {MAX_TRIALS} settings, each with {len(self.ranges)} values.")
        elif len(self.ranges) > MAX_SWEPT:
            problems.append(f"A sweep covers one or two parameters; got {len(self.ranges)}.")
        elif not problems and len(self.points) > MAX_TRIALS:
            problems.append(f"{len(self.points):,} points are too many; a sweep has at most {MAX_TRIALS}.")
        for bits in self.lengths:
            try:
                self.method.set_params(bits=bits)
            except InputError as error:
                problems += error.problems
        if problems:
            raise InputError(problems)

    @property
    def bits(self) -> tuple[int, ...]:
        """Code lengths over which a trial's score is averaged; empty if the number of bits is tuned."""
        if any(one.name == "bits" for one in self.ranges):
            return ()
        return self.lengths or (self.method.bits,)

    @property
    def start(self) -> dict[str, float]:
        """The values of the tuned parameters at the starting point (trial 0)."""
        return {one.name: getattr(self.method, one.name) for one in self.ranges}

    @property
    def points(self) -> list[dict[str, float]]:
        """The planned parameters of each trial; in a search only trial 0 has any, since Optuna chooses the others."""
        if self.way == "search":
            return [self.start] + [{}] * (max(self.trials, 1) - 1)
        names = [one.name for one in self.ranges]
        chosen = self.listed or product(*(one.values for one in self.ranges))
        grid = [dict(zip(names, values, strict=True)) for values in chosen]
        return [self.start, *(point for point in grid if point != self.start)]

    def method_of(self, values: Mapping[str, float]) -> HashMethod:
        """Return the method with these values of the tuned parameters."""
        return self.method.set_params(**values)

    def to_json(self) -> str:
        """Return the plan as JSON, without its name and without uploaded data."""
        content: dict[str, Any] = {
            **{name: getattr(self, name) for name in UNCHANGED},
            "sources": [
                {"name": one.name, "options": {} if one.name == "own" else asdict(one)} for one in self.sources
            ],
            "method": {"name": self.method.name, "parameters": self.method.get_params()},
            "ranges": [asdict(one) for one in self.ranges],
            "goal": asdict(self.goal),
            "lengths": self.lengths,
            "protocols": self.protocols,
        }
        if self.distance != "hamming":  # left out, so that the names of earlier studies do not change
            content["distance"] = self.distance
        if self.listed:
            content["listed"] = self.listed
        return json.dumps(content)


def read_plan(name: str, text: str, upload: DatasetSource | None = None) -> StudyPlan:
    """Read and check a plan written by `to_json`; `upload` takes the place of uploaded data in it."""

    def read_source(name: str, options: Mapping[str, Any]) -> DatasetSource:
        if upload is not None and name == upload.name:
            return upload
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        return make_source(name, **values)

    try:
        content = read_json(text)
        return StudyPlan(
            name=name,
            **{key: content[key] for key in UNCHANGED},
            sources=tuple(read_source(one["name"], one["options"]) for one in content["sources"]),
            method=make_method(content["method"]["name"], **content["method"]["parameters"]),
            ranges=tuple(Range(**one) for one in content["ranges"]),
            goal=Goal(**content["goal"]),
            lengths=tuple(content["lengths"]),
            protocols=tuple(content["protocols"]),
            listed=tuple(tuple(x if type(x) is int else float(x) for x in one) for one in content.get("listed", ())),
            distance=content.get("distance", "hamming"),
        )
    except InputError:
        raise
    except Exception as error:  # a forged plan can cause any exception
        raise InputError(f"The plan cannot be read: {type(error).__name__} at {error}.") from error


def plan_differences(saved: StudyPlan, requested: StudyPlan) -> list[str]:
    """Return the differences between two plans of the same name, a sentence each."""
    one, other = ({"distance": "hamming"} | json.loads(plan.to_json()) for plan in (saved, requested))
    return [f"Its {key} is {one[key]}, not {other[key]}." for key in one if one[key] != other[key]]


def default_name(plan: StudyPlan) -> str:
    """Return a study name made from the plan, for example "α × μ of SMFH on Wiki, 64 bits"."""
    symbols = [parameters(plan.method)[one.name].symbol for one in plan.ranges]
    what = "Search" if plan.way == "search" else " × ".join(symbols)
    sets = ", ".join(source.card.title for source in plan.sources)
    bits = f", {plan.method.bits} bits" if plan.bits else ""
    return f"{what} of {plan.method.title} on {sets}{bits}"[:MAX_NAME_LENGTH]


def default_sweep(source: DatasetSource, method: HashMethod) -> StudyPlan:
    """Return the sweep of α that the Tune page offers first."""
    plan = StudyPlan("unnamed", (source,), method, (default_range(method, "graph_weight"),), "sweep")
    return replace(plan, name=default_name(plan))


def check_name(name: str) -> str:
    """Return a study's name without surrounding spaces; raise InputError if it is not valid."""
    name = name.strip()
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise InputError(f"A study's name needs 1 to {MAX_NAME_LENGTH} printable characters; got {name[:100]!r}.")
    return name
