"""Which split each data set comes with: looked up once, in the background where that takes a while."""

from collections.abc import Iterable
from functools import partial
from time import monotonic

from smfh.datasets import DatasetSource
from smfh.datasets.source import data_root
from smfh.jobs import Course, Job, JobQueue, here
from smfh.paper.leaderboard import Fingerprints, usual_load
from smfh.runs import check_size, current_limits
from smfh.types import InputError
from smfh.ui.server import once, peek_source, reading

MOST = 512  # data sets, each with its options, that are known
PATIENCE = 1.0  # seconds that a page waits for all of them, as light ones take


@once
def _looking() -> JobQueue:
    return JobQueue(1, MOST, MOST, lambda _: reading())


def usual_loads(
    sources: Iterable[DatasetSource], patience: float = PATIENCE
) -> tuple[dict[DatasetSource, Fingerprints], list[DatasetSource]]:
    """The usual data and split by their fingerprints, and of which data sets they are still looked up.

    Of data sets that are not here, or cannot be loaded, nothing is known.
    """
    known: dict[DatasetSource, Fingerprints] = {}
    jobs: dict[DatasetSource, Job[Fingerprints | None]] = {}
    for source in sorted(dict.fromkeys(sources), key=lambda source: not source.is_light)[:MOST]:
        if (loaded := peek_source(source)) is not None:
            known[source] = loaded[0].fingerprint, loaded[1].fingerprint
        elif not source.missing():
            jobs[source] = _looking().submit(("usual", source, data_root()), partial(_look, source))
    end = monotonic() + patience
    for source, job in jobs.items():
        job.wait(timeout=max(0.0, end - monotonic()))
        if job.state == "finished" and job.result is not None:
            known[source] = job.result
    return known, [source for source, job in jobs.items() if not job.over]


def _look(source: DatasetSource, course: Course) -> Fingerprints | None:
    """None where it cannot be loaded, so that it is not tried again and again."""
    call = here if source.is_light else course.call  # the data stays there, two words come back
    try:
        check_size(source, current_limits())
        found: Fingerprints = call(usual_load, source)
        return found
    except InputError:
        return None
