"""The saved runs: a table with a search field, and actions on the selected run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing.storage import hasher_file
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import harmless
from smfh.runs import RunRecord, run_key
from smfh.runs.store import MAX_TITLE_CHARACTERS
from smfh.types import InputError
from smfh.ui.charts import offer_file
from smfh.ui.page import open_run
from smfh.ui.plain import draw_problems, plain
from smfh.ui.server import load_source, run_store
from smfh.ui.session import visitor
from smfh.ui.settings import unusual_in_words
from smfh.ui.visitor import ANYONE, NOT_OWNER, edit_policy, may_edit

TABLE, CHOSEN, WHEN = "runs_table", "runs_chosen", "trained (UTC)"
MAX_DIRECTIONS = 4  # columns of the table; 15 modalities would have 210 directions
SHARED = "Saved runs are visible to all visitors to this server. Uploads, and runs on them, are not saved."


def draw_runs() -> None:
    """Draw the search field, the table, the selected run, and the files that cannot be used."""
    store = run_store()
    try:
        listing = store.listing()
    except InputError as error:
        draw_problems("The saved runs cannot be listed.", error.problems)
        return
    if problem := store.save_problem:
        draw_problems("The last run could not be saved.", [problem], st.warning)
    if not listing.runs:
        st.info("There are no saved runs yet. Train a method in Explore, or start a comparison.")
    else:
        look: dict[str, Any] = {"max_chars": 200, "icon": ":material/search:", "on_change": reset_table}
        hint = "Title, data set, method, bits, parameters"
        words = st.text_input("Search", key="runs_words", placeholder=hint, **look)
        terms = (words or "").casefold().split()
        described = {run.id: f"{run.title} {description(run)}".casefold() for run in listing.runs}
        runs = [run for run in listing.runs if all(term in described[run.id] for term in terms)]
        st.caption(
            f"{len(runs):,} of {len(listing.runs):,} runs · {listing.bytes / 1e6:,.1f} MB "
            f"of {store.max_bytes / 1e9:g} GB · scores with the training items as database"
        )
        if runs:
            _draw_table(runs)
            _draw_selected({run.id: run for run in runs})
        else:
            st.info("No run matches. Remove a word.")
    if files := listing.damaged:  # or of an older version
        count, ids = "1 file" if len(files) == 1 else f"{len(files)} files", [file.id for file in files]
        with st.expander(f"{count} cannot be used", icon=":material/warning:"):
            st.caption("Training again with the same settings replaces such a file.")
            for file in files:
                st.text(f"{file.id[:12]}… ({file.bytes / 1e6:.2f} MB): {file.problem[:300]}")
            if edit_policy() == ANYONE:  # the owner of such a file cannot be read
                st.button(f"Delete {count}", "runs_sweep", None, _edit, (ids,), icon=":material/delete:")
    st.caption(SHARED)


def description(run: RunRecord) -> str:
    """Return one line about a run: data set, method, bits, seed and parameters that are not default."""
    method = run.method
    parts = [_data_text(run), method.title, f"{method.bits} bits", f"seed {method.seed}"]
    return " · ".join(filter(None, [*parts, unusual_in_words(method)]))


def _data_text(run: RunRecord) -> str:
    """Return the title of the run's data set, and its options that differ from the defaults."""
    default = DATASETS[run.source.name]()
    options = (f"{k} {v}" for k, v in asdict(run.source).items() if getattr(default, k) != v)
    return " · ".join(filter(None, [run.source.card.title, ", ".join(options)]))


def _draw_table(runs: Sequence[RunRecord]) -> None:
    """Draw the table with one row per run; a click on a row selects the run."""
    key = f"{TABLE}_{st.session_state.get(TABLE, 0)}"

    def select() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        st.session_state[CHOSEN] = runs[rows[0]].id if rows else None

    frame = runs_table(runs)
    scores = {name: st.column_config.NumberColumn(format="%.3f") for name in frame if "→" in str(name)}
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=select,
        selection_mode="single-row",
        column_config={
            "title": st.column_config.TextColumn(width="medium"),
            **scores,
            "seconds": st.column_config.NumberColumn(format="%.2f", help="Training time on this machine"),
            WHEN: st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
        alt="Saved runs with their settings, scores and training times",
    )


