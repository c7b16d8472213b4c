"""Who is at work and who waits."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from threading import Condition, Thread
from typing import Protocol

from smfh.jobs.processes import Processes

MOST_PAUSED = 4
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
        processes: Processes | None = None,
        tell: Tell | None = None,
    ) -> None:
        self.workers, self.pause_limit, self.away, self.processes = workers, pause_limit, away, processes
        self.tell: Tell = tell or (lambda *_: None)
        self.changed = Condition()  # one lock for all: what changes, changes for everybody at once
        self.waiting: deque[Waiting] = deque()
        self.at_work = 0
        self.paused: deque[Pausing] = deque()  # the longest first
        self.threads: set[Thread] = set()

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

    def finish(self) -> None:
        """One at work has stopped."""
        self.at_work -= 1
        self.fill()

    def fill(self) -> None:
        """Set to work as many as there are workers for: the first that somebody waits for, else the first."""
        while self.waiting and self.at_work < self.workers:
            self.at_work += 1
            first = next((who for who in self.waiting if who.watchers), self.waiting[0])
            self.waiting.remove(first)
            first.begin()

    def start_thread(self, run: Callable[[], None]) -> None:
        """A thread for each job, since a paused one keeps its own; it leaves the list when it ends."""

        def run_and_leave() -> None:
            run()
            with self.changed:
                self.threads.discard(thread)

        thread = Thread(target=run_and_leave, name="job", daemon=True)
        self.threads.add(thread)
        thread.start()
