"""The comparison to take home: report, table, LaTeX, and the command that repeats it."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from smfh.comparison import Comparison, Grid, View
from smfh.export import csv_rows, html_of, latex_of, score_rows, told_directions
from smfh.plots import csv_of
from smfh.plots.published import Published
from smfh.runs import RunStore
from smfh.ui.server import run_store

Spell = Callable[[Comparison, View], str]  # the command that repeats a comparison


def draw_downloads(grid: Grid, view: View, published: Sequence[Published], spell: Spell) -> None:
    """Files are made when they are asked for."""
    store, name = run_store(), f"smfh_{grid.comparison.source.name}"
    command = spell(grid.comparison, view)
    st.markdown("#### Take it home")
    st.dataframe(
        score_rows(grid, store, view),
        hide_index=True,
        alt=f"{view.metric.label} of every method and direction, mean and standard deviation over seeds",
    )
    with st.container(horizontal=True, key="compare_home"):
        report = partial(html_of, grid, store, view, command, published)
        _offer("Report (HTML)", report, f"{name}.html", "text/html")
        _offer("Measures (CSV)", partial(_csv, grid, store, view), f"{name}.csv", "text/csv")
        _offer("Tables (LaTeX)", partial(latex_of, grid, store, view), f"{name}.tex", "text/x-tex")
    st.caption("The same from a terminal; what is trained already is not trained again:")
    st.code(command, language="bash", wrap_lines=True)


def _csv(grid: Grid, store: RunStore, view: View) -> str:
    return csv_of(csv_rows(grid, store, view, told_directions(grid, view)))


def _offer(label: str, make: "partial[str]", file: str, kind: str) -> None:
    icon = ":material/download:"
    st.download_button(label, make, file, kind, key=f"home_{kind}", icon=icon, on_click="ignore")
