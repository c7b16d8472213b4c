"""Order, turns, limits, joining and remembering."""

import threading
from contextlib import closing

import pytest
from steps import SOON, Steps

from smfh.jobs import JobQueue
from smfh.types import InputError


def finish(queue, key, result=None):
    job = queue.submit(key, lambda context: result)
    assert job.wait(timeout=SOON)
    return job


def test_the_same_key_joins_a_job_in_any_state(queue):
    work, never = Steps(result="first"), Steps()
    running = queue.submit("a", work)
    waiting = queue.submit("b", lambda context: "second")
    assert queue.submit("a", never) is running
    assert queue.submit("b", never) is waiting
    work.allow_all()
    assert waiting.wait(timeout=SOON)
    assert queue.submit("a", never) is running
    assert (running.result, waiting.result) == ("first", "second")
    assert not never.begun.is_set()
    assert queue.submit("a", lambda context: "new", rerun=True) is not running


def test_visitors_take_turns(queue, blocked, gate):
    with closing(JobQueue()) as queue:
        done = []
        queue.submit("gate", blocked, "ann")
        keys = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 1), ("bob", 2), ("cid", 1)]
        jobs = [queue.submit(key, lambda context, key=key: done.append(key), key[0]) for key in keys]
        assert [job.position for job in jobs] == [3, 5, 6, 1, 4, 2]
        gate.set()
        assert all(job.wait(timeout=SOON) for job in jobs)
        assert done == [("bob", 1), ("cid", 1), ("ann", 1), ("bob", 2), ("ann", 2), ("ann", 3)]


def test_a_training_waits_for_one_part_of_another_visitors_jobs(queue, gate):
    order = []

    def in_parts(name):
        def work(context):
            assert gate.wait(SOON)
            for part in range(3):
                order.append((name, part))
                context.yield_turn()

        return work

    jobs = [queue.submit(name, in_parts(name), "ann") for name in ("grid", "study", "level")]
    jobs.append(queue.submit("training", lambda context: order.append("bob's"), "bob"))
    gate.set()
    assert all(job.wait(timeout=SOON) for job in jobs)
    assert order[:2] == [("grid", 0), "bob's"]


def test_as_many_jobs_run_as_there_are_workers(gate, blocked):
    with closing(JobQueue(workers=2)) as queue:
        jobs = [queue.submit(key, blocked) for key in range(3)]
        assert [job.state for job in jobs] == ["running", "running", "queued"]
        assert queue.load == (2, 1)
        queue.set_workers(3)
        assert jobs[2].state == "running"
        gate.set()


def test_a_full_queue_refuses_and_says_how_many_wait(blocked, gate):
    events = []
    with closing(JobQueue(max_waiting=3, on_event=lambda *event: events.append(event[:3]))) as queue:
        queue.submit("gate", blocked)
        waiting = [queue.submit(name, lambda context: None) for name in "abc"]
        with pytest.raises(InputError, match=r"3 jobs are waiting. Try again"):
            queue.submit("d", lambda context: None, "dot")
        assert events[-1] == ("refused", "d", ["dot"])
        assert queue.submit("a", lambda context: None) is waiting[0]
        waiting[1].cancel()
        assert queue.submit("d", lambda context: None).position == 3
        gate.set()


def test_one_visitor_may_submit_a_few_jobs(gate, blocked):
    with closing(JobQueue(max_per_visitor=2)) as queue:
        mine = [queue.submit(key, blocked, "ann") for key in "ab"]
        with pytest.raises(InputError, match=r"2 of your jobs .* or cancel one"):
            queue.submit("c", blocked, "ann")
        assert queue.submit("a", blocked, "ann") is mine[0]
        other = queue.submit("c", lambda context: None, "bob")
        assert queue.submit("c", blocked, "ann") is other  # joined
        assert mine[1].cancel("ann")
        assert queue.submit("d", lambda context: None, "ann").state == "queued"
        assert all(queue.submit(key, blocked).key == key for key in range(5))  # no limit without a visitor
        gate.set()


def test_a_new_job_replaces_the_one_that_had_no_viewer_for_longest(gate, blocked):
    with closing(JobQueue(max_waiting=3)) as queue:
        queue.submit("gate", blocked, "ann")
        jobs = [queue.submit(name, lambda context: None, name) for name in ("bob", "cid", "dot")]
        jobs[1].leave("cid")
        jobs[0].leave("bob")
        assert queue.submit("new", lambda context: None, "eve").state == "queued"
        assert [job.state for job in jobs] == ["queued", "cancelled", "queued"]
        queue.submit("newer", lambda context: None, "eve")
        assert [job.state for job in jobs] == ["cancelled", "cancelled", "queued"]
        with pytest.raises(InputError, match="3 jobs are waiting"):
            queue.submit("newest", lambda context: None, "eve")
        gate.set()


