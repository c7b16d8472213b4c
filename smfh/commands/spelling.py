"""How commands spell methods, and the command that repeats a comparison."""

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from smfh.commands.options import read_parameters
from smfh.comparison import Comparison, View
from smfh.comparison.grid import OF_A_RUN
from smfh.hashing import HashMethod
from smfh.types import InputError


def read_method(text: str) -> HashMethod:
    """Such as smfh, smfh:wiki or smfh:graph_weight=2:ridge=0.1: a name, presets, and parameters over them."""
    name, *parts = text.split(":")
    texts = dict(part.split("=", 1) for part in parts if "=" in part)
    for field, option in (("bits", "--bits"), ("seed", "--seeds")):
        if field in texts:
            raise InputError(f"{text}: {field} is given for all methods together, with {option}.")
    return read_parameters(name, [part for part in parts if "=" not in part], texts)


def method_text(method: HashMethod) -> str:
    """What `read_method` reads, with every parameter that is not as usual, save bits and seed."""
    return ":".join(
        [method.name, *(f"{name}={text}" for name, text in _unusual(method) if name not in OF_A_RUN)]
    )


def compare_command(comparison: Comparison, view: View) -> str:
    """The command that trains what is missing and prints the table; the data's options are in it."""
    words = ["python", "-m", "smfh", "compare", comparison.source.name]
    for name, text in _unusual(comparison.source):
        words += ["--option", f"{name}={text}"]
    words += ["--methods", *map(method_text, comparison.methods)]
    words += ["--bits", *map(str, comparison.bits), "--seeds", str(comparison.seeds)]
    words += ["--protocol", view.protocol] if view.protocol != "training" else []
    words += ["--ap", view.definition] if view.definition != "found" else []
    return shlex.join(words)


def _unusual(configuration: Any) -> Iterator[tuple[str, str]]:
    for field in fields(configuration):
        value = getattr(configuration, field.name)
        if value != field.default:
            yield field.name, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
