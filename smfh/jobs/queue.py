"""The bounded queue: whom it takes, whom it joins, what it remembers."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from smfh.jobs.job import Job, T, Work
from smfh.jobs.line import Line, Tell
from smfh.jobs.processes import Processes
from smfh.types import InputError


class JobQueue:
    """At most `workers` jobs at work, `waiting` more in line or paused, `remembered` results."""

    def __init__(
        self,
        workers: int = 1,
        waiting: int = 16,
        remembered: int = 32,
        processes: Processes | None = None,  # where jobs make their calls; in their own threads without
        tell: Tell | None = None,  # called, quickly, with all that begins, ends or is refused
        pause_limit: float = 600.0,
        away: float = 30.0,  # seconds after which a watcher that is not seen counts no more
    ) -> None:
        self.waiting, self.remembered = waiting, remembered
        self._line = Line(workers, pause_limit, away, processes, tell)
        self._changed = self._line.changed
        self._unfinished: dict[Hashable, Job[Any]] = {}
        self._finished: OrderedDict[Hashable, Job[Any]] = OrderedDict()  # the least recently used first
        self._open = True

    def submit(self, key: Hashable, work: Work[T], visitor: str = "", again: bool = False) -> Job[T]:
        """The job of this key: one that there is, finished or not, or a new one at the end of the line.

        `work` is called with its Course; it must depend on nothing that the key does not tell. What failed or
        was cancelled is tried anew, and with `again` also what is finished.
        """
        with self._changed:
            if again:
                self._finished.pop(key, None)
            job = self.find(key)
            if job is None:
                try:
                    self._check_room()
                except InputError as error:
                    self._line.tell("refused", key, [visitor], 0.0, error)
                    raise
                job = self._unfinished[key] = Job(key, work, self._line, self._file)
                job.watch(visitor)
                self._line.join(job)
            job.watch(visitor)
            return job

    def find(self, key: Hashable) -> Job[Any] | None:
        """The job of this key, unfinished or remembered; None where there is none."""
        with self._changed:
            if key in self._finished:
                self._finished.move_to_end(key)
                return self._finished[key]
            return self._unfinished.get(key)

    @property
    def load(self) -> tuple[int, int]:
        """How many jobs are at work, and how many wait or are paused."""
        with self._changed:
            paused = sum(job.state == "paused" for job in self._unfinished.values())
            return self._line.at_work, len(self._line.waiting) + paused

    def forget(self, unwanted: Callable[[Hashable], bool]) -> None:
        """End what is unfinished and forget what is finished of all keys that are unwanted."""
        with self._changed:
            for key in [key for key in self._finished if unwanted(key)]:
                del self._finished[key]
            for job in [job for key, job in self._unfinished.items() if unwanted(key)]:
                job.end()

    def close(self) -> None:
        """End everything and wait until the last thread has ended; nothing is taken any more."""
        with self._changed:
            self._open = False
            for job in list(self._unfinished.values()):
                job.end()
            threads = list(self._line.threads)
        for thread in threads:
            thread.join()

    # What follows expects the lock to be held.

    def _check_room(self) -> None:
        if not self._open:
            raise RuntimeError("The queue is closed; make a new one.")
        at_work, wait = self.load
        if at_work + wait >= self._line.workers + self.waiting:
            raise InputError(
                f"{wait} jobs wait already, and no more are taken; try again when one of them has finished."
            )

    def _file(self, job: Job[Any]) -> None:
        """A job has come to its end, or soon will: no more unfinished, and its result remembered."""
        if self._unfinished.get(job.key) is job:
            del self._unfinished[job.key]
        if job.state == "finished":
            self._finished[job.key] = job
            while len(self._finished) > self.remembered:
                self._finished.popitem(last=False)
