"""A control for whatever describes itself: sliders over round values, numbers to type, words to choose."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import streamlit as st

from smfh.comparison import value_in_words
from smfh.hashing import HashMethod
from smfh.types import Choice, InputError, Parameter, parameters, read_value
from smfh.ui.address import follow
from smfh.ui.plain import plain
from smfh.ui.settings import Settings, in_words

ROUND_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 258, 300, 500, 750)
BITS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
FIELD = 72  # pixels, of a number that is typed
CONTROL = "control_"  # how the keys of the settings' controls begin


def select(label: str, options: list[str], value: str, title: Callable[[str], str], key: str) -> str:
    if st.session_state.get(key) not in options:
        st.session_state[key] = value
    chosen: str = st.selectbox(label, options, key=key, format_func=title)
    return chosen


def steer_parameter(settings: Settings, name: str) -> Settings:
    """A slider over the range that matters, and beside it the number, which can be typed."""
    method, about = settings.method, parameters(settings.method)[name]
    key = key_of(name, method.name)
    problem = f"{key}_problem"  # what was typed and is no such number, and why

    def read(text: str) -> None:
        try:
            st.session_state[key] = read_typed(method, name, text)
            st.session_state.pop(problem, None)
        except InputError as error:
            st.session_state[problem] = text, " ".join(error.problems)

    value = st.session_state.setdefault(key, getattr(method, name))
    label, told = f"{words_of(name)} · {about.symbol}", partial(in_words, name)
    row = st.container(horizontal=True, vertical_alignment="bottom", wrap=False)
    value = row.select_slider(
        label,
        round_values(name, about, value),
        key=key,
        help=about.help,
        format_func=told,
        on_change=lambda: st.session_state.pop(problem, None),
    )
    text, why = st.session_state.get(problem, (told(value), ""))
    typed = follow(f"{key}_typed", text, read)
    row.text_input(f"{label}, typed", max_chars=20, label_visibility="collapsed", width=FIELD, **typed)
    if why:
        st.warning(plain(why))
    return replace(settings, method=with_parameter(method, name, value))


def with_parameter(method: HashMethod, name: str, value: Any) -> HashMethod:
    try:
        return replace(method, **{name: value})
    except InputError as error:
        st.warning(plain(" ".join(error.problems)))
        return method


def read_typed(method: HashMethod, name: str, text: str) -> Any:
    """The number that was typed, or why it is none for this parameter."""
    value, before = text.strip(), getattr(method, name)
    if name == "graph_sample" and value.lower() == "all":
        value = "0"
    number = read_value(name, value.replace(",", "") if isinstance(before, int) else value, before)
    replace(method, **{name: number})
    return number


def slide(name: str, about: Parameter, value: Any, owner: str) -> Any:
    """A slider over round values, or a field for what has no scale."""
    key, label = key_of(name, owner), f"{words_of(name)} · {about.symbol}"
    if isinstance(value, tuple):
        return _shares(label, about, value, key)
    if isinstance(value, bool):
        st.session_state.setdefault(key, value)
        return st.toggle(label, key=key, help=about.help)
    if name in ("seed", "data_seed"):
        st.session_state.setdefault(key, value)
        return int(st.number_input(label, int(about.low), int(about.high), key=key, help=about.help))
    options = round_values(name, about, st.session_state.setdefault(key, value))
    return st.select_slider(label, options, key=key, help=about.help, format_func=value_in_words)


def _shares(label: str, about: Parameter, value: tuple[float, ...], key: str) -> tuple[float, ...]:
    """Text such as 0.7, 0.3: as many numbers as there are modalities."""
    st.session_state.setdefault(key, shown_value(value))
    text = st.text_input(label, key=key, help=about.help, placeholder="equal", max_chars=100)
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        st.warning(plain(f"{label}: expected numbers such as 0.7, 0.3; got {text!r}."))
        return value


def shown_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def pick(name: str, about: Choice, value: Any, owner: str) -> Any:
    key = key_of(name, owner)
    st.session_state.setdefault(key, list(value) if isinstance(value, tuple) else value)
    if isinstance(value, tuple):
        names = about.name
        chosen = st.multiselect(words_of(name), about.options, key=key, help=about.help, format_func=names)
        return tuple(chosen)
    return st.selectbox(words_of(name), about.options, key=key, help=about.help, format_func=about.name)


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
    chosen = {v for v in values if low <= v <= high or v == 0} | {value}
    return sorted(chosen, key=lambda v: inf if name == "graph_sample" and v == 0 else v)  # 0 is all


def words_of(name: str) -> str:
    return name.replace("_", " ").capitalize()


def key_of(name: str, owner: str) -> str:
    return f"{CONTROL}{owner}_{name}"
