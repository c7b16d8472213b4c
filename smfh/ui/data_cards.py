"""The data sets as cards: what each is, whether it is ready, and a button to use it."""

from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from smfh.datasets import DATASETS, DatasetSource, data_root, found_files
from smfh.types import InputError
from smfh.ui.gallery import caption_of
from smfh.ui.items import pictures_of
from smfh.ui.session import Loaded, load, shelf
from smfh.ui.settings import DATA, Settings
from smfh.ui.sidebar import KEPT

CARD, STRIP, STRIP_PICTURE = 320, 6, 44  # pixels, pictures, pixels
CONTROL, WANTED = "control_data", "wanted_data"  # the sidebar's key, and a choice it has not yet taken


def choose(source: DatasetSource) -> None:
    """Make it the data of the sidebar; only before the sidebar is drawn, as in a callback."""
    st.session_state[KEPT] = replace(st.session_state[KEPT], source=source)
    st.session_state[CONTROL] = source.name


def choose_wanted() -> None:
    """Take what was asked for while the page was drawn, when it was too late for the sidebar."""
    if WANTED in st.session_state:
        choose(st.session_state.pop(WANTED))


def draw_cards(settings: Settings) -> None:
    """All cards at once; the pictures of the set in use follow, as they may have to be made."""
    grid = st.grid(min_column_width=CARD, border=True, key="data_cards")
    strip: DeltaGenerator | None = None
    for source in known_sources(settings):
        in_use = source.name == settings.source.name
        with grid.cell():
            place = draw_card(source, in_use, DATA in settings.hidden)
        strip = place if in_use else strip
    if strip is not None and not settings.source.missing():
        with strip.container():
            try:
                loaded = load(settings)
            except InputError as error:
                st.text("\n".join(error.problems))
                return
        with strip.container():
            draw_strip(loaded)


def known_sources(settings: Settings) -> list[DatasetSource]:
    """The visitor's own data first, then every set, the one in use with its options."""
    own = [st.session_state["own_source"]] if "own_source" in st.session_state else []
    every = [source() for source in DATASETS.values()]
    return [settings.source if source.name == settings.source.name else source for source in [*own, *every]]


def draw_card(source: DatasetSource, in_use: bool, is_fixed: bool) -> DeltaGenerator:
    """What a person wants to know before using it; returns the place for its pictures."""
    card, missing = source.card, source.missing()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"#### {card.title}", width="stretch")
        if in_use:
            st.badge("In use", icon=":material/check:", color="green")
        elif missing:
            st.badge("Needs its files", icon=":material/folder_off:", color="orange")
        else:
            st.badge("Ready", color="blue")
    strip = st.empty()
    if source in shelf() and not in_use:
        with strip.container():
            draw_strip(shelf().get(source, lambda share, what: None))
    st.caption(card.about)
    st.markdown(f"**Size** · {card.size}")
    if missing:
        draw_needs(source, missing)
    with st.expander("Terms and where it comes from"):
        st.caption(f"**Terms.** {card.terms}\n\n**Where to get it.** {card.origin}")
    st.button(
        "In use" if in_use else "Use",
        key=f"use_{source.name}",
        on_click=choose,
        args=(source,),
        disabled=in_use or bool(missing) or is_fixed,
        help="The link that brought you here fixes the data." if is_fixed else None,
    )
    return strip


def draw_needs(source: DatasetSource, missing: list[str]) -> None:
    """Which files are expected and which of them are there."""
    card, found = source.card, found_files(source.card)
    with st.expander(f"What it needs: {len(found)} of {len(card.files)} files found"):
        where = "the folder that SMFH_DATA names" if data_root() is None else "the data folder"
        lines = [f"Expected in {card.folder}/ below {where}:"]
        lines += [f"{'✓' if file in found else '✗'} {file}" for file in card.files]
        st.text("\n".join([*lines, "", *missing]))


def draw_strip(loaded: Loaded) -> None:
    """Some of its items, and what it consists of as it is loaded."""
    data, split = loaded
    rows = np.linspace(0, len(data) - 1, min(STRIP, len(data))).astype(int).tolist()
    st.image(pictures_of(data, rows, None), width=STRIP_PICTURE, alt=[caption_of(data, row) for row in rows])
    kinds = [f"{name} ({X.shape[1]:,} dimensions)" for name, X in data.modalities.items()]
    st.text(
        f"{len(data):,} items: {len(split.train):,} to train, {len(split.queries):,} to ask · "
        f"{' + '.join(kinds)} · {len(data.class_names):,} classes"
    )
