"""Which parameters are tuned, and between which values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np

from smfh.hashing import HashMethod
from smfh.types import InputError, parameters

TUNED = ("graph_weight", "projection_weight", "orthogonality_weight", "ridge")  # by a search, unless said
SWEEPS = {  # ready-made
    "α": ("graph_weight",),
    "μ": ("projection_weight",),
    "m": ("graph_sample",),
    "α × μ": ("graph_weight", "projection_weight"),
    "bits × α": ("bits", "graph_weight"),
}
MOST_POINTS = 64
DIGITS = 3  # of the values of a sweep, so that a person can read them


@dataclass(frozen=True)
class Range:
    """A parameter from `low` to `high`; a sweep takes `points` values of it."""

    name: str
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    whole: bool = False  # whole numbers alone
    points: int = 9

    def __post_init__(self) -> None:
        problems = []
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            problems.append(f"{self.name} needs a range from low to high; got {self.low:g} to {self.high:g}.")
        elif self.scale == "log" and self.low <= 0:
            problems.append(f"{self.name} is spaced by factors, so it begins above 0; got {self.low:g}.")
        if self.scale not in ("linear", "log"):
            problems.append(f"The scale of {self.name} is linear or log; got {self.scale!r}.")
        if self.whole and any(isfinite(end) and end != int(end) for end in (self.low, self.high)):
            problems.append(f"{self.name} takes whole numbers; got {self.low:g} to {self.high:g}.")
        if not 2 <= self.points <= MOST_POINTS:
            problems.append(f"A sweep of {self.name} has from 2 to {MOST_POINTS} values; got {self.points}.")
        if problems:
            raise InputError(problems)
        kind = int if self.whole else float
        object.__setattr__(self, "low", kind(self.low))
        object.__setattr__(self, "high", kind(self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def values(self) -> tuple[float, ...]:
        """Those of a sweep, evenly spaced on the scale: both ends, and between them rounded ones."""
        spaced = np.geomspace if self.scale == "log" else np.linspace
        inner = [float(f"{x:.{DIGITS}g}") for x in spaced(self.low, self.high, self.points)[1:-1]]
        values = [self.low, *(min(max(x, self.low), self.high) for x in inner), self.high]
        return tuple(dict.fromkeys(round(x) if self.whole else float(x) for x in values))


def tunable(method: HashMethod | type[HashMethod]) -> list[str]:
    """The parameters of a method that are one number each; not its seed."""
    usual = method.of({}) if isinstance(method, type) else method
    values = usual.get_params()
    numbers = [name for name in parameters(method) if type(values[name]) in (int, float)]
    return [name for name in numbers if name != "seed"]


def find_parameter(method: HashMethod, text: str) -> str:
    """The name of the tunable parameter that has this name or this symbol."""
    by_symbol = {parameters(method)[name].symbol: name for name in tunable(method)}
    name = by_symbol.get(text, text)
    refuse_strangers(method, [name])
    return name


def usual_range(method: HashMethod, name: str) -> Range:
    """As the method describes its parameter; code lengths double."""
    refuse_strangers(method, [name])
    if name == "bits":
        return Range("bits", 8, 128, "log", whole=True, points=5)
    about = parameters(method)[name]
    low, high = about.typical
    return Range(name, low, high, about.scale if low > 0 else "linear", isinstance(about.low, int))


def usual_ranges(method: HashMethod) -> tuple[Range, ...]:
    """Of a search where nothing else is said."""
    known = tunable(method)
    names = [name for name in TUNED if name in known]
    return tuple(usual_range(method, name) for name in names or known)


def refuse_strangers(method: HashMethod, names: Sequence[str]) -> None:
    """An error that names the parameters there are, where one of these is not among them."""
    known = tunable(method)
    if strange := [name for name in names if name not in known]:
        told = ", ".join(map(repr, strange))
        raise InputError(f"{method.title} has no parameter {told} to tune; there are {', '.join(known)}.")


def problems_of(method: HashMethod, ranges: Sequence[Range]) -> list[str]:
    """All reasons why the method cannot be tuned over these ranges."""
    problems, known, about = [], tunable(method), parameters(method)
    names = [one.name for one in ranges]
    if not ranges:
        problems.append(f"Something must be tuned; {method.title} has {', '.join(known)}.")
    problems += [f"{name} stands twice." for name in dict.fromkeys(names) if names.count(name) > 1]
    for one in ranges:
        try:
            refuse_strangers(method, [one.name])
        except InputError as error:
            problems += error.problems
            continue
        limits = about[one.name]
        kind: Any = int if isinstance(limits.low, int) else float
        problems += [
            f"{one.name} ({limits.symbol}) must be {limits.wanted}; its range has {end:g}."
            for end in (one.low, one.high)
            if not limits.takes(kind(end))
        ]
        if isinstance(limits.low, int) and not one.whole:
            problems.append(f"{one.name} ({limits.symbol}) takes whole numbers; its range must say so.")
    return problems
