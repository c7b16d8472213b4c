"""Bring your own: drop a file, see what is in it and what is wrong with it, use it; private to the visit."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

import streamlit as st

from smfh.datasets import load_set
from smfh.datasets.own import OwnData, Preview, example_archive
from smfh.datasets.own_rows import SEPARATORS, Columns
from smfh.files.arrays import MAX_ARRAY_BYTES
from smfh.runs import check_own, current_limits
from smfh.types import InputError
from smfh.ui import address, server
from smfh.ui.data.cards import PAIRS, WANTED, choose, open_tab
from smfh.ui.items import cut, draw_item
from smfh.ui.log import tell_upload, told_refusal
from smfh.ui.session import GONE, OWN, own_data, visitor
from smfh.ui.settings import DATA, SETTINGS, Settings
from smfh.ui.sidebar import CONTROL

FORMATS = ("zip", "npz", "mat", "csv")
MEGABYTES = st.get_option("server.maxUploadSize")
UPLOADED, PREVIEWED, UPLOADERS = "own_uploaded", "own_previewed", "own_uploaders"
MENU = "own_menu_"  # keys of the menus that say how a table is read
SEPARATOR = f"{MENU}separator"
SHOWN_CLASSES = 20
NAME, PROBLEM = 40, 400  # characters that are shown
CELL = 150  # pixels

HOW = """
**Pictures with captions**: a .zip of pictures, in folders or not, and one table (.csv) that tells each one's
file, caption and labels. Columns are known by names such as `file`, `caption` and `labels`, or you say which
they are; labels stand between `|`, `;` or `,`. Further columns such as `caption (ja)` become modalities
of their own. The features are computed here.

**Features from elsewhere**: .npz or .mat with a matrix for each modality (a row for each item) and `labels`,
if you like also `class_names` and `captions`; or a .csv with columns such as `image:1`, `image:2`, `text:1`
and `labels`. Files as this field shares them are read as they are: `I_tr`, `I_te`, `T_tr`, `T_te`, `L_tr`,
`L_te` (or `XTrain`, `XTest`, …) with their split, or `IAll`, `TAll`, `LAll`.
"""
LIMITS = (
    f"Up to {MEGABYTES} MB, 20,000 pictures, 25 million pixels a picture, 2,000 classes; at least 4 items."
)
PRIVATE = (
    "It stays in memory, never on disk, and nobody else sees it. A reload keeps it; it is gone an hour after "
    "your last visit, or as soon as you forget it."
)

T = TypeVar("T")


def draw_own_data(settings: Settings) -> None:
    """From a file to data in use."""
    left, right = st.columns(2, gap="large")
    with left:
        key = f"own_upload_{st.session_state.get(UPLOADERS, 0)}"
        upload = st.file_uploader("Drop a file", FORMATS, key=key)
        st.caption(PRIVATE)
        if (own := own_data()) is not None:
            draw_brought(own, settings)
        elif settings.source.name == OWN:
            st.info(GONE)
    with right:
        if upload is None:
            st.session_state.pop(UPLOADED, None)
            st.session_state.pop(PREVIEWED, None)
            draw_how()
            return
        source = draw_menus(read_upload(upload))
        st.session_state[UPLOADED] = (upload.file_id, source)
        preview = preview_of(source)
        draw_summary(source.file_name, preview)
        if preview.problems:
            draw_problems(preview.problems, preview.columns is not None)
        elif own is None or own.source is not source:
            draw_use(source, preview.columns is not None, DATA in settings.hidden)
    grid = st.grid(min_column_width=CELL, border=True, key="own_first")
    for item in preview.first:
        with grid.cell():
            draw_item([item.thumbnail] if item.thumbnail else [], item.captions, item.labels)
    with st.expander("What can be dropped here"):
        draw_how()


def draw_how() -> None:
    """What can be dropped, and a file to start from."""
    st.markdown(HOW)
    st.caption(LIMITS)
    words, name = "Template: 12 drawings with their table", "smfh_template.zip"
    icon = ":material/download:"
    st.download_button(words, example_archive(), name, key="own_template", icon=icon, on_click="ignore")


def read_upload(upload: Any) -> OwnData:
    """The upload as data, the same at every run, so that no picture is decoded twice."""
    if st.session_state.get(UPLOADED, ("",))[0] != upload.file_id:
        st.session_state[UPLOADED] = (upload.file_id, _brought_as(upload))
        address.forget(MENU)
    source: OwnData = st.session_state[UPLOADED][1]
    return source


def _brought_as(upload: Any) -> OwnData:
    """The file with what it may unpack to here."""
    return OwnData(
        upload.getvalue(), upload.name, most_bytes=min(MAX_ARRAY_BYTES, current_limits().data_bytes)
    )


def preview_of(source: OwnData) -> Preview:
    """What is in the data, looked at once; kept in this visit's state alone."""
    known: tuple[OwnData, Preview] | None = st.session_state.get(PREVIEWED)
    if known is None or known[0] is not source:
        began = perf_counter()
        preview, looks = with_progress(OwnData.look, source, "Looking at every item")
        source.remember(looks)
        known = st.session_state[PREVIEWED] = (source, preview)
        size = len(source.content) if isinstance(source.content, bytes) else 0
        tell_upload("data", visitor(), size, perf_counter() - began, len(preview.problems))
    return known[1]


