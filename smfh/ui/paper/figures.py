"""Figures 2 to 4 as they are measured here."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from smfh.comparison import Grid
from smfh.paper import TASKS, figure_2, figure_3, figure_4a, figure_4b
from smfh.ui.charts import show_chart
from smfh.ui.paper.choice import Choice
from smfh.ui.paper.part import READING, draw_part, draw_task
from smfh.ui.server import Loaded, run_store


def draw_figures(choice: Choice, loaded: Loaded | None) -> None:
    """All figures, each with its own button."""
    for name, draw in FIGURES.items():
        draw_part(name, choice, loaded, partial(_draw, draw, choice.data))


def _draw(draw: Callable[[str, Grid], None], dataset: str, grid: Grid | None) -> None:
    if grid is None:
        st.text("It can be measured when the files of the data are there.")
    else:
        with st.spinner(READING):
            draw(dataset, grid)


def _draw_figure_2(dataset: str, grid: Grid) -> None:
    """A chart for each task, side by side where there is room."""
    charts = figure_2(dataset, grid, run_store())
    for column, (direction, chart) in zip(st.columns(2), charts.items(), strict=True):
        with column:
            draw_task(direction)
            show_chart(chart, f"figure-2-{_file(direction)}")


def _draw_figure_3(dataset: str, grid: Grid) -> None:
    """Precision on the left, recall on the right, a task a row."""
    charts = figure_3(dataset, grid, run_store())
    for direction in TASKS:
        draw_task(direction)
        for column, what in zip(st.columns(2), ("precision", "recall"), strict=True):
            with column:
                show_chart(charts[direction, what], f"figure-3-{what}-{_file(direction)}")


def _draw_figure_4a(dataset: str, grid: Grid) -> None:
    show_chart(figure_4a(dataset, grid, run_store()), "figure-4a")


def _draw_figure_4b(dataset: str, grid: Grid) -> None:
    show_chart(figure_4b(dataset, grid, run_store()), "figure-4b")
    st.caption(
        "Each iteration draws other items for the graph, and the rows of Y are scaled after each step, so "
        "the objective need not fall every time."
    )


FIGURES = {
    "figure-2": _draw_figure_2,
    "figure-3": _draw_figure_3,
    "figure-4a": _draw_figure_4a,
    "figure-4b": _draw_figure_4b,
}


def _file(direction: str) -> str:
    return direction.replace("->", "-to-")
