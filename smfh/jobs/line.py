"""Who is at work and who waits."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from threading import Condition, Thread
from typing import Protocol

from smfh.jobs.processes import Caller

MOST_PAUSED = 4
MOST_ASIDE = 4
REMEMBERED = 256  # visitors whose last turn is known
# what became of the job of a key (begun, refused, or a state that is the last), for whom, after how many
# seconds of work, and the error where there is one
Tell = Callable[[str, Hashable, Iterable[str], float, BaseException | None], None]


class Waiting(Protocol):
    """Something that can wait in line."""

    @property
    def watchers(self) -> frozenset[str]: ...

    def begin(self) -> None: ...


class Pausing(Protocol):
    """Something that halts until it is told to go on."""

    def resume(self) -> None: ...


class Line:
    """A number of workers and one line before them; every method expects the lock to be held."""

    def __init__(
        self,
        workers: int,
        pause_limit: float,
        away: float,
        caller_of: Callable[[Hashable], Caller] | None = None,
        tell: Tell | None = None,
    ) -> None:
        self.workers, self.pause_limit, self.away, self.caller_of = workers, pause_limit, away, caller_of
        self.tell: Tell = tell or (lambda *_: None)
        self.changed = Condition()  # one lock for all: what changes, changes for everybody at once
        self.waiting: deque[Waiting] = deque()
        self.working: list[Waiting] = []
        self.aside = 0  # how many have begun, are watched by nobody, and let others go first
        self.paused: deque[Pausing] = deque()  # the longest first
        self.threads: set[Thread] = set()
        self._turn = 0
        self._turns: dict[str, int] = {}  # by visitor, when something of theirs came to work last

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for something in line."""
        return any(who.watchers for who in self.waiting)

    def join(self, who: Waiting, first: bool = False) -> None:
        if first:
            self.waiting.appendleft(who)
        else:
            self.waiting.append(who)
        self.fill()

    def leave(self, who: Waiting) -> None:
        if who in self.waiting:
            self.waiting.remove(who)

    def halt(self, who: Pausing) -> None:
        """One more is paused, with a thread and a process of its own: of too many the first goes on."""
        self.paused.append(who)
        while len(self.paused) > MOST_PAUSED:
            self.paused.popleft().resume()

    def finish(self, who: Waiting) -> None:
        """One at work has stopped."""
        self.working.remove(who)
        self.fill()

    def fill(self) -> None:
        """Set to work as many as there are workers for."""
        while self.waiting and len(self.working) < self.workers:
            first = self.order()[0]
            self.waiting.remove(first)
            self.working.append(first)
            self._note_turn(first.watchers)
            first.begin()

    def order(self) -> list[Waiting]:
        """Who comes to work after whom, if nobody joins.

        Visitors take turns: first who had none, or whose last is longest ago. Of one visitor's jobs, and
        among equals, the first in line goes first; what nobody waits for goes last.
        """
        left, order = [(who, who.watchers) for who in self.waiting], []
        turn, turns = self._turn, dict(self._turns)

        def last_turn(one: tuple[Waiting, frozenset[str]]) -> tuple[bool, int]:
            return not one[1], min((turns.get(visitor, 0) for visitor in one[1]), default=0)

        while left:
            first = min(left, key=last_turn)
            left.remove(first)
            order.append(first[0])
            turn += 1
            turns.update(dict.fromkeys(first[1], turn))
        return order

    def _note_turn(self, visitors: Iterable[str]) -> None:
        self._turn += 1
        for visitor in visitors:
            self._turns.pop(visitor, None)
            self._turns[visitor] = self._turn
        for visitor in list(self._turns)[:-REMEMBERED]:
            del self._turns[visitor]

    def start_thread(self, run: Callable[[], None]) -> None:
        """A thread for each job, since a paused one keeps its own; it leaves the list when it ends."""

        def run_and_leave() -> None:
            run()
            with self.changed:
                self.threads.discard(thread)

        thread = Thread(target=run_and_leave, name="job", daemon=True)
        self.threads.add(thread)
        thread.start()
