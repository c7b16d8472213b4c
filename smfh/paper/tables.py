"""Tables 1 and 2 with published and measured numbers, as cells, text or LaTeX."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from smfh.experiments.comparison import Grid, View, points
from smfh.files.latex import escape, latex_table
from smfh.folders import app_folder
from smfh.hashing import METHODS
from smfh.paper.published import (
    COLUMNS,
    ENDS,
    REASONS,
    ROW,
    TABLE_2_BITS,
    TASKS,
    TOLERANCE,
    published_score,
    published_seconds,
)
from smfh.runs import RunStore
from smfh.types import Point

MEASURED = Path("assets", "guide", "measured.json")  # of the app's folder; written by `smfh guide --measure`
MEASURED_SEEDS = 5
DEFINITIONS = {"map": "found", "p_at_100": "precision"}  # measure in Table 1 → score definition
CellKey = tuple[str, str, str, float]  # direction, measure, method, bits


@dataclass(frozen=True)
class Cell:
    """One cell of Table 1 or 2, with its published and its measured number."""

    dataset: str
    direction: str  # "" for training seconds
    method: str
    measure: str  # "map", "p_at_100" or "seconds"
    bits: int
    published: float | None  # None: the paper has no such cell
    mean: float | None  # over seeds; the median for seconds; None: not measured
    std: float | None  # sample standard deviation over seeds
    seeds: int  # number of measured seeds
    is_shipped: bool = False  # measured when this version of the program was made, not here

    @property
    def difference(self) -> float | None:
        return None if self.published is None or self.mean is None else self.mean - self.published

    @property
    def agrees(self) -> bool | None:
        """Whether a score is within the tolerance, or seconds within a factor of two; None if unknown."""
        if self.published is None or self.mean is None:
            return None
        if self.measure == "seconds":
            return self.published / 2 <= self.mean <= self.published * 2
        return abs(self.mean - self.published) <= TOLERANCE

    @property
    def reason(self) -> str:
        """The reason why a score differs from the paper by more than the tolerance; "" if it does not."""
        differs = self.measure != "seconds" and self.agrees is False
        return REASONS.get(self.method, "the reason is not known") if differs else ""

    @property
    def heading(self) -> str:
        """The column heading, such as "mAP@100, 32 bits"."""
        labels = {"map": "mAP@100, ", "p_at_100": "P@100, ", "seconds": ""}
        return f"{labels[self.measure]}{self.bits} bits"


def table_cells(dataset: str, grid: Grid, store: RunStore) -> list[Cell]:
    """Return all cells of both tables for the methods of a grid; only finished runs are measured.

    The database is the training set, as in the paper, and ties are in database order.
    """
    measured: dict[CellKey, Point] = {
        (direction, measure, point.method, point.at): point
        for direction, ends in ENDS.items()
        for measure, definition in DEFINITIONS.items()
        for point in points(grid, store, View(*ends, definition))
    }
    times = points(grid, store, View(*next(iter(ENDS.values()))), "training")
    measured |= {("", "seconds", point.method, point.at): point for point in times}
    return published_cells(dataset, [method.name for method in grid.comparison.methods], measured)


def published_cells(
    dataset: str, methods: Sequence[str], measured: Mapping[CellKey, Point] | None = None
) -> list[Cell]:
    """Return the cells of both tables for these methods, with measured numbers where they are given."""
    columns = [(direction, *column) for direction in TASKS for column in COLUMNS]
    columns += [("", "seconds", bits) for bits in TABLE_2_BITS]
    cells = []
    for method in methods:
        for direction, measure, bits in columns:
            if measure == "seconds":
                published = published_seconds(dataset, method, bits)
            else:
                published = published_score(dataset, direction, ROW.get(method, method), measure, bits)
            mean, std, seeds = None, None, 0
            if point := (measured or {}).get((direction, measure, method, bits)):
                # the first run of a process also loads compiled kernels, which would distort a mean
                mean = float(np.median(point.values)) if measure == "seconds" else point.mean
                std, seeds = point.deviation, len(point.values)
            cells.append(Cell(dataset, direction, method, measure, bits, published, mean, std, seeds))
    return cells


def with_shipped(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the tables, with shipped scores for those not measured on this computer."""
    file = app_folder() / MEASURED
    shipped = json.loads(file.read_text(encoding="utf-8"))["scores"] if file.is_file() else {}
    filled = []
    for cell in cells:
        direction = cell.direction.replace("->", " → ")
        key = f"{cell.dataset} {cell.method} paper {cell.bits} training hamming {direction}"
        if cell.mean is None and (scores := shipped.get(key)):
            name = DEFINITIONS[cell.measure]
            mean, std = scores[name], scores[f"{name} deviation"]
            cell = replace(cell, mean=mean, std=std, seeds=MEASURED_SEEDS, is_shipped=True)
        filled.append(cell)
    return filled


