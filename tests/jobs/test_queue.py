"""Order, bounds, joining and remembering, with trainings that wait for a word where order matters."""

import threading
from contextlib import closing

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.jobs import JobQueue
from smfh.types import InputError

SOON = 60  # seconds after which a test that hangs fails
QUICK = SMFHPlus(bits=8, iterations=3, rounds=1, anchors=20)


@pytest.fixture(scope="module")
def train(planted):
    data, split = planted
    return data.take(split.train)


@pytest.fixture
def queue():
    with closing(JobQueue(workers=1, waiting=3, remembered=2)) as queue:
        yield queue


def fitting(method, train):
    """A training as work."""
    return lambda course: method.fit(train, on_step=course.report)


class Gate:
    """Work that tells when it has begun and goes on when it is let through."""

    def __init__(self, result=None):
        self.begun, self.opened, self.result = threading.Event(), threading.Event(), result

    def __call__(self, course):
        self.begun.set()
        assert self.opened.wait(SOON)
        return self.result


def test_results_can_be_forgotten_while_work_goes_on():
    with closing(JobQueue()) as queue:
        done, gate = queue.submit("done", lambda course: 1), threading.Event()
        assert done.wait(timeout=60)
        waits = queue.submit("waits", lambda course: gate.wait(60))
        queue.forget_results()
        assert queue.find("done") is None
        assert queue.find("waits") is waits
        gate.set()


def test_a_training_in_the_background_is_the_training(queue, train):
    job = queue.submit("training", fitting(QUICK, train))
    assert job.wait(timeout=SOON)
    assert job.state == "finished"
    direct = QUICK.fit(train)
    for modality, codes in direct.database_codes.items():
        np.testing.assert_array_equal(job.result.database_codes[modality], codes)
    assert job.reports == job.result.trace
    assert [step.terms for step in job.reports] == [step.terms for step in direct.trace]
    assert job.seconds >= job.result.seconds
    assert job.error is None
    assert job.problems == ()


def test_the_same_key_joins_whether_queued_running_or_finished(queue):
    gate, never = Gate("first"), Gate("never")
    running = queue.submit("a", gate)
    queued = queue.submit("b", lambda course: "second")
    assert queue.submit("a", never) is running
    assert queue.submit("b", never) is queued
    gate.opened.set()
    assert queued.wait(timeout=SOON)
    assert queue.submit("a", never) is running
    assert queue.find("a") is running
    assert (running.result, queued.result) == ("first", "second")
    assert not never.begun.is_set()


def test_they_run_in_the_order_in_which_they_came(queue):
    gate, order = Gate(), []
    jobs = [queue.submit("gate", gate)]
    jobs += [queue.submit(name, lambda course, name=name: order.append(name)) for name in "abc"]
    assert gate.begun.wait(SOON)
    assert [job.position for job in jobs] == [0, 1, 2, 3]
    assert [job.state for job in jobs] == ["running", "queued", "queued", "queued"]
    jobs[1].cancel()
    assert [job.position for job in jobs] == [0, 0, 1, 2]
    gate.opened.set()
    assert jobs[3].wait(timeout=SOON)
    assert order == ["b", "c"]


def test_as_many_run_at_once_as_there_are_workers():
    gates = [Gate() for _ in range(3)]
    with closing(JobQueue(workers=2)) as queue:
        jobs = [queue.submit(k, gate) for k, gate in enumerate(gates)]
        assert gates[0].begun.wait(SOON)
        assert gates[1].begun.wait(SOON)
        assert jobs[2].state == "queued"
        gates[1].opened.set()
        assert gates[2].begun.wait(SOON)
        for gate in gates:
            gate.opened.set()


def test_one_too_many_is_told_how_many_wait(queue):
    gate = Gate()
    first = queue.submit("gate", gate)
    waiting = [queue.submit(name, lambda course: None) for name in "abc"]
    with pytest.raises(InputError, match=r"3 jobs wait already.*try again"):
        queue.submit("d", lambda course: None)
    assert queue.submit("a", lambda course: None) is waiting[0]
    assert queue.find("d") is None
    waiting[1].cancel()
    assert queue.submit("d", lambda course: None).position == 3
    gate.opened.set()
    assert first.wait(timeout=SOON)


