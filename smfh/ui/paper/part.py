"""The Paper page: its beginning, and one section for each table and figure."""

from collections.abc import Callable

import streamlit as st

from smfh.comparison import Grid
from smfh.datasets import DATASETS
from smfh.paper import (
    BENCHMARKS,
    CITATION,
    PARTS,
    STAND_IN,
    TASKS,
    Cell,
    published_cells,
    runnable,
    table_cells,
)
from smfh.types import InputError
from smfh.ui.grids import draw_grid
from smfh.ui.page import begin_plainly
from smfh.ui.paper.choice import Choice, choose
from smfh.ui.server import Loaded, load_source, run_store

READING = "Reading what was measured before …"
TABS = ("Tables", "Figures", "Leaderboard", "What differs", "Errata")


def begin_paper() -> tuple[Choice, Loaded | None]:
    """Title, choice and data; None where its files are not there, and what to do about it is said."""
    begin_plainly("Paper", CITATION)
    st.caption(
        "Its tables and figures beside what is measured here, with the paper's settings: those on the left "
        "do not matter on this page."
    )
    choice = choose()
    if not choice.methods:
        st.info("Choose at least one method above.")
        st.stop()
    if choice.data == STAND_IN:
        absent = [DATASETS[name].card.title for name in BENCHMARKS if runnable(name)]
        why = f" {', '.join(absent)} need files that are not here." if absent else ""
        st.info(
            f"The paper has no {DATASETS[STAND_IN].card.title}: its experiments are repeated on other data, "
            f"and no published number stands beside these.{why}"
        )
    if missing := runnable(choice.data):
        st.warning("Its files are not here, so only what the paper prints is shown:")
        st.text("\n".join([*missing, "See the Data page for what each data set needs."]))
        return choice, None
    try:
        return choice, load_source(DATASETS[choice.data]())
    except InputError as error:
        st.error("The data cannot be used:")
        st.text("\n".join(error.problems))
        return choice, None


def draw_part(name: str, choice: Choice, loaded: Loaded | None, draw: Callable[[Grid | None], None]) -> None:
    """One table or figure with what it takes to measure it."""
    part = PARTS[name]
    with st.container(key=f"part_{name}"):
        st.subheader(part.title, anchor=False)
        st.caption(part.in_paper)
        if loaded is None:
            draw(None)
            return
        try:
            grid = Grid(part.plan(choice.data, choice.methods, choice.seeds), *loaded)
        except InputError as error:
            st.text("\n".join(error.problems))
            return
        draw_grid(grid, name, "Measure", lambda: draw(grid))


def cells_for(choice: Choice, loaded: Loaded | None) -> list[Cell]:
    """Both tables from the store, whichever part their trainings were made for."""
    if loaded is None:
        return published_cells(choice.data, choice.methods)
    plan = PARTS["table-1"].plan(choice.data, choice.methods, choice.seeds)
    with st.spinner(READING):
        return table_cells(choice.data, Grid(plan, *loaded), run_store())


def draw_task(direction: str) -> None:
    """The heading of what belongs to one task."""
    st.markdown(f"**{TASKS[direction]}: {direction.replace('->', ' → ')}**")
