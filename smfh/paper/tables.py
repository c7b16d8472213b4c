"""Tables 1 and 2, cell by cell: what the paper prints and what was measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smfh.comparison import Grid, GridProgress, View, name_training, points, train_grid
from smfh.datasets import DATASETS
from smfh.jobs import Call, here
from smfh.paper.plan import PARTS
from smfh.paper.published import (
    COLUMNS,
    ENDS,
    REASONS,
    ROW,
    TASKS,
    TIMES,
    TOLERANCE,
    published_score,
    published_seconds,
)
from smfh.runs import RunStore
from smfh.types import InputError, Point, Split

DEFINITIONS = {"map": "found", "p_at_100": "precision"}  # of the paper's measures
Measured = Mapping[tuple[str, str, str, float], Point]  # by direction, measure, method and bits


@dataclass(frozen=True)
class Cell:
    """One number of a table: what the paper prints and what was measured here."""

    dataset: str
    direction: str  # "" for training seconds
    method: str
    measure: str  # "map", "p_at_100" or "seconds"
    bits: int
    published: float | None  # None: the paper has no such cell
    mean: float | None  # of the seeds; the median for seconds; None: not measured
    std: float | None  # sample standard deviation over seeds
    seeds: int  # that were measured

    @property
    def difference(self) -> float | None:
        return None if self.published is None or self.mean is None else self.mean - self.published

    @property
    def agrees(self) -> bool | None:
        """Whether a score lies within the tolerance, seconds within a factor of two; None: unknown."""
        if self.published is None or self.mean is None:
            return None
        if self.measure == "seconds":
            return self.published / 2 <= self.mean <= self.published * 2
        return abs(self.mean - self.published) <= TOLERANCE

    @property
    def reason(self) -> str:
        """Why a score differs by more than the tolerance, as far as it is known."""
        far = self.measure != "seconds" and self.agrees is False
        return REASONS.get(self.method, "the reason is not known") if far else ""


def measure_table(
    dataset: str,
    methods: Sequence[str],
    seeds: int,
    store: RunStore,
    split: str | Split = "default",
    split_seed: int = 0,
    on_progress: Callable[[GridProgress], None] = lambda progress: None,
    call: Call = here,
    at_once: int = 1,
) -> list[Cell]:
    """Train what the store has not of every method, length and seed; all cells beside the paper's."""
    comparison = PARTS["table-1"].plan(dataset, methods, seeds)
    grid = Grid(comparison, *DATASETS[dataset]().load(split, split_seed))
    if problems := train_grid(grid, store, on_progress, call=call, at_once=at_once):
        raise InputError([f"{name_training(run)}: {why}" for run, whys in problems.items() for why in whys])
    return table_cells(dataset, grid, store)


def table_cells(dataset: str, grid: Grid, store: RunStore) -> list[Cell]:
    """Every cell of both tables for the methods of this grid, from those of its runs that there are.

    The database is the training set and ties stand in its order, as in the paper.
    """
    measured = {
        (direction, measure, point.method, point.at): point
        for direction, ends in ENDS.items()
        for measure in dict.fromkeys(measure for measure, _ in COLUMNS)
        for point in points(grid, store, View(*ends, DEFINITIONS[measure]))
    }
    times = points(grid, store, View(*next(iter(ENDS.values()))), "training")
    measured |= {("", "seconds", point.method, point.at): point for point in times}
    return _cells(dataset, [method.name for method in grid.comparison.methods], measured)


def published_cells(dataset: str, methods: Sequence[str]) -> list[Cell]:
    """The same cells before anything is measured."""
    return _cells(dataset, methods, {})


def _cells(dataset: str, methods: Sequence[str], measured: Measured) -> list[Cell]:
    columns = [(direction, *column) for direction in TASKS for column in COLUMNS]
    columns += [("", "seconds", bits) for bits in TIMES]
    return [
        _cell(dataset, direction, method, measure, bits, measured.get((direction, measure, method, bits)))
        for method in methods
        for direction, measure, bits in columns
    ]


def _cell(dataset: str, direction: str, method: str, measure: str, bits: int, point: Point | None) -> Cell:
    if measure == "seconds":
        published = published_seconds(dataset, method, bits)
    else:
        published = published_score(dataset, direction, ROW.get(method, method), measure, bits)
    if point is None:
        return Cell(dataset, direction, method, measure, bits, published, None, None, 0)
    # the first training of a program also loads its kernels, which would weigh on a mean
    mean = float(np.median(point.values)) if measure == "seconds" else point.mean
    seeds = len(point.values)
    return Cell(dataset, direction, method, measure, bits, published, mean, point.deviation, seeds)


def as_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Plain rows for JSON and CSV."""
    return [asdict(cell) | {"difference": cell.difference, "reason": cell.reason} for cell in cells]


def in_words(cells: Sequence[Cell]) -> str:
    """How many cells of Table 1 agree; nothing where the paper has none of them."""
    scores = [cell for cell in cells if cell.measure != "seconds"]
    judged = [cell for cell in scores if cell.agrees is not None]
    if judged:
        close = sum(bool(cell.agrees) for cell in judged)
        return f"{close} of {len(judged)} measured cells lie within {TOLERANCE:g} of the published number."
    printed = sum(cell.published is not None for cell in scores)
    return f"None of the {printed} published cells is measured yet." if printed else ""
