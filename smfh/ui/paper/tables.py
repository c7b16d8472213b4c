"""Tables 1 and 2: published, measured and their difference in every cell, coloured by agreement."""

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd  # type: ignore[import-untyped]  # it comes with Streamlit, its stubs do not
import streamlit as st

from smfh.comparison import Grid, View
from smfh.datasets import DATASETS
from smfh.export import score_rows
from smfh.hashing import METHODS
from smfh.paper import COLUMNS, TASKS, TIMES, TOLERANCE, Cell, as_latex, as_rows, heading, in_words
from smfh.plots import Published, agreement, csv_of
from smfh.ui.charts import show_chart
from smfh.ui.paper.choice import Choice
from smfh.ui.paper.part import cells_for, draw_part, draw_task
from smfh.ui.server import Loaded, run_store

AGREES, DIFFERS = "background-color: rgba(68, 92, 176, 0.20)", "background-color: rgba(203, 134, 8, 0.32)"
SPACE = "\u00a0"  # keeps a number and its deviation on one line


def draw_tables(choice: Choice, loaded: Loaded | None) -> None:
    """Both tables, each with its own button; the published numbers are there in any case."""
    draw_part("table-1", choice, loaded, lambda grid: _draw_table_1(choice, loaded, grid))
    draw_part("table-2", choice, loaded, lambda _: _draw_table_2(choice, loaded))


def _draw_table_1(choice: Choice, loaded: Loaded | None, grid: Grid | None) -> None:
    """A table for each task, as in the paper, and all cells against the diagonal."""
    cells = cells_for(choice, loaded)
    scores = [cell for cell in cells if cell.measure != "seconds"]
    st.markdown(in_words(cells) or "The paper has no such numbers for this data: what stands here is ours.")
    _draw_key(f"within {TOLERANCE:g}", "higher than published", "lower than published")
    columns, text = [heading(*column) for column in COLUMNS], partial(score_text, seeds=choice.seeds)
    for direction in TASKS:
        draw_task(direction)
        _draw_cells([cell for cell in scores if cell.direction == direction], columns, text)
    for method, reason in dict.fromkeys((cell.method, cell.reason) for cell in scores if cell.reason):
        st.markdown(f"{METHODS[method].title}: {reason}.")
    if any(cell.agrees is not None for cell in scores):
        show_chart(agreement([point for cell in scores if (point := beside(cell))], TOLERANCE), "agreement")
    if grid is not None and grid.found(run_store()):
        with st.expander("Beside the paper's scores: the whole ranking", key="paper_whole"):
            rows = score_rows(grid, run_store(), View(*grid.directions[0]))
            st.dataframe(rows, hide_index=True, alt="mAP@100, mAP over the whole ranking, and P@100")
    _draw_downloads(cells, choice.data)


def _draw_table_2(choice: Choice, loaded: Loaded | None) -> None:
    """Seconds here beside seconds there, and how many times SMFH's each takes."""
    times = [cell for cell in cells_for(choice, loaded) if cell.measure == "seconds"]
    _draw_key("within a factor of two", "slower than published", "faster than published")
    text = partial(seconds_text, cells=times, seeds=choice.seeds)
    _draw_cells(times, [f"{bits} bits" for bits in TIMES], text)
    st.caption(
        "The paper's seconds are from a 3.60 GHz Core i5-4790 with 16 GB, ours the median on this machine. "
        "In brackets, how many times as long as SMFH: that depends less on the machine."
    )


