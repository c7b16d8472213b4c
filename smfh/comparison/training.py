"""Train what is not there yet, and keep it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from smfh.ceiling import Ceiling, measure_ceiling
from smfh.comparison.grid import Grid, estimate_seconds
from smfh.hashing import HashMethod
from smfh.jobs import Course
from smfh.runs import KeptRuns, find_or_keep
from smfh.types import InputError, OnStep

Problems = Mapping[HashMethod, tuple[str, ...]]  # what could not be trained, with the reasons in words


@dataclass(frozen=True)
class GridProgress:
    """How far a grid is, before one of its trainings or at its end."""

    done: int
    total: int
    trained: int  # by this grid itself; the others were there
    current: HashMethod | None
    seconds_left: float | None  # None where nothing was measured yet


def train_grid(
    grid: Grid,
    store: KeptRuns,
    on_progress: Callable[[GridProgress], None] = lambda progress: None,
    on_step: OnStep | None = None,
    give_way: Callable[[], None] = lambda: None,
) -> Problems:
    """Train and keep every run that the store has not; between two of them others may go first."""
    problems: dict[HashMethod, tuple[str, ...]] = {}
    missing, total, trained = grid.missing(store), len(grid.keys), 0
    first = next(iter(grid.keys.values()))
    for place, method in enumerate(missing):
        seconds = estimate_seconds(missing[place:], store.records(), first.data)
        left = sum(seconds.values()) if seconds else None
        on_progress(GridProgress(total - len(missing) + place, total, trained, method, left))
        give_way()
        store.check_room()  # full: none of the rest could be kept
        try:
            find_or_keep(store, grid.comparison.source, method, grid.data, grid.split, on_step, grid.owner)
            trained += 1
        except InputError as error:
            problems[method] = error.problems
    on_progress(GridProgress(total, total, trained, None, 0.0))
    return problems


def grid_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Problems]:
    """The grid as work of a queue, one step a training."""
    return lambda course: train_grid(grid, store, course.report, course.check, course.give_way)


def ceiling_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Ceiling]:
    """Measure what the features of a grid's data allow, in the background, and keep it."""

    def work(course: Course) -> Ceiling:
        ceiling = measure_ceiling(grid.data, grid.split, course.report)
        store.save_ceiling(grid.ceiling_key, ceiling)
        return ceiling

    return work
