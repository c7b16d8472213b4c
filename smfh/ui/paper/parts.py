"""The parts of the paper: the page's controls, Tables 1 and 2, Figures 2 to 4, differences and errata."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from smfh import paper
from smfh.datasets import DATASETS
from smfh.experiments.comparison import Grid, View
from smfh.export import score_rows
from smfh.hashing import METHODS
from smfh.plots import Published, agreement, csv_of
from smfh.types import InputError
from smfh.ui.address import Part, current, draw_notes, keep, link_field, one_of, part_of, several, whole
from smfh.ui.charts import offer_file, show_chart, show_charts
from smfh.ui.grids import draw_grid
from smfh.ui.page import begin_plainly
from smfh.ui.plain import draw_problems
from smfh.ui.server import Loaded, load_source, run_store

MAX_SEEDS = 5
READING = "Reading saved runs …"
# background of a cell by agreement: blue and orange, which colour-blind people can tell apart
BLUE, ORANGE = "background-color: rgba(68, 92, 176, 0.20)", "background-color: rgba(203, 134, 8, 0.32)"
COLOURS = {None: "", True: BLUE, False: ORANGE}
NO_BREAK_SPACE = "\u00a0"


@dataclass(frozen=True)
class Choice:
    """The data set, methods and number of seeds to show; part of the page's link."""

    data: str
    methods: tuple[str, ...] = link_field(paper.PAPER_METHODS, several(one_of(paper.PAPER_METHODS)))
    seeds: int = link_field(paper.SEEDS, whole(1, MAX_SEEDS))


def begin_paper() -> tuple[Choice, Loaded | None]:
    """Draw the page's title and controls; return the choice and its data set (None if it cannot be loaded)."""
    begin_plainly("Paper", paper.CITATION, methods=False, data=False)
    st.caption(
        "The paper's tables and figures: published numbers, and numbers measured here with the paper's settings."
    )
    choice = draw_choice()
    if not choice.methods:
        st.info("Choose at least one method.")
        st.stop()
    if choice.data == paper.STAND_IN:
        absent = [DATASETS[name].card.title for name in paper.BENCHMARKS if paper.runnable(name)]
        why = f" The files of {', '.join(absent)} are missing." if absent else ""
        title = DATASETS[choice.data].card.title
        st.info(f"{title} is not in the paper, so it has no published numbers.{why}")
    if missing := paper.runnable(choice.data):
        heading = "The files of this data set are missing, so nothing can be measured here:"
        draw_problems(heading, [*missing, "The Data page says what each data set needs."], st.warning)
        return choice, None
    try:
        return choice, load_source(paper.paper_source(choice.data))
    except InputError as error:
        draw_problems("The data set cannot be loaded:", error.problems)
        return choice, None


def draw_choice() -> Choice:
    """Draw the controls for data set, methods and seeds; return the choice, which becomes part of the link."""
    titles = {name: DATASETS[name].card.title for name in (*paper.BENCHMARKS, paper.STAND_IN)}
    for name in paper.BENCHMARKS:
        titles[name] += " (files missing)" if paper.runnable(name) else ""
    titles[paper.STAND_IN] += " (not in the paper)"
    part = paper_part()
    before, notes = current(part, "paper_")
    for name, value in (("data", before.data), ("seeds", before.seeds), ("methods", list(before.methods))):
        st.session_state.setdefault(f"paper_{name}", value)
    with st.container(horizontal=True, vertical_alignment="bottom", key="paper_choice"):
        show = titles.__getitem__
        data = st.selectbox("Data set", list(titles), format_func=show, key="paper_data", width=280)
        counts = range(1, MAX_SEEDS + 1)
        about = "Runs with different random seeds; each number is their mean."
        seeds = st.segmented_control("Seeds", counts, required=True, key="paper_seeds", help=about)
        methods = st.multiselect(
            "Methods",
            paper.PAPER_METHODS,
            format_func=lambda name: METHODS[name].title,
            key="paper_methods",
            placeholder="Choose at least one",
            width=760,  # fits all seven methods in one row on a wide screen
        )
    methods = [name for name in paper.PAPER_METHODS if name in methods]
    choice = Choice(data, tuple(methods), seeds or before.seeds)
    if choice == before:
        draw_notes(notes)
    keep(part, choice)
    return choice


def paper_part() -> Part[Choice]:
    """Return the Part of the link for this page; the default is the first available data set of the paper."""
    ready = next((name for name in paper.BENCHMARKS if not paper.runnable(name)), paper.BENCHMARKS[0])
    return part_of(Choice(ready), "paper.", data=one_of((*paper.BENCHMARKS, paper.STAND_IN)))


def draw_part(name: str, choice: Choice, loaded: Loaded | None, draw: Callable[[Grid | None], None]) -> None:
    """Draw a table or figure and the button that measures it; without data, only published numbers."""
    part = paper.PARTS[name]
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


