"""Training progress, and descriptions of a method's parameters: ranges or options, and help texts."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from smfh.types.errors import InputError, unknown


@dataclass(frozen=True)
class TrainingStep:
    """A step of training, with the value of each weighted term of the objective."""

    iteration: int
    terms: Mapping[str, float]
    seconds: float  # since training began
    phase: str = "descent"
    note: str = ""  # remark for the user, such as an increased ridge

    @property
    def objective(self) -> float:
        """Value of the objective: the sum of all terms."""
        return sum(self.terms.values())


OnStep = Callable[[TrainingStep], None]


@dataclass(frozen=True)
class Parameter:
    """Description of a numeric or boolean field of a method, for controls, options and checks."""

    symbol: str
    low: float
    high: float
    scale: Literal["linear", "log"]
    help: str
    typical: tuple[float, float]  # range of the slider
    neutral: Any = None  # value without effect, assumed for runs saved before this parameter existed

    @property
    def allowed_values(self) -> str:
        """Description of the allowed values, such as "a number from 0 to 1"."""
        if isinstance(self.low, bool):
            return "True or False"
        if isinstance(self.low, int):
            return f"a whole number from {self.low:,} to {self.high:,}"
        return f"a number from {self.low:g} to {self.high:g}"

    def accepts(self, value: object) -> bool:
        """Whether `value` has the right type and is within the allowed range."""
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
    """Define a numeric or boolean dataclass field with its Parameter as metadata.

    By default, the slider's range `typical` is the whole range, or 1/100 to 100 times the default on a log
    scale.
    """
    if typical is None and scale == "log" and default:
        typical = max(low, type(default)(default / 100)), min(high, default * 100)
    about = Parameter(symbol, low, high, scale, help, typical or (low, high), neutral)
    return field(default=default, kw_only=kw_only, metadata={"parameter": about})


def parameters(configuration: Any) -> dict[str, Parameter]:
    """Return the Parameter of each dataclass field that has one, by field name and in signature order."""
    ordered = sorted(fields(configuration), key=lambda f: f.kw_only is True)
    return {f.name: f.metadata["parameter"] for f in ordered if "parameter" in f.metadata}


def range_problems(configuration: Any) -> list[str]:
    """Return a message for each dataclass field whose value is outside its range or not among its options."""
    problems: list[str] = []
    for name, about in (parameters(configuration) | choices(configuration)).items():
        value = getattr(configuration, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(about, Parameter) and not about.accepts(one):
                problems.append(f"{name} ({about.symbol}) must be {about.allowed_values}; got {one!r}.")
            elif isinstance(about, Choice) and one not in about.options:
                problems += unknown(name, one, about.options).problems
    return problems


def read_value(name: str, text: str, like: Any) -> Any:
    """Parse text as a value of the type of `like`, the default value; error messages quote `name`."""
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            parts = [part.strip() for part in text.split(",") if part.strip()]
            with suppress(ValueError):
                return tuple(map(float, parts))
            return tuple(parts)
        return type(like)(text)
    except (ValueError, KeyError) as error:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(like)]
        raise InputError(f"{name} must be {kind}, such as {like}; got {text!r}.") from error


@dataclass(frozen=True)
class Choice:
    """Description of a field whose value is one or several of a fixed set of options."""

    options: tuple[str, ...]
    help: str
    names: Mapping[str, str]  # option → label, if the label differs from the option

    def name(self, option: str) -> str:
        """Return the label of an option, by default the option itself."""
        return self.names.get(option, option)


def choice(default: Any, options: tuple[str, ...], help: str, names: Mapping[str, str] | None = None) -> Any:
    """Define a dataclass field with its Choice as metadata; a tuple as default allows several options."""
    return field(default=default, metadata={"choice": Choice(options, help, names or {})})


def choices(configuration: Any) -> dict[str, Choice]:
    """Return the Choice of each dataclass field that has one, by field name."""
    return {f.name: f.metadata["choice"] for f in fields(configuration) if "choice" in f.metadata}