def as_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the cells as dictionaries for JSON and CSV."""
    return [asdict(cell) | {"difference": cell.difference, "reason": cell.reason} for cell in cells]


def summarise_agreement(cells: Sequence[Cell]) -> str:
    """Return a sentence on how many scores agree with Table 1; "" if the paper has none of them."""
    scores = [cell for cell in cells if cell.measure != "seconds"]
    agreements = [cell.agrees for cell in scores if cell.agrees is not None]
    if agreements:
        return f"{sum(agreements)} of {len(agreements)} measured scores are within {TOLERANCE:g} of the paper."
    printed = sum(cell.published is not None for cell in scores)
    return f"None of the {printed} published scores has been measured yet." if printed else ""


def as_text(cells: Sequence[Cell]) -> str:
    """Return the tables as text: measured mean ± deviation, with the published number below it.

    A star marks a difference above the tolerance; the reasons are listed at the end.
    """
    import pandas as pd  # 0.2 s, which pages that import this module do not need

    lines: list[str] = []
    titles = {direction: f"{task} ({direction})" for direction, task in TASKS.items()}
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        for direction, title in (titles | {"": "training seconds"}).items():
            own = [cell for cell in cells if (cell.dataset, cell.direction) == (dataset, direction)]
            rows: list[tuple[str, list[str]]] = []
            for method, row in by_method(own):
                rows.append((METHODS[method].title, [_measured_text(cell) for cell in row]))
                if row[0].published is not None:
                    rows.append(("  published", [_published_text(cell) for cell in row]))
            labels, texts = zip(*rows, strict=True)
            columns = list(dict.fromkeys(cell.heading for cell in own))
            lines += [f"{dataset}, {title}", pd.DataFrame(texts, labels, columns).to_string(), ""]
    reasons = dict.fromkeys((cell.method, cell.reason) for cell in cells if cell.reason)
    return "\n".join([*lines, *(f"* {METHODS[method].title}: {reason}" for method, reason in reasons)])


def by_method(cells: Iterable[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield each method with its cells; the cells of one method must be adjacent."""
    return ((method, list(row)) for method, row in groupby(cells, key=lambda cell: cell.method))


def _measured_text(cell: Cell) -> str:
    if cell.mean is None:
        return "–"
    if cell.measure == "seconds":
        return f"{cell.mean:.2f}"
    return f"{cell.mean:.3f} ± {cell.std:.3f}" if cell.seeds > 1 else f"{cell.mean:.3f}"


def _published_text(cell: Cell) -> str:
    if cell.measure == "seconds":
        return f"{cell.published:.2f}"
    if cell.difference is None:
        return f"{cell.published:.3f}"
    return f"{cell.published:.3f} ({cell.difference:+.3f}){'*' if cell.reason else ' '}"


def as_latex(cells: Sequence[Cell], dataset_title: str) -> str:
    r"""Return Table 1 of one data set, published scores in brackets; needs \usepackage{booktabs}."""
    scores = [cell for cell in cells if cell.measure != "seconds"]
    seeds = max((cell.seeds for cell in scores), default=0)
    caption = f"{dataset_title}: measured, mean of {seeds} seeds (published in brackets)."
    groups = []
    for direction, task in TASKS.items():
        rows = by_method(cell for cell in scores if cell.direction == direction)
        groups.append([[task, escape(METHODS[name].title), *map(_latex_text, row)] for name, row in rows])
    columns = ["Task", "Method", *dict.fromkeys(cell.heading for cell in scores)]
    return latex_table(caption, columns, groups, words=2) + "\n"


def _latex_text(cell: Cell) -> str:
    measured = "--" if cell.mean is None else f"{cell.mean:.3f}"
    return measured if cell.published is None else f"{measured} ({cell.published:.3f})"