def with_progress(work: Callable[..., T], source: OwnData, words: str) -> T:
    """What the work makes of the file, in another process, under a bar that shows how far it is."""
    bar, place = st.progress(0.0, f"{words} …"), st.empty()  # whoever leaves ends it: nothing is drawn there

    def tell(share: float, what: str) -> None:
        bar.progress(min(share, 1.0), f"{what} …")

    try:
        return server.reading().call(work, source, on_progress=tell, check=lambda: place.empty())
    finally:
        bar.empty()


def draw_menus(source: OwnData) -> OwnData:
    """The data as it is to be read: what the columns of a table of pictures hold, with the guess preset."""
    preview = preview_of(source)
    if (guess := preview.columns) is None:
        return source
    preset = {"picture": guess.picture, "captions": list(guess.captions), "labels": guess.labels}
    for name, value in preset.items():
        st.session_state.setdefault(MENU + name, value)
    headings = ["", *filter(None, preview.headings)]
    left, right = st.columns(2)
    with left:
        picture = st.selectbox("Pictures", headings, key=f"{MENU}picture", format_func=_or_none)
        captions = st.multiselect("Captions", headings[1:], key=f"{MENU}captions")
    with right:
        labels = st.selectbox(
            "Labels", headings, key=f"{MENU}labels", format_func=_or_none, on_change=_guess_separator
        )
    columns = Columns(picture, tuple(captions), labels)
    if columns != guess:
        source = source.read_as(columns, "")
        preview = preview_of(source)
    if preview.separator:
        st.session_state.setdefault(SEPARATOR, preview.separator)
        with right:
            separator = st.segmented_control("Between labels", SEPARATORS, required=True, key=SEPARATOR)
        if separator and separator != preview.separator:
            source = source.read_as(columns, separator)
    return source


def _or_none(heading: str) -> str:
    return heading or "(none)"


def _guess_separator() -> None:
    st.session_state.pop(SEPARATOR, None)


def draw_summary(file_name: str, preview: Preview) -> None:
    """How much there is of what; names come from the file and are shown as plain text."""
    st.markdown("**Preview**")
    parts = [f"{cut(name, NAME)}: {what}" for name, what in preview.modalities]
    items = [f"{preview.items:,} items"] if preview.items else []
    lines = [" · ".join([cut(file_name, NAME), *items, *parts])]
    if preview.classes:
        named = [f"{cut(name, NAME)} ({items:,})" for name, items in preview.classes]
        more = f" … and {len(named) - SHOWN_CLASSES:,} more" if len(named) > SHOWN_CLASSES else ""
        lines.append(f"{len(named):,} classes: {', '.join(named[:SHOWN_CLASSES])}{more}")
    for line in [*lines, *(f"Note: {note}" for note in preview.notes)]:
        st.text(line)


def draw_problems(problems: tuple[str, ...], has_menus: bool) -> None:
    """Every one of them at once, each with what was expected."""
    many = "One thing has" if len(problems) == 1 else f"{len(problems)} things have"
    way = "Choose other columns above, or change the file and drop it" if has_menus else "Then drop the file"
    st.error(f"{many} to be put right before it can be used. {way} again.")
    for problem in problems:
        st.text(f"✗ {cut(problem, PROBLEM)}")


def draw_use(source: OwnData, has_menus: bool, is_fixed: bool) -> None:
    """The button, and the progress of what follows it."""
    if is_fixed:
        st.info("The link that brought you here fixes the data. Open the app without it to use your own.")
    elif st.button("Use this data", type="primary", icon=":material/check:", key="own_use"):
        try:
            loaded = with_progress(load_set, source, "Computing features")
            with told_refusal("data", visitor()):
                check_own(loaded[0], current_limits())
        except InputError as error:
            draw_problems(error.problems, has_menus)
            return
        server.bring(visitor(), source, loaded)
        st.session_state[WANTED] = OWN
        st.rerun()


def draw_brought(own: server.Brought, settings: Settings) -> None:
    """The data that the visitor has brought, and the ways on."""
    data, split = own.loaded
    with st.container(border=True, key="own_brought"):
        st.markdown("**Your data**")
        st.text(
            f"{cut(own.source.file_name, NAME)} · {len(data):,} items: {len(split.train):,} "
            f"to train, {len(split.queries):,} to ask · {len(data.class_names):,} classes"
        )
        with st.container(horizontal=True):
            if settings.source.name == OWN:
                if st.button("Train on it", type="primary", icon=":material/play_arrow:", key="own_train"):
                    st.switch_page("streamlit_app.py")
                st.button("Browse it", on_click=open_tab, args=(PAIRS,), key="own_browse")
            elif DATA not in settings.hidden:
                st.button("Use it again", on_click=choose, args=(OWN,), key="own_again")
            st.button("Forget it", icon=":material/delete:", on_click=forget, key="own_forget")


def forget() -> None:
    """Drop the file, the data made of it, and all that was trained on it or found in it.

    No other set takes its place: what was asked of it is asked of nothing else.
    """
    server.forget(visitor())
    own_data()
    if address.current(SETTINGS, CONTROL)[0].source.name == OWN:
        choose(OWN)
    uploaders = st.session_state.get(UPLOADERS, 0) + 1
    for controls in ("own_", "browse_"):
        address.forget(controls)
    st.session_state[UPLOADERS] = uploaders  # a new number is a new, empty place to drop files
