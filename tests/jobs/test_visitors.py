"""Between visitors: who goes first, how many each may ask for, what becomes of what nobody watches."""

import threading
from contextlib import closing

import pytest

from smfh.jobs import JobQueue
from smfh.jobs.line import MOST_ASIDE, REMEMBERED, Line
from smfh.types import InputError

SOON = 60  # seconds after which a test that hangs fails


@pytest.fixture
def queue():
    with closing(JobQueue()) as queue:
        yield queue


@pytest.fixture
def gate():
    """Opened at the latest when the test is over, so that what waits for it ends."""
    opened = threading.Event()
    yield opened
    opened.set()


def waiting_for(gate):
    return lambda course: gate.wait(SOON)


class Steps:
    """Work that does a step whenever it is let, and tells when it has begun."""

    def __init__(self, steps=3):
        self.begun, self.let, self.steps = threading.Event(), threading.Semaphore(0), steps

    def __call__(self, course):
        self.begun.set()
        for step in range(self.steps):
            assert self.let.acquire(timeout=SOON)
            course.report(step)

    def run_out(self):
        self.let.release(self.steps)


def test_the_visitor_whose_turn_is_longest_ago_goes_first(queue, gate):
    done = []
    queue.submit("gate", waiting_for(gate), "ann")
    asked = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 1), ("bob", 2), ("cid", 1)]
    jobs = [queue.submit(key, lambda course, key=key: done.append(key), key[0]) for key in asked]
    assert [job.position for job in jobs] == [3, 5, 6, 1, 4, 2]
    gate.set()
    assert all(job.wait(timeout=SOON) for job in jobs)
    assert done == [("bob", 1), ("cid", 1), ("ann", 1), ("bob", 2), ("ann", 2), ("ann", 3)]


def test_one_training_waits_for_one_part_of_another_visitors_work(queue, gate):
    order = []

    def many_parts(name):
        def work(course):
            assert gate.wait(SOON)
            for part in range(3):
                order.append((name, part))
                course.give_way()

        return work

    jobs = [queue.submit(name, many_parts(name), "ann") for name in ("grid", "study", "ceiling")]
    jobs.append(queue.submit("training", lambda course: order.append("bob's"), "bob"))
    gate.set()
    assert all(job.wait(timeout=SOON) for job in jobs)
    assert order[:2] == [("grid", 0), "bob's"]  # and not one of each


def test_only_so_many_turns_are_remembered():
    class Watched:
        def __init__(self, visitor):
            self.watchers = frozenset({visitor})

        def begin(self):
            """At once over."""

    line = Line(1, 0.0, 0.0)
    for number in range(REMEMBERED + 9):
        who = Watched(f"visitor {number}")
        line.join(who)
        line.finish(who)
    assert len(line._turns) == REMEMBERED
    early, late = Watched("visitor 20"), Watched(f"visitor {REMEMBERED}")
    line.workers = 0
    line.join(late)
    line.join(early)
    assert line.order() == [early, late]


def test_what_nobody_watches_does_not_give_way_to_what_nobody_watches(queue):
    first, second = Steps(), Steps()
    jobs = [queue.submit(key, work, "ann") for key, work in (("first", first), ("second", second))]
    assert first.begun.wait(SOON)
    for job in jobs:
        job.leave("ann")
    first.run_out()
    assert jobs[0].wait(timeout=SOON)
    assert len(jobs[0].reports) == 3
    assert second.begun.wait(SOON)
    second.run_out()
    assert jobs[1].wait(timeout=SOON)


def test_what_has_begun_and_nobody_watches_goes_on_before_another_that_nobody_watches(queue, gate):
    begun, other = Steps(), Steps()
    first, second = queue.submit("begun", begun, "ann"), queue.submit("not yet", other, "ann")
    assert begun.begun.wait(SOON)
    first.leave("ann")
    second.leave("ann")
    watched = queue.submit("watched", waiting_for(gate), "bob")
    begun.let.release()
    assert watched.wait("running", timeout=SOON)
    gate.set()
    assert watched.wait(timeout=SOON)
    assert first.wait("running", timeout=SOON)
    assert not other.begun.is_set()
    begun.run_out()
    assert first.wait(timeout=SOON)
    other.run_out()
    assert second.wait(timeout=SOON)


def test_few_stand_aside_and_one_too_many_goes_on(queue):
    work = [Steps() for _ in range(MOST_ASIDE + 2)]
    jobs = []
    for number, steps in enumerate(work):  # as a visitor does who trains with one setting after another
        if jobs:
            jobs[-1].leave("ann")
        jobs.append(queue.submit(number, steps, "ann"))
        if number:
            work[number - 1].let.release()
        if number <= MOST_ASIDE:
            assert steps.begun.wait(SOON)
    assert jobs[-2].state == "running"
    assert not work[-1].begun.is_set()
    work[-2].run_out()
    assert jobs[-2].wait(timeout=SOON)
    assert work[-1].begun.wait(SOON)
    for steps in work:
        steps.run_out()
    assert all(job.wait(timeout=SOON) and job.state == "finished" for job in jobs)


