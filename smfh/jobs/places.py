"""Who is at work and who waits for a place."""

from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Protocol


class Waiting(Protocol):
    """Something that can wait in line."""

    def begin(self) -> None: ...


class Places:
    """A number of places at work and one line before them; every method expects the lock to be held."""

    def __init__(self, workers: int, pause_limit: float) -> None:
        self.workers, self.pause_limit = workers, pause_limit
        self.changed = Condition()  # one lock for all: what changes, changes for everybody at once
        self.line: deque[Waiting] = deque()
        self.taken = 0
        self.threads: set[Thread] = set()

    def join_line(self, who: Waiting, first: bool = False) -> None:
        if first:
            self.line.appendleft(who)
        else:
            self.line.append(who)
        self.fill()

    def leave_line(self, who: Waiting) -> None:
        if who in self.line:
            self.line.remove(who)

    def give_back(self) -> None:
        self.taken -= 1
        self.fill()

    def fill(self) -> None:
        """Set to work whom there is a place for."""
        while self.line and self.taken < self.workers:
            self.taken += 1
            self.line.popleft().begin()

    def start_thread(self, run: Callable[[], None]) -> None:
        """A thread for each job, since a paused one keeps its own; it leaves the list when it ends."""

        def run_and_leave() -> None:
            run()
            with self.changed:
                self.threads.discard(thread)

        thread = Thread(target=run_and_leave, name="training", daemon=True)
        self.threads.add(thread)
        thread.start()