def _draw_key(near: str, higher: str, lower: str) -> None:
    """What the cells hold, and what their colours and shapes mean."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(f"≈ {near}", color="blue")
        st.badge(f"▲ {higher}", color="orange")
        st.badge(f"▼ {lower}", color="orange")
    st.caption(
        "In a cell: published (where the paper has it), **measured** ± deviation over seeds, difference. "
        "A dash is not measured yet."
    )


def _draw_cells(cells: Sequence[Cell], columns: Sequence[str], text: Callable[[Cell], str]) -> None:
    """A row a method; our own words and numbers only, so that Markdown is safe."""
    methods = list(dict.fromkeys(cell.method for cell in cells))
    rows = [[cell for cell in cells if cell.method == method] for method in methods]
    titles = [METHODS[method].title for method in methods]
    texts = pd.DataFrame([[text(cell) for cell in row] for row in rows], titles, list(columns))
    looks = pd.DataFrame([[look(cell) for cell in row] for row in rows], titles, list(columns))
    st.table(texts.style.apply(lambda _: looks, axis=None))


def look(cell: Cell) -> str:
    """Blue where it agrees, orange where it differs: the colour-blind can tell them apart."""
    return "" if cell.agrees is None else AGREES if cell.agrees else DIFFERS


def score_text(cell: Cell, seeds: int) -> str:
    """Published, measured ± deviation, difference: a line each."""
    measured = "–"
    if cell.mean is not None:
        measured = f"**{cell.mean:.3f}**" + (f" ± {cell.std:.3f}" if cell.seeds > 1 else "")
    printed = "" if cell.published is None else f"{cell.published:.3f}"
    change = "" if cell.difference is None else f"{sign(cell)} {cell.difference:+.3f}".replace("-", "−")
    return _lines(printed, measured, change, _unfinished(cell, seeds))


def _unfinished(cell: Cell, seeds: int) -> str:
    return f"{cell.seeds} of {seeds} seeds" if 0 < cell.seeds < seeds else ""


def seconds_text(cell: Cell, cells: Sequence[Cell], seeds: int) -> str:
    """The same in seconds, with the ratio to SMFH in brackets."""
    own = next((other for other in cells if (other.method, other.bits) == ("smfh", cell.bits)), None)

    def with_ratio(seconds: float | None, reference: float | None) -> str:
        return f" ({seconds / reference:.1f}×)" if seconds and reference else ""

    printed = "" if cell.published is None else f"{cell.published:,.2f} s"
    measured = "–" if cell.mean is None else f"**{cell.mean:,.2f} s**"
    change = ""
    if cell.mean and cell.published:
        factor = cell.published / cell.mean
        words = f"{factor:.1f}× faster" if factor >= 1 else f"{1 / factor:.1f}× slower"
        change = f"{sign(cell)} {words}"
    return _lines(
        printed + with_ratio(cell.published, own.published if own else None),
        measured + with_ratio(cell.mean, own.mean if own else None),
        change,
        _unfinished(cell, seeds),
    )


def sign(cell: Cell) -> str:
    """A shape beside the colour."""
    return "≈" if cell.agrees else "▲" if (cell.difference or 0.0) > 0 else "▼"


def _lines(*lines: str) -> str:
    """Lines of a cell that do not wrap; Markdown breaks a line at two spaces."""
    return "  \n".join(line.replace(" ", SPACE) for line in lines if line)


def beside(cell: Cell) -> Published | None:
    """The cell as a point of a chart, where the paper has it."""
    if cell.published is None:
        return None
    title, direction = METHODS[cell.method].title, cell.direction.replace("->", " → ")
    where = heading(cell.measure, cell.bits)
    return Published(cell.method, title, direction, cell.bits, cell.published, cell.mean, where)


def _draw_downloads(cells: Sequence[Cell], dataset: str) -> None:
    latex = as_latex(cells, DATASETS[dataset].card.title)
    with st.container(horizontal=True):
        _offer("Cells of both tables (CSV)", csv_of(as_rows(cells)), f"paper-{dataset}.csv", "text/csv")
        _offer("Table 1 (LaTeX)", latex, f"paper-{dataset}.tex", "text/x-tex")


def _offer(label: str, content: str, file: str, mime: str) -> None:
    st.download_button(label, content, file, mime, icon=":material/download:", on_click="ignore")
