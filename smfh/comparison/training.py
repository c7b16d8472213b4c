"""Train what is not there yet, and keep it."""

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from smfh.ceiling import Ceiling, measure_ceiling
from smfh.comparison.grid import Grid, estimate_seconds
from smfh.hashing import HashMethod
from smfh.jobs import Call, Course, here
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
    call: Call = here,
    at_once: int = 1,
) -> Problems:
    """Train and keep every run that the store has not; between two of them others may go first.

    Where `call` has them trained elsewhere, several can be under way at once.
    """
    problems: dict[HashMethod, tuple[str, ...]] = {}
    missing, total = grid.missing(store), len(grid.keys)
    first = next(iter(grid.keys.values()))

    def keep(method: HashMethod) -> None:
        store.check_room()  # full: none of the rest could be kept
        try:
            known = (grid.comparison.source, method, grid.data, grid.split)
            find_or_keep(store, *known, on_step, grid.owner, call)
        except InputError as error:
            problems[method] = error.problems

    with ThreadPoolExecutor(at_once) as pool:
        under_way: set[Future[None]] = set()
        for place, method in enumerate(missing):
            seconds = estimate_seconds(missing[place:], store.records(), first.data)
            left = sum(seconds.values()) / at_once if seconds else None
            done = place - len(under_way)
            progress = (total - len(missing) + done, total, done - len(problems), method, left)
            on_progress(GridProgress(*progress))
            give_way()
            if at_once == 1:
                keep(method)
                continue
            under_way.add(pool.submit(keep, method))
            if len(under_way) == at_once:
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for one in ended:
                    one.result()
        for one in under_way:
            one.result()
    trained = len(missing) - len(problems)
    on_progress(GridProgress(total, total, trained, None, 0.0))
    return problems


def grid_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Problems]:
    """The grid as work of a queue, one step a training."""
    return lambda course: train_grid(grid, store, course.report, course.check, course.give_way, course.call)


def ceiling_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Ceiling]:
    """Measure what the features of a grid's data allow, in the background, and keep it."""

    def work(course: Course) -> Ceiling:
        bare = grid.data.without_looks()
        ceiling: Ceiling = course.call(measure_ceiling, bare, grid.split, on_progress=course.report)
        store.save_ceiling(grid.ceiling_key, ceiling)
        return ceiling

    return work
