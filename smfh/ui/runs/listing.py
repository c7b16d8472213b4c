"""What was trained: a table to search, and what can be done with one of its runs."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from smfh.hashing.storage import hasher_file
from smfh.runs import Damaged, RunRecord
from smfh.types import InputError
from smfh.ui.address import current
from smfh.ui.opening import open_settings
from smfh.ui.runs.table import CHOSEN, description, draw_table, filtered, new_table
from smfh.ui.server import run_store
from smfh.ui.session import key_of, load, start
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.sidebar import CONTROL

OPEN, SAID = "runs_open", "runs_said"
LONGEST_TITLE = 80
SHARED = (
    "Runs are kept on this machine for everybody who uses this app. Own data, and what was trained on it, "
    "never are."
)


def open_wanted() -> None:
    """Go to Explore with the run that was asked for; before anything of this page is drawn."""
    if (record := st.session_state.pop(OPEN, None)) is None:
        return
    settings = Settings(record.source, record.method, current(SETTINGS, CONTROL)[0].hidden)
    if missing := settings.source.missing():
        say(*missing)
        return
    try:
        loaded = load(settings)
        if key_of(settings, loaded) != record.key:
            say("This run was trained on another split or version of its data, which Explore cannot show.")
            return
        if not record.is_current:
            say("An earlier version of the method trained this run: Explore trains it again.")
        start(settings, loaded)
    except InputError as error:
        say(*error.problems)
        return
    open_settings(settings)


def say(*problems: str) -> None:
    """Tell it when the page is drawn."""
    st.session_state[SAID] = problems


def draw_runs() -> None:
    """The table and, below it, the chosen run."""
    for problem in st.session_state.pop(SAID, ()):
        st.warning("That did not work:", icon=":material/error:")
        st.text(problem)
    try:
        listing = run_store().listing()
    except InputError as error:
        st.error("The kept runs cannot be listed.")
        st.text("\n".join(error.problems))
        return
    if not listing.runs:
        st.info("Nothing is kept yet. Train a method in Explore, or run a comparison, and it appears here.")
    else:
        runs = filtered(listing.runs)
        st.caption(
            f"{len(runs):,} of {len(listing.runs):,} runs · {listing.bytes / 1e6:,.1f} MB "
            f"of {run_store().limit / 1e9:g} GB · mAP@100 with the training set as database"
        )
        if runs:
            draw_table(runs)
            _draw_chosen(runs)
        else:
            st.info("No run fits. Take away a word or a filter.")
    if listing.damaged:
        _draw_damaged(listing.damaged)
    st.caption(SHARED)


def _draw_chosen(runs: Sequence[RunRecord]) -> None:
    by_id = {run.id: run for run in runs}
    if st.session_state.get(CHOSEN) not in by_id:
        st.session_state[CHOSEN] = None
    chosen = st.selectbox(
        "Run",
        list(by_id),
        key=CHOSEN,
        index=None,
        on_change=new_table,
        format_func=lambda run: description(by_id[run]),
        placeholder="Choose a row above, or a run here",
    )
    if chosen is not None:
        _draw_orders(by_id[chosen])


def _draw_orders(run: RunRecord) -> None:
    with st.container(border=True, key="runs_panel"):
        if run.title:
            st.text(f"“{run.title}”")
        st.text(
            f"{run.training_items:,} training items, {run.queries:,} queries · "
            f"trained {run.when:%d %B %Y, %H:%M} UTC in {run.timing.training:.2f} s"
            f"{'' if run.is_current else ' · by an earlier version of the method'}\n"
            f"data {run.key.data[:12]}… · run {run.id[:12]}… · "
            + ", ".join(f"{name} {text}" for name, text in run.versions.items())
        )
        with st.container(horizontal=True, vertical_alignment="bottom", key="runs_orders"):
            st.button(
                "Open in Explore",
                type="primary",
                icon=":material/open_in_new:",
                on_click=_want,
                args=(run,),
                key="runs_open_button",
            )
            st.download_button(
                "Model (.npz)",
                partial(_model_file, run),
                f"{run.source.name}_{run.method.name}_{run.method.bits}_{run.method.seed}.npz",
                "application/octet-stream",
                icon=":material/download:",
                on_click="ignore",
                key="runs_download",
            )
            with st.popover("Rename", icon=":material/edit:"), st.form("runs_naming", border=False):
                field = f"runs_title_{run.id}"
                st.session_state.setdefault(field, run.title)
                st.text_input("Title", key=field, max_chars=LONGEST_TITLE, placeholder="None")
                st.form_submit_button(
                    "Save the title", on_click=_rename, args=(run.id, field), key="runs_rename"
                )
            with st.popover("Delete", icon=":material/delete:"):
                st.markdown("Delete this run for everybody? Training again brings it back.")
                st.button(
                    "Yes, delete it", type="primary", on_click=_delete, args=([run.id],), key="runs_delete"
                )


def _draw_damaged(damaged: Sequence[Damaged]) -> None:
    """Files that cannot be read: nothing uses them, and training again replaces them."""
    many = "One file is" if len(damaged) == 1 else f"{len(damaged)} files are"
    with st.expander(f"{many} damaged", icon=":material/warning:"):
        st.caption("They are not used. A training with the same settings replaces its file.")
        for file in damaged:
            st.text(f"{file.id[:12]}… ({file.bytes / 1e6:.2f} MB): {file.problem[:300]}")
        st.button(
            "Delete what is damaged",
            icon=":material/delete:",
            on_click=_delete,
            args=([file.id for file in damaged],),
            key="runs_sweep",
        )


def _model_file(run: RunRecord) -> bytes:
    return hasher_file(run_store().hasher(run))


def _want(run: RunRecord) -> None:
    st.session_state[OPEN] = run


def _rename(id: str, field: str) -> None:
    try:
        run_store().rename(id, st.session_state[field])
        st.toast("The title is saved.", icon=":material/check:")
    except InputError as error:
        say(*error.problems)


def _delete(ids: Sequence[str]) -> None:
    new_table()
    try:
        for run in ids:
            run_store().delete(run)
    except InputError as error:
        say(*error.problems)