def test_the_results_used_last_are_remembered(queue):
    a, b = finish(queue, "a"), finish(queue, "b", "b")
    assert queue.find("a") is a  # and so b is the one to go
    c = finish(queue, "c")
    assert (queue.find("a"), queue.find("b"), queue.find("c")) == (a, None, c)
    assert b.result == "b"
    queue.forget_results()
    assert queue.find("a") is None


def test_a_failure_is_reported_logged_and_tried_again(queue, caplog):
    outcomes = iter([InputError(["One.", "Two."]), ZeroDivisionError("why"), None])

    def work(context):
        if outcome := next(outcomes):
            raise outcome

    jobs = []
    for _ in range(3):
        jobs.append(queue.submit("a", work))
        assert jobs[-1].wait(timeout=SOON)
    assert [job.state for job in jobs] == ["failed", "failed", "finished"]
    assert [job.problems for job in jobs] == [("One.", "Two."), ("ZeroDivisionError: why",), ()]
    with pytest.raises(RuntimeError, match="failed has no result"):
        _ = jobs[0].result
    # an InputError is for the visitor alone; other errors go to the log
    assert [record.getMessage().count("ZeroDivisionError") for record in caplog.records] == [1]


def test_many_threads_share_jobs_and_each_runs_once():
    calls = []
    with closing(JobQueue(workers=2, max_waiting=100, max_results=100)) as queue:
        together = threading.Barrier(8)

        def submit(visitor):
            together.wait(SOON)
            for key in range(8):
                queue.submit(key, lambda context, key=key: calls.append(key), visitor)
                queue.submit((visitor, key), lambda context: None, visitor)

        threads = [threading.Thread(target=submit, args=(f"visitor {k}",)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        keys = [*range(8), *((f"visitor {k}", key) for k in range(8) for key in range(8))]
        assert all(queue.find(key).wait(timeout=SOON) for key in keys)
        assert all(queue.find(key).state == "finished" for key in keys)
    assert sorted(calls) == list(range(8))


def test_closing_ends_every_thread():
    before = set(threading.enumerate())
    queue, works = JobQueue(workers=1), [Steps(10_000) for _ in range(3)]
    paused = queue.submit("paused", works[0])
    assert paused.pause()
    works[0].allow()
    assert paused.wait("paused", timeout=SOON)
    running, waiting = queue.submit("running", works[1]), queue.submit("waiting", works[2])
    assert works[1].begun.wait(SOON)
    works[1].allow_all()
    queue.close()
    assert [job.state for job in (paused, running, waiting)] == ["cancelled"] * 3
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        queue.submit("more", lambda context: None)


def test_unwanted_keys_are_cancelled_and_forgotten(queue):
    work = Steps()
    done = finish(queue, ("ann", 1))
    running, other = queue.submit(("ann", 2), work), queue.submit(("bob", 1), lambda context: "his")
    assert work.begun.wait(SOON)
    queue.forget(lambda key: key[0] == "ann")
    assert (queue.find(done.key), queue.find(running.key)) == (None, None)
    work.allow()
    assert running.wait(timeout=SOON)
    assert running.state == "cancelled"
    assert other.wait(timeout=SOON)
    assert queue.find(("bob", 1)) is other


def test_a_viewer_who_was_not_seen_for_a_while_does_not_count(blocked, gate, monkeypatch):
    now = 0.0
    monkeypatch.setattr("smfh.jobs.queue.monotonic", lambda: now)
    with closing(JobQueue(away_seconds=30.0)) as queue:
        hers = [queue.submit(key, blocked, "ann") for key in "ab"]
        his = queue.submit("c", blocked, "bob")
        now = 29.0
        queue.touch("ann")
        his.touch("eve")  # no viewer
        now = 58.0
        assert [job.viewers for job in hers] == [{"ann"}, {"ann"}]
        assert his.viewers == frozenset()
        assert queue.unfinished_of("bob", str) is his  # still his
        assert queue.unfinished_of("bob", int) is queue.unfinished_of("eve", str) is None
        assert his.cancel("eve")
        gate.set()


def test_a_job_without_viewers_lets_viewed_jobs_run(queue):
    work = Steps(3, "done")
    job = queue.submit("unviewed", work, "ann")
    assert work.begun.wait(SOON)
    job.leave("ann")
    not_begun = queue.submit("not begun", Steps(0), "ann")
    not_begun.leave("ann")
    other = queue.submit("other", lambda context: len(job.reports), "bob")
    work.allow_all()
    assert other.wait(timeout=SOON)
    assert other.result == 1  # after the first report, before the second
    assert not_begun.wait(timeout=SOON)
    assert job.result == "done"  # continued before the one that had not begun
