"""The comparison to take home: report, table, LaTeX, and the command that repeats it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from smfh.comparison import Comparison, Grid, View
from smfh.export import csv_rows, html_from, latex_of, score_rows, told_directions
from smfh.plots import Published, csv_of
from smfh.runs import KeptRuns, RunStore
from smfh.ui.server import kept_runs, reading

Spell = Callable[[Comparison, View], str]  # the command that repeats a comparison


def draw_downloads(grid: Grid, view: View, published: Sequence[Published], spell: Spell) -> None:
    """Files are made when they are asked for."""
    store, command = kept_runs(grid.owner), "" if grid.owner else spell(grid.comparison, view)
    files: dict[str, tuple[str, str, Callable[[], str]]] = {
        "html": ("Report (HTML)", "text/html", lambda: make_report(grid, store, view, command, published)),
        "csv": (
            "Measures (CSV)",
            "text/csv",
            lambda: csv_of(csv_rows(grid, store, view, told_directions(grid, view))),
        ),
        "tex": ("Tables (LaTeX)", "text/x-tex", lambda: latex_of(grid, store, view)),
    }
    st.markdown("#### Take it home")
    st.dataframe(
        score_rows(grid, store, view),
        hide_index=True,
        alt="Every measure of every method and direction, mean and standard deviation over seeds",
    )
    with st.container(horizontal=True):
        for kind, (label, mime, make) in files.items():
            name, icon = f"smfh_{grid.comparison.source.name}.{kind}", ":material/download:"
            st.download_button(label, make, name, mime, f"compare_{kind}", icon=icon, on_click="ignore")
    if command:
        st.caption("The same from a terminal; what is trained already is not trained again:")
        st.code(command, language="bash", wrap_lines=True)
    else:
        st.caption("What is compared on own data stays in memory: take it home before you leave.")


def make_report(
    grid: Grid, store: KeptRuns, view: View, command: str, published: Sequence[Published] = ()
) -> str:
    """The report; made in another process, so that nobody's page waits for it.

    Runs on disk are found there by their folder, those in memory go along; pictures stay here.
    """
    kept = store.folder if isinstance(store, RunStore) else store
    bare = replace(grid, data=grid.data.without_looks())
    return reading().call(html_from, kept, bare, view, command, tuple(published))
