"""The settings of a run and of the pages that show it, and their conversion to and from a link."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from smfh.datasets import DATASETS, DatasetSource
from smfh.datasets.user_data import UserDataset
from smfh.experiments.comparison import value_in_words
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.types import InputError, choices, parameters, unknown
from smfh.ui.address import SHARED, Part, UrlQuery, decode, encode, own_keys, shorten_notes

DATA, METHOD, HIDE, START, PRESENT = "data", "method", "hide", "start", "present"
PAUSED = "paused"
OPTION = "data."  # prefix of the options of the data set
ALWAYS = ("bits", "seed")  # in the link even if they have their default values
QUOTE_CHARACTERS = 80


@dataclass(frozen=True)
class Settings:
    """The settings in the sidebar: data set, method with its parameters, and presentation mode."""

    source: DatasetSource
    method: HashMethod
    hidden: frozenset[str] = frozenset()  # names of controls
    paused: bool = False  # the first run pauses after its first step
    present: bool = False  # presentation mode


def default_settings() -> Settings:
    """Return the first data set that is available, and the first method with its defaults."""
    ready = next((source() for source in DATASETS.values() if not source().missing()), None)
    if ready is None:
        raise InputError([line for source in DATASETS.values() for line in source().missing()])
    return Settings(ready, make_method(next(iter(METHODS))))


def read_settings(query: UrlQuery) -> tuple[Settings, list[str]]:
    """Return the settings in a link, with defaults for invalid parameters, and a note on each of these."""
    settings, notes = default_settings(), list[str]()
    left = own_keys(query, ("",))
    if (name := left.pop(DATA, settings.source.name)) in DATASETS:
        settings = replace(settings, source=DATASETS[name]())
    elif name == UserDataset.name:  # the data itself is not in the link
        settings = replace(settings, source=UserDataset())
    else:
        notes += unknown("data set", name[:QUOTE_CHARACTERS], DATASETS).problems
    if (name := left.pop(METHOD, settings.method.name)) in METHODS:
        settings = replace(settings, method=make_method(name))
    else:
        notes += unknown("method", name[:QUOTE_CHARACTERS], METHODS).problems
    hidden = frozenset(left.pop(HIDE, "").split(",")) & set(hideable(settings))
    if (start := left.pop(START, PAUSED)) != PAUSED:
        notes += unknown("start", start[:QUOTE_CHARACTERS], [PAUSED]).problems
    paused, present = query.get(START) == PAUSED, left.pop(PRESENT, "") not in ("", "false")
    source, about_data = decode(own_keys(query, (OPTION,)), settings.source, OPTION)
    method, about_method = decode(left, settings.method)
    return Settings(source, method, hidden, paused, present), shorten_notes([*notes, *about_data, *about_method])


def write_settings(settings: Settings) -> UrlQuery:
    """Return the link parameters of the settings; defaults are left out, except bits and seed."""
    source, method = settings.source, settings.method
    query = {DATA: source.name, METHOD: method.name, HIDE: ",".join(sorted(settings.hidden))}
    query |= {START: PAUSED if settings.paused else "", PRESENT: "true" if settings.present else ""}
    query |= encode(source, type(source)(), OPTION)
    query |= encode(method, type(method)(), "", ALWAYS)
    return {key: text for key, text in query.items() if text}


SETTINGS = Part(SHARED, read_settings, write_settings)


def to_link(settings: Settings, page: str = "", rest: UrlQuery = MappingProxyType({})) -> str:
    """Return the whole link: the page's address, the settings, and the page's own parameters."""
    return f"{page}?{urlencode({**write_settings(settings), **rest}, safe=',')}"


@cache
def setting_keys() -> list[str]:
    """Return the link parameters that determine a run; changing one adds a step to the browser's history."""
    methods = [name for method in METHODS for name in parameters(make_method(method))]
    options = [f"{OPTION}{name}" for one in DATASETS.values() for name in (*parameters(one()), *choices(one()))]
    return [DATA, METHOD, *dict.fromkeys(methods + options)]


def hideable(settings: Settings) -> list[str]:
    """Return the names of the controls that a link can hide, for example from students."""
    return [DATA, METHOD, "preset", *parameters(settings.method)]


def differences(before: HashMethod, after: HashMethod) -> list[str]:
    """Return the changes from one method to another, such as "α 2 → 5"."""
    if before.name != after.name:
        return [f"{before.title} → {after.title}"]
    return [
        f"{about.symbol} {in_words(name, getattr(before, name))} → {in_words(name, getattr(after, name))}"
        for name, about in parameters(after).items()
        if getattr(before, name) != getattr(after, name)
    ]


def in_words(name: str, value: Any) -> str:
    """Return a parameter's value as text; a graph sample of 0 means all items."""
    return "all" if name == "graph_sample" and value == 0 else value_in_words(value)


def unusual_in_words(method: HashMethod, leave_out: Sequence[str] = ALWAYS) -> str:
    """Return the parameters that differ from their defaults, with symbols, such as "α 3, m 50"."""
    default = type(method)()
    return ", ".join(
        f"{about.symbol} {in_words(name, getattr(method, name))}"
        for name, about in parameters(method).items()
        if name not in leave_out and getattr(method, name) != getattr(default, name)
    )