def draw_task(direction: str) -> None:
    """Draw the heading of a task, such as "Task 2: image → text"."""
    st.markdown(f"**{paper.TASKS[direction]}: {direction.replace('->', ' → ')}**")


def draw_tables(choice: Choice, loaded: Loaded | None) -> None:
    """Draw both tables, each with a button that measures it."""

    def draw_table_2(_: Grid | None) -> None:  # training seconds, and their ratio to the seconds of SMFH
        times = [cell for cell in read_cells(choice, loaded) if cell.measure == "seconds"]
        _draw_legend("within a factor of two", "slower than published", "faster than published")
        _draw_table(times, partial(seconds_text, cells=times, seeds=choice.seeds))
        st.caption(
            "Published times were measured on a 3.60 GHz Core i5-4790 with 16 GB; measured times are medians "
            "on this machine. In brackets: the ratio to SMFH, which depends less on the machine."
        )

    draw_part("table-1", choice, loaded, partial(_draw_table_1, choice, loaded))
    draw_part("table-2", choice, loaded, draw_table_2)


def _draw_table_1(choice: Choice, loaded: Loaded | None, grid: Grid | None) -> None:
    """Draw one table per task, a chart of measured against published scores, and downloads."""
    cells = read_cells(choice, loaded)
    scores = [cell for cell in cells if cell.measure != "seconds"]
    st.markdown(paper.summarise_agreement(cells) or "The paper has no numbers for this data set.")
    if any(cell.is_shipped for cell in scores):
        st.caption(
            "Scores that have no run on this server come with this version of the program (mean of "
            f"{paper.MEASURED_SEEDS} seeds). Press Measure to compute them here."
        )
    _draw_legend(f"within {paper.TOLERANCE:g}", "higher than published", "lower than published")
    for direction in paper.TASKS:
        draw_task(direction)
        own = [cell for cell in scores if cell.direction == direction]
        _draw_table(own, partial(score_text, seeds=choice.seeds))
    for method, reason in dict.fromkeys((cell.method, cell.reason) for cell in scores if cell.reason):
        st.markdown(f"{METHODS[method].title}: {reason}.")
    if any(cell.agrees is not None for cell in scores):
        points = []
        for cell in scores:
            if cell.published is None:
                continue
            title, direction = METHODS[cell.method].title, cell.direction.replace("->", " → ")
            values = (cell.published, cell.mean, cell.heading)
            points.append(Published(cell.method, title, direction, cell.bits, *values))
        show_chart(agreement(points, paper.TOLERANCE), "agreement")
    if grid is not None and grid.found(run_store()):
        with st.expander("mAP over the whole ranking", key="paper_whole"):
            rows = score_rows(grid, run_store(), View(*grid.directions[0]))
            st.dataframe(rows, hide_index=True, alt="mAP@100, mAP over the whole ranking, and P@100")
    latex, csv = paper.as_latex(cells, DATASETS[choice.data].card.title), csv_of(paper.as_rows(cells))
    with st.container(horizontal=True):
        offer_file("Both tables (CSV)", csv, f"paper-{choice.data}.csv", "text/csv", "paper_csv")
        offer_file("Table 1 (LaTeX)", latex, f"paper-{choice.data}.tex", "text/x-tex", "paper_latex")


def read_cells(choice: Choice, loaded: Loaded | None) -> list[paper.Cell]:
    """Return the cells of both tables, measured by saved runs or else by results shipped with the program."""
    if loaded is None:
        return paper.with_shipped(paper.published_cells(choice.data, choice.methods))
    plan = paper.PARTS["table-1"].plan(choice.data, choice.methods, choice.seeds)
    with st.spinner(READING):
        return paper.with_shipped(paper.table_cells(choice.data, Grid(plan, *loaded), run_store()))


