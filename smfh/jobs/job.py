"""One piece of work in the background, to be read and steered from any thread."""

import logging
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, Generic, Literal, TypeVar

from smfh.jobs.line import Line
from smfh.jobs.processes import Call, here
from smfh.types import InputError

State = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]
OVER: tuple[State, ...] = ("finished", "cancelled", "failed")
T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Course:
    """What work is handed, and must use: it tells how far it is, and hears when to halt or to end."""

    report: Callable[[Any], None]  # a step is done; it halts here while the job is paused
    check: Callable[..., None]  # between reports: a cancelled job ends here
    give_way: Callable[[], None]  # whoever waits goes first
    call: Call  # of a function, in a process of its own where the queue has them; it ends when the job does


Work = Callable[[Course], T]


class Cancelled(BaseException):
    """Raised in the work to end it; no Exception, so that no work catches it by mistake."""


class Job(Generic[T]):
    """What became of the work of one key; the queue makes it."""

    def __init__(
        self, key: Hashable, work: Work[T], line: Line, on_end: Callable[["Job[Any]"], None]
    ) -> None:
        self.key = key
        self._work: Work[T] | None = work
        self._line, self._changed = line, line.changed
        self._on_end = on_end  # told when it finished, failed, or is wanted no more
        self._state: State = "queued"
        self._begun = False
        self._unwanted = False
        self._allowed: int | None = None  # steps until the next pause; None: no pause
        self._watchers: dict[str, float] = {}  # by name, when last seen
        self._reports: list[Any] = []
        self._result: T | None = None
        self._error: BaseException | None = None
        self._spent = 0.0  # seconds of work before the last halt
        self._since: float | None = None  # when the work went on; None: it does not run
        self._last_step = 0.0  # seconds of work at the last step

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_wanted(self) -> bool:
        """Whether nobody has ended it, even where it is still to notice."""
        return not self._unwanted

    @property
    def over(self) -> bool:
        return self._state in OVER

    @property
    def reports(self) -> tuple[Any, ...]:
        """What the work has told so far, a step each."""
        with self._changed:
            return tuple(self._reports)

    @property
    def position(self) -> int:
        """Its place in the line, from 1; 0 where it does not wait."""
        with self._changed:
            waiting = self._line.waiting
            return waiting.index(self) + 1 if self in waiting else 0

    @property
    def watchers(self) -> frozenset[str]:
        """Who waits for it; nobody once it is over, and nobody who has not been seen for a while."""
        with self._changed:
            gone = monotonic() - self._line.away
            return frozenset(name for name, seen in self._watchers.items() if seen >= gone or not name)

    @property
    def result(self) -> T:
        """What the work returned; only a finished job has it."""
        if self._state != "finished":
            raise RuntimeError(f"A job that is {self._state} has no result; wait until it has finished.")
        return self._result  # type: ignore[return-value]

    @property
    def error(self) -> BaseException | None:
        """What a failed job failed with."""
        return self._error

    @property
    def problems(self) -> tuple[str, ...]:
        """The error in sentences for a person; none where nothing failed."""
        if isinstance(self._error, InputError):
            return self._error.problems
        return () if self._error is None else (f"{type(self._error).__name__}: {self._error}",)

    @property
    def seconds(self) -> float:
        """Time at work so far, without the time in line and in pauses."""
        with self._changed:
            return self._spent + (0.0 if self._since is None else perf_counter() - self._since)

    def time_left(self, total_steps: int) -> float | None:
        """Seconds of work still to do, at the mean pace so far; None before the first step."""
        with self._changed:
            done = len(self._reports)
            if self.over or done == 0:
                return 0.0 if self.over else None
            left = self._last_step / done * (total_steps - done)
            return max(0.0, left - (self.seconds - self._last_step))

    def wait(self, *states: State, timeout: float | None = None) -> bool:
        """Block until the job is in one of these states, or over; False where the time ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state in states or self.over, timeout)

    def watch(self, visitor: str) -> None:
        """One more who waits for it; with two of them nobody may hold it up any longer."""
        with self._changed:
            if self.over:
                return
            is_new = visitor not in self._watchers
            self._watchers[visitor] = monotonic()
            if is_new and len(self.watchers) > 1:
                self.resume()

    def see(self, visitor: str) -> None:
        """This visitor, if they watch it, is still there."""
        with self._changed:
            if visitor in self._watchers:
                self._watchers[visitor] = monotonic()

    def leave(self, visitor: str) -> None:
        """This visitor waits for it no more; the job goes on."""
        with self._changed:
            self._watchers.pop(visitor, None)

    def pause(self, visitor: str = "") -> bool:
        """Halt after the step under way; False where it is over or others watch, and it goes on."""
        with self._changed:
            return self._hold(visitor, 0 if self._state == "paused" else 1)

    def step(self, visitor: str = "") -> bool:
        """Do one more step, then halt; False where it is over or others watch, and it goes on."""
        with self._changed:
            return self._hold(visitor, (self._allowed or 0) + 1)

    def resume(self) -> None:
        """Go on without a halt."""
        with self._changed:
            self._allowed = None
            self._go_on()

    def cancel(self, visitor: str = "") -> bool:
        """Leave, and end the job: at once where it waits or is paused, else at its next step.

        False where others watch, and it goes on. A job that is over stays as it is.
        """
        with self._changed:
            if self.watchers - {visitor}:
                self.leave(visitor)
                return False
            self.end()
            return True

    def end(self) -> None:
        """Cancel, whoever watches."""
        with self._changed:
            if self.over:
                return
            self._unwanted = True
            self._on_end(self)  # who asks from now on gets a new job
            if self._state != "running":
                self._close("cancelled")

    def begin(self) -> None:
        """Take a place at work, for the first time or after a pause; the line calls this."""
        self._state, self._since = "running", perf_counter()
        if not self._begun:
            self._begun = True
            self._tell("begun")
            self._line.start_thread(self._run)
        self._changed.notify_all()

    # What follows expects the lock to be held, save what is said to run in the thread at work.

    def _hold(self, visitor: str, allowed: int) -> bool:
        if self.over or self.watchers - {visitor}:
            return False
        self._allowed = allowed
        if allowed:
            self._go_on()
        return True

    def _go_on(self) -> None:
        """From a pause back into the line, at its head: this job has had its turn of waiting."""
        if self._state == "paused":
            self._state = "queued"
            self._line.join(self, first=True)

    def _halt(self, state: State) -> None:
        """Stop the clock; give the place at work, or in the line, to the next."""
        had_a_place = self._state == "running"
        self._spent, self._since = self.seconds, None
        self._state = state
        if had_a_place:
            self._line.finish()
        else:
            self._line.leave(self)
        self._changed.notify_all()

    def _close(self, state: State) -> None:
        """The last change of state; whatever holds data alive is let go."""
        self._work = None
        self._tell(state)
        self._watchers.clear()
        self._halt(state)

    def _tell(self, what: str) -> None:
        self._line.tell(what, self.key, list(self._watchers), self.seconds, self._error)

    def _run(self) -> None:
        """In the thread at work: all of it, and what became of it."""
        state, result, error = self._outcome()
        if error is not None and not isinstance(error, InputError):
            log.error("A job failed.\n%s", "".join(traceback.format_exception(error)))
        _drop_frames(error)
        with self._changed:
            if self.over:  # cancelled in a pause
                return
            if self._unwanted:
                self._close("cancelled")
                return
            self._result, self._error = result, error
            self._close(state)
            self._on_end(self)

    def _outcome(self) -> tuple[State, T | None, BaseException | None]:
        """In the thread at work; a function of its own, so that its frame is gone when all is told."""
        try:
            course = Course(self._report, self._check, self._give_way, self._call)
            return "finished", self._work(course), None  # type: ignore[misc] # only _close drops it
        except Cancelled:
            return "cancelled", None, None
        except BaseException as error:
            return "failed", None, error

    def _report(self, step: Any) -> None:
        """In the thread at work, after every step."""
        with self._changed:
            self._reports.append(step)
            self._last_step = self.seconds
            if self._allowed is not None:
                self._allowed -= 1
            if self._allowed == 0 and not self._unwanted:
                self._park()
            if not self.watchers:  # nobody waits for it any more: whoever waits for another goes first
                self._give_way()
            self._check()

    def _check(self, *_: Any) -> None:
        """In the thread at work."""
        if self._unwanted:
            raise Cancelled

    def _call(self, function: Callable[..., Any], *arguments: Any, **callbacks: Any) -> Any:
        """In the thread at work."""
        if self._line.processes is None:
            return here(function, *arguments, **callbacks)
        return self._line.processes.call(function, *arguments, check=self._check, **callbacks)

    def _give_way(self) -> None:
        """In the thread at work: to the end of the line, if there is one."""
        with self._changed:
            if self._line.waiting and not self._unwanted:
                self._halt("queued")
                self._line.join(self)
                self._changed.wait_for(lambda: self._state != "queued")
            self._check()

    def _park(self) -> None:
        """Halt until someone lets this job go on, or the limit is reached, and a place is free."""
        self._halt("paused")
        self._line.halt(self)
        if not self._changed.wait_for(lambda: self._state != "paused", self._line.pause_limit):
            self.resume()
        if self in self._line.paused:
            self._line.paused.remove(self)
        self._changed.wait_for(lambda: self._state != "queued")


def _drop_frames(error: BaseException | None) -> None:
    """Forget where an error and those behind it came from: their frames hold the training data."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
