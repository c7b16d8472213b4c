"""The trace of an error: where it comes from, and nothing of its text."""

from smfh.engine.worker import drop_frames, trace

CAPTION = "a caption that somebody wrote"


def raise_inner() -> None:
    raise KeyError(CAPTION)


def raise_outer() -> None:
    try:
        raise_inner()
    except KeyError as error:
        raise ValueError(CAPTION) from error


def caught(function) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError


def test_a_trace_has_types_and_places_and_no_text():
    error = caught(raise_outer)
    error.add_note(CAPTION)
    error.worker_trace = "KeyError at there.py:1:f"
    outer, inner = trace(error).split(", after ")
    assert outer.startswith("ValueError at tests/engine/test_errors.py:")
    assert outer.endswith("; in a worker process: KeyError at there.py:1:f")
    assert inner.startswith("KeyError at tests/engine/test_errors.py:")
    assert inner.index(":raise_inner") < inner.index(":raise_outer")
    assert CAPTION not in trace(error)
    drop_frames(error)
    assert error.__traceback__ is error.__cause__.__traceback__ is None