def test_a_queue_without_a_line_takes_what_can_begin_at_once():
    gate = Gate()
    with closing(JobQueue(waiting=0)) as queue:
        queue.submit("a", gate)
        with pytest.raises(InputError, match="0 jobs wait"):
            queue.submit("b", gate)
        gate.opened.set()


def test_the_results_that_were_used_last_are_kept(queue):
    def finished(key):
        job = queue.submit(key, lambda course: key)
        assert job.wait(timeout=SOON)
        return job

    a, b = finished("a"), finished("b")
    assert queue.find("a") is a  # and so b is the one to go
    c = finished("c")
    assert (queue.find("a"), queue.find("b"), queue.find("c")) == (a, None, c)
    assert b.result == "b"  # who holds it keeps it
    assert finished("b") is not b


def test_a_failure_is_kept_and_the_next_one_runs(queue, train, caplog):
    too_many_weights = SMFHPlus(modality_weights=(0.5, 0.25, 0.25))
    bad = queue.submit("bad", fitting(too_many_weights, train))
    broken = queue.submit("broken", lambda course: 1 / 0)
    good = queue.submit("good", fitting(QUICK, train))
    assert good.wait(timeout=SOON)
    assert [bad.state, broken.state, good.state] == ["failed", "failed", "finished"]
    assert isinstance(bad.error, InputError)
    assert bad.problems == bad.error.problems
    assert "3 modality weights" in bad.problems[0]
    assert broken.problems == ("ZeroDivisionError: division by zero",)
    with pytest.raises(RuntimeError, match="failed has no result"):
        _ = bad.result
    # what a person did wrong is told to that person; what the program did wrong goes to the log
    assert [record.getMessage().count("ZeroDivisionError") for record in caplog.records] == [1]


def test_what_failed_is_tried_anew(queue):
    outcomes = iter([ZeroDivisionError(), None])

    def work(course):
        if outcome := next(outcomes):
            raise outcome

    first = queue.submit("a", work)
    assert first.wait(timeout=SOON)
    second = queue.submit("a", work)
    assert second.wait(timeout=SOON)
    assert (first.state, second.state) == ("failed", "finished")