def test_the_job_that_nobody_has_watched_for_longest_makes_room(gate):
    with closing(JobQueue(waiting=3)) as queue:
        queue.submit("gate", waiting_for(gate), "ann")
        jobs = [queue.submit(name, lambda course: None, name) for name in ("bob", "cid", "dot")]
        jobs[1].leave("cid")
        jobs[0].leave("bob")
        assert queue.submit("new", lambda course: None, "eve").state == "queued"
        assert [job.state for job in jobs] == ["queued", "cancelled", "queued"]
        queue.submit("newer", lambda course: None, "eve")
        assert [job.state for job in jobs] == ["cancelled", "cancelled", "queued"]
        with pytest.raises(InputError, match="3 jobs wait already"):
            queue.submit("newest", lambda course: None, "eve")
        gate.set()


def test_one_at_work_that_nobody_watches_makes_room_before_it_has_noticed():
    work = Steps()
    with closing(JobQueue(waiting=0)) as queue:
        left = queue.submit("left", work, "ann")
        assert work.begun.wait(SOON)
        left.leave("ann")
        new = queue.submit("new", lambda course: "done", "bob")
        with pytest.raises(InputError, match="1 jobs wait already"):
            queue.submit("one too many", lambda course: None, "cid")
        work.run_out()
        assert new.wait(timeout=SOON)
        assert (left.state, new.state) == ("cancelled", "finished")


def test_a_visitor_who_asks_for_too_much_is_told_how_much_they_have(gate):
    with closing(JobQueue(each=2)) as queue:
        mine = [queue.submit(key, waiting_for(gate), "ann") for key in "ab"]
        with pytest.raises(InputError, match=r"2 of your jobs .* wait .* or cancel one"):
            queue.submit("c", waiting_for(gate), "ann")
        assert queue.submit("a", waiting_for(gate), "ann") is mine[0]  # joined, not asked for anew
        other = queue.submit("c", lambda course: None, "bob")
        assert queue.submit("c", waiting_for(gate), "ann") is other
        assert mine[1].cancel("ann")
        assert queue.submit("d", lambda course: None, "ann").state == "queued"
        gate.set()


def test_of_ones_own_jobs_the_one_left_for_longest_makes_room(gate):
    with closing(JobQueue(each=2)) as queue:
        queue.submit("others", waiting_for(gate), "bob")
        first, second = (queue.submit(key, lambda course: None, "ann") for key in "ab")
        left = queue.submit("left", lambda course: None, "cid")
        left.leave("cid")
        second.leave("ann")
        first.leave("ann")
        queue.submit("c", lambda course: None, "ann")
        assert [job.state for job in (first, second, left)] == ["queued", "cancelled", "queued"]
        gate.set()


def test_nobody_in_particular_may_ask_for_as_much_as_there_is_room_for(gate):
    with closing(JobQueue(each=1)) as queue:
        jobs = [queue.submit(key, waiting_for(gate)) for key in range(5)]
        gate.set()
        assert all(job.wait(timeout=SOON) for job in jobs)


def test_who_is_seen_anywhere_still_waits_for_all_they_watch(gate, monkeypatch):
    now = 0.0
    monkeypatch.setattr("smfh.jobs.watchers.monotonic", lambda: now)
    with closing(JobQueue(away=30.0)) as queue:
        hers = [queue.submit(key, waiting_for(gate), "ann") for key in "ab"]
        his = queue.submit("c", waiting_for(gate), "bob")
        now = 29.0
        queue.see("ann")
        now = 58.0
        assert [job.watchers for job in hers] == [{"ann"}, {"ann"}]
        assert his.watchers == frozenset()
        gate.set()


def test_the_unfinished_job_of_a_visitor_is_found_by_the_kind_of_its_key(queue, gate):
    number, name = queue.submit(1, waiting_for(gate), "ann"), queue.submit("name", waiting_for(gate), "ann")
    assert queue.unfinished_of("ann", int) is number
    assert queue.unfinished_of("ann", str) is name
    assert queue.unfinished_of("ann", float) is None
    assert queue.unfinished_of("bob", int) is None
    name.cancel("ann")
    assert queue.unfinished_of("ann", str) is None
    gate.set()
    assert number.wait(timeout=SOON)
    assert queue.unfinished_of("ann", int) is None


def test_a_job_is_its_visitors_however_long_they_were_away(gate):
    with closing(JobQueue(away=0.0)) as queue:
        job = queue.submit(1, waiting_for(gate), "ann")
        assert queue.unfinished_of("ann", int) is job
        gate.set()


def test_who_is_alone_has_nobody_ahead(queue, gate):
    jobs = [queue.submit(key, waiting_for(gate), "ann") for key in "abc"]
    assert [job.others_ahead for job in jobs] == [0, 0, 0]
    jobs[0].watch("bob")
    assert [job.others_ahead for job in jobs] == [0, 1, 1]
    gate.set()


def test_those_ahead_are_the_others_at_work_and_before_in_line(queue, gate):
    at_work = queue.submit("at work", waiting_for(gate), "ann")
    bobs = [queue.submit(("bob", part), waiting_for(gate), "bob") for part in range(2)]
    cids = queue.submit("cid", waiting_for(gate), "cid")
    assert (at_work.others_ahead, cids.others_ahead) == (0, 2)
    assert [job.others_ahead for job in bobs] == [1, 2]
    at_work.leave("ann")
    assert cids.others_ahead == 1
    gate.set()
