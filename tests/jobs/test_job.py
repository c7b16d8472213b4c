"""Pause, step, resume and cancel, by one visitor and by two."""

import gc
import threading
import weakref
from contextlib import closing

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.jobs import JobQueue
from smfh.types import InputError

SOON = 60  # seconds after which a test that hangs fails
METHOD = SMFHPlus(bits=8, iterations=5, rounds=1, anchors=20)  # six steps
ENDLESS = SMFHPlus(bits=8, iterations=10_000, anchors=20)


@pytest.fixture(scope="module")
def train(planted):
    data, split = planted
    return data.take(split.train)


@pytest.fixture
def queue():
    with closing(JobQueue(waiting=4)) as queue:
        yield queue


def fitting(method, train):
    """A training as work."""
    return lambda course: method.fit(train, on_step=course.report)


def held_back(fit):
    """A training that begins when it is told to, so that what comes before surely comes before."""
    opened = threading.Event()

    def work(course):
        assert opened.wait(SOON)
        return fit(course)

    return work, opened


def paused_after_one_step(queue, train, visitor="", method=METHOD):
    work, opened = held_back(fitting(method, train))
    job = queue.submit(object(), work, visitor)
    assert job.pause(visitor)
    opened.set()
    assert job.wait("paused", timeout=SOON)
    return job


def test_a_pause_halts_after_the_iteration_and_a_step_runs_exactly_one(queue, train):
    job = paused_after_one_step(queue, train)
    assert (job.state, len(job.reports)) == ("paused", 1)
    for count in (2, 3):
        assert job.step()
        assert job.wait("paused", timeout=SOON)
        assert len(job.reports) == count
    assert job.pause()  # again: nothing changes
    assert (job.state, len(job.reports)) == ("paused", 3)
    job.resume()
    assert job.wait(timeout=SOON)
    assert (job.state, len(job.reports)) == ("finished", 6)
    direct = METHOD.fit(train)
    for modality, codes in direct.database_codes.items():
        np.testing.assert_array_equal(job.result.database_codes[modality], codes)


def test_steps_asked_for_together_are_all_run(queue, train):
    work, opened = held_back(fitting(METHOD, train))
    job = queue.submit("a", work)
    for _ in range(3):
        assert job.step()
    opened.set()
    assert job.wait("paused", timeout=SOON)
    assert len(job.reports) == 3


def test_the_last_step_may_be_the_last_of_all(queue, train):
    job = paused_after_one_step(queue, train, method=SMFHPlus(bits=8, iterations=2, rounds=0, anchors=20))
    job.step()
    assert job.wait("paused", timeout=SOON)
    assert (job.state, len(job.reports)) == ("paused", 2)
    job.step()
    assert job.wait(timeout=SOON)
    assert job.state == "finished"
    assert not job.step()


def test_a_paused_run_lets_the_next_one_work_and_then_goes_on(queue, train):
    paused = paused_after_one_step(queue, train)
    work, opened = held_back(fitting(METHOD, train))
    other = queue.submit("other", work)
    last = queue.submit("last", fitting(METHOD, train))
    assert other.state == "running"
    paused.resume()
    assert (paused.state, paused.position, last.position) == ("queued", 1, 2)
    assert len(paused.reports) == 1
    opened.set()
    assert last.wait(timeout=SOON)
    assert [job.state for job in (paused, other, last)] == ["finished"] * 3


def test_paused_runs_count_as_waiting(train):
    with closing(JobQueue(waiting=1)) as queue:
        paused_after_one_step(queue, train)
        work, opened = held_back(fitting(METHOD, train))
        running = queue.submit("running", work)
        with pytest.raises(InputError, match="1 jobs wait"):
            queue.submit("one too many", work)
        opened.set()
        assert running.wait(timeout=SOON)


def test_a_pause_forgotten_ends_by_itself(train):
    with closing(JobQueue(pause_limit=0.0)) as queue:
        work, opened = held_back(fitting(METHOD, train))
        job = queue.submit("a", work)
        assert job.pause()
        opened.set()
        assert job.wait(timeout=SOON)
        assert (job.state, len(job.reports)) == ("finished", 6)


def test_a_queued_run_is_cancelled_at_once(queue, train):
    work, opened = held_back(fitting(METHOD, train))
    running, queued = queue.submit("running", work), queue.submit("queued", fitting(METHOD, train))
    assert queued.cancel()
    assert (queued.state, queued.position, queued.reports) == ("cancelled", 0, ())
    assert queue.find("queued") is None
    opened.set()
    assert running.wait(timeout=SOON)
    assert running.state == "finished"


def test_a_running_run_is_cancelled_at_its_next_step(queue, train):
    stepped, go_on = threading.Event(), threading.Event()

    def work(course):
        def relay(step):
            course.report(step)
            stepped.set()
            assert go_on.wait(SOON)

        return ENDLESS.fit(train, on_step=relay)

    job = queue.submit("a", work)
    assert stepped.wait(SOON)
    assert job.cancel()
    assert job.state == "running"
    again = queue.submit("a", fitting(METHOD, train))
    assert again is not job
    go_on.set()
    assert job.wait(timeout=SOON)
    assert (job.state, len(job.reports)) == ("cancelled", 2)
    assert again.wait(timeout=SOON)
    assert again.state == "finished"
    assert queue.find("a") is again


