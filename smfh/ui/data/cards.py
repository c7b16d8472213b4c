"""The data sets as cards: a description, whether files are missing, and buttons to use or download."""

import os
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from smfh.datasets import DATASETS, DatasetSource, found_files
from smfh.folders import DATA_FOLDER
from smfh.hashing import CMFH
from smfh.jobs import Job, JobContext
from smfh.plugins import load_plugins
from smfh.types import InputError
from smfh.ui.address import current, keep
from smfh.ui.items import caption_of, pictures_of
from smfh.ui.page import is_over, steer, watch_job
from smfh.ui.plain import draw_problems, plain
from smfh.ui.server import Loaded, data_queue, forget_sources, peek_source
from smfh.ui.session import UPLOAD, current_upload, load, visitor
from smfh.ui.settings import DATA, SETTINGS, Settings
from smfh.ui.sidebar import CONTROL, source_of

CARD_PIXELS, STRIP_PIXELS = 320, 48
STRIP_PICTURES = 6
TAB, PAIRS, UPLOAD_TAB = "data_tab", "Browse pairs", "Upload"
TABS = ("Data sets", PAIRS, UPLOAD_TAB)
REQUESTED = "requested_data"  # the name of a data set that the sidebar has not selected yet
DOWNLOAD = "download_"  # with the name of a data set: session key of the visitor's last download of it
DOWNLOAD_POLL_SECONDS = 1.0


def choose(name: str) -> None:
    """Select a data set in the sidebar; call this before the sidebar is drawn, as in a callback.

    For data without labels, a method that learns from labels is replaced by one that does not. The
    argument is only a name, because Streamlit stores arguments of callbacks until the session ends.
    """
    settings = replace(current(SETTINGS, CONTROL)[0], source=source_of(name))
    upload, method = current_upload(), settings.method
    if name == UPLOAD and upload and not upload.loaded[0].has_labels and method.uses_labels:
        best = CMFH(bits=method.bits, seed=method.seed).preset_values(CMFH.best)
        settings = replace(settings, method=CMFH(bits=method.bits, seed=method.seed, **best))
        st.session_state[f"{CONTROL}method"] = CMFH.name
    keep(SETTINGS, settings)
    st.session_state[f"{CONTROL}data"] = name


def choose_requested() -> None:
    """Select the data set that was requested after the sidebar was drawn; on a first visit, select the tab, too."""
    if REQUESTED in st.session_state:
        choose(st.session_state.pop(REQUESTED))
    if DATA_FOLDER in os.environ:
        st.session_state.setdefault(TAB, UPLOAD_TAB)


def open_tab(tab: str) -> None:
    st.session_state[TAB] = tab


def draw_cards(settings: Settings) -> None:
    """Draw a card for each data set; then load the selected one and complete its card."""
    uploads = [source_of(UPLOAD)] if current_upload() else []
    known = sorted((source() for source in DATASETS.values()), key=lambda source: bool(source.missing()))
    grid = st.grid(min_column_width=CARD_PIXELS, border=True, key="data_cards")
    bodies: dict[str, DeltaGenerator] = {}
    for source in [*uploads, *known]:
        with grid.cell():
            is_used = source.name == settings.source.name
            bodies[source.name] = draw_card(settings.source if is_used else source, settings)
    for plugin in load_plugins():
        added = ", ".join([*plugin.methods, *plugin.datasets])
        st.text(f"Plug-in {plugin.origin}: {f'skipped. {plugin.problem}' if plugin.problem else added}")
    source = settings.source
    if source.missing() or find_loaded(source):
        return
    try:
        with bodies[source.name].container():
            draw_body(source, None)
            loaded = load(settings)
        with bodies[source.name].container():
            draw_body(source, loaded)
    except InputError as error:
        bodies[source.name].text("\n".join(error.problems))


