"""What a visitor compares and how it is looked at, as one value that a link carries: no Streamlit in here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from smfh.evaluation import PROTOCOLS
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.types import InputError, unknown
from smfh.ui.settings import SHOW

COMPARE = f"{SHOW}compare."
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_SEEDS, MOST_RADIUS = 10, 8
PRESETS = {
    "usual": "as they come",
    "paper": "as in the paper, where it names them",
    "strong": "strong presets, where there are some",
}


@dataclass(frozen=True)
class Wanted:
    """The comparison and the view of it."""

    methods: tuple[str, ...] = tuple(METHODS)
    bits: tuple[int, ...] = (32, 64, 128)
    seeds: int = 5
    preset: str = "usual"
    own: bool = False  # the sidebar's method as it is set there, too
    definition: str = "found"
    protocol: str = "training"
    direction: str = ""  # such as text→image; the usual one where it is none of the data's
    at: int = 64  # bits of what is shown at one length
    radius: int = 2

    def chosen_methods(self, own: HashMethod, data: str) -> tuple[HashMethod, ...]:
        """Each as the preset says for this data; and the visitor's own."""
        usual = [make_method(name, **_preset(name, self.preset, data)) for name in self.methods]
        return (*usual, own) if self.own else tuple(usual)


def _preset(name: str, wanted: str, data: str) -> dict[str, Any]:
    """The paper names some settings for each data set."""
    presets = METHODS[name].presets
    if wanted == "paper":
        return dict(presets.get(data) or presets.get("paper") or {})
    return dict(presets.get(wanted, {}))


def read_wanted(query: Mapping[str, str]) -> tuple[Wanted, list[str]]:
    """What a link asks for; what is wrong in it falls back to the usual, with a note."""
    wanted, notes = Wanted(), list[str]()
    for key, text in query.items():
        if not key.startswith(COMPARE):
            continue
        name = key.removeprefix(COMPARE)
        try:
            if name not in READERS:
                raise unknown("setting of a comparison", name, READERS)
            wanted = replace(wanted, **{name: READERS[name](text)})
        except InputError as error:
            notes += [f"{problem} The usual value is used instead." for problem in error.problems]
    return wanted, notes


def to_query(wanted: Wanted) -> dict[str, str]:
    """As parameters of a link, all of them: what is usual may change."""
    values = {f.name: getattr(wanted, f.name) for f in fields(wanted)}
    return {f"{COMPARE}{name}": _text(value) for name, value in values.items() if value != ""}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _one_of(known: Iterable[str], kind: str, text: str) -> str:
    if text not in known:
        raise unknown(kind, text, list(known))
    return text


def _methods(text: str) -> tuple[str, ...]:
    """In the order of METHODS."""
    asked = [_one_of(METHODS, "method", name) for name in text.split(",") if name]
    if not asked:
        raise InputError("A comparison needs a method; the link names none.")
    return tuple(name for name in METHODS if name in asked)


def _lengths(text: str) -> tuple[int, ...]:
    return tuple(sorted({_number(LENGTHS, "bits", part) for part in text.split(",") if part})) or Wanted.bits


def _number(known: Sequence[int], what: str, text: str) -> int:
    if not text.isdecimal() or int(text) not in known:
        raise InputError(f"{what} must be one of {', '.join(map(str, known))}; got {text!r}.")
    return int(text)


READERS: Mapping[str, Callable[[str], Any]] = {
    "methods": _methods,
    "bits": _lengths,
    "seeds": partial(_number, range(1, MOST_SEEDS + 1), "seeds"),
    "preset": partial(_one_of, PRESETS, "preset"),
    "own": lambda text: _one_of(("True", "False"), "value of own", text) == "True",
    "definition": partial(_one_of, AP_DEFINITIONS, "definition"),
    "protocol": partial(_one_of, PROTOCOLS, "protocol"),
    "direction": str,  # which ones there are is known when the data is there
    "at": partial(_number, LENGTHS, "at"),
    "radius": partial(_number, range(MOST_RADIUS + 1), "radius"),
}
