"""Who is at work and who waits."""

from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Protocol


class Waiting(Protocol):
    """Something that can wait in line."""

    def begin(self) -> None: ...


class Line:
    """A number of workers and one line before them; every method expects the lock to be held."""

    def __init__(self, workers: int, pause_limit: float, away: float) -> None:
        self.workers, self.pause_limit, self.away = workers, pause_limit, away
        self.changed = Condition()  # one lock for all: what changes, changes for everybody at once
        self.waiting: deque[Waiting] = deque()
        self.at_work = 0
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

    def finish(self) -> None:
        """One at work has stopped."""
        self.at_work -= 1
        self.fill()

    def fill(self) -> None:
        """Set to work as many as there are workers for."""
        while self.waiting and self.at_work < self.workers:
            self.at_work += 1
            self.waiting.popleft().begin()

    def start_thread(self, run: Callable[[], None]) -> None:
        """A thread for each job, since a paused one keeps its own; it leaves the list when it ends."""

        def run_and_leave() -> None:
            run()
            with self.changed:
                self.threads.discard(thread)

        thread = Thread(target=run_and_leave, name="job", daemon=True)
        self.threads.add(thread)
        thread.start()