def draw_card(source: DatasetSource, settings: Settings) -> DeltaGenerator:
    """Draw the card of a data set, and return the placeholder for its description."""
    card, missing, is_used = source.card, source.missing(), source.name == settings.source.name
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(card.title, anchor=False)
        if missing:
            st.badge("Files missing", icon=":material/folder_off:", color="orange")
        elif is_used:
            st.badge("In use", icon=":material/check:", color="green")
        else:
            st.badge("Ready")
    body = st.empty()
    with body.container():
        draw_body(source, find_loaded(source))
    if missing:
        draw_download(source)
        found = found_files(card)
        with st.expander(f"Required files: {len(found)} of {len(card.files)} found"):
            lines = [f"Expected in {card.folder}/ below the data folder:"]
            lines += [f"{'✓' if file in found else '✗'} {file}" for file in card.files]
            st.text("\n".join([*lines, "", *missing]))
    with st.expander("Terms"):
        st.caption(f"**Terms.** {card.terms}\n\n**Source.** {card.origin}")
        if not missing:
            draw_download(source)
    if is_used and not missing:
        st.button("Browse pairs", on_click=open_tab, args=(PAIRS,), key="browse_chosen")
    elif not missing:
        is_fixed, key = DATA in settings.hidden, f"use_{source.name}"
        reason = "The link you opened sets the data set." if is_fixed else None
        st.button("Use", on_click=choose, args=(source.name,), disabled=is_fixed, help=reason, key=key)
    return body


def find_loaded(source: DatasetSource) -> Loaded | None:
    """Return the data of a card if it is in memory, otherwise None; nothing is loaded."""
    if source.name != UPLOAD:
        return peek_source(source)
    return upload.loaded if (upload := current_upload()) else None


def draw_body(source: DatasetSource, loaded: Loaded | None) -> None:
    """Draw the description of a data set; if it is loaded, also a few items and exact numbers."""
    with st.container(gap="small"):
        if loaded is not None:
            data = loaded[0]
            rows = np.linspace(0, len(data) - 1, min(STRIP_PICTURES, len(data))).astype(int).tolist()
            with st.container(horizontal=True, gap="xxsmall"):
                for row, picture in zip(rows, pictures_of(data, rows, None), strict=True):
                    st.image(picture, width=STRIP_PIXELS, alt=caption_of(data, row))
        st.caption(source.card.about)
        if loaded is None:
            st.text(source.card.size)
            return
        data, split = loaded
        modalities = [f"{name} ({X.shape[1]:,} dimensions)" for name, X in data.modalities.items()]
        items = f"{len(data):,} items: {len(split.train):,} training items, {len(split.queries):,} held-out"
        st.text(f"{items} queries\n{' + '.join(modalities)}\n{len(data.class_names):,} classes")


def draw_download(source: DatasetSource) -> None:
    """Draw the download button, or the progress of a download that any visitor started."""
    if not source.can_be_fetched:
        return
    running = data_queue().find(("fetch", source.name))
    if running is not None and not running.over:
        key, icon = f"stop_{source.name}", ":material/close:"
        st.button("Cancel", icon=icon, on_click=steer, args=(running.cancel,), key=key)
        first = [(0.0, "Connecting …")]
        draw = partial(lambda job: st.progress(*(job.reports or first)[-1]), running)
        watch_job(running, False, draw, is_over, DOWNLOAD_POLL_SECONDS)
        return
    label = "Download" if source.missing() else "Download again"
    key, icon = f"fetch_{source.name}", ":material/download:"
    st.button(label, on_click=start_download, args=(source.name,), key=key, icon=icon)
    job: Job[None] | None = st.session_state.get(DOWNLOAD + source.name)
    if job is not None and job.state == "cancelled":
        st.caption("Download cancelled. Nothing was saved.")
    elif job is not None and job.state == "failed":
        remedy = (
            "If this computer cannot reach the address, download the archive on another one, and put "
            f"{', '.join(source.card.files)} from it into {source.card.folder}/ below the data folder."
        )
        draw_problems("The download failed. Nothing was saved.", [*job.problems, remedy])


def start_download(name: str) -> None:
    """Start a download that all visitors share, when a button is pressed; then load the data set again."""
    source = DATASETS[name]()

    def work(context: JobContext) -> None:
        source.fetch(lambda share, step: context.report((min(share, 1.0), step)))
        forget_sources(lambda key: isinstance(key, DatasetSource) and key.name == name)

    try:
        job = data_queue().submit(("fetch", name), work, visitor(), rerun=True)
        st.session_state[DOWNLOAD + name] = job
    except InputError as error:
        st.toast(plain(" ".join(error.problems)))
