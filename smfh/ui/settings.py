"""What a visitor has chosen, as one value that a link carries: no Streamlit in here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.types import InputError, choices, parameters, read_value, unknown

DATA, METHOD, HIDE = "data", "method", "hide"
OPTION = "data."  # before the name of an option of the data set
SHOW = "show."  # before what a page keeps in the link for itself
ALWAYS = ("bits", "seed")  # in the link even where they are as usual


@dataclass(frozen=True)
class Settings:
    """Data set with its options, method with its parameters, and what a teacher has hidden."""

    source: DatasetSource
    method: HashMethod
    hidden: frozenset[str] = frozenset()  # names of controls


def default_settings() -> Settings:
    """The first data set that is ready, and the first method as it comes."""
    ready = next((source() for source in DATASETS.values() if not source().missing()), None)
    if ready is None:
        raise InputError([line for source in DATASETS.values() for line in source().missing()])
    return Settings(ready, make_method(next(iter(METHODS))))


def read_link(query: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings that a link asks for; what is wrong in it falls back to the usual, with a note."""
    settings = default_settings()
    notes: list[str] = []
    left = {key: text for key, text in query.items() if not key.startswith(SHOW)}
    if (name := left.pop(DATA, settings.source.name)) in DATASETS:
        settings = replace(settings, source=DATASETS[name]())
    else:
        notes += unknown("data set", name, DATASETS).problems
    if (name := left.pop(METHOD, settings.method.name)) in METHODS:
        settings = replace(settings, method=make_method(name))
    else:
        notes += unknown("method", name, METHODS).problems
    hidden = frozenset(filter(None, left.pop(HIDE, "").split(",")))
    settings = replace(settings, hidden=hidden & set(hideable(settings)))
    for key, text in left.items():
        try:
            settings = with_value(settings, key, text)
        except InputError as error:
            notes += error.problems
    return settings, [f"{note} The usual value is used instead." for note in notes]


def with_value(settings: Settings, key: str, text: str) -> Settings:
    """The settings with one field read from text."""
    if key.startswith(OPTION):
        return replace(settings, source=_changed(settings.source, key.removeprefix(OPTION), text))
    return replace(settings, method=_changed(settings.method, key, text))


def _changed(configuration: Any, name: str, text: str) -> Any:
    defaults = {f.name: f.default for f in fields(configuration)}
    if name not in parameters(configuration) | choices(configuration):
        raise unknown(f"setting of {configuration.name}", name, defaults)
    return replace(configuration, **{name: read_value(name, text, defaults[name])})


def to_query(settings: Settings) -> dict[str, str]:
    """The settings as parameters of a link; what is as usual is left out, save the length and the seed."""
    query = {DATA: settings.source.name, METHOD: settings.method.name}
    query |= {f"{OPTION}{name}": text for name, text in _unusual(settings.source)}
    query |= dict(_unusual(settings.method, ALWAYS))
    if settings.hidden:
        query[HIDE] = ",".join(sorted(settings.hidden))
    return query


def to_link(settings: Settings) -> str:
    return f"?{urlencode(to_query(settings), safe=',')}"


def _unusual(configuration: Any, always: Iterable[str] = ()) -> Iterable[tuple[str, str]]:
    described = parameters(configuration) | choices(configuration)
    for f in fields(configuration):
        value = getattr(configuration, f.name)
        if f.name in described and (value != f.default or f.name in always):
            yield f.name, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def hideable(settings: Settings) -> list[str]:
    """The controls that a teacher's link may hide."""
    return [DATA, METHOD, "preset", *parameters(settings.method)]


def differences(before: HashMethod, after: HashMethod) -> list[str]:
    """What has been changed between two methods, in words."""
    if before.name != after.name:
        return [f"{before.title} → {after.title}"]
    return [
        f"{about.symbol} {getattr(before, name)} → {getattr(after, name)}"
        for name, about in parameters(after).items()
        if getattr(before, name) != getattr(after, name)
    ]
