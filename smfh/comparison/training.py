"""Train what is not there yet, and keep it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from smfh.ceiling import Ceiling, measure_ceiling
from smfh.comparison.grid import Grid, estimate_seconds
from smfh.hashing import HashMethod
from smfh.jobs import Call, Cancelled, Course, here
from smfh.runs import KeptRuns, find_or_keep
from smfh.types import InputError, OnStep, TrainingStep

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
    there, stopped = total - len(missing), Event()

    def step(told: TrainingStep) -> None:
        if stopped.is_set():
            raise Cancelled
        if on_step is not None:
            on_step(told)

    def keep(method: HashMethod) -> None:
        store.check_room()  # full: none of the rest could be kept
        try:
            known = (grid.comparison.source, method, grid.data, grid.split)
            find_or_keep(store, *known, step, grid.owner, call)
        except InputError as error:
            problems[method] = error.problems

    def report(left: Sequence[HashMethod], under_way: int = 0) -> None:
        done = len(missing) - len(left) - under_way
        seconds = estimate_seconds(left, store.records(), grid.data.fingerprint)
        known = sum(seconds.values()) / at_once if seconds else None if under_way or left else 0.0
        now = left[0] if left else None
        on_progress(GridProgress(there + done, total, done - len(problems), now, known))

    with ThreadPoolExecutor(at_once) as pool:
        under_way: set[Future[None]] = set()
        try:
            for place, method in enumerate(missing):
                if len(under_way) == at_once:
                    under_way = _wait_for_one(under_way)
                report(missing[place:], len(under_way))
                give_way()
                under_way.add(pool.submit(keep, method))
            while len(under_way) > 1:
                under_way = _wait_for_one(under_way)
                report((), len(under_way))
            _wait_for_one(under_way)
            report(())
        except BaseException:
            stopped.set()
            raise
    return problems


def _wait_for_one(under_way: set[Future[None]]) -> set[Future[None]]:
    """Those that still are under way when the first has ended; what it raised is raised here."""
    ended, left = wait(under_way, return_when=FIRST_COMPLETED)
    for one in ended:
        one.result()
    return left


def grid_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Problems]:
    """The grid as work of a queue, one step a training."""
    return lambda course: train_grid(
        grid, store, course.report, course.check, course.give_way, course.call, course.at_once
    )


def ceiling_work(grid: Grid, store: KeptRuns) -> Callable[[Course], Ceiling]:
    """Measure what the features of a grid's data allow, in the background, and keep it."""

    def work(course: Course) -> Ceiling:
        bare = grid.data.without_looks()
        ceiling: Ceiling = course.call(measure_ceiling, bare, grid.split, on_progress=course.report)
        store.save_ceiling(grid.ceiling_key, ceiling)
        return ceiling

    return work
