"""Order, bounds, joining and remembering, with trainings that wait for a word where order matters."""

import threading
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from smfh.hashing import SMFHPlus
from smfh.jobs import TrainingQueue, job_key
from smfh.types import InputError

SOON = 60  # seconds after which a test that hangs fails
SMALL = SMFHPlus(bits=8, iterations=3, rounds=1, anchors=20)


@pytest.fixture(scope="module")
def train(planted):
    data, split = planted
    return data.take(split.train)


@pytest.fixture
def queue():
    with closing(TrainingQueue(workers=1, waiting=3, kept=2)) as queue:
        yield queue


class Gate:
    """Work that tells when it has begun and goes on when it is let through."""

    def __init__(self, result=None):
        self.begun, self.opened, self.result = threading.Event(), threading.Event(), result

    def __call__(self, on_step):
        self.begun.set()
        assert self.opened.wait(SOON)
        return self.result


def test_a_training_in_the_background_is_the_training(queue, train):
    job = queue.submit(job_key(train, SMALL), partial(SMALL.fit, train))
    assert job.wait(timeout=SOON)
    assert job.state == "finished"
    direct = SMALL.fit(train)
    for modality, codes in direct.database_codes.items():
        np.testing.assert_array_equal(job.result.database_codes[modality], codes)
    assert job.steps == job.result.trace
    assert [step.terms for step in job.steps] == [step.terms for step in direct.trace]
    assert job.seconds >= job.result.seconds
    assert job.error is None
    assert job.problems == ()


def test_the_same_key_joins_whether_queued_running_or_finished(queue):
    gate, never = Gate("first"), Gate("never")
    running = queue.submit("a", gate)
    queued = queue.submit("b", lambda on_step: "second")
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
    jobs += [queue.submit(name, lambda on_step, name=name: order.append(name)) for name in "abc"]
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
    with closing(TrainingQueue(workers=2)) as queue:
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
    waiting = [queue.submit(name, lambda on_step: None) for name in "abc"]
    with pytest.raises(InputError, match=r"3 trainings wait already.*try again"):
        queue.submit("d", lambda on_step: None)
    assert queue.submit("a", lambda on_step: None) is waiting[0]
    assert queue.find("d") is None
    waiting[1].cancel()
    assert queue.submit("d", lambda on_step: None).position == 3
    gate.opened.set()
    assert first.wait(timeout=SOON)


def test_a_queue_without_a_line_takes_what_can_begin_at_once():
    gate = Gate()
    with closing(TrainingQueue(waiting=0)) as queue:
        queue.submit("a", gate)
        with pytest.raises(InputError, match="0 trainings wait"):
            queue.submit("b", gate)
        gate.opened.set()


def test_the_results_that_were_used_last_are_kept(queue):
    def finished(key):
        job = queue.submit(key, lambda on_step: key)
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
    bad = queue.submit("bad", partial(too_many_weights.fit, train))
    broken = queue.submit("broken", lambda on_step: 1 / 0)
    good = queue.submit("good", partial(SMALL.fit, train))
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

    def work(on_step):
        if outcome := next(outcomes):
            raise outcome

    first = queue.submit("a", work)
    assert first.wait(timeout=SOON)
    second = queue.submit("a", work)
    assert second.wait(timeout=SOON)
    assert (first.state, second.state) == ("failed", "finished")


def test_many_who_ask_at_once_compute_once(train):
    calls, jobs = [], []

    def work(on_step):
        calls.append(threading.current_thread().name)
        return SMALL.fit(train, on_step)

    with closing(TrainingQueue(workers=2)) as queue:
        together = threading.Barrier(16)

        def ask(visitor):
            together.wait(SOON)
            jobs.append(queue.submit(job_key(train, SMALL), work, visitor))

        threads = [threading.Thread(target=ask, args=(f"visitor {k}",)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        assert jobs[0].wait(timeout=SOON)
    assert len(jobs) == 16
    assert len(set(jobs)) == len(calls) == 1


def test_many_different_ones_at_once_all_finish():
    with closing(TrainingQueue(workers=2, waiting=64, kept=64)) as queue:
        together = threading.Barrier(8)

        def ask(asker):
            together.wait(SOON)
            for k in range(8):
                queue.submit((asker, k), lambda on_step: None)

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        jobs = [queue.find((a, k)) for a in range(8) for k in range(8)]
        assert all(job.wait(timeout=SOON) and job.state == "finished" for job in jobs)


def test_closing_ends_every_thread(train):
    before = set(threading.enumerate())
    queue = TrainingQueue(workers=1)
    endless = SMFHPlus(bits=8, iterations=10_000, anchors=20)
    paused = queue.submit("paused", partial(endless.fit, train))
    assert paused.pause()
    assert paused.wait("paused", timeout=SOON)
    running = queue.submit("running", partial(endless.fit, train))
    queued = queue.submit("queued", partial(endless.fit, train))
    assert running.wait("running", timeout=SOON)
    queue.close()
    assert [job.state for job in (paused, running, queued)] == ["cancelled"] * 3
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        queue.submit("more", lambda on_step: None)
