"""From a comparison to one of its runs in Explore, by a click on a point or by choosing it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.comparison import Grid, setting_of
from smfh.hashing import HashMethod
from smfh.types import InputError
from smfh.ui.address import current
from smfh.ui.opening import open_settings
from smfh.ui.server import run_store
from smfh.ui.session import start
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.sidebar import CONTROL

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
            open_run(grid, replace(method, bits=bits, seed=0))


def open_run(grid: Grid, method: HashMethod) -> None:
    """Make this run the one that is set, trained and shown, and go to Explore."""
    hidden = current(SETTINGS, CONTROL)[0].hidden
    settings = Settings(grid.comparison.source, method, hidden)
    try:
        start(settings, (grid.data, grid.split))
    except InputError as error:  # the line is full
        st.error("The run cannot be opened now:")
        st.text("\n".join(error.problems))
        return
    open_settings(settings)


def draw_open(grid: Grid) -> None:
    """The same for who cannot click in a chart, and for other seeds than the first."""
    found = list(grid.found(run_store()))
    titles = grid.comparison.titles
    if st.session_state.get(CHOSEN) not in found:
        st.session_state.pop(CHOSEN, None)
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare_open_row"):
        method = st.selectbox(
            "A run",
            found,
            key=CHOSEN,
            format_func=lambda run: f"{titles[setting_of(run)]} · {run.bits} bits · seed {run.seed}",
        )
        if st.button("Open in Explore", icon=":material/open_in_new:", key="compare_open_button"):
            open_run(grid, method)
