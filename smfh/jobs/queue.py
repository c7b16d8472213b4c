"""The bounded queue: whom it takes, whom it joins, what it remembers."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from smfh.jobs.course import T, Work
from smfh.jobs.job import Job
from smfh.jobs.line import Line, Tell
from smfh.jobs.processes import Caller
from smfh.types import InputError


class JobQueue:
    """At most `workers` jobs at work, `waiting` more in line or paused, `remembered` results.

    Where there is no room, the job that nobody has watched for longest is ended for a new one.
    """

    def __init__(
        self,
        workers: int = 1,
        waiting: int = 16,
        remembered: int = 32,
        caller_of: Callable[[Hashable], Caller] | None = None,  # of a key; without, jobs' threads do it all
        tell: Tell | None = None,  # called, quickly, with all that begins, ends or is refused
        pause_limit: float = 600.0,
        away: float = 30.0,  # seconds after which a watcher that is not seen counts no more
        each: int = 0,  # unfinished jobs that one visitor may have asked for; 0: as many as there is room for
    ) -> None:
        self.waiting, self.remembered, self.each = waiting, remembered, each
        self._line = Line(workers, pause_limit, away, caller_of, tell)
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
                    self._check_room(visitor)
                except InputError as error:
                    self._line.tell("refused", key, [visitor], 0.0, error)
                    raise
                job = self._unfinished[key] = Job(key, work, self._line, self._file, visitor)
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

    def unfinished_of(self, visitor: str, kind: type) -> Job[Any] | None:
        """The first unfinished job with a key of this kind that this visitor watches, seen lately or not."""
        with self._changed:
            jobs = (job for job in self._unfinished.values() if job.is_watched_by(visitor))
            return next((job for job in jobs if isinstance(job.key, kind)), None)

    def see(self, visitor: str) -> None:
        """This visitor is there: so they still wait for all that they watch."""
        with self._changed:
            for job in self._unfinished.values():
                job.see(visitor)

    @property
    def load(self) -> tuple[int, int]:
        """How many jobs are at work, and how many wait or are paused."""
        with self._changed:
            paused = sum(job.state == "paused" for job in self._unfinished.values())
            return len(self._line.working), len(self._line.waiting) + paused

    def set_workers(self, workers: int) -> None:
        """Let so many jobs be at work from now on; of more than that nobody is sent away."""
        with self._changed:
            self._line.workers = workers
            self._line.fill()

    def forget(self, unwanted: Callable[[Hashable], bool]) -> None:
        """End what is unfinished and forget what is finished of all keys that are unwanted."""
        with self._changed:
            for key in [key for key in self._finished if unwanted(key)]:
                del self._finished[key]
            for job in [job for key, job in self._unfinished.items() if unwanted(key)]:
                job.end()

    def forget_results(self) -> None:
        """Forget all that is finished; what is unfinished goes on."""
        with self._changed:
            self._finished.clear()

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

    def _check_room(self, visitor: str) -> None:
        """For one more of this visitor; what nobody has watched for longest makes room."""
        if not self._open:
            raise RuntimeError("The queue is closed; make a new one.")
        jobs = list(self._unfinished.values())
        theirs = [job for job in jobs if job.asker == visitor]
        if visitor and 0 < self.each <= len(theirs) and not _end_unwatched(theirs):
            raise InputError(
                f"{len(theirs)} of your jobs are at work or wait already, and no more are taken from one "
                "visitor; wait until one of them has finished, or cancel one."
            )
        if len(self._unfinished) >= self._line.workers + self.waiting and not _end_unwatched(jobs):
            raise InputError(
                f"{self.load[1]} jobs wait already, and no more are taken; "
                "try again when one of them has finished."
            )

    def _file(self, job: Job[Any]) -> None:
        """A job has come to its end, or soon will: no more unfinished, and its result remembered."""
        if self._unfinished.get(job.key) is job:
            del self._unfinished[job.key]
        if job.state == "finished":
            self._finished[job.key] = job
            while len(self._finished) > self.remembered:
                self._finished.popitem(last=False)


def _end_unwatched(jobs: Iterable[Job[Any]]) -> bool:
    """End the one that nobody has watched for longest; False where all are watched."""
    longest = min((job for job in jobs if not job.watchers), key=lambda job: job.last_seen, default=None)
    if longest is not None:
        longest.end()
    return longest is not None
