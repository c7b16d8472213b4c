"""The tables as text for a terminal and as LaTeX for a paper."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from smfh.files.latex import escape, latex_table
from smfh.hashing import METHODS
from smfh.paper.published import COLUMNS, TASKS, TIMES
from smfh.paper.tables import Cell

WIDTH = 18


def as_text(cells: Sequence[Cell]) -> str:
    """The tables as the paper lays them out, measured ± deviation above published; * differs by too much."""
    lines: list[str] = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        own = [cell for cell in cells if cell.dataset == dataset]
        for direction, task in TASKS.items():
            scores = [cell for cell in own if cell.direction == direction]
            lines += [f"{dataset}, {task} ({direction})", _line("", [heading(*c) for c in COLUMNS])]
            lines += [*_rows(scores, _measured, _beside), ""]
        times = [cell for cell in own if cell.measure == "seconds"]
        lines += [f"{dataset}, training seconds", _line("", [f"{bits} bits" for bits in TIMES])]
        lines += [*_rows(times, lambda cell: _seconds(cell.mean), lambda cell: _seconds(cell.published)), ""]
    reasons = dict.fromkeys((cell.method, cell.reason) for cell in cells if cell.reason)
    return "\n".join([*lines, *(f"* {METHODS[method].title}: {reason}" for method, reason in reasons)])


def _rows(
    cells: Sequence[Cell], measured: Callable[[Cell], str], printed: Callable[[Cell], str]
) -> Iterator[str]:
    for method, row in _by_method(cells):
        yield _line(METHODS[method].title, map(measured, row))
        if row[0].published is not None:
            yield _line("  published", map(printed, row))


def _by_method(cells: Iterable[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """The cells of each method, which stand together; methods in their order."""
    return ((method, list(row)) for method, row in groupby(cells, key=lambda cell: cell.method))


def heading(measure: str, bits: int) -> str:
    """What a column of Table 1 holds."""
    return f"{'mAP@100' if measure == 'map' else 'P@100'}, {bits} bits"


def _measured(cell: Cell) -> str:
    if cell.mean is None:
        return "–"
    return f"{cell.mean:.3f} ± {cell.std:.3f}" if cell.seeds > 1 else f"{cell.mean:.3f}"


def _beside(cell: Cell) -> str:
    if cell.difference is None:
        return f"{cell.published:.3f}"
    return f"{cell.published:.3f} ({cell.difference:+.3f}){'*' if cell.reason else ' '}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _line(first: str, cells: Iterable[str]) -> str:
    return f"{first:<12}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)


def as_latex(cells: Sequence[Cell], dataset_title: str) -> str:
    r"""Table 1 of one data set, measured with published in brackets; needs \usepackage{booktabs}."""
    scores = [cell for cell in cells if cell.measure != "seconds"]
    seeds = max((cell.seeds for cell in scores), default=0)
    caption = f"{dataset_title}: measured, mean of {seeds} seeds (published in brackets)."
    groups = [
        [
            [task, escape(METHODS[method].title), *map(_latex_cell, row)]
            for method, row in _by_method(cell for cell in scores if cell.direction == direction)
        ]
        for direction, task in TASKS.items()
    ]
    columns = ["Task", "Method", *(heading(*column) for column in COLUMNS)]
    return latex_table(caption, columns, groups, words=2) + "\n"


def _latex_cell(cell: Cell) -> str:
    measured = "--" if cell.mean is None else f"{cell.mean:.3f}"
    return measured if cell.published is None else f"{measured} ({cell.published:.3f})"
