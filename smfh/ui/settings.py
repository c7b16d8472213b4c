"""What a visitor has chosen to train, as one value that a link carries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from smfh.comparison import value_in_words
from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.types import InputError, parameters, unknown
from smfh.ui.address import SHARED, Part, Query, decode, encode, own_keys, short

DATA, METHOD, HIDE, START, PRESENT = "data", "method", "hide", "start", "present"
PAUSED = "paused"
OPTION = "data."  # before the name of an option of the data set
ALWAYS = ("bits", "seed")  # in the link even where they are as usual


@dataclass(frozen=True)
class Settings:
    """Data set with its options, method with its parameters, and how a teacher wants them shown."""

    source: DatasetSource
    method: HashMethod
    hidden: frozenset[str] = frozenset()  # names of controls
    paused: bool = False  # the first run waits after its first step
    present: bool = False  # large type, no furniture


def default_settings() -> Settings:
    """The first data set that is ready, and the first method as it comes."""
    ready = next((source() for source in DATASETS.values() if not source().missing()), None)
    if ready is None:
        raise InputError([line for source in DATASETS.values() for line in source().missing()])
    return Settings(ready, make_method(next(iter(METHODS))))


def read_settings(query: Query) -> tuple[Settings, list[str]]:
    """The settings that a link asks for; what is wrong in it falls back to the usual, with a note."""
    settings, notes = default_settings(), list[str]()
    left = own_keys(query, ("",))
    if (name := left.pop(DATA, settings.source.name)) in DATASETS:
        settings = replace(settings, source=DATASETS[name]())
    else:
        notes += unknown("data set", name[:80], DATASETS).problems
    if (name := left.pop(METHOD, settings.method.name)) in METHODS:
        settings = replace(settings, method=make_method(name))
    else:
        notes += unknown("method", name[:80], METHODS).problems
    hidden = frozenset(left.pop(HIDE, "").split(",")) & set(hideable(settings))
    if (start := left.pop(START, PAUSED)) != PAUSED:
        notes += unknown("start", start[:80], [PAUSED]).problems
    paused, present = query.get(START) == PAUSED, left.pop(PRESENT, "") not in ("", "false")
    source, about_data = decode(own_keys(query, (OPTION,)), settings.source, OPTION)
    method, about_method = decode(left, settings.method)
    return Settings(source, method, hidden, paused, present), short([*notes, *about_data, *about_method])


def write_settings(settings: Settings) -> Query:
    """As parameters of a link; what is as usual is left out, save the length and the seed."""
    source, method = settings.source, settings.method
    if source.name not in DATASETS:  # a link cannot carry a visitor's own data
        return {}
    query = {DATA: source.name, METHOD: method.name, HIDE: ",".join(sorted(settings.hidden))}
    query |= {START: PAUSED if settings.paused else "", PRESENT: "true" if settings.present else ""}
    query |= encode(source, type(source)(), OPTION)
    query |= encode(method, type(method)(), "", ALWAYS)
    return {key: text for key, text in query.items() if text}


SETTINGS = Part(SHARED, read_settings, write_settings)


def to_link(settings: Settings, page: str = "", rest: Query = MappingProxyType({})) -> str:
    """The whole link: the page's address, the settings, and the rest that it tells."""
    return f"{page}?{urlencode({**write_settings(settings), **rest}, safe=',')}"


def hideable(settings: Settings) -> list[str]:
    """The controls that a teacher's link may hide."""
    return [DATA, METHOD, "preset", *parameters(settings.method)]


def differences(before: HashMethod, after: HashMethod) -> list[str]:
    """What has been changed between two methods, in words."""
    if before.name != after.name:
        return [f"{before.title} → {after.title}"]
    return [
        f"{about.symbol} {in_words(name, getattr(before, name))} → {in_words(name, getattr(after, name))}"
        for name, about in parameters(after).items()
        if getattr(before, name) != getattr(after, name)
    ]


def in_words(name: str, value: Any) -> str:
    """A parameter's value as a person writes it; 0 sampled items are all of them."""
    return "all" if name == "graph_sample" and value == 0 else value_in_words(value)


def unusual_in_words(method: HashMethod, leave_out: Sequence[str] = ALWAYS) -> str:
    """Its parameters that are not as usual, by their symbols, such as α 3, m 50."""
    usual = type(method)()
    told = {name: getattr(method, name) for name in parameters(method) if name not in leave_out}
    return ", ".join(
        f"{parameters(method)[name].symbol} {in_words(name, value)}"
        for name, value in told.items()
        if value != getattr(usual, name)
    )
