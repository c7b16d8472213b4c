"""From a comparison to one of its runs in Explore, by a click on a point or by choosing it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.comparison import Grid, setting_of
from smfh.hashing import HashMethod
from smfh.ui.opening import open_run
from smfh.ui.server import kept_runs

CHART, CLICKED, CHOSEN = "chart_compare_map", "compare_clicked", "compare_chosen"


def remember_click() -> None:
    """For callbacks: which point of the figure was clicked, for when the page is drawn."""
    if point := clicked_point(st.session_state[CHART]):
        st.session_state[CLICKED] = point


def clicked_point(event: Mapping[str, Any]) -> tuple[str, int] | None:
    """The method's title and the bits of the first point that is a run; None for chance and the like."""
    for point in event["selection"]["points"]:
        if (about := point.get("customdata")) and isinstance(about[0], str):
            return about[0], int(point["x"])
    return None


def open_clicked(grid: Grid) -> None:
    """Go where the last click points to."""
    title, bits = st.session_state.pop(CLICKED, (None, 0))
    for method, known in grid.comparison.titles.items():
        if known == title and bits in grid.comparison.bits:
            _open(grid, replace(method, bits=bits, seed=0))


def draw_open(grid: Grid) -> None:
    """The same for who cannot click in a chart, and for other seeds than the first."""
    found, titles = list(grid.found(kept_runs(grid.owner))), grid.comparison.titles
    if st.session_state.get(CHOSEN) not in found:
        st.session_state.pop(CHOSEN, None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = st.selectbox(
            "A run",
            found,
            key=CHOSEN,
            format_func=lambda run: f"{titles[setting_of(run)]} · {run.bits} bits · seed {run.seed}",
        )
        if st.button("Open in Explore", icon=":material/open_in_new:", key="compare_open_button"):
            _open(grid, method)


def _open(grid: Grid, method: HashMethod) -> None:
    open_run(grid.comparison.source, method, (grid.data, grid.split))
