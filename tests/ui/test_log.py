"""The log: a line for each thing that happens, and nothing in it that a visitor wrote."""

import logging
import re

import pytest

from smfh.datasets import Planted
from smfh.hashing import CVH
from smfh.jobs import JobQueue
from smfh.runs import run_key
from smfh.types import InputError
from smfh.ui.log import kind_of, line_of, short_id, tell_fault, tell_job, told_refusal, told_upload

SOON = 60
COOKIE = "0123456789abcdef" * 2
STATES = ("begun", "finished", "cancelled", "failed", "refused")


@pytest.fixture
def lines(caplog):
    """What was told, as the words after the logger's name."""
    caplog.set_level(logging.INFO, "smfh")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "smfh.ui.log"]


def test_every_end_of_a_job_is_one_line_and_names_no_cookie(lines):
    key = run_key(*(source := Planted(items=20)).load(), CVH(bits=4))
    queue = JobQueue(workers=1, waiting=0, tell=tell_job)

    def fail(error):
        def work(course):
            raise error

        return work

    def refuse(course):
        with pytest.raises(InputError, match="no more are taken"):
            queue.submit("another", lambda course: 1, "ann")
        return 1

    queue.submit(key, refuse, COOKIE).wait(timeout=SOON)
    queue.submit(("map", "words"), fail(InputError("the caption is bad")), COOKIE).wait(timeout=SOON)
    queue.submit(source, fail(KeyError("secret")), COOKIE).wait(timeout=SOON)

    def cancel(course):
        queue.find("own").cancel(COOKIE)
        course.check()

    queue.submit("own", cancel, COOKIE).wait(timeout=SOON)
    queue.close()
    told = [re.sub(r"seconds=[\d.]+", "seconds=…", line) for line in lines()]
    who, data = short_id(COOKIE), key.data[:8]
    run = f"seconds=… method=cvh bits=4 data={data}"
    assert told == [
        f"run visitor={who} state=begun {run}",
        f"str visitor={short_id('ann')} state=refused seconds=…",
        f"run visitor={who} state=finished {run}",
        f"map visitor={who} state=begun seconds=…",
        f"map visitor={who} state=refused seconds=…",
        f"load visitor={who} state=begun seconds=… data=planted",
        f"load visitor={who} state=failed seconds=… data=planted error=KeyError",
        f"str visitor={who} state=begun seconds=…",
        f"str visitor={who} state=cancelled seconds=…",
    ]
    assert COOKIE not in "".join(told)
    assert len({short_id(name) for name in (COOKIE, "ann", "")}) == 3


def test_a_fault_is_one_line_with_its_place_and_without_its_words(lines):
    try:
        int("a caption\nand more")
    except ValueError as error:
        tell_fault(error, COOKIE)
    (line,) = lines()
    assert re.fullmatch(
        rf"fault visitor={short_id(COOKIE)} error=ValueError at=tests/ui/test_log.py:\d+", line
    )


def test_an_upload_is_told_whether_it_is_taken_or_not(lines):
    with told_upload("model", COOKIE, 12):
        pass
    with pytest.raises(InputError), told_upload("model", COOKIE, 34):
        raise InputError(["one", "two"])
    taken, refused = lines()
    assert re.search(r"state=taken seconds=[\d.]+ kind=model bytes=12 problems=0$", taken)
    assert re.search(r"state=refused seconds=[\d.]+ kind=model bytes=34 problems=2$", refused)


def test_what_the_limits_refuse_is_told_once(lines):
    with told_refusal("run", COOKIE):
        pass
    with pytest.raises(InputError), told_refusal("run", COOKIE):
        raise InputError("It would take 90 GB; with 20 anchors it fits.")
    assert lines() == [f"refusal visitor={short_id(COOKIE)} what=run problems=1"]


@pytest.mark.parametrize("value", ["a b", 'a" state="x', "line\nbreak", "\x1b[31m", "…", ""])
def test_a_value_cannot_leave_its_place(value):
    line = line_of("event", said=value, after=1)
    assert line.isascii()
    assert line.isprintable()
    assert re.fullmatch(r'event visitor=- said="(?:[^"\\]|\\.)*" after=1', line)


def test_names_that_people_gave_are_no_part_of_it():
    from smfh.tuning.study import StudyKey

    assert kind_of(StudyKey("sqlite:///x", "my secret study", "ann")) == {"event": "study"}
