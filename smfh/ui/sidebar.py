"""The same sidebar on every page: what to train on, how, and a link to it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import METHODS, make_method, preset
from smfh.types import Choice, InputError, Parameter, choices, parameters
from smfh.ui.settings import DATA, METHOD, OPTION, SHOW, Settings, hideable, read_link, to_link, to_query

MAIN = ("bits", "graph_weight", "projection_weight", "graph_sample")
BITS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
KEPT = "settings"
CONTROL = "control_"
PAGES = {  # Streamlit's own list would call the first page by its file
    "Explore": ("streamlit_app.py", ":material/image_search:"),
    "Search": ("pages/2_Search.py", ":material/search:"),
    "Bits": ("pages/3_Bits.py", ":material/grid_view:"),
    "Compare": ("pages/4_Compare.py", ":material/stacked_line_chart:"),
    "Runs": ("pages/5_Runs.py", ":material/history:"),
    "Paper": ("pages/6_Paper.py", ":material/article:"),
    "Data": ("pages/7_Data.py", ":material/folder_open:"),
}


def draw_sidebar() -> Settings:
    """Draw all controls and return what they say; the address bar follows."""
    for key in map(str, st.session_state):
        if key.startswith(CONTROL):  # a widget forgets its value when its page is left, unless it is set anew
            st.session_state[key] = st.session_state[key]
    settings = kept_settings()
    with st.sidebar:
        st.markdown("### SMFH Explorer")
        for title, (script, icon) in PAGES.items():
            st.page_link(script, label=title, icon=icon)
        settings = _choose_data(settings)
        settings = _choose_method(settings)
        names = parameters(settings.method)
        settings = _set_parameters(settings, [name for name in names if name in MAIN])
        if any(name not in settings.hidden for name in names if name not in MAIN):
            with st.expander("More"):
                settings = _set_parameters(settings, [name for name in names if name not in MAIN])
        _share(settings)
    if settings != st.session_state[KEPT]:
        st.session_state[KEPT], st.session_state["link_notes"] = settings, []
    _keep_link(settings)
    return settings


def _keep_link(settings: Settings) -> None:
    """Let the address bar say the settings, beside what the page itself keeps there."""
    own = {key: text for key, text in st.query_params.items() if key.startswith(SHOW)}
    if settings.source.name != "own" and dict(st.query_params) != to_query(settings) | own:
        st.query_params.from_dict(to_query(settings) | own)


def kept_settings() -> Settings:
    """What the visitor chose before, or what the link asks for."""
    if KEPT not in st.session_state:
        st.session_state[KEPT], st.session_state["link_notes"] = read_link(dict(st.query_params))
    for note in st.session_state["link_notes"]:
        st.warning(note, icon=":material/link_off:")
    settings: Settings = st.session_state[KEPT]
    return settings


def _choose_data(settings: Settings) -> Settings:
    if DATA in settings.hidden:
        return settings
    names = [*DATASETS, *(["own"] if "own_source" in st.session_state else [])]
    name = _select("Data", names, settings.source.name, _data_title, f"{CONTROL}data")
    if name != settings.source.name:
        source = st.session_state["own_source"] if name == "own" else DATASETS[name]()
        settings = replace(settings, source=source)
    if settings.source.name == "own":
        return settings
    owner = f"{OPTION}{settings.source.name}"
    for option, about in parameters(settings.source).items():
        settings = _set(settings, option, _slide(option, about, getattr(settings.source, option), owner))
    for option, words in choices(settings.source).items():
        settings = _set(settings, option, _pick(option, words, getattr(settings.source, option), owner))
    return settings


def _set(settings: Settings, option: str, value: Any) -> Settings:
    return replace(settings, source=replace(settings.source, **{option: value}))


def _data_title(name: str) -> str:
    if name == "own":
        return "Own data"
    source = DATASETS[name]
    return f"{source.card.title}{' (needs its files)' if source().missing() else ''}"


def _choose_method(settings: Settings) -> Settings:
    if METHOD not in settings.hidden:
        name = _select(
            "Method",
            list(METHODS),
            settings.method.name,
            lambda name: METHODS[name].title,
            f"{CONTROL}method",
        )
        if name != settings.method.name:
            common = {"bits": settings.method.bits, "seed": settings.method.seed}
            settings = replace(settings, method=make_method(name, **common))
    if settings.method.presets and "preset" not in settings.hidden:
        settings = _choose_preset(settings)
    return settings


def _choose_preset(settings: Settings) -> Settings:
    method = settings.method
    now = next((name for name, values in method.presets.items() if _has(method, values)), None)

    def apply() -> None:
        chosen = st.session_state[key]
        if chosen is not None:
            kept: Settings = st.session_state[KEPT]
            changed = replace(kept.method, **preset(method.name, chosen))  # type: ignore[type-var]
            st.session_state[KEPT] = replace(kept, method=changed)
            for name in preset(method.name, chosen):
                st.session_state.pop(_key(name, method.name), None)

    key = f"{CONTROL}preset_{method.name}"
    st.session_state[key] = now
    st.pills("Preset", list(method.presets), key=key, on_change=apply, help="Named values; the rest stays.")
    return settings


def _has(method: Any, values: Any) -> bool:
    return all(getattr(method, name) == value for name, value in values.items())


def _set_parameters(settings: Settings, names: Iterable[str]) -> Settings:
    for name in names:
        if name in settings.hidden:
            continue
        about, method = parameters(settings.method)[name], settings.method
        value = _slide(name, about, getattr(method, name), method.name)
        try:
            settings = replace(settings, method=replace(method, **{name: value}))  # type: ignore[type-var]
        except InputError as error:
            st.warning(" ".join(error.problems))
    return settings


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
    options = _round_values(name, about, value)
    if st.session_state.get(key) not in options:
        st.session_state[key] = value
    return st.select_slider(label, options, key=key, help=about.help, format_func=_number)


def _shares(label: str, about: Parameter, value: tuple[float, ...], key: str) -> tuple[float, ...]:
    """Text such as 0.7, 0.3: as many numbers as there are modalities."""
    st.session_state.setdefault(key, ", ".join(map(str, value)))
    text = st.text_input(label, key=key, help=about.help, placeholder="equal", max_chars=100)
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        st.warning(f"{label}: expected numbers such as 0.7, 0.3; got {text!r}.")
        return value


def _pick(name: str, about: Choice, value: Any, owner: str) -> Any:
    key = _key(name, owner)
    st.session_state.setdefault(key, list(value) if isinstance(value, tuple) else value)
    if isinstance(value, tuple):
        return tuple(st.multiselect(_words(name), about.options, key=key, help=about.help))
    return st.selectbox(_words(name), about.options, key=key, help=about.help)


def _select(label: str, options: list[str], value: str, title: Any, key: str) -> str:
    if st.session_state.get(key) not in options:
        st.session_state[key] = value
    chosen: str = st.selectbox(label, options, key=key, format_func=title)
    return chosen


def _round_values(name: str, about: Parameter, value: Any) -> list[Any]:
    """1, 2, 5, 10, … on a log scale, even steps on a linear one; the present value is always there."""
    kind = type(value)
    if name == "bits":
        values: set[Any] = set(BITS)
    elif about.scale == "log":
        values = {kind(m * 10.0**power) for power in range(-9, 8) for m in (1, 2, 5)} | (
            {kind(0)} if about.low == 0 else set()
        )
    else:
        steps = (
            1,
            2,
            3,
            4,
            5,
            6,
            8,
            10,
            15,
            20,
            25,
            30,
            40,
            50,
            60,
            80,
            100,
            150,
            200,
            258,
            300,
            500,
            750,
            1000,
            2000,
        )
        values = {kind(step) for step in steps} | ({kind(0)} if about.low == 0 else set())
        if kind is float:
            values = {step / 20 for step in range(21)}
    return sorted({v for v in values if about.low <= v <= about.high} | {value})


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _key(name: str, owner: str) -> str:
    return f"{CONTROL}{owner}_{name}"


def _share(settings: Settings) -> None:
    if settings.source.name == "own":
        st.caption("Own data stays in this visit; a link cannot carry it.")
        return
    with st.popover("Share", icon=":material/link:", width="stretch"):
        st.caption("Opens these settings anywhere:")
        st.code(to_link(settings), language=None, wrap_lines=True)
        st.caption("For a class, with some controls hidden:")
        hidden = st.multiselect("Hide", hideable(settings), key=f"{CONTROL}hide", format_func=_words)
        if hidden:
            st.code(to_link(replace(settings, hidden=frozenset(hidden))), language=None, wrap_lines=True)
