"""The bounded queue: whom it takes, whom it joins, what it remembers."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from smfh.jobs.job import Job, T, Work
from smfh.jobs.places import Places
from smfh.types import InputError


class TrainingQueue:
    """At most `workers` jobs at work, `waiting` more in line or paused, and `kept` results remembered."""

    def __init__(
        self, workers: int = 1, waiting: int = 16, kept: int = 32, pause_limit: float = 600.0
    ) -> None:
        self.waiting, self.kept = waiting, kept
        self._places = Places(workers, pause_limit)
        self._changed = self._places.changed
        self._unfinished: dict[Hashable, Job[Any]] = {}
        self._finished: OrderedDict[Hashable, Job[Any]] = OrderedDict()  # the least recently used first
        self._open = True

    def submit(self, key: Hashable, work: Work[T], visitor: str = "") -> Job[T]:
        """The job of this key: one that there is, finished or not, or a new one at the end of the line.

        `work` is called with the function that takes its steps; it must depend on nothing that the key does
        not tell. What failed or was cancelled is tried anew.
        """
        with self._changed:
            job = self.find(key)
            if job is None:
                self._check_room()
                job = self._unfinished[key] = Job(key, work, self._places, self._file)
                self._places.join_line(job)
            job.watch(visitor)
            return job

    def find(self, key: Hashable) -> Job[Any] | None:
        """The job of this key, unfinished or remembered; None where there is none."""
        with self._changed:
            if key in self._finished:
                self._finished.move_to_end(key)
                return self._finished[key]
            return self._unfinished.get(key)

    def forget(self, key: Hashable) -> None:
        """Remember the result of this key no longer; who holds the job keeps it."""
        with self._changed:
            self._finished.pop(key, None)

    def close(self) -> None:
        """End everything and wait until the last thread has ended; nothing is taken any more."""
        with self._changed:
            self._open = False
            for job in list(self._unfinished.values()):
                job.end()
            threads = list(self._places.threads)
        for thread in threads:
            thread.join()

    # What follows expects the lock to be held.

    def _check_room(self) -> None:
        if not self._open:
            raise RuntimeError("The queue is closed; make a new one.")
        places = self._places
        wait = len(places.line) + sum(job.state == "paused" for job in self._unfinished.values())
        if places.taken + wait >= places.workers + self.waiting:
            raise InputError(
                f"{wait} trainings wait already, and no more are taken; "
                "try again when one of them has finished."
            )

    def _file(self, job: Job[Any]) -> None:
        """A job has come to its end, or soon will: out of the unfinished ones, a result into the kept."""
        if self._unfinished.get(job.key) is job:
            del self._unfinished[job.key]
        if job.state == "finished":
            self._finished[job.key] = job
            while len(self._finished) > self.kept:
                self._finished.popitem(last=False)
