"""Background jobs that any thread may control, and the bounded queue that runs them in a fair order."""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from threading import Condition, Thread
from time import monotonic, perf_counter
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakSet

from smfh.engine import Call, Engine, here
from smfh.engine.worker import drop_frames, trace
from smfh.types import InputError

State = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]
OVER: tuple[State, ...] = ("finished", "cancelled", "failed")
MAX_PAUSED = 2  # a paused job keeps a thread and a worker process
MAX_INTERRUPTED = 2  # a job without viewers that lets others run keeps them too
MAX_VISITORS = 256  # number of visitors whose last turn is remembered
# Called with the event of a job ("begun", "refused" or its final state), the job's key, its viewers, its run
# time in seconds, and its error.
OnEvent = Callable[[str, Hashable, Iterable[str], float, BaseException | None], None]
T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobContext:
    """Functions that a job's work can call: report progress, check for cancellation, call a worker process."""

    report: Callable[[Any], None]  # call after each step; waits while the job is paused
    check: Callable[..., None]  # raises if the job was cancelled
    yield_turn: Callable[[], None]  # call between two parts; lets waiting viewed jobs run first
    call: Call  # calls a function in a worker process, if any, until the job is cancelled
    at_once: int = 1  # number of calls worth making at the same time


Work = Callable[[JobContext], T]


class CancelledJobError(BaseException):
    """Raised in the work of a cancelled job; a BaseException, so that `except Exception` does not catch it."""


