"""Comparisons in the background: one a visitor, cell by cell in the same line as everybody's trainings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import Condition, Thread
from typing import Any, Literal

from smfh.comparison.grid import Grid, seconds_left
from smfh.comparison.running import train_and_keep
from smfh.hashing import HashMethod
from smfh.jobs import Job, JobKey, TrainingQueue
from smfh.store import RunStore
from smfh.types import InputError

RunState = Literal["running", "paused", "finished", "cancelled", "failed"]
LOOK = 0.1  # seconds between two looks at a job for an order to stop
LINE_IS_FULL = 1.0  # seconds before asking for a place again
NUMBERS = count()


@dataclass(frozen=True)
class CellKey:
    """A cell in the line. Not the key of its run: who looks at that wants its answers, a cell keeps none."""

    run: JobKey


class ComparisonRun:
    """One comparison under way; read and steered from any thread."""

    def __init__(self, grid: Grid, store: RunStore, queue: TrainingQueue, visitor: str) -> None:
        self.grid = grid
        self._store, self._queue = store, queue
        self._watcher = f"{visitor} compares {next(NUMBERS)}"  # one who leaves must not take another along
        self._changed = Condition()
        self._state: RunState = "running"
        self._ended: set[HashMethod] = set()
        self._trained = 0
        self._problems: dict[HashMethod, tuple[str, ...]] = {}
        self._stopped_by: tuple[str, ...] = ()
        self._job: Job[Any] | None = None
        self._cell: HashMethod | None = None
        self._thread = Thread(target=self._work, name="comparison", daemon=True)

    def start(self) -> "ComparisonRun":
        self._thread.start()
        return self

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def over(self) -> bool:
        return self._state in ("finished", "cancelled", "failed")

    @property
    def total(self) -> int:
        return len(self.grid.keys)

    @property
    def done(self) -> int:
        """Cells that are there or could not be trained."""
        with self._changed:
            return len(self._ended)

    @property
    def trained(self) -> int:
        """Cells that this comparison has trained itself; the others were there."""
        with self._changed:
            return self._trained

    @property
    def current(self) -> HashMethod | None:
        """The cell at work or in line."""
        return self._cell

    @property
    def position(self) -> int:
        """The place of that cell in the line, from 1; 0 where it is at work."""
        job = self._job
        return 0 if job is None else job.position

    @property
    def problems(self) -> Mapping[HashMethod, tuple[str, ...]]:
        """Cells that could not be trained, with the reasons in words."""
        with self._changed:
            return dict(self._problems)

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """Why a failed comparison did not go on."""
        return self._stopped_by

    @property
    def time_left(self) -> float | None:
        """Seconds of training still to do, from what cells of this data took; None before the first."""
        if self.over:
            return 0.0
        with self._changed:
            left = [cell for cell in self.grid.keys if cell not in self._ended]
            job = self._job
        whole = seconds_left(left, self._store.records(), self.grid.data.fingerprint)
        return None if whole is None else max(0.0, whole - (job.seconds if job is not None else 0.0))

    def pause(self) -> None:
        """Train no further cell; the one at work is finished."""
        self._turn("running", "paused")

    def resume(self) -> None:
        self._turn("paused", "running")

    def cancel(self) -> None:
        """Stop; what is finished stays, and the same comparison goes on from there."""
        with self._changed:
            if not self.over:
                self._state = "cancelled"
                self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it is over; False where the time ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.over, timeout)

    def _turn(self, before: RunState, after: RunState) -> None:
        with self._changed:
            if self._state == before:
                self._state = after
                self._changed.notify_all()

    def _work(self) -> None:
        """In the thread of this comparison: one cell after another."""
        try:
            for cell, key in self.grid.keys.items():
                if self._may_go_on():
                    self._settle(cell, key)
            self._end("finished")
        except InputError as error:
            self._end("failed", error.problems)
        except Exception as error:
            self._end("failed", (f"{type(error).__name__}: {error}",))
            raise

    def _may_go_on(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._state != "paused")
            return self._state == "running"

    def _end(self, state: RunState, why: tuple[str, ...] = ()) -> None:
        with self._changed:
            self._cell = self._job = None
            if not self.over:
                self._state, self._stopped_by = state, why
            self._changed.notify_all()

    def _settle(self, cell: HashMethod, key: JobKey) -> None:
        """Find the cell or have it trained; one that somebody else cancelled is asked for again."""
        while self._store.find(key) is None:
            self._store.check_room()
            job = self._submit(cell, key)
            if job is None or not self._see_through(job):
                return
            if job.state == "failed":
                with self._changed:
                    self._problems[cell] = job.problems
                break
            self._queue.forget(job.key)  # the store has it: were it deleted there, it must be trained again
            with self._changed:
                self._trained += job.state == "finished"
        with self._changed:
            self._ended.add(cell)
            self._changed.notify_all()

    def _see_through(self, job: Job[Any]) -> bool:
        """Wait until the job is over; False where this comparison was cancelled first."""
        while not job.wait(timeout=LOOK):
            if self._state == "cancelled":
                job.cancel(self._watcher)
                return False
        return True

    def _submit(self, cell: HashMethod, key: JobKey) -> Job[Any] | None:
        """A place in the line, asked for until there is one or nobody wants it any more."""
        grid = self.grid
        work = partial(train_and_keep, self._store, grid.comparison.source, key, grid.data, grid.split)
        while self._state != "cancelled":
            try:
                job: Job[Any] = self._queue.submit(CellKey(key), work, self._watcher)
            except InputError:  # too many wait
                with self._changed:
                    self._changed.wait_for(lambda: self._state == "cancelled", LINE_IS_FULL)
                continue
            with self._changed:
                self._cell, self._job = cell, job
            return job
        return None


class Comparisons:
    """Who compares what: one comparison a visitor, and so many at once."""

    def __init__(self, store: RunStore, queue: TrainingQueue, most: int = 4) -> None:
        self.store, self.queue, self.most = store, queue, most
        self._runs: dict[str, ComparisonRun] = {}  # by visitor
        self._lock = Condition()

    def start(self, grid: Grid, visitor: str) -> ComparisonRun:
        """Begin a comparison; refused where this visitor has one, or too many have."""
        with self._lock:
            self._runs = {who: run for who, run in self._runs.items() if not run.over}
            if visitor in self._runs:
                raise InputError("A comparison of yours is under way; cancel it or wait until it is done.")
            if len(self._runs) >= self.most:
                raise InputError(
                    f"{len(self._runs)} comparisons of others are under way; try again when one is done."
                )
            self._runs[visitor] = run = ComparisonRun(grid, self.store, self.queue, visitor)
            return run.start()

    def of(self, visitor: str) -> ComparisonRun | None:
        """The comparison that this visitor started last, as long as it is remembered."""
        with self._lock:
            return self._runs.get(visitor)