def test_many_who_ask_at_once_compute_once(train):
    calls, jobs = [], []

    def work(course):
        calls.append(threading.current_thread().name)
        return QUICK.fit(train, on_step=course.report)

    with closing(JobQueue(workers=2)) as queue:
        together = threading.Barrier(16)

        def ask(visitor):
            together.wait(SOON)
            jobs.append(queue.submit("training", work, visitor))

        threads = [threading.Thread(target=ask, args=(f"visitor {k}",)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        assert jobs[0].wait(timeout=SOON)
    assert len(jobs) == 16
    assert len(set(jobs)) == len(calls) == 1


def test_many_different_ones_at_once_all_finish():
    with closing(JobQueue(workers=2, waiting=64, remembered=64)) as queue:
        together = threading.Barrier(8)

        def ask(asker):
            together.wait(SOON)
            for k in range(8):
                queue.submit((asker, k), lambda course: None)

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        jobs = [queue.find((a, k)) for a in range(8) for k in range(8)]
        assert all(job.wait(timeout=SOON) and job.state == "finished" for job in jobs)


def test_closing_ends_every_thread(train):
    before = set(threading.enumerate())
    queue = JobQueue(workers=1)
    endless = SMFHPlus(bits=8, iterations=10_000, anchors=20)
    paused = queue.submit("paused", fitting(endless, train))
    assert paused.pause()
    assert paused.wait("paused", timeout=SOON)
    running = queue.submit("running", fitting(endless, train))
    queued = queue.submit("queued", fitting(endless, train))
    assert running.wait("running", timeout=SOON)
    queue.close()
    assert [job.state for job in (paused, running, queued)] == ["cancelled"] * 3
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        queue.submit("more", lambda course: None)


def test_work_of_many_parts_gives_way_between_them(queue):
    order, gate = [], Gate()

    def grid(course):
        assert gate.opened.wait(SOON)
        for part in range(3):
            course.give_way()
            order.append(part)
            course.report(part)

    long = queue.submit("grid", grid)
    short = [queue.submit(name, lambda course, name=name: order.append(name)) for name in "ab"]
    gate.opened.set()
    assert long.wait(timeout=SOON)
    assert all(job.state == "finished" for job in short)
    assert order == ["a", "b", 0, 1, 2]
    assert long.reports == (0, 1, 2)


def test_who_gives_way_can_be_cancelled_in_line(queue):
    gate, other = Gate(), Gate()

    def grid(course):
        assert gate.opened.wait(SOON)
        course.give_way()
        raise AssertionError("cancelled work goes on")

    long = queue.submit("grid", grid)
    queue.submit("other", other)
    gate.opened.set()
    assert other.begun.wait(SOON)
    assert long.wait("queued", timeout=SOON)
    assert long.cancel()
    assert long.state == "cancelled"
    other.opened.set()


def test_between_reports_a_cancelled_job_ends_at_a_check(queue):
    begun, gate = threading.Event(), threading.Event()

    def work(course):
        begun.set()
        assert gate.wait(SOON)
        course.check("whatever is told")
        raise AssertionError("cancelled work goes on")

    job = queue.submit("a", work)
    assert begun.wait(SOON)
    job.cancel()
    gate.set()
    assert job.wait(timeout=SOON)
    assert job.state == "cancelled"


def test_what_is_unwanted_is_forgotten_whether_finished_or_not(queue):
    gate = Gate()
    done = queue.submit(("ann", 1), lambda course: "hers")
    assert done.wait(timeout=SOON)
    at_work, other = queue.submit(("ann", 2), gate), queue.submit(("bob", 1), lambda course: "his")
    queue.forget(lambda key: key[0] == "ann")
    assert queue.find(("ann", 1)) is None
    assert queue.find(("ann", 2)) is None
    gate.opened.set()
    assert at_work.wait(timeout=SOON)
    assert at_work.state == "cancelled"
    assert other.wait(timeout=SOON)
    assert queue.find(("bob", 1)) is other


def test_a_watcher_who_has_gone_counts_no_more(train):
    with closing(JobQueue(away=0.0)) as queue:
        gate = Gate()
        job = queue.submit("a", gate, "ann")
        queue.submit("a", gate, "bob")
        assert job.watchers == frozenset()
        assert job.cancel("bob")
        gate.opened.set()
        assert job.wait(timeout=SOON)
        assert job.state == "cancelled"


def test_who_is_seen_again_counts_and_who_never_watched_does_not(queue):
    gate = Gate()
    job = queue.submit("a", gate, "ann")
    job.see("ann")
    job.see("eve")
    assert job.watchers == {"ann"}
    gate.opened.set()


def test_what_nobody_watches_any_more_gives_way(train):
    with closing(JobQueue(away=0.0)) as queue:
        begun, gate = threading.Event(), threading.Event()

        def unwatched(course):
            for step in range(3):
                begun.set()
                assert gate.wait(SOON)
                course.report(step)
            return "done"

        job = queue.submit("unwatched", unwatched, "ann")
        assert begun.wait(SOON)
        other = queue.submit("other", lambda course: len(job.reports))  # for nobody in particular: watched
        gate.set()
        assert other.wait(timeout=SOON)
        assert other.result == 1  # after the first report, before the second
        assert job.wait(timeout=SOON)
        assert job.result == "done"


def test_of_too_many_paused_jobs_the_first_goes_on():
    queue = JobQueue(workers=1)
    jobs = []

    def work(course):
        assert gate.wait(60)
        course.report("a step")

    for number in range(6):
        gate = threading.Event()
        job = queue.submit(number, work)
        job.pause()
        gate.set()
        jobs.append(job)
        assert job.wait("paused", timeout=60)
    assert jobs[0].wait(timeout=60)
    assert jobs[1].wait(timeout=60)
    assert [job.state for job in jobs] == ["finished"] * 2 + ["paused"] * 4
    queue.close()


def test_what_somebody_waits_for_goes_before_what_nobody_does():
    queue, gate, done = JobQueue(), threading.Event(), []
    first = queue.submit("first", lambda course: gate.wait(60), "anna")
    left = queue.submit("left", lambda course: done.append("left"), "anna")
    awaited = queue.submit("awaited", lambda course: done.append("awaited"), "ben")
    left.leave("anna")
    gate.set()
    for job in (first, left, awaited):
        assert job.wait(timeout=60)
    assert done == ["awaited", "left"]
    queue.close()
