"""One piece of work in the background, to be read and steered from any thread."""

import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Generic

from smfh.jobs.clock import Clock
from smfh.jobs.course import OVER, Cancelled, Course, State, T, Work
from smfh.jobs.faults import drop_frames, trace
from smfh.jobs.line import MOST_ASIDE, Line
from smfh.jobs.processes import Call, Caller, here
from smfh.jobs.watchers import Watchers
from smfh.types import InputError

log = logging.getLogger(__name__)


class Job(Generic[T]):
    """What became of the work of one key; the queue makes it."""

    def __init__(
        self, key: Hashable, work: Work[T], line: Line, on_end: Callable[["Job[Any]"], None], asker: str
    ) -> None:
        self.key = key
        self.asker = asker  # who asked for it first
        self._work: Work[T] | None = work
        self._line, self._changed = line, line.changed
        self._on_end = on_end  # told when it finished, failed, or is wanted no more
        self._state: State = "queued"
        self._begun = False
        self._unwanted = False
        self._allowed: int | None = None  # steps until the next pause; None: no pause
        self._watchers = Watchers(line.away)
        self._reports: list[Any] = []
        self._result: T | None = None
        self._error: BaseException | None = None
        self._clock = Clock()

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
        """Its place in the order in which those who wait come to work, from 1; 0 where it does not wait."""
        with self._changed:
            order = self._line.order()
            return order.index(self) + 1 if self in order else 0

    @property
    def others_ahead(self) -> int:
        """How many that are at work, or come before it, somebody waits for who does not wait for this one."""
        with self._changed:
            if not (position := self.position):
                return 0
            ahead = [*self._line.working, *self._line.order()[: position - 1]]
            return sum(bool(who.watchers - self.watchers) for who in ahead)

    @property
    def watchers(self) -> frozenset[str]:
        """Who waits for it; nobody once it is over, and nobody who has not been seen for a while."""
        with self._changed:
            return self._watchers.present

    @property
    def last_seen(self) -> float:
        """When anybody who waits for it was there, on the clock of `time.monotonic`."""
        return self._watchers.last_seen

    def is_watched_by(self, visitor: str) -> bool:
        """Whether this visitor waits for it, seen lately or not."""
        with self._changed:
            return visitor in self._watchers

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
            return self._clock.seconds

    def time_left(self, total_steps: int) -> float | None:
        """Seconds of work still to do, at the mean pace so far; None before the first step."""
        with self._changed:
            done = len(self._reports)
            if self.over or done == 0:
                return 0.0 if self.over else None
            return self._clock.time_left(done, total_steps)

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
            self._watchers.see(visitor)
            if is_new and len(self.watchers) > 1:
                self.resume()

    def see(self, visitor: str) -> None:
        """This visitor, if they watch it, is still there."""
        with self._changed:
            if visitor in self._watchers:
                self._watchers.see(visitor)

    def leave(self, visitor: str) -> None:
        """This visitor waits for it no more; the job goes on."""
        with self._changed:
            self._watchers.remove(visitor)

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
        self._state = "running"
        self._clock.go_on()
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
        self._clock.halt()
        self._state = state
        if had_a_place:
            self._line.finish(self)
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
            log.error("A job failed: %s", trace(error))
        drop_frames(error)
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
            caller = None if self._line.caller_of is None else self._line.caller_of(self.key)
            at_once = 1 if caller is None else caller.at_once
            course = Course(self._report, self._check, self._give_way, self._call_by(caller), at_once)
            return "finished", self._work(course), None  # type: ignore[misc] # only _close drops it
        except Cancelled:
            return "cancelled", None, None
        except BaseException as error:
            return "failed", None, error

    def _report(self, step: Any) -> None:
        """In the thread at work, after every step."""
        with self._changed:
            self._reports.append(step)
            self._clock.step()
            if self._allowed is not None:
                self._allowed -= 1
            if self._allowed == 0 and not self._unwanted:
                self._park()
            if not self.watchers:
                self._stand_aside()
            self._check()

    def _check(self, *_: Any) -> None:
        """In the thread at work."""
        if self._unwanted:
            raise Cancelled

    def _call_by(self, caller: Caller | None) -> Call:
        return here if caller is None else partial(caller.call, check=self._check)

    def _give_way(self, first: bool = False) -> None:
        """In the thread at work: to the end of the line, or its head, if somebody waits for another there."""
        with self._changed:
            if self._line.is_awaited and not self._unwanted:
                self._halt("queued")
                self._line.join(self, first)
                self._changed.wait_for(lambda: self._state != "queued")
            self._check()

    def _stand_aside(self) -> None:
        """In the thread at work, when nobody waits for it any more: what somebody waits for goes first.

        It keeps its thread and its process meanwhile: so it is the next of those that nobody waits for, and
        where too many stand aside, it goes on.
        """
        if self._line.aside < MOST_ASIDE:
            self._line.aside += 1
            try:
                self._give_way(first=True)
            finally:
                self._line.aside -= 1

    def _park(self) -> None:
        """Halt until someone lets this job go on, or the limit is reached, and a place is free."""
        self._halt("paused")
        self._line.halt(self)
        if not self._changed.wait_for(lambda: self._state != "paused", self._line.pause_limit):
            self.resume()
        if self in self._line.paused:
            self._line.paused.remove(self)
        self._changed.wait_for(lambda: self._state != "queued")
