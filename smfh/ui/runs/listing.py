"""The list of saved runs, as a table or cards with a search field, and the actions on the selected run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from smfh.hashing.storage import hasher_file
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import harmless
from smfh.runs import RunRecord
from smfh.runs.store import MAX_NOTE_CHARACTERS, MAX_TITLE_CHARACTERS
from smfh.types import InputError
from smfh.ui.charts import offer_file
from smfh.ui.plain import draw_problems
from smfh.ui.runs.gallery import PAGE, draw_cards, draw_comparison, select_to_compare
from smfh.ui.runs.saved_run import TABLE, data_text, description, edit_runs, open_saved_run, reset_table
from smfh.ui.server import run_store
from smfh.ui.session import visitor
from smfh.ui.settings import unusual_in_words
from smfh.ui.visitor import ANYONE, NOT_OWNER, edit_policy, may_edit

CHOSEN, SELECTED = "runs_chosen", "runs_selected"  # session keys: the run in detail, selected rows in order
WHEN = "trained (UTC)"
MAX_DIRECTIONS = 4  # columns of the table; 15 modalities would have 210 directions
SHARED = "Saved runs are visible to all visitors to this server. Uploads, and runs on them, are not saved."


def draw_runs() -> None:
    """Draw the list of saved runs with its search field, the selected run, and files that cannot be used."""
    store = run_store()
    try:
        listing = store.listing()
    except InputError as error:
        draw_problems("The saved runs cannot be listed.", error.problems)
        return
    if problem := store.save_problem:
        draw_problems("The last run could not be saved.", [problem], st.warning)
    if not listing.runs:
        st.info(
            "There are no saved runs yet. Train a method in Explore, or start a comparison. Results that come with the "
            "program are not listed here."
        )
    else:

        def restart() -> None:
            reset_table()
            st.session_state[PAGE] = 1

        with st.container(horizontal=True, vertical_alignment="bottom"):
            look: dict[str, Any] = {"max_chars": 200, "icon": ":material/search:", "on_change": restart}
            hint = "Title, note, data set, method, bits, parameters"
            words = st.text_input("Search", key="runs_words", placeholder=hint, **look)
            look = {"label_visibility": "collapsed", "required": True, "key": "runs_view"}
            is_gallery = st.segmented_control("View", ["Table", "Cards"], default="Table", **look) == "Cards"
        terms = (words or "").casefold().split()
        texts = [f"{run.title} {description(run)} {run.note}".casefold() for run in listing.runs]
        runs = [run for run, text in zip(listing.runs, texts, strict=True) if all(term in text for term in terms)]
        st.caption(
            f"{len(runs):,} of {len(listing.runs):,} runs · {listing.bytes / 1e6:,.1f} MB "
            f"of {store.max_bytes / 1e9:g} GB · scores with the training items as database"
        )
        if runs:
            (draw_cards if is_gallery else _draw_table)(runs)
            _draw_selected({run.id: run for run in runs})
            if not is_gallery:
                draw_comparison({})
        else:
            st.info("No run matches. Remove a word.")
    if files := listing.damaged:  # or of an older version
        count, ids = "1 file" if len(files) == 1 else f"{len(files)} files", [file.id for file in files]
        with st.expander(f"{count} cannot be used", icon=":material/warning:"):
            st.caption("Training again with the same settings replaces such a file.")
            for file in files:
                st.text(f"{file.id[:12]}… ({file.bytes / 1e6:.2f} MB): {file.problem[:300]}")
            if edit_policy() == ANYONE:  # the owner of such a file cannot be read
                st.button(f"Delete {count}", "runs_sweep", None, edit_runs, (ids,), icon=":material/delete:")
    st.caption(SHARED)


def _draw_table(runs: Sequence[RunRecord]) -> None:
    """Draw the table of runs; the row selected last is shown below, the last two are compared."""
    key = f"{TABLE}_{st.session_state.get(TABLE, 0)}"

    def select() -> None:
        select_runs([runs[row].id for row in st.session_state[key]["selection"]["rows"]])

    frame = runs_table(runs)
    scores = {name: st.column_config.NumberColumn(format="%.3f") for name in frame if "→" in str(name)}
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=select,
        selection_mode="multi-row",
        column_config={
            "title": st.column_config.TextColumn(width="medium"),
            **scores,
            "seconds": st.column_config.NumberColumn(format="%.2f", help="Training time on this machine"),
            WHEN: st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
        alt="Saved runs with their settings, scores and training times",
    )


def runs_table(runs: Sequence[RunRecord]) -> pd.DataFrame:
    """Return a table of the runs, with the scores of the most frequent directions and no empty columns."""
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
                "data": data_text(run),
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


def select_runs(ids: Sequence[str]) -> None:
    """Show the run that was selected last, and compare the last two (callback)."""
    before = [run for run in st.session_state.get(SELECTED, ()) if run in ids]
    ordered = before + [run for run in ids if run not in before]
    st.session_state.update({SELECTED: ordered, CHOSEN: ordered[-1] if ordered else None})
    select_to_compare(ordered)


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
        placeholder="Select a run here, or a row of the table",
    )
    if selected is None:
        return
    run, method = runs[selected], runs[selected].method
    can_edit = may_edit(run.saved_by, visitor())
    with st.container(border=True):
        if run.title:
            st.text(f"“{run.title}”")
        if run.note:
            st.text(run.note)
        outdated = "" if run.is_current else " · trained by an older version of the method; Explore trains it again"
        st.text(
            f"{run.training_items:,} training items, {run.queries:,} held-out queries · "
            f"trained {run.when:%d %B %Y, %H:%M} UTC in {run.timing.training:.2f} s{outdated}\n"
            f"data {run.key.data[:12]}… · run {run.id[:12]}… · "
            + ", ".join(f"{name} {text}" for name, text in run.versions.items())
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            icon = ":material/open_in_new:"
            opens = st.button("Open in Explore", type="primary", icon=icon, key="runs_open_button")
            name, mime = f"{run.source.name}_{method.name}_{method.bits}_{method.seed}.npz", "application/octet-stream"
            offer_file("Model (.npz)", lambda: hasher_file(run_store().hasher(run)), name, mime, "runs_download")
            if can_edit:
                for what, label, icon, control, limit in (
                    ("title", "Rename", ":material/edit:", st.text_input, MAX_TITLE_CHARACTERS),
                    ("note", "Note", ":material/edit_note:", st.text_area, MAX_NOTE_CHARACTERS),
                ):
                    with st.popover(label, icon=icon), st.form(f"runs_{what}_form", border=False):
                        st.session_state.setdefault(field := f"runs_{what}_{run.id}", getattr(run, what))
                        control(what.capitalize(), key=field, max_chars=limit, placeholder=f"No {what}")
                        key, args = f"runs_save_{what}", ([run.id], what, field)
                        st.form_submit_button(f"Save {what}", on_click=edit_runs, args=args, key=key)
                with st.popover("Delete", icon=":material/delete:"):
                    st.markdown("Delete this run for all visitors? You can train it again.")
                    st.button("Delete run", "runs_delete", None, edit_runs, ([run.id],), type="primary")
        if not can_edit:
            st.caption(NOT_OWNER)
        if opens:
            open_saved_run(run)
