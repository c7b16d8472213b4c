"""The tables as text for a terminal and as LaTeX for a paper."""

from collections.abc import Sequence

from smfh.hashing import METHODS
from smfh.paper.published import COLUMNS, TASKS, TIMES
from smfh.paper.tables import Cell

WIDTH = 18
SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    sign: f"\\{sign}" for sign in "&%$#_{}"
}


def as_text(cells: Sequence[Cell]) -> str:
    """The tables as the paper lays them out, measured ± deviation above published; * differs by too much."""
    lines: list[str] = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        for direction, task in TASKS.items():
            lines += [f"{dataset}, {task} ({direction})", _line("", [heading(*c) for c in COLUMNS])]
            for method in dict.fromkeys(cell.method for cell in cells):
                row = [c for c in cells if (c.dataset, c.direction, c.method) == (dataset, direction, method)]
                lines.append(_line(METHODS[method].title, [_measured(cell) for cell in row]))
                if row and row[0].published is not None:
                    lines.append(_line("  published", [_beside(cell) for cell in row]))
            lines.append("")
        lines += _times_as_text([c for c in cells if (c.dataset, c.measure) == (dataset, "seconds")])
    reasons = dict.fromkeys((cell.method, cell.reason) for cell in cells if cell.reason)
    return "\n".join([*lines, *(f"* {METHODS[method].title}: {reason}" for method, reason in reasons)])


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


def _times_as_text(cells: Sequence[Cell]) -> list[str]:
    """Table 2: training seconds on this machine, beside those of the paper's."""
    lines = [f"{cells[0].dataset}, training seconds", _line("", [f"{bits} bits" for bits in TIMES])]
    for method in dict.fromkeys(cell.method for cell in cells):
        row = [cell for cell in cells if cell.method == method]
        lines.append(_line(METHODS[method].title, [_seconds(cell.mean) for cell in row]))
        if row[0].published is not None:
            lines.append(_line("  published", [_seconds(cell.published) for cell in row]))
    return [*lines, ""]


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _line(first: str, cells: Sequence[str]) -> str:
    return f"{first:<12}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)


def as_latex(cells: Sequence[Cell], dataset_title: str) -> str:
    r"""Table 1 of one data set, measured with published in brackets; needs \usepackage{booktabs}."""
    scores = [cell for cell in cells if cell.measure != "seconds"]
    seeds = max((cell.seeds for cell in scores), default=0)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(dataset_title)}: measured, mean of {seeds} seeds (published in brackets).}}",
        rf"\begin{{tabular}}{{ll{'r' * len(COLUMNS)}}}",
        r"\toprule",
        rf"Task & Method & {' & '.join(escaped(heading(*column)) for column in COLUMNS)} \\",
    ]
    for direction, task in TASKS.items():
        lines.append(r"\midrule")
        for method in dict.fromkeys(cell.method for cell in scores):
            row = [cell for cell in scores if (cell.direction, cell.method) == (direction, method)]
            numbers = " & ".join(_latex_cell(cell) for cell in row)
            lines.append(rf"{escaped(task)} & {escaped(METHODS[method].title)} & {numbers} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_cell(cell: Cell) -> str:
    measured = "--" if cell.mean is None else f"{cell.mean:.3f}"
    return measured if cell.published is None else f"{measured} ({cell.published:.3f})"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(sign, sign) for sign in text)
