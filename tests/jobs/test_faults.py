"""What is told of an error: where it came from, and nothing of what it says."""

import json
import logging
import pickle
import threading
from contextlib import closing

import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from smfh.jobs import JobQueue
from smfh.jobs.faults import FRAMES, drop_frames, note_elsewhere, sendable, trace
from smfh.types import InputError

WRITTEN = "a caption that somebody wrote"


def raise_inner() -> None:
    raise KeyError(WRITTEN)


def raise_outer() -> None:
    try:
        raise_inner()
    except KeyError as error:
        raise ValueError(WRITTEN) from error


def caught(function) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError


def test_a_trace_names_types_and_places_and_says_nothing():
    told = trace(caught(raise_outer))
    outer, inner = told.split(", after ")
    assert outer.startswith("ValueError at tests/jobs/test_faults.py:")
    assert outer.count(":raise_outer") == 1
    assert inner.startswith("KeyError at tests/jobs/test_faults.py:")
    assert inner.index(":raise_inner") < inner.index(":raise_outer")
    assert WRITTEN not in told
    assert "raise KeyError" not in told


def test_of_a_deep_fault_only_the_innermost_places_are_told():
    def deeper(left: int) -> None:
        if left == 0:
            raise ValueError
        deeper(left - 1)

    assert trace(caught(lambda: deeper(500))).count("deeper") == FRAMES


def test_only_notes_of_ours_are_told():
    error = ValueError(WRITTEN)
    error.add_note(WRITTEN)
    note_elsewhere(error, "KeyError at there.py:1:f")
    assert trace(error) == "ValueError at -; In another process: KeyError at there.py:1:f"


def test_frames_are_dropped_of_all_errors_in_a_chain():
    error = caught(raise_outer)
    drop_frames(error)
    assert error.__traceback__ is None
    assert error.__cause__.__traceback__ is None


@pytest.mark.parametrize("error", [InputError(["a", "b"]), json.JSONDecodeError("no", "{", 0), KeyError("k")])
def test_what_survives_the_way_is_sent_as_it_is(error):
    assert sendable(error) is error


def test_what_does_not_survive_the_way_is_sent_in_words():
    error = sendable(ArpackNoConvergence("no convergence", [], []))  # some libraries teach it to survive
    assert "no convergence" in str(pickle.loads(pickle.dumps(error)))  # noqa: S301, ours
    assert str(sendable(OSError(threading.Lock()))).startswith("OSError: <unlocked")


def test_the_log_tells_where_a_job_failed_and_not_what_it_said(caplog):
    with closing(JobQueue()) as queue, caplog.at_level(logging.ERROR):
        job = queue.submit("a", lambda course: raise_outer())
        assert job.wait(timeout=60)
    (record,) = caplog.records
    told = record.getMessage()
    assert told.startswith("A job failed: ValueError at tests/jobs/test_faults.py:")
    assert ":raise_inner" in told
    assert WRITTEN not in caplog.text
    assert job.problems == (f"ValueError: {WRITTEN}",)
