"""The data sets as cards: what each is, whether it is ready, and a button to use it."""

from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from smfh.datasets import DATASETS, DatasetCard, DatasetSource, data_root, found_files
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.address import current, keep
from smfh.ui.data.fetch import draw_fetch
from smfh.ui.gallery import caption_of
from smfh.ui.items import pictures_of
from smfh.ui.server import Loaded, peek_source
from smfh.ui.session import OWN, load, own_data
from smfh.ui.settings import DATA, SETTINGS, Settings
from smfh.ui.sidebar import CONTROL, source_of

CARD, STRIP, STRIP_PICTURE = 320, 6, 48  # pixels, pictures, pixels
TAB, PAIRS = "data_tab", "Browse pairs"
TABS = ("Data sets", PAIRS, "Bring your own")
WANTED = "wanted_data"  # the name of a choice that the sidebar has not yet taken


def choose(name: str) -> None:
    """Make it the data of the sidebar; only before the sidebar is drawn, as in a callback.

    It takes a name, as Streamlit keeps what callbacks are given until the visit ends.
    """
    keep(SETTINGS, replace(current(SETTINGS, CONTROL)[0], source=source_of(name)))
    st.session_state[f"{CONTROL}data"] = name


def choose_wanted() -> None:
    """Take what was asked for while the page was drawn, when it was too late for the sidebar."""
    if WANTED in st.session_state:
        choose(st.session_state.pop(WANTED))


def open_tab(tab: str) -> None:
    st.session_state[TAB] = tab


def draw_cards(settings: Settings) -> None:
    """All cards at once; what the set in use holds follows, as it may have to be made first."""
    grid = st.grid(min_column_width=CARD, border=True, key="data_cards")
    bodies: dict[str, DeltaGenerator] = {}
    for source in known_sources(settings):
        with grid.cell():
            bodies[source.name] = draw_card(source, settings)
    source = settings.source
    if source.missing() or peek(source):
        return
    with bodies[source.name].container():
        draw_body(source, None)
        try:
            loaded = load(settings)
        except InputError as error:
            st.text("\n".join(error.problems))
            return
    with bodies[source.name].container():
        draw_body(source, loaded)


def known_sources(settings: Settings) -> list[DatasetSource]:
    """The visitor's own data, then what is ready, then the rest; the one in use with its options."""
    own = [source_of(OWN)] if own_data() else []
    every = sorted((source() for source in DATASETS.values()), key=lambda source: bool(source.missing()))
    return [settings.source if source.name == settings.source.name else source for source in [*own, *every]]


def draw_card(source: DatasetSource, settings: Settings) -> DeltaGenerator:
    """What a person wants to know before using it; returns the place of its body."""
    card, missing, in_use = source.card, source.missing(), source.name == settings.source.name
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(card.title, anchor=False)
        if missing:
            st.badge("Needs its files", icon=":material/folder_off:", color="orange")
        elif in_use:
            st.badge("In use", icon=":material/check:", color="green")
        else:
            st.badge("Ready")
    body = st.empty()
    with body.container():
        draw_body(source, peek(source))
    if missing:
        draw_fetch(source)
        draw_needs(card, missing)
    with st.expander("Terms, and where to get it"):
        st.caption(f"**Terms.** {card.terms}\n\n**Where to get it.** {card.origin}")
        if not missing:
            draw_fetch(source)
    if in_use and not missing:
        st.button("Browse its pairs", on_click=open_tab, args=(PAIRS,), key="browse_chosen")
    elif not missing:
        is_fixed, key = DATA in settings.hidden, f"use_{source.name}"
        why_not = "The link that brought you here fixes the data." if is_fixed else None
        st.button("Use", on_click=choose, args=(source.name,), disabled=is_fixed, help=why_not, key=key)
    return body


def peek(source: DatasetSource) -> Loaded | None:
    """The data where it is in memory; nothing is loaded for a card."""
    if source.name != OWN:
        return peek_source(source)
    return own.loaded if (own := own_data()) else None


def draw_body(source: DatasetSource, loaded: Loaded | None) -> None:
    """Some pictures and true figures where it is loaded, else what is said of it."""
    with st.container(gap="small"):
        if loaded is not None:
            draw_strip(loaded[0])
        st.caption(source.card.about)
        st.text(source.card.size if loaded is None else in_figures(*loaded))


def draw_strip(data: MultimodalDataset) -> None:
    """A few items from all over the set."""
    rows = np.linspace(0, len(data) - 1, min(STRIP, len(data))).astype(int).tolist()
    with st.container(horizontal=True, gap="xxsmall"):
        for row, picture in zip(rows, pictures_of(data, rows, None), strict=True):
            st.image(picture, width=STRIP_PICTURE, alt=caption_of(data, row))


def in_figures(data: MultimodalDataset, split: Split) -> str:
    """How many items, modalities and classes."""
    kinds = [f"{name} ({X.shape[1]:,} dimensions)" for name, X in data.modalities.items()]
    return (
        f"{len(data):,} items: {len(split.train):,} to train, {len(split.queries):,} to ask\n"
        f"{' + '.join(kinds)}\n{len(data.class_names):,} classes"
    )


def draw_needs(card: DatasetCard, missing: list[str]) -> None:
    """Which files are expected and which of them are there."""
    found = found_files(card)
    with st.expander(f"What it needs: {len(found)} of {len(card.files)} files found"):
        where = "the folder that SMFH_DATA names" if data_root() is None else "the data folder"
        lines = [f"Expected in {card.folder}/ below {where}:"]
        lines += [f"{'✓' if file in found else '✗'} {file}" for file in card.files]
        st.text("\n".join([*lines, "", *missing]))
