"""The log: one line for each event, and nothing that a visitor wrote."""

import logging
import re

import pytest

from smfh.datasets import Planted
from smfh.hashing import CVH
from smfh.jobs import JobQueue
from smfh.runs import run_key
from smfh.types import InputError
from smfh.ui.log import line_of, log_error, log_job, logging_upload, short_id
from smfh.ui.visitor import PrivateKey

WAIT_SECONDS = 60
COOKIE = "0123456789abcdef" * 2


@pytest.fixture
def lines(caplog):
    """Return the log lines without time and level."""
    caplog.set_level(logging.INFO, "smfh")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "smfh.ui.log"]


def test_each_job_event_is_one_line_without_cookies(lines):
    key = run_key(*(source := Planted(items=20)).load(), CVH(bits=4))
    queue = JobQueue(workers=1, on_event=log_job)

    def refuse(context):
        raise InputError("the caption is bad")

    def fail(context):
        raise KeyError("secret")

    jobs = ((key, lambda context: 1), (PrivateKey("ann", ("map", "words")), refuse), (source, fail))
    for name, work in jobs:
        queue.submit(name, work, COOKIE).wait(timeout=WAIT_SECONDS)
    queue.close()
    found = [re.sub(r"seconds=[\d.]+", "seconds=…", line) for line in lines()]
    who, data = short_id(COOKIE), key.data[:8]
    run = f"seconds=… method=cvh bits=4 data={data}"
    assert found == [
        f"run visitor={who} state=begun {run}",
        f"run visitor={who} state=finished {run}",
        f"map visitor={who} state=begun seconds=…",
        f"map visitor={who} state=refused seconds=…",
        f"load visitor={who} state=begun seconds=… data=planted",
        f"load visitor={who} state=failed seconds=… data=planted error=KeyError",
    ]
    assert COOKIE not in "".join(found)
    assert len({short_id(name) for name in (COOKIE, "ann", "")}) == 3


def test_an_error_is_one_line_with_its_place_and_without_its_text(lines):
    try:
        int("a caption\nand more")
    except ValueError as error:
        log_error(error, COOKIE)
    (line,) = lines()
    place = r"tests/ui/test_log.py:\d+"
    assert re.fullmatch(rf"fault visitor={short_id(COOKIE)} error=ValueError at={place}", line)


def test_an_upload_is_logged_as_accepted_or_refused(lines):
    with logging_upload("model", COOKIE, 12):
        pass
    with pytest.raises(InputError), logging_upload("model", COOKIE, 34):
        raise InputError(["one", "two"])
    accepted, refused = lines()
    assert re.search(r"state=accepted seconds=[\d.]+ kind=model bytes=12 problems=0$", accepted)
    assert re.search(r"state=refused seconds=[\d.]+ kind=model bytes=34 problems=2$", refused)


@pytest.mark.parametrize("value", ["a b", 'a" state="x', "line\nbreak", "\x1b[31m", "…", ""])
def test_a_value_cannot_forge_another_field(value):
    line = line_of("event", said=value, after=1)
    assert line.isascii()
    assert line.isprintable()
    assert re.fullmatch(r'event visitor=- said="(?:[^"\\]|\\.)*" after=1', line)
