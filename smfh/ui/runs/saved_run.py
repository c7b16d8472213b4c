"""One saved run: its description, its data, opening it in Explore, and changing its title and note."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

import streamlit as st

from smfh.datasets import DATASETS
from smfh.runs import RunRecord, run_key
from smfh.types import InputError
from smfh.ui.page import open_run
from smfh.ui.plain import draw_problems, plain
from smfh.ui.server import Loaded, load_source, run_store
from smfh.ui.session import visitor
from smfh.ui.settings import unusual_in_words
from smfh.ui.visitor import NOT_OWNER, may_edit

TABLE = "runs_table"  # session key: a number that is raised to clear the selection of the table


def description(run: RunRecord) -> str:
    """Describe a run in one line: data set, method, bits, seed and parameters that differ from the defaults."""
    return f"{data_text(run)} · {settings_text(run)}"


def settings_text(run: RunRecord) -> str:
    """Return the method, bits, seed and non-default parameters of a run as text."""
    method = run.method
    parts = [method.title, f"{method.bits} bits", f"seed {method.seed}", unusual_in_words(method)]
    return " · ".join(filter(None, parts))


def data_text(run: RunRecord) -> str:
    """Return the title of the run's data set, and its options that differ from the defaults."""
    default = DATASETS[run.source.name]()
    options = (f"{k} {v}" for k, v in asdict(run.source).items() if getattr(default, k) != v)
    return " · ".join(filter(None, [run.source.card.title, ", ".join(options)]))


def load_data(run: RunRecord) -> Loaded:
    """Return the data set and split of a saved run; raise InputError if they are not available."""
    if missing := run.source.missing():
        raise InputError(missing)
    loaded = load_source(run.source, visitor())
    if run_key(*loaded, run.method) != run.key:
        raise InputError(
            "This run was trained on another split or version of its data set, which is not available here."
        )
    return loaded


def open_saved_run(run: RunRecord) -> None:
    """Open the run in Explore, or draw why this is not possible; not for callbacks."""
    try:
        loaded = load_data(run)
    except InputError as error:
        draw_problems("The run cannot be opened:", error.problems, st.warning)
    else:
        open_run(run.source, run.method, loaded)


def reset_table() -> None:
    """Clear the selection of the table, since its row may now show another run (callback)."""
    st.session_state[TABLE] = st.session_state.get(TABLE, 0) + 1


def edit_runs(ids: Sequence[str], what: Literal["title", "note", ""] = "", field: str = "") -> None:
    """Save the title or note typed into the control `field`; without a field, delete the runs (callback).

    The rights are checked again, because the policy may have changed since the button was drawn.
    """
    store = run_store()
    if not what:
        reset_table()
    try:
        for name in ids:
            run = store.get(name)
            if not may_edit("" if run is None else run.saved_by, visitor()):
                raise InputError(NOT_OWNER)
            if what:
                save = store.rename if what == "title" else store.annotate
                save(name, st.session_state[field])
                st.toast(f"{what.capitalize()} saved.", icon=":material/check:")
            else:
                store.delete(name)
    except InputError as error:
        st.toast(plain(str(error)), icon=":material/error:", duration="long")
