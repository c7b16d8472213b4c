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


def parameter(
    default: Any, symbol: str, low: float, high: float, help: str, scale: Literal["linear", "log"] = "linear"
) -> Any:
    """A dataclass field that describes itself."""
    return field(default=default, metadata={"parameter": Parameter(symbol, low, high, scale, help)})


def parameters(configuration: Any) -> dict[str, Parameter]:
    """The described fields of a dataclass or of its class, by name."""
    return {f.name: f.metadata["parameter"] for f in fields(configuration) if "parameter" in f.metadata}


def range_problems(configuration: Any) -> list[str]:
    """All fields that lie outside the range which they declare."""
    problems = []
    for name, about in parameters(configuration).items():
        value = getattr(configuration, name)
        for number in value if isinstance(value, tuple) else (value,):
            wanted = "a whole number" if isinstance(about.low, int) else "a number"
            kinds = (int, np.integer) if isinstance(about.low, int) else (int, float, np.integer, np.floating)
            if isinstance(about.low, bool):  # a switch
                if not isinstance(number, bool):
                    problems.append(f"{name} ({about.symbol}) must be True or False; got {number!r}.")
            elif (
                isinstance(number, bool)
                or not isinstance(number, kinds)
                or not about.low <= number <= about.high
            ):
                problems.append(
                    f"{name} ({about.symbol}) must be {wanted} from {_plain(about.low)} "
                    f"to {_plain(about.high)}; got {number!r}."
                )
    return problems


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


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


def choice(default: Any, options: tuple[str, ...], help: str) -> Any:
    """A dataclass field of words that describes itself; a tuple as default takes several."""
    return field(default=default, metadata={"choice": Choice(options, help)})


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