class Job(Generic[T]):
    """A background job, with its state, progress reports and result; created by `JobQueue.submit`."""

    def __init__(self, key: Hashable, work: Work[T], queue: "JobQueue", submitter: str) -> None:
        self.key, self.submitter = key, submitter
        self.state: State = "queued"
        self.error: BaseException | None = None  # of a failed job
        self.has_begun = self.is_cancelled = False  # is_cancelled: even if its work has not ended yet
        self.last_seen = monotonic()  # time when any viewer was last seen
        self.seen = {submitter: self.last_seen}  # the same for each viewer, even if away; "" is never away
        self._work: Work[T] | None = work
        self._queue, self._changed = queue, queue.changed
        self._steps_left: int | None = None  # until the next pause; None: no pause
        self._reports: list[Any] = []
        self._result: T | None = None
        self._seconds = 0.0  # run time up to `_since`
        self._step_ends = [0.0]  # run time up to the start, and to the end of each step
        self._since: float | None = None  # when it started or resumed; None: not running

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def is_pausing(self) -> bool:
        """Whether the job is running and will pause after the current step."""
        return self.state == "running" and self._steps_left is not None

    @property
    def reports(self) -> tuple[Any, ...]:
        """The progress reports of the job so far, one for each step."""
        with self._changed:
            return tuple(self._reports)

    @property
    def position(self) -> int:
        """Position of this job among the waiting jobs, from 1; 0 if it is not waiting."""
        with self._changed:
            return self._queue.order().index(self) + 1 if self in self._queue.waiting else 0

    @property
    def viewers(self) -> frozenset[str]:
        """The visitors who view this job and were active recently; none once it is over."""
        with self._changed:
            oldest = monotonic() - self._queue.away_seconds
            return frozenset(name for name, seen in self.seen.items() if seen >= oldest or not name)

    @property
    def result(self) -> T:
        """The return value of the job's work; raises RuntimeError unless the job has finished."""
        if self.state != "finished":
            raise RuntimeError(f"A job that is {self.state} has no result; wait until it has finished.")
        return self._result  # type: ignore[return-value]

    @property
    def problems(self) -> tuple[str, ...]:
        """Error messages of a failed job, for display; empty if it did not fail."""
        if isinstance(self.error, InputError):
            return self.error.problems
        return () if self.error is None else (f"{type(self.error).__name__}: {self.error}",)

    @property
    def seconds(self) -> float:
        """The job's run time so far in seconds, without waiting and pauses."""
        with self._changed:
            return self._seconds + (0.0 if self._since is None else perf_counter() - self._since)

    def time_left(self, total_steps: int) -> float | None:
        """Estimate the remaining seconds from the median time per step; None before the first step.

        The first step, which is often slower, counts only as long as there is no other.
        """
        with self._changed:
            done = len(self._reports)
            if self.over or done == 0:
                return 0.0 if self.over else None
            steps = [end - start for start, end in pairwise(self._step_ends)]
            left = median(steps[1:] or steps) * (total_steps - done)
            return max(0.0, left - (self.seconds - self._step_ends[-1]))

    def wait(self, *states: State, timeout: float | None = None) -> bool:
        """Block until the job is over or in one of these states; return False if the timeout comes first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.state in states or self.over, timeout)

    def view(self, visitor: str) -> None:
        """Add a viewer; if it is the second one, resume a paused job, since only a single viewer may pause it."""
        with self._changed:
            is_new = visitor not in self.seen
            if not self.over:
                self.seen[visitor] = self.last_seen = monotonic()
                if is_new and len(self.viewers) > 1:
                    self.resume()

    def touch(self, visitor: str) -> None:
        """Record that a visitor who views this job is active now."""
        with self._changed:
            if visitor in self.seen:
                self.seen[visitor] = self.last_seen = monotonic()

    def leave(self, visitor: str) -> None:
        """Remove a viewer of this job; the job continues."""
        with self._changed:
            if self.seen.pop(visitor, None) is not None:
                self.last_seen = monotonic()

    def pause(self, visitor: str = "") -> bool:
        """Pause after the current step; return False if the job is over or has other viewers."""
        with self._changed:
            return self._allow_steps(visitor, 0 if self.state == "paused" else 1)

    def step(self, visitor: str = "") -> bool:
        """Run the job for one more step, then pause it; return False if it is over or has other viewers."""
        with self._changed:
            return self._allow_steps(visitor, (self._steps_left or 0) + 1)

    def resume(self) -> None:
        """Continue a paused job, or withdraw a request to pause."""
        with self._changed:
            self._set_steps(None)

    def cancel(self, visitor: str = "") -> bool:
        """Cancel the job: at once if it is waiting or paused, else at its next step; return True.

        If it has other viewers, only remove this viewer and return False. A job that is over does not change.
        """
        with self._changed:
            if self.viewers - {visitor}:
                self.leave(visitor)
                return False
            self.end()
            return True

    def end(self) -> None:
        """Cancel the job even if visitors view it."""
        with self._changed:
            if self.over:
                return
            self.is_cancelled = True
            self._queue.file(self)  # the next request for its key gets a new job
            if self.state != "running":
                self._close("cancelled")

    def begin(self) -> None:
        """Start the job, or continue it after a wait; called by the queue."""
        self.state, self._since = "running", perf_counter()
        if not self.has_begun:
            self.has_begun = True
            self._notify("begun")
            thread = Thread(target=self._run, name="job", daemon=True)  # a paused job keeps its thread
            self._queue.threads.add(thread)
            thread.start()
        self._changed.notify_all()

    # The caller of the following methods must hold the lock.

    def _allow_steps(self, visitor: str, steps: int) -> bool:
        is_allowed = not self.over and not self.viewers - {visitor}
        if is_allowed:
            self._set_steps(steps)
        return is_allowed

    def _set_steps(self, steps: int | None) -> None:
        """Set the number of steps until the next pause; a paused job continues ahead of waiting ones."""
        self._steps_left = steps
        if self.state == "paused" and steps != 0:
            self.state = "queued"
            self._queue.wait(self, first=True)

    def _halt(self, state: State) -> None:
        """Take the job out of the queue and enter `state`, so that the next job can start."""
        self._seconds, self._since, self.state = self.seconds, None, state
        self._queue.release(self)
        self._changed.notify_all()

    def _close(self, state: State) -> None:
        """Enter the final state, and drop the work, which would keep its data in memory."""
        self._work = None
        self._notify(state)
        self.seen.clear()
        self._halt(state)

    def _notify(self, event: str) -> None:
        self._queue.on_event(event, self.key, list(self.seen), self.seconds, self.error)

    # The following methods run in the job's own thread.

    def _run(self) -> None:
        state, result, error = self._outcome()
        if error is not None and not isinstance(error, InputError):
            log.error("A job failed: %s", trace(error))
        drop_frames(error)
        with self._changed:
            if self.is_cancelled and not self.over:  # a job cancelled while paused is over already
                self._close("cancelled")
            elif not self.over:
                self._result, self.error = result, error
                self._close(state)
                self._queue.file(self)

    def _outcome(self) -> tuple[State, T | None, BaseException | None]:
        """Do the work and return state, result and error; returning frees the memory of its local variables."""
        try:
            caller = None if self._queue.caller_of is None else self._queue.caller_of(self.key)
            call = here if caller is None else partial(caller.call, check=self._check)
            at_once = 1 if caller is None else caller.at_once
            context = JobContext(self._report, self._check, self._yield_turn, call, at_once)
            return "finished", self._work(context), None  # type: ignore[misc] # only _close sets it to None
        except CancelledJobError:
            return "cancelled", None, None
        except BaseException as error:
            return "failed", None, error

    def _check(self, *_: Any) -> None:
        if self.is_cancelled:
            raise CancelledJobError

    def _report(self, step: Any) -> None:
        """Add a progress report; then wait if the job is paused, or without viewers while viewed jobs wait."""
        queue = self._queue
        with self._changed:
            self._reports.append(step)
            self._step_ends.append(self.seconds)
            if self._steps_left is not None:
                self._steps_left -= 1
            if self._steps_left == 0 and not self.is_cancelled:
                self._halt("paused")
                queue.paused.append(self)
                while len(queue.paused) > MAX_PAUSED:
                    queue.paused.popleft().resume()
                if not self._changed.wait_for(lambda: self.state != "paused", queue.max_pause_seconds):
                    self.resume()
                if self in queue.paused:
                    queue.paused.remove(self)
                self._changed.wait_for(lambda: self.state != "queued")
            interrupted = sum(job.has_begun and not job.viewers for job in queue.waiting)
            if not self.viewers and interrupted < MAX_INTERRUPTED:
                self._yield_turn(first=True)  # it occupies a worker, so it continues before new jobs begin
            self._check()

    def _yield_turn(self, first: bool = False) -> None:
        """Let waiting jobs with viewers run first: wait at the end of the queue, or with `first` at its head."""
        with self._changed:
            if any(job.viewers for job in self._queue.waiting) and not self.is_cancelled:
                self._halt("queued")
                self._queue.wait(self, first)
                self._changed.wait_for(lambda: self.state != "queued")
            self._check()


class JobQueue:
    """A queue of `workers` running and up to `max_waiting` waiting or paused jobs, with `max_results` results.

    When the queue is full, a new job replaces the job that has been without viewers for longest.
    """

    def __init__(
        self,
        workers: int = 1,
        max_waiting: int = 16,
        max_results: int = 32,
        caller_of: Callable[[Hashable], Engine] | None = None,  # by job key; None: call in the job's thread
        on_event: OnEvent | None = None,
        max_pause_seconds: float = 600.0,
        away_seconds: float = 30.0,  # after which a viewer who was not seen counts as absent
        max_per_visitor: int = 0,  # unfinished jobs that one visitor may submit; 0: no limit
    ) -> None:
        self.workers, self.max_waiting, self.max_results = workers, max_waiting, max_results
        self.max_pause_seconds, self.away_seconds = max_pause_seconds, away_seconds
        self.max_per_visitor = max_per_visitor
        self.caller_of, self.on_event = caller_of, on_event or (lambda *_: None)
        self.changed = Condition()  # the lock of the queue and all its jobs
        self.waiting: deque[Job[Any]] = deque()
        self.running: list[Job[Any]] = []
        self.paused: deque[Job[Any]] = deque()  # the one paused longest first
        self.threads: WeakSet[Thread] = WeakSet()
        self._unfinished: dict[Hashable, Job[Any]] = {}
        self._finished: OrderedDict[Hashable, Job[Any]] = OrderedDict()  # the least recently used first
        self._turns: dict[str, int] = {}  # by visitor: number of the turn when their last job started
        self._turn = 0
        self._is_open = True

    def submit(self, key: Hashable, work: Work[T], visitor: str = "", rerun: bool = False) -> Job[T]:
        """Return the job with this key, unfinished or finished; create it if there is none.

        The work must depend only on the key. A failed or cancelled job is replaced by a new one; with `rerun`
        a finished job is replaced too.
        """
        with self.changed:
            if rerun:
                self._finished.pop(key, None)
            job = self.find(key)
            if job is None:
                try:
                    self._check_limits(visitor)
                except InputError as error:
                    self.on_event("refused", key, [visitor], 0.0, error)
                    raise
                job = self._unfinished[key] = Job(key, work, self, visitor)
                self.wait(job)
            job.view(visitor)
            return job

    def find(self, key: Hashable) -> Job[Any] | None:
        """Return the unfinished job with this key, or the finished one whose result is still cached; else None."""
        with self.changed:
            if key in self._finished:
                self._finished.move_to_end(key)
                self._finished[key].last_seen = monotonic()
                return self._finished[key]
            return self._unfinished.get(key)

    def unfinished_of(self, visitor: str, kind: type) -> Job[Any] | None:
        """Return the first unfinished job that this visitor views with a key of type `kind`, or None."""
        with self.changed:
            jobs = (job for job in self._unfinished.values() if visitor in job.seen)
            return next((job for job in jobs if isinstance(job.key, kind)), None)

    def touch(self, visitor: str) -> None:
        """Record that this visitor is active now, in all jobs that the visitor views."""
        with self.changed:
            for job in self._unfinished.values():
                job.touch(visitor)

    @property
    def load(self) -> tuple[int, int]:
        """The number of running jobs, and the number of waiting or paused jobs."""
        with self.changed:
            paused = sum(job.state == "paused" for job in self._unfinished.values())
            return len(self.running), len(self.waiting) + paused

    def set_workers(self, workers: int) -> None:
        """Set how many jobs may run at the same time; running jobs are not stopped."""
        with self.changed:
            self.workers = workers
            self._fill()

    def forget(self, unwanted: Callable[[Hashable], bool]) -> None:
        """Cancel unfinished jobs, and delete results, for whose key `unwanted` returns true."""
        with self.changed:
            for key in [key for key in self._finished if unwanted(key)]:
                del self._finished[key]
            for job in [job for key, job in self._unfinished.items() if unwanted(key)]:
                job.end()

    def forget_results(self, unused_seconds: float = 0.0) -> None:
        """Delete the results that were not requested within this time; unfinished jobs continue."""
        with self.changed:
            oldest = monotonic() - unused_seconds
            for key in [key for key, job in self._finished.items() if job.last_seen <= oldest]:
                del self._finished[key]

    def close(self) -> None:
        """Cancel all jobs and wait until their threads have ended."""
        with self.changed:
            self._is_open = False
            for job in list(self._unfinished.values()):
                job.end()
            threads = list(self.threads)
        for thread in threads:
            thread.join()

    # The following methods are called by jobs, which must hold the lock.

    def order(self) -> list[Job[Any]]:
        """Return the waiting jobs in the order in which they would start.

        Visitors take turns: the one whose last turn is longest ago is first. Jobs without viewers come last.
        """
        earlier: dict[str, int] = {}  # number of waiting jobs of each visitor so far

        def priority(job: Job[Any]) -> tuple[bool, int, int]:
            viewers = job.viewers
            ranks = [(earlier.get(name, 0), self._turns.get(name, 0)) for name in viewers]
            earlier.update({name: earlier.get(name, 0) + 1 for name in viewers})
            return (not viewers, *min(ranks, default=(0, 0)))

        return sorted(self.waiting, key=priority)  # calls `priority` in the order of the queue

    def wait(self, job: Job[Any], first: bool = False) -> None:
        """Add a job at the end of the queue, or with `first` at its head; start it if a worker is free."""
        (self.waiting.appendleft if first else self.waiting.append)(job)
        self._fill()

    def release(self, job: Job[Any]) -> None:
        """Remove a running or waiting job from the queue; after a running one, start the next."""
        if job in self.running:
            self.running.remove(job)
            self._fill()
        elif job in self.waiting:
            self.waiting.remove(job)

    def file(self, job: Job[Any]) -> None:
        """Move a job that has ended out of the unfinished ones; keep its result if it finished."""
        if self._unfinished.get(job.key) is job:
            del self._unfinished[job.key]
        if job.state == "finished":
            self._finished[job.key], job.last_seen = job, monotonic()
            while len(self._finished) > self.max_results:
                self._finished.popitem(last=False)

    def _fill(self) -> None:
        """Start waiting jobs, in order, while workers are free."""
        while self.waiting and len(self.running) < self.workers:
            job = self.order()[0]
            self.waiting.remove(job)
            self.running.append(job)
            self._turn += 1
            for visitor in job.viewers:
                self._turns.pop(visitor, None)
                self._turns[visitor] = self._turn
            for visitor in list(self._turns)[:-MAX_VISITORS]:
                del self._turns[visitor]
            job.begin()

    def _check_limits(self, visitor: str) -> None:
        """Raise InputError if the queue or this visitor has too many jobs and none without viewers can be cancelled."""
        if not self._is_open:
            raise RuntimeError("The queue is closed; make a new one.")
        jobs = list(self._unfinished.values())
        theirs = [job for job in jobs if job.submitter == visitor]
        if visitor and 0 < self.max_per_visitor <= len(theirs) and not _end_unviewed(theirs):
            raise InputError(
                f"{len(theirs)} of your jobs are running or waiting, which is the limit for one visitor; "
                "wait until one of them has finished, or cancel one."
            )
        if len(self._unfinished) >= self.workers + self.max_waiting and not _end_unviewed(jobs):
            raise InputError(f"The queue is full: {self.load[1]} jobs are waiting. Try again when one has finished.")


def _end_unviewed(jobs: Iterable[Job[Any]]) -> bool:
    """Cancel the job that has been without viewers for longest; return False if all have viewers."""
    longest = min((job for job in jobs if not job.viewers), key=lambda job: job.last_seen, default=None)
    if longest is not None:
        longest.end()
    return longest is not None
