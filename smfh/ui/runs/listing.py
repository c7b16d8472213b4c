"""What was trained: a table to search, and what can be done with one of its runs."""

from collections.abc import Sequence

import streamlit as st

from smfh.hashing.storage import hasher_file
from smfh.runs import Damaged, RunRecord, run_key
from smfh.runs.store import LONGEST_TITLE
from smfh.types import InputError
from smfh.ui.opening import open_run
from smfh.ui.plain import plain
from smfh.ui.rights import BY_ALL, OTHERS, changed_by, may_change
from smfh.ui.runs.table import CHOSEN, description, draw_table, filtered, new_table
from smfh.ui.server import load_source, run_store
from smfh.ui.session import visitor

SHARED = (
    "Runs are kept on this machine for everybody who uses this app. Own data, and what was trained on it, "
    "never are."
)


def draw_runs() -> None:
    """The table and, below it, the chosen run."""
    try:
        listing = run_store().listing()
    except InputError as error:
        st.error("The kept runs cannot be listed.")
        st.text("\n".join(error.problems))
        return
    if trouble := run_store().trouble:
        st.warning("What was trained last is not kept.", icon=":material/save:")
        st.text(trouble)
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
            _draw_chosen({run.id: run for run in runs})
        else:
            st.info("No run fits. Take away a word or a filter.")
    _draw_unused([file for file in listing.damaged if file.older], "made by an older version", "older")
    _draw_unused([file for file in listing.damaged if not file.older], "damaged", "sweep")
    st.caption(SHARED)


def _draw_chosen(runs: dict[str, RunRecord]) -> None:
    if st.session_state.get(CHOSEN) not in runs:
        st.session_state[CHOSEN] = None
    chosen = st.selectbox(
        "Run",
        list(runs),
        key=CHOSEN,
        index=None,
        on_change=new_table,
        format_func=lambda run: description(runs[run]),
        placeholder="Choose a row above, or a run here",
    )
    if chosen is not None:
        with st.container(border=True):
            _draw_orders(runs[chosen])


def _draw_orders(run: RunRecord) -> None:
    method = run.method
    if run.title:
        st.text(f"“{run.title}”")
    st.text(
        f"{run.training_items:,} training items, {run.queries:,} queries · "
        f"trained {run.when:%d %B %Y, %H:%M} UTC in {run.timing.training:.2f} s"
        f"{'' if run.is_current else ' · by an earlier version of the method, so Explore trains it again'}\n"
        f"data {run.key.data[:12]}… · run {run.id[:12]}… · "
        + ", ".join(f"{name} {text}" for name, text in run.versions.items())
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        icon = ":material/open_in_new:"
        wants_open = st.button("Open in Explore", type="primary", icon=icon, key="runs_open_button")
        st.download_button(
            "Model (.npz)",
            lambda: hasher_file(run_store().hasher(run)),
            f"{run.source.name}_{method.name}_{method.bits}_{method.seed}.npz",
            "application/octet-stream",
            icon=":material/download:",
            on_click="ignore",
            key="runs_download",
        )
        if may_change(run.maker, visitor()):
            _draw_changes(run)
    if not may_change(run.maker, visitor()):
        st.caption(OTHERS)
    if wants_open:
        _open(run)


def _draw_changes(run: RunRecord) -> None:
    field = f"runs_title_{run.id}"
    with st.popover("Rename", icon=":material/edit:"), st.form("runs_naming", border=False):
        st.session_state.setdefault(field, run.title)
        st.text_input("Title", key=field, max_chars=LONGEST_TITLE, placeholder="None")
        st.form_submit_button("Save the title", on_click=_rename, args=(run.id, field), key="runs_rename")
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown("Delete this run for everybody? Training again brings it back.")
        delete = "Yes, delete it"
        st.button(delete, type="primary", on_click=_delete, args=([run.id],), key="runs_delete")


def _open(run: RunRecord) -> None:
    """Go to Explore with the run, or say why that cannot be."""
    try:
        if missing := run.source.missing():
            raise InputError(missing)
        loaded = load_source(run.source)
        if run_key(*loaded, run.method) != run.key:
            raise InputError(
                "This run was trained on another split or version of its data, which Explore cannot show."
            )
    except InputError as error:
        st.warning("That did not work:", icon=":material/error:")
        st.text("\n".join(error.problems))
    else:
        open_run(run.source, run.method, loaded)


def _draw_unused(files: Sequence[Damaged], what: str, key: str) -> None:
    """Files that cannot be read, where there are any: nothing uses them, and they may be deleted."""
    if not files:
        return
    many = "One file is" if len(files) == 1 else f"{len(files)} files are"
    with st.expander(f"{many} {what}", icon=":material/history:" if key == "older" else ":material/warning:"):
        st.caption("They are not used. Train with the same settings again, and the run is kept anew.")
        for file in files:
            st.text(f"{file.id[:12]}… ({file.bytes / 1e6:.2f} MB): {file.problem[:300]}")
        ids, icon = [file.id for file in files], ":material/delete:"
        if changed_by() == BY_ALL:  # whoever made them, they do not tell it any more
            st.button(f"Delete what is {what}", icon=icon, on_click=_delete, args=(ids,), key=f"runs_{key}")


def _rename(id: str, field: str) -> None:
    try:
        _check_right(id)
        run_store().rename(id, st.session_state[field])
        st.toast("The title is saved.", icon=":material/check:")
    except InputError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="long")


def _check_right(id: str) -> None:
    """The file may be another's by now."""
    run = run_store().get(id)
    if not may_change("" if run is None else run.maker, visitor()):
        raise InputError(OTHERS)


def _delete(ids: Sequence[str]) -> None:
    new_table()
    try:
        for run in ids:
            _check_right(run)
            run_store().delete(run)
    except InputError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="long")
