"""The same on every page: what to train on and how, and a link to it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.types import Choice, InputError, Parameter, choices, parameters
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.session import AS_I_MOVE, OWN, WANTED_RUN, own_data, shown, will_start
from smfh.ui.settings import DATA, METHOD, OPTION, SETTINGS, Settings, hideable, to_link

MAIN = ("bits", "graph_weight", "projection_weight", "graph_sample")
ROUND_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 258, 300, 500, 750)
BITS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
CONTROL = "control_"


def draw_sidebar(trains: bool = False) -> Settings:
    """Draw all controls, with Train where the page is about a run, and return what they say."""
    before, notes = current(SETTINGS, CONTROL)
    if before.source.name == OWN:  # as it is now: it may be gone, and a link does not carry it
        before = replace(before, source=source_of(OWN))
    with st.sidebar:
        settings = _choose_method(_choose_data(before))
        names = parameters(settings.method)
        settings = _set_parameters(settings, [name for name in MAIN if name in names])
        train = st.container(gap="xsmall")
        settings = _choose_preset(settings)
        others = [name for name in names if name not in MAIN and name not in settings.hidden]
        if others:
            with st.expander("More parameters"):
                settings = _set_parameters(settings, others)
        settings = _choose_options(settings)
        keep(SETTINGS, settings)
        _share(settings)
    if trains:
        with train:
            _draw_train(settings)
    if settings == before:
        draw_notes(notes)
    return settings


def _choose_data(settings: Settings) -> Settings:
    if DATA in settings.hidden:
        return settings
    names = [*DATASETS, *([OWN] if own_data() or settings.source.name == OWN else [])]
    titles = {name: _data_title(name) for name in names}
    name = _select("Data", names, settings.source.name, titles.__getitem__, f"{CONTROL}data")
    if name != settings.source.name:
        settings = replace(settings, source=source_of(name))
    return settings


def _choose_options(settings: Settings) -> Settings:
    """What can be chosen of the data set alone."""
    source = settings.source
    numbers, words = parameters(source), choices(source)
    if DATA in settings.hidden or source.name == OWN or not (numbers or words):
        return settings
    owner = f"{OPTION}{source.name}"
    with st.expander(f"{source.card.title}: options"):
        for option, about in numbers.items():
            source = replace(source, **{option: _slide(option, about, getattr(source, option), owner)})
        for option, about_words in words.items():
            source = replace(source, **{option: _pick(option, about_words, getattr(source, option), owner)})
    return replace(settings, source=source)


def source_of(name: str) -> DatasetSource:
    """The data set of this name; own data that is gone has no content."""
    if name != OWN:
        return DATASETS[name]()
    return own.source if (own := own_data()) else OwnData()


def _data_title(name: str) -> str:
    source, what = source_of(name), "gone" if name == OWN else "needs its files"
    return f"{source.card.title}{f' ({what})' if source.missing() else ''}"


def _choose_method(settings: Settings) -> Settings:
    if METHOD not in settings.hidden:
        title: Callable[[str], str] = lambda name: METHODS[name].title  # noqa: E731
        name = _select("Method", list(METHODS), settings.method.name, title, f"{CONTROL}method")
        if name != settings.method.name:
            common = {"bits": settings.method.bits, "seed": settings.method.seed}
            settings = replace(settings, method=make_method(name, **common))
    return settings


def _choose_preset(settings: Settings) -> Settings:
    method = settings.method
    offered = method.preset_names(settings.source.name)
    if not offered or "preset" in settings.hidden:
        return settings

    def apply() -> None:
        if (chosen := st.session_state[key]) is not None:
            for name, value in method.preset_values(chosen).items():
                st.session_state[_key(name, method.name)] = _shown_value(value)

    key = f"{CONTROL}preset_{method.name}"
    st.session_state[key] = method.current_preset(settings.source.name)
    st.pills("Preset", offered, key=key, on_change=apply, help="Named values; bits and seed stay.")
    return settings


def _set_parameters(settings: Settings, names: Iterable[str]) -> Settings:
    method = settings.method
    for name in names:
        if name not in settings.hidden:
            value = _slide(name, parameters(method)[name], getattr(method, name), method.name)
            method = _with_parameter(method, name, value)
    return replace(settings, method=method)


def _with_parameter(method: HashMethod, name: str, value: Any) -> HashMethod:
    try:
        return replace(method, **{name: value})
    except InputError as error:
        st.warning(" ".join(error.problems))
        return method


def _slide(name: str, about: Parameter, value: Any, owner: str) -> Any:
    """A slider over round values, or a field for what has no scale."""
    key, label = _key(name, owner), f"{_words(name)} · {about.symbol}"
    if isinstance(value, tuple):
        return _shares(label, about, value, key)
    if isinstance(value, bool):
        st.session_state.setdefault(key, value)
        return st.toggle(label, key=key, help=about.help)
    if name in ("seed", "data_seed"):
        st.session_state.setdefault(key, value)
        return int(st.number_input(label, int(about.low), int(about.high), key=key, help=about.help))
    options = round_values(name, about, st.session_state.setdefault(key, value))
    return st.select_slider(label, options, key=key, help=about.help, format_func=_number)


def _shares(label: str, about: Parameter, value: tuple[float, ...], key: str) -> tuple[float, ...]:
    """Text such as 0.7, 0.3: as many numbers as there are modalities."""
    st.session_state.setdefault(key, _shown_value(value))
    text = st.text_input(label, key=key, help=about.help, placeholder="equal", max_chars=100)
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        st.warning(f"{label}: expected numbers such as 0.7, 0.3; got {text!r}.")
        return value


def _shown_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _pick(name: str, about: Choice, value: Any, owner: str) -> Any:
    key = _key(name, owner)
    st.session_state.setdefault(key, list(value) if isinstance(value, tuple) else value)
    if isinstance(value, tuple):
        chosen = st.multiselect(_words(name), about.options, key=key, help=about.help, format_func=about.name)
        return tuple(chosen)
    return st.selectbox(_words(name), about.options, key=key, help=about.help, format_func=about.name)


def _select(label: str, options: list[str], value: str, title: Callable[[str], str], key: str) -> str:
    if st.session_state.get(key) not in options:
        st.session_state[key] = value
    chosen: str = st.selectbox(label, options, key=key, format_func=title)
    return chosen


def round_values(name: str, about: Parameter, value: Any) -> list[Any]:
    """1, 2, 5, 10, … on a log scale, even steps on a linear one, in the range that matters; and the value."""
    kind, (low, high) = type(value), about.typical
    if name == "bits":
        values: set[Any] = set(BITS)
    elif about.scale == "log":
        values = {kind(m * 10.0**power) for power in range(-9, 8) for m in (1, 2, 5)}
    else:
        values = set(ROUND_STEPS) if kind is int else {step / 20 for step in range(21)}
    values |= {kind(0)} if about.low == 0 else set()
    return sorted({v for v in values if low <= v <= high or v == 0} | {value})


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _key(name: str, owner: str) -> str:
    return f"{CONTROL}{owner}_{name}"


def _draw_train(settings: Settings) -> None:
    """The button, early in the order of tabs, and whether what is shown is what is set."""
    looked_at = shown()
    is_current = will_start(settings) or (looked_at is not None and looked_at.is_of(settings))
    st.button(
        "Train",
        type="primary",
        icon=":material/play_arrow:",
        disabled=is_current,
        key="train",
        width="stretch",
        on_click=st.session_state.__setitem__,
        args=(WANTED_RUN, settings),
    )
    st.toggle(
        "Train as I move", key=AS_I_MOVE, help="Trains when a slider is let go, where that takes under 3 s."
    )
    if not is_current:
        st.badge("Settings changed", icon=":material/sync_problem:", color="orange")


def _share(settings: Settings) -> None:
    if settings.source.name == OWN:
        st.caption("Own data stays with you; a link cannot carry it.")
        return
    with st.popover("Share", icon=":material/link:", width="stretch"):
        st.caption("Opens these settings anywhere:")
        st.code(to_link(settings), language=None, wrap_lines=True)
        st.caption("For a class, with some controls hidden:")
        hidden = st.multiselect("Hide", hideable(settings), key=f"{CONTROL}hide", format_func=_words)
        if hidden:
            st.code(to_link(replace(settings, hidden=frozenset(hidden))), language=None, wrap_lines=True)
