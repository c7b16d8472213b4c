"""The same on every page: what to train on and how, and a link to it."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, make_method
from smfh.types import choices, parameters
from smfh.ui.address import current, draw_notes, follow, keep
from smfh.ui.controls import (
    CONTROL,
    key_of,
    pick,
    select,
    shown_value,
    slide,
    steer_parameter,
    with_parameter,
)
from smfh.ui.session import AS_I_MOVE, OWN, WANTED_RUN, own_data, shown, will_start
from smfh.ui.settings import DATA, METHOD, OPTION, SETTINGS, Settings
from smfh.ui.sharing import draw_share

MAIN = ("bits", "graph_weight", "projection_weight", "graph_sample")
PRESENTING = "For a room: large type, and nothing but the page itself."


def draw_sidebar(trains: bool = False, methods: bool = True) -> Settings:
    """Draw the controls and return what they say: with Train where the page is about a run; without those of
    the method where they would do nothing, and then its values stay as they are."""
    before, notes = current(SETTINGS, CONTROL)
    if before.source.name == OWN:  # as it is now: it may be gone, and a link does not carry it
        before = replace(before, source=source_of(OWN))
    with st.sidebar:
        settings = _choose_data(before)
        if methods:
            settings = _choose_method(settings)
        names = parameters(settings.method) if methods else {}
        for name in MAIN:
            if name in names and name not in settings.hidden:
                settings = steer_parameter(settings, name)
        train = st.container(gap="xsmall")
        if methods:
            settings = _choose_preset(settings)
        others = [name for name in names if name not in MAIN and name not in settings.hidden]
        if others:
            with st.expander("More parameters"):
                settings = _set_parameters(settings, others)
        settings = _choose_options(settings)
        with st.container(horizontal=True, vertical_alignment="center"):
            present = st.toggle("Present", settings.present, key=f"{CONTROL}present", help=PRESENTING)
            settings = replace(settings, present=present)
            keep(SETTINGS, settings)
            draw_share(settings)
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
    name = select("Data", names, settings.source.name, titles.__getitem__, f"{CONTROL}data")
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
            source = replace(source, **{option: slide(option, about, getattr(source, option), owner)})
        for option, about_words in words.items():
            source = replace(source, **{option: pick(option, about_words, getattr(source, option), owner)})
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
        name = select("Method", list(METHODS), settings.method.name, title, f"{CONTROL}method")
        if name != settings.method.name:
            common = {"bits": settings.method.bits, "seed": settings.method.seed}
            settings = replace(settings, method=make_method(name, **common))
    return settings


def _choose_preset(settings: Settings) -> Settings:
    method = settings.method
    offered = method.preset_names(settings.source.name)
    if not offered or "preset" in settings.hidden:
        return settings

    def apply(chosen: str | None) -> None:
        if chosen is not None:
            for name, value in method.preset_values(chosen).items():
                st.session_state[key_of(name, method.name)] = shown_value(value)

    now = method.current_preset(settings.source.name)
    lit = follow(f"{CONTROL}preset_{method.name}", now, apply)
    st.pills("Preset", offered, help="Named values; bits and seed stay.", **lit)
    return settings


def _set_parameters(settings: Settings, names: Iterable[str]) -> Settings:
    method = settings.method
    for name in names:
        if name not in settings.hidden:
            value = slide(name, parameters(method)[name], getattr(method, name), method.name)
            method = with_parameter(method, name, value)
    return replace(settings, method=method)


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


def draw_end_of_presentation() -> None:
    """The way back, where nothing else is on the screen."""
    st.button(
        "End the presentation",
        icon=":material/close_fullscreen:",
        type="tertiary",
        on_click=st.session_state.__setitem__,
        args=(f"{CONTROL}present", False),
    )
