"""Bring your own: drop a file, see what is in it and what is wrong with it, use it; private to the visit."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from smfh.datasets.own import OwnData, Preview, template
from smfh.types import InputError
from smfh.ui.address import current
from smfh.ui.data.cards import PAIRS, WANTED, choose, open_tab
from smfh.ui.items import cut, draw_item
from smfh.ui.server import forget as forget_owner
from smfh.ui.session import OWN_DATA, PINNED, SHOWN, pinned_run, shown, visitor
from smfh.ui.settings import DATA, SETTINGS, Settings, default_settings
from smfh.ui.sidebar import CONTROL, OWN_SOURCE

FORMATS = ("zip", "npz", "mat", "csv")
MEGABYTES = 200
LOOKED_AT, PROBLEMS, UPLOADS = "own_looked_at", "own_problems", "own_uploads"
SHOWN_CLASSES = 20
NAME, PROBLEM = 40, 400  # characters that are shown
CELL = 150  # pixels

HOW = """
**Pictures with captions**: a .zip of pictures and one table (.csv) with the columns `file`, `caption` and
`labels`; an item's labels are separated by `|`. Further columns such as `caption (ja)` become modalities
of their own. The features are computed here.

**Features from elsewhere**: .npz or .mat with a matrix for each modality (a row for each item) and `labels`,
if you like also `class_names` and `captions`; or a .csv with columns such as `image:1`, `image:2`, `text:1`
and `labels`.
"""
LIMITS = (
    f"Up to {MEGABYTES} MB, 20,000 pictures, 25 million pixels a picture, 2,000 classes; at least 4 items."
)
PRIVATE = "It stays with this visit: nobody else sees it, no link carries it, and it is gone with the tab."


@dataclass(frozen=True)
class LookedAt:
    """An upload that has been looked at, so that a rerun need not do it again."""

    upload: str  # Streamlit's name of it
    source: OwnData
    preview: Preview


def draw_own_data(settings: Settings) -> None:
    """From a file to data in use."""
    left, right = st.columns(2, gap="large")
    with left:
        key = f"own_upload_{_uploads()}"
        upload = st.file_uploader("Drop a file", FORMATS, key=key, max_upload_size=MEGABYTES)
        st.caption(PRIVATE)
        if OWN_SOURCE in st.session_state:
            draw_kept(settings)
    if upload is None:
        st.session_state.pop(LOOKED_AT, None)
        with right:
            draw_how()
        return
    with right:
        looked_at = look_at(upload)
        draw_summary(looked_at)
        if looked_at.preview.problems:
            draw_problems(looked_at.preview.problems)
        elif st.session_state.get(OWN_SOURCE) is not looked_at.source:
            draw_use(looked_at.source, DATA in settings.hidden)
    draw_first(looked_at.preview)
    with st.expander("What can be dropped here"):
        draw_how()


def draw_how() -> None:
    """What can be dropped, and a file to start from."""
    st.markdown(HOW)
    st.caption(LIMITS)
    st.download_button(
        "Template: 12 drawings with their table",
        template(),
        "smfh_template.zip",
        "application/zip",
        key="own_template",
        icon=":material/download:",
        on_click="ignore",
    )


def look_at(upload: Any) -> LookedAt:
    """What is in the upload, found out once; kept in this visit's state alone."""
    kept: LookedAt | None = st.session_state.get(LOOKED_AT)
    if kept is None or kept.upload != upload.file_id:
        source = OwnData(upload.getvalue(), upload.name)
        with st.spinner("Looking at every item …", show_time=True):
            kept = LookedAt(upload.file_id, source, source.preview())
        st.session_state[LOOKED_AT] = kept
        st.session_state.pop(PROBLEMS, None)
    return kept