def test_cancelling_twice_spares_the_run_that_came_after(queue, train):
    begun, opened = threading.Event(), threading.Event()

    def work(course):
        begun.set()
        assert opened.wait(SOON)

    job = queue.submit("a", work)
    assert begun.wait(SOON)
    job.cancel()
    after = queue.submit("a", fitting(METHOD, train))
    job.cancel()
    assert queue.find("a") is after
    opened.set()
    assert after.wait(timeout=SOON)
    assert after.state == "finished"


def test_work_that_catches_everything_is_cancelled_all_the_same(queue, train):
    caught = []

    def work(course):
        try:
            ENDLESS.fit(train, on_step=course.report)
        except Exception as error:
            caught.append(error)

    job = queue.submit("a", work)
    job.cancel()
    assert job.wait(timeout=SOON)
    assert job.state == "cancelled"
    assert not caught


def test_a_paused_run_is_cancelled_at_once_and_its_thread_ends(queue, train):
    before = set(threading.enumerate())
    job = paused_after_one_step(queue, train, method=ENDLESS)
    (thread,) = set(threading.enumerate()) - before
    assert job.cancel()
    assert job.state == "cancelled"
    thread.join(SOON)
    assert not thread.is_alive()
    assert len(job.reports) == 1


def test_work_that_is_cancelled_after_its_last_step_has_no_result(queue):
    begun, opened = threading.Event(), threading.Event()

    def work(course):
        begun.set()
        assert opened.wait(SOON)
        return "too late"

    job = queue.submit("a", work)
    assert begun.wait(SOON)
    assert job.cancel()
    opened.set()
    assert job.wait(timeout=SOON)
    assert job.state == "cancelled"
    assert queue.find("a") is None


def test_what_is_over_cannot_be_cancelled_or_held(queue, train):
    job = queue.submit("a", fitting(METHOD, train))
    assert job.wait(timeout=SOON)
    assert job.cancel()
    assert not job.pause()
    assert job.state == "finished"
    assert queue.find("a") is job


def test_one_visitor_cannot_take_a_run_from_another(queue, train):
    work, opened = held_back(fitting(METHOD, train))
    job = queue.submit("a", work, "ann")
    assert queue.submit("a", work, "bob") is job
    assert job.watchers == {"ann", "bob"}
    assert not job.pause("ann")
    assert not job.step("bob")
    assert not job.cancel("ann")
    assert job.watchers == {"bob"}
    opened.set()
    assert job.wait(timeout=SOON)
    assert job.state == "finished"
    assert job.watchers == frozenset()


def test_the_last_one_who_watches_can_cancel(queue, train):
    work, opened = held_back(fitting(ENDLESS, train))
    job = queue.submit("a", work, "ann")
    queue.submit("a", work, "bob")
    assert not job.cancel("bob")
    assert job.cancel("ann")
    opened.set()
    assert job.wait(timeout=SOON)
    assert job.state == "cancelled"


def test_who_leaves_loses_nothing_and_leaves_the_say_to_the_other(queue, train):
    job = paused_after_one_step(queue, train, "ann")
    job.leave("ann")
    assert job.state == "paused"
    job.watch("bob")
    assert job.state == "paused"
    assert job.step("bob")
    assert job.wait("paused", timeout=SOON)
    assert len(job.reports) == 2


def test_a_paused_run_goes_on_when_another_joins(queue, train):
    job = paused_after_one_step(queue, train, "ann")
    assert queue.submit(job.key, fitting(METHOD, train), "bob") is job
    assert job.wait(timeout=SOON)
    assert job.state == "finished"


def test_time_counts_work_alone(queue, train):
    work, opened = held_back(fitting(METHOD, train))
    job, behind = queue.submit("a", work), queue.submit("b", fitting(METHOD, train))
    assert job.time_left(6) is None
    assert behind.seconds == 0
    job.pause()
    behind.cancel()
    opened.set()
    assert job.wait("paused", timeout=SOON)
    seconds, left = job.seconds, job.time_left(6)
    assert 0 < left <= 5 * seconds
    assert (job.seconds, job.time_left(6)) == (seconds, left)  # no clock runs in a pause
    assert job.time_left(1) == 0
    job.resume()
    assert job.wait(timeout=SOON)
    assert job.time_left(6) == 0
    assert job.seconds > seconds


def test_waiting_in_vain_says_so(queue, train):
    job = paused_after_one_step(queue, train)
    assert not job.wait("running", timeout=0)


@pytest.mark.parametrize("outcome", ["finished", "failed", "cancelled"])
def test_nothing_holds_the_data_once_a_run_is_over(queue, train, outcome):
    data = train.take(np.arange(60))
    alive = weakref.ref(data)

    def work(course, data=data):
        (ENDLESS if outcome == "cancelled" else METHOD).fit(data, on_step=course.report)
        if outcome == "failed":
            try:
                raise InputError("inner")
            except InputError as error:
                raise ValueError("outer") from error

    job = queue.submit("a", work)
    if outcome == "cancelled":
        job.pause()
        assert job.wait("paused", timeout=SOON)
        job.cancel()
    assert job.wait(timeout=SOON)
    assert job.state == outcome
    queue.close()
    del data, work
    gc.collect()
    assert alive() is None