def _draw_legend(agrees: str, higher: str, lower: str) -> None:
    """Draw a legend of the lines, colours and symbols in the cells."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(f"≈ {agrees}", color="blue")
        st.badge(f"▲ {higher}", color="orange")
        st.badge(f"▼ {lower}", color="orange")
    st.caption(
        "Lines in a cell: the published number (if there is one), the **measured** mean ± deviation over seeds, and "
        "the difference. A dash: not measured yet."
    )


def _draw_table(cells: Sequence[paper.Cell], text: Callable[[paper.Cell], str]) -> None:
    """Draw cells as a table, one row per method; `text` returns the Markdown text of a cell."""
    rows = {METHODS[method].title: row for method, row in paper.by_method(cells)}
    headings = list(dict.fromkeys(cell.heading for cell in cells))
    texts, colours = (
        pd.DataFrame([[convert(cell) for cell in row] for row in rows.values()], list(rows), headings)
        for convert in (text, lambda cell: COLOURS[cell.agrees])
    )
    st.table(texts.style.apply(lambda _: colours, axis=None))


def score_text(cell: paper.Cell, seeds: int) -> str:
    """Return a score as text: published, measured ± standard deviation, and their difference."""
    published = "" if cell.published is None else f"{cell.published:.3f}"
    deviation = f" ± {cell.std:.3f}" if cell.seeds > 1 else ""
    measured = "–" if cell.mean is None else f"**{cell.mean:.3f}**{deviation}"
    change = "" if cell.difference is None else f"{cell.difference:+.3f}".replace("-", "−")
    return _cell_text(cell, seeds, published, measured, change)


def seconds_text(cell: paper.Cell, cells: Sequence[paper.Cell], seeds: int) -> str:
    """Return a training time as text: published, measured, ratios to SMFH, and the speed-up."""
    smfh = next((other for other in cells if (other.method, other.bits) == ("smfh", cell.bits)), None)
    published, measured, change = "", "–", ""
    if cell.published is not None:
        ratio = f" ({cell.published / smfh.published:.1f}×)" if smfh and smfh.published else ""
        published = f"{cell.published:,.2f} s{ratio}"
    if cell.mean is not None:
        ratio = f" ({cell.mean / smfh.mean:.1f}×)" if smfh and smfh.mean else ""
        measured = f"**{cell.mean:,.2f} s**{ratio}"
    if cell.mean and cell.published:
        factor = cell.published / cell.mean
        change = f"{factor:.1f}× faster" if factor >= 1 else f"{1 / factor:.1f}× slower"
    return _cell_text(cell, seeds, published, measured, change)


def _cell_text(cell: paper.Cell, seeds: int, published: str, measured: str, change: str) -> str:
    """Join the non-empty lines of a cell with Markdown line breaks, which need two spaces."""
    symbol = "≈" if cell.agrees else "▲" if (cell.difference or 0.0) > 0 else "▼"
    unfinished = f"{cell.seeds} of {seeds} seeds" if 0 < cell.seeds < seeds else ""
    lines = [published, measured, f"{symbol} {change}" if change else "", unfinished]
    return "  \n".join(line.replace(" ", NO_BREAK_SPACE) for line in lines if line)


def draw_figures(choice: Choice, loaded: Loaded | None) -> None:
    """Draw all figures, each with a button that measures it."""
    for name in ("figure-2", "figure-3", "figure-4a", "figure-4b"):
        draw_part(name, choice, loaded, partial(_draw_figure, name, choice.data))


def _draw_figure(name: str, dataset: str, grid: Grid | None) -> None:
    if grid is None:
        st.text("This value cannot be measured yet: the files of the data set are missing.")
        return
    with st.spinner(READING):
        if name == "figure-2":
            charts = paper.figure_2(dataset, grid, run_store())
            for column, (direction, chart) in zip(st.columns(2), charts.items(), strict=True):
                with column:
                    draw_task(direction)
                    show_chart(chart, f"figure-2-{direction.replace('->', '-to-')}")
        elif name == "figure-3":
            by_measure = paper.figure_3(dataset, grid, run_store())
            for direction in paper.TASKS:
                draw_task(direction)
                way = direction.replace("->", "-to-")
                show_charts({f"figure-3-{name}-{way}": by_measure[direction, name] for name in ("precision", "recall")})
        elif name == "figure-4a":
            show_chart(paper.figure_4a(dataset, grid, run_store()), "figure-4a")
        else:
            show_chart(paper.figure_4b(dataset, grid, run_store()), "figure-4b")
            st.caption(
                "The objective need not fall in every iteration: each one samples different items for the graph, "
                "and the rows of Y are scaled after each step."
            )


def draw_differences() -> None:
    """Draw the list of results that could not be reproduced."""
    for what, why in paper.NOT_REPRODUCED:
        st.markdown(f"**{what}.** {why}")


def draw_errata() -> None:
    """Draw the errata with printed and corrected formulas, and the claims that the tables contradict."""
    st.caption(paper.EQUATION_NOTE)
    for number, erratum in enumerate(paper.ERRATA):
        with st.container(border=True, key=f"erratum_{number}"):
            st.markdown(f"**{erratum.where}**")
            formulas = {"Printed": erratum.printed, "Corrected": erratum.right}
            for column, (caption, latex) in zip(st.columns(2), formulas.items(), strict=True):
                with column:
                    st.caption(caption)
                    st.latex(latex)
            st.markdown(erratum.why)
    st.markdown(f"**Correct as printed.** {paper.NOT_AN_ERROR}")
    st.subheader("Claims that the tables contradict", anchor=False)
    st.markdown("\n".join(f"- {claim}" for claim in paper.CONTRADICTED_CLAIMS))