def draw_summary(looked_at: LookedAt) -> None:
    """How much there is of what; names come from the file and are shown as plain text."""
    preview = looked_at.preview
    st.markdown("**Preview**")
    parts = [f"{cut(name, NAME)}: {what}" for name, what in preview.modalities]
    lines = [" · ".join([cut(looked_at.source.file_name, NAME), f"{preview.items:,} items", *parts])]
    if preview.classes:
        named = [f"{cut(name, NAME)} ({items:,})" for name, items in preview.classes]
        more = f" … and {len(named) - SHOWN_CLASSES:,} more" if len(named) > SHOWN_CLASSES else ""
        lines.append(f"{len(named):,} classes: {', '.join(named[:SHOWN_CLASSES])}{more}")
    for line in [*lines, *(f"Note: {note}" for note in preview.notes)]:
        st.text(line)


def draw_first(preview: Preview) -> None:
    """The first items."""
    grid = st.grid(min_column_width=CELL, border=True, key="own_first")
    for item in preview.first:
        with grid.cell():
            draw_item(item.thumbnail, item.captions, item.labels)


def draw_problems(problems: tuple[str, ...]) -> None:
    """Every one of them at once, each with what was expected."""
    many = "One thing has" if len(problems) == 1 else f"{len(problems)} things have"
    st.error(f"{many} to be put right before it can be used. Then drop the file again.")
    for problem in problems:
        st.text(f"✗ {cut(problem, PROBLEM)}")


def draw_use(source: OwnData, is_fixed: bool) -> None:
    """The button, and the progress of what follows it."""
    if is_fixed:
        st.info("The link that brought you here fixes the data. Open the app without it to use your own.")
        return
    if problems := st.session_state.get(PROBLEMS):
        draw_problems(problems)
    if not st.button("Use this data", type="primary", icon=":material/check:", key="own_use"):
        return
    bar = st.progress(0.0, "Computing features …")

    def show(share: float, what: str) -> None:
        bar.progress(min(share, 1.0), f"{what} …")

    try:
        loaded = source.load(on_progress=show)
    except InputError as error:
        st.session_state[PROBLEMS] = error.problems
        st.rerun()
    st.session_state[OWN_SOURCE], st.session_state[OWN_DATA] = source, loaded
    st.session_state[WANTED] = source
    st.rerun()


def draw_kept(settings: Settings) -> None:
    """The data that this visit has brought, and the ways on."""
    source: OwnData = st.session_state[OWN_SOURCE]
    data, split = st.session_state[OWN_DATA]
    with st.container(border=True, key="own_kept"):
        st.markdown("**Your data**")
        st.text(
            f"{cut(source.file_name, NAME)} · {len(data):,} items: {len(split.train):,} "
            f"to train, {len(split.queries):,} to ask · {len(data.class_names):,} classes"
        )
        with st.container(horizontal=True):
            if settings.source.name == OwnData.name:
                if st.button("Train on it", type="primary", icon=":material/play_arrow:", key="own_train"):
                    st.switch_page("streamlit_app.py")
                st.button("Browse it", on_click=open_tab, args=(PAIRS,), key="own_browse")
            elif DATA not in settings.hidden:
                st.button("Use it again", on_click=choose, args=(source,), key="own_again")
            st.button("Forget it", icon=":material/delete:", on_click=forget, key="own_forget")


def forget() -> None:
    """Drop the file, the data made of it, and all that was trained on it."""
    if current(SETTINGS, CONTROL)[0].source.name == OwnData.name:
        choose(default_settings().source)
    looked_at, pinned, owner = shown(), pinned_run(), visitor()
    gone = [OWN_SOURCE, OWN_DATA, LOOKED_AT, PROBLEMS]
    gone += [SHOWN] if looked_at is not None and looked_at.key.owner == owner else []
    gone += [PINNED] if pinned is not None and pinned.key.owner == owner else []
    for key in gone:
        st.session_state.pop(key, None)
    forget_owner(owner)
    st.session_state[UPLOADS] = _uploads() + 1


def _uploads() -> int:
    """A new number is a new, empty place to drop files."""
    number: int = st.session_state.get(UPLOADS, 0)
    return number
