"""What training reports, and how a method describes its own parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from smfh.types.errors import InputError, unknown


@dataclass(frozen=True)
class TrainingStep:
    """One iteration as `on_step` sees it: every weighted term of the objective."""

    iteration: int
    terms: Mapping[str, float]
    seconds: float  # since training began
    phase: str = "descent"
    note: str = ""  # what a reader of the result should know, such as a ridge that had to grow

    @property
    def objective(self) -> float:
        return sum(self.terms.values())


OnStep = Callable[[TrainingStep], None]


@dataclass(frozen=True)
class Parameter:
    """What a control, a command-line option and a check need to know of one field of a method."""

    symbol: str
    low: float
    high: float
    scale: Literal["linear", "log"]
    help: str
    typical: tuple[float, float]  # for a slider; unless said, two decades either side of the default if log
    neutral: Any = None  # where the field changes nothing: runs from before it existed had this value

    @property
    def wanted(self) -> str:
        """What a value must be, in words."""
        if isinstance(self.low, bool):
            return "True or False"
        if isinstance(self.low, int):
            return f"a whole number from {self.low:,} to {self.high:,}"
        return f"a number from {self.low:g} to {self.high:g}"

    def takes(self, value: object) -> bool:
        """Whether this one number, or switch, lies in the range."""
        if isinstance(self.low, bool) or isinstance(value, bool):
            return isinstance(self.low, bool) and isinstance(value, bool)
        kinds = (int, np.integer) if isinstance(self.low, int) else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and bool(self.low <= value <= self.high)


def parameter(
    default: Any,
    symbol: str,
    low: float,
    high: float,
    help: str,
    scale: Literal["linear", "log"] = "linear",
    *,
    typical: tuple[float, float] | None = None,
    neutral: Any = None,
    kw_only: bool = False,
) -> Any:
    """A dataclass field that describes itself; one for keywords only stands at the end."""
    if typical is None and scale == "log" and default:
        typical = max(low, type(default)(default / 100)), min(high, default * 100)
    about = Parameter(symbol, low, high, scale, help, typical or (low, high), neutral)
    return field(default=default, kw_only=kw_only, metadata={"parameter": about})


def parameters(configuration: Any) -> dict[str, Parameter]:
    """The described fields of a dataclass or of its class, by name, in the order of its signature."""
    ordered = sorted(fields(configuration), key=lambda f: f.kw_only is True)
    return {f.name: f.metadata["parameter"] for f in ordered if "parameter" in f.metadata}


def range_problems(configuration: Any) -> list[str]:
    """All fields that lie outside the range which they declare."""
    values = {name: getattr(configuration, name) for name in parameters(configuration)}
    return [
        f"{name} ({about.symbol}) must be {about.wanted}; got {number!r}."
        for name, about in parameters(configuration).items()
        for number in (values[name] if isinstance(values[name], tuple) else (values[name],))
        if not about.takes(number)
    ]


def read_value(name: str, text: str, like: Any) -> Any:
    """Text as a value of the kind that the default `like` has."""
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            return tuple(_number_or_text(part.strip()) for part in text.split(",") if part.strip())
        return type(like)(text)
    except (ValueError, KeyError) as error:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(like)]
        raise InputError(f"{name} must be {kind}, such as {like}; got {text!r}.") from error


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Choice:
    """What a control needs to know of a field that takes one of some words, or several of them."""

    options: tuple[str, ...]
    help: str
    names: Mapping[str, str]  # of options that a person reads by another word

    def name(self, option: str) -> str:
        return self.names.get(option, option)


def choice(default: Any, options: tuple[str, ...], help: str, names: Mapping[str, str] | None = None) -> Any:
    """A dataclass field of words that describes itself; a tuple as default takes several."""
    return field(default=default, metadata={"choice": Choice(options, help, names or {})})


def choices(configuration: Any) -> dict[str, Choice]:
    """The described fields of words of a dataclass or of its class, by name."""
    return {f.name: f.metadata["choice"] for f in fields(configuration) if "choice" in f.metadata}


def choice_problems(configuration: Any) -> list[str]:
    """All fields of words that hold another word than they declare."""
    problems: list[str] = []
    for name, about in choices(configuration).items():
        value = getattr(configuration, name)
        for word in value if isinstance(value, tuple) else (value,):
            if word not in about.options:
                problems += unknown(name, word, about.options).problems
    return problems
