"""Pause, step, resume and cancel a job, by one viewer and by two; what a job holds and says."""

import gc
import threading
import time
import weakref
from contextlib import closing

import numpy as np
import pytest
from steps import SOON, Steps

from smfh.hashing import SMFHPlus
from smfh.jobs import JobContext, JobQueue
from smfh.types import InputError

METHOD = SMFHPlus(bits=8, iterations=5, rounds=1, anchors=20)  # six steps


def submit_paused(queue, work=None, visitor="", key=None):
    """A job that is paused after its first step."""
    work = work or Steps(6)
    job = queue.submit(key or object(), work, visitor)
    assert job.pause(visitor)
    work.allow_all()
    assert job.wait("paused", timeout=SOON)
    return job


def test_a_training_that_was_paused_and_stepped_gives_the_same_codes(queue, planted):
    data, split = planted
    train, opened = data.take(split.train), threading.Event()

    def work(context):
        assert opened.wait(SOON)
        return METHOD.fit(train, on_step=context.report)

    job = queue.submit("training", work)
    assert job.pause()
    opened.set()
    assert job.wait("paused", timeout=SOON)
    for count in (2, 3):
        assert job.step()
        assert job.wait("paused", timeout=SOON)
        assert len(job.reports) == count
    job.resume()
    assert job.wait(timeout=SOON)
    direct = METHOD.fit(train)
    for modality, codes in direct.database_codes.items():
        np.testing.assert_array_equal(job.result.database_codes[modality], codes)
    assert job.reports == job.result.trace


def test_a_paused_job_lets_the_next_one_run_and_continues_first(queue):
    paused, other = submit_paused(queue), Steps()
    running, last = queue.submit("running", other), queue.submit("last", lambda context: None)
    assert running.wait("running", timeout=SOON)
    paused.resume()
    assert (paused.state, paused.position, last.position) == ("queued", 1, 2)
    other.allow_all()
    assert last.wait(timeout=SOON)
    assert [job.state for job in (paused, running, last)] == ["finished"] * 3


def test_a_forgotten_pause_ends_by_itself():
    with closing(JobQueue(max_pause_seconds=0.0)) as queue:
        work = Steps(6)
        job = queue.submit("a", work)
        assert job.pause()
        work.allow_all()
        assert job.wait(timeout=SOON)
        assert (job.state, len(job.reports)) == ("finished", 6)


def test_the_first_of_too_many_paused_jobs_continues(queue):
    jobs = [submit_paused(queue, Steps(2)) for _ in range(4)]
    assert jobs[0].wait(timeout=SOON)
    assert jobs[1].wait(timeout=SOON)
    assert [job.state for job in jobs] == ["finished"] * 2 + ["paused"] * 2


def test_a_waiting_job_is_cancelled_at_once(queue, blocked, gate):
    running, waiting = queue.submit("running", blocked), queue.submit("waiting", blocked)
    assert waiting.cancel()
    assert (waiting.state, waiting.position, waiting.reports) == ("cancelled", 0, ())
    assert queue.find("waiting") is None
    gate.set()
    assert running.wait(timeout=SOON)
    assert running.state == "finished"
    assert running.cancel()  # over: nothing changes
    assert running.state == "finished"


def test_a_running_job_is_cancelled_at_its_next_step_and_its_key_is_free(queue):
    work = Steps()
    job = queue.submit("a", work)
    assert work.begun.wait(SOON)
    assert job.cancel()
    assert (job.state, job.is_cancelled) == ("running", True)
    after = queue.submit("a", lambda context: "new")
    assert job.cancel()  # again: spares the new job
    assert queue.find("a") is after
    work.allow()
    assert after.wait(timeout=SOON)
    assert (job.state, len(job.reports), after.result) == ("cancelled", 1, "new")


@pytest.mark.parametrize("ends_at", ["check", "report", "return"])
def test_cancelled_work_ends_and_has_no_result(queue, gate, ends_at):
    begun, caught = threading.Event(), []

    def work(context):
        begun.set()
        assert gate.wait(SOON)
        try:
            if ends_at != "return":
                getattr(context, ends_at)("any value")
                caught.append("cancelled work continues")
        except Exception as error:  # does not catch a cancelled job
            caught.append(error)
        return "too late"

    job = queue.submit("a", work)
    assert begun.wait(SOON)
    job.cancel()
    gate.set()
    assert job.wait(timeout=SOON)
    assert (job.state, caught) == ("cancelled", [])
    assert queue.find("a") is None


def test_one_viewer_cannot_pause_or_cancel_a_job_of_two(queue, blocked, gate):
    job = queue.submit("a", blocked, "ann")
    assert queue.submit("a", blocked, "bob") is job
    assert job.viewers == {"ann", "bob"}
    assert not job.pause("ann")
    assert not job.step("bob")
    assert not job.cancel("ann")
    assert job.viewers == {"bob"}
    assert job.cancel("bob")
    gate.set()
    assert job.wait(timeout=SOON)
    assert (job.state, job.viewers) == ("cancelled", frozenset())


def test_a_paused_job_continues_when_another_viewer_joins(queue):
    job = submit_paused(queue, visitor="ann", key="a")
    job.leave("ann")
    job.view("bob")  # alone
    assert job.state == "paused"
    assert queue.submit("a", Steps(), "cid") is job
    assert job.wait(timeout=SOON)
    assert job.state == "finished"


def test_run_time_excludes_waiting_and_pauses(queue):
    work = Steps(6)
    job, behind = queue.submit("a", work), queue.submit("b", Steps())
    assert job.time_left(6) is None
    assert behind.seconds == 0
    job.pause()
    behind.cancel()
    work.allow_all()
    assert job.wait("paused", timeout=SOON)
    seconds, left = job.seconds, job.time_left(6)
    assert 0 < left <= 5 * seconds
    assert (job.seconds, job.time_left(6)) == (seconds, left)  # no clock runs in a pause
    assert job.time_left(1) == 0
    assert not job.wait("running", timeout=0)
    job.resume()
    assert job.wait(timeout=SOON)
    assert job.time_left(6) == 0
    assert job.seconds > seconds


def test_a_slow_first_step_does_not_count_in_the_time_left(queue):
    def work(context: JobContext) -> None:
        for seconds in (0.5, 0.01, 0.01, 0.01):
            time.sleep(seconds)
            context.report(seconds)
        hold.wait(SOON)

    hold = threading.Event()
    job = queue.submit("a", work)
    until = time.monotonic() + SOON
    while len(job.reports) < 4:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert job.time_left(24) < 20 * job.seconds / 4 / 2  # half of the mean would be too much
    hold.set()


@pytest.mark.parametrize("outcome", ["finished", "failed", "cancelled"])
def test_nothing_holds_the_data_of_a_job_that_is_over(queue, outcome):
    data = threading.Event()  # anything that can be referred to weakly
    alive = weakref.ref(data)

    def work(context, data=data):
        for step in range(2):
            context.report(step)
        if outcome == "failed":
            try:
                raise InputError("inner")
            except InputError as error:
                raise ValueError("outer") from error

    job = queue.submit("a", work)
    if outcome == "cancelled":
        job.pause()
        job.wait("paused", timeout=SOON)
        job.end()
    assert job.wait(timeout=SOON)
    queue.close()
    del data, work
    gc.collect()
    assert alive() is None