def runs_table(runs: Sequence[RunRecord]) -> pd.DataFrame:
    """Return a table of the runs; scores only of the most frequent directions, no empty columns."""
    counts = Counter(direction for run in runs for direction in run.directions)
    directions = [direction for direction, _ in counts.most_common(MAX_DIRECTIONS)]
    rows: list[dict[str, Any]] = []
    for run in runs:
        scores = {
            f"{' → '.join(direction)}, {AP_DEFINITIONS[name].label}": run.headline(*direction).get(name)
            for direction in directions
            for name in HEADLINE
        }
        rows.append(
            {
                "title": harmless(run.title),
                "data": _data_text(run),
                "method": run.method.title,
                "bits": run.method.bits,
                "seed": run.method.seed,
                **scores,
                "other parameters": unusual_in_words(run.method),
                "seconds": run.timing.training,
                WHEN: run.when,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.loc[:, (frame != "").any()]


def reset_table() -> None:
    """Clear the selection of the table, since its row may now show another run (callback)."""
    st.session_state[TABLE] = st.session_state.get(TABLE, 0) + 1


def _draw_selected(runs: dict[str, RunRecord]) -> None:
    """Draw the list of runs, and the details and buttons of the selected run."""
    if st.session_state.get(CHOSEN) not in runs:
        st.session_state[CHOSEN] = None
    selected = st.selectbox(
        "Run",
        list(runs),
        key=CHOSEN,
        index=None,
        on_change=reset_table,
        format_func=lambda run: description(runs[run]),
        placeholder="Select a row above, or a run here",
    )
    if selected is None:
        return
    run, method = runs[selected], runs[selected].method
    can_edit = may_edit(run.saved_by, visitor())
    with st.container(border=True):
        if run.title:
            st.text(f"“{run.title}”")
        outdated = (
            "" if run.is_current else " · by an older version of the method, so Explore trains it again"
        )
        st.text(
            f"{run.training_items:,} training items, {run.queries:,} held-out queries · "
            f"trained {run.when:%d %B %Y, %H:%M} UTC in {run.timing.training:.2f} s{outdated}\n"
            f"data {run.key.data[:12]}… · run {run.id[:12]}… · "
            + ", ".join(f"{name} {text}" for name, text in run.versions.items())
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            icon = ":material/open_in_new:"
            opens = st.button("Open in Explore", type="primary", icon=icon, key="runs_open_button")
            name = f"{run.source.name}_{method.name}_{method.bits}_{method.seed}.npz"
            make, mime = lambda: hasher_file(run_store().hasher(run)), "application/octet-stream"
            offer_file("Model (.npz)", make, name, mime, "runs_download")
            if can_edit:
                field = f"runs_title_{run.id}"
                with st.popover("Rename", icon=":material/edit:"), st.form("runs_naming", border=False):
                    st.session_state.setdefault(field, run.title)
                    st.text_input("Title", key=field, max_chars=MAX_TITLE_CHARACTERS, placeholder="No title")
                    args = ([run.id], field)
                    st.form_submit_button("Save title", on_click=_edit, args=args, key="runs_rename")
                with st.popover("Delete", icon=":material/delete:"):
                    st.markdown("Delete this run for all visitors? You can train it again.")
                    st.button("Delete run", "runs_delete", None, _edit, ([run.id],), type="primary")
        if not can_edit:
            st.caption(NOT_OWNER)
        if opens:
            _open(run)


def _open(run: RunRecord) -> None:
    """Open the run in Explore, or draw why this is not possible."""
    try:
        if missing := run.source.missing():
            raise InputError(missing)
        loaded = load_source(run.source)
        if run_key(*loaded, run.method) != run.key:
            raise InputError(
                "This run was trained on another split or version of its data set, which Explore cannot show."
            )
    except InputError as error:
        draw_problems("The run cannot be opened:", error.problems, st.warning)
    else:
        open_run(run.source, run.method, loaded)


def _edit(ids: Sequence[str], title_key: str = "") -> None:
    """Rename a run as the control `title_key` says; without a `title_key`, delete the runs (callback).

    The rights are checked again, because the policy may have changed since the button was drawn.
    """
    if not title_key:
        reset_table()
    try:
        for name in ids:
            run = run_store().get(name)
            if not may_edit("" if run is None else run.saved_by, visitor()):
                raise InputError(NOT_OWNER)
            if title_key:
                run_store().rename(name, st.session_state[title_key])
                st.toast("Title saved.", icon=":material/check:")
            else:
                run_store().delete(name)
    except InputError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="long")
