"""From a comparison to one of its runs in Explore, by a click on a point or by choosing it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from smfh.comparison import Grid
from smfh.comparison.grid import cell_of, template
from smfh.hashing import HashMethod
from smfh.types import InputError
from smfh.ui.going import go_to_explore
from smfh.ui.kept import run_store
from smfh.ui.session import start
from smfh.ui.settings import Settings
from smfh.ui.sidebar import KEPT

CLICKED, OPEN, CHOSEN = "chart_compare_map", "compare_open", "compare_chosen"


def open_clicked() -> None:
    """A point of the figure was clicked: remember which, for when the page is drawn."""
    if point := clicked_point(st.session_state[CLICKED]):
        st.session_state[OPEN] = point


def clicked_point(event: Mapping[str, Any]) -> tuple[str, int] | None:
    """The method's title and the bits of the first point that is a run; None for chance and the like."""
    for point in event["selection"]["points"]:
        if (told := point.get("customdata")) and isinstance(told[0], str):
            return told[0], int(point["x"])
    return None


def open_wanted(grid: Grid) -> None:
    """Go where the last click points to."""
    if (wanted := st.session_state.pop(OPEN, None)) is None:
        return
    title, bits = wanted
    for method, known in grid.comparison.titles.items():
        if known == title and bits in grid.comparison.bits:
            open_run(grid, cell_of(method, bits, seed=0))


def open_run(grid: Grid, cell: HashMethod) -> None:
    """Make this run the one that is set, trained and shown, and go to Explore."""
    kept: Settings = st.session_state[KEPT]
    settings = Settings(grid.comparison.source, cell, kept.hidden)
    try:
        start(settings, (grid.data, grid.split))
    except InputError as error:  # the line is full
        st.error("The run cannot be opened now:")
        st.text("\n".join(error.problems))
        return
    go_to_explore(settings)


def draw_open(grid: Grid) -> None:
    """The same for who cannot click in a chart, and for other seeds than the first."""
    cells = list(grid.found(run_store()))
    titles = grid.comparison.titles
    if st.session_state.get(CHOSEN) not in cells:
        st.session_state.pop(CHOSEN, None)
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare_open_row"):
        cell = st.selectbox(
            "A run",
            cells,
            key=CHOSEN,
            format_func=lambda cell: f"{titles[template(cell)]} · {cell.bits} bits · seed {cell.seed}",
        )
        if st.button("Open in Explore", icon=":material/open_in_new:", key="compare_open_button"):
            open_run(grid, cell)
