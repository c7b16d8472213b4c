"""Describe where an error was raised, without its message, which may contain a visitor's input."""

from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb

ROOT = Path(__file__).parents[2]
MAX_FRAMES = 20  # listed for each error, innermost first


def trace(error: BaseException) -> str:
    """Describe an error and its causes by type and file:line:function, innermost frame first.

    The attribute `worker_trace` of an error is its trace in a worker process.
    """
    described = []
    for one in _chain(error):
        frames = []
        for frame, line in walk_tb(one.__traceback__):
            path = Path(frame.f_code.co_filename)
            file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
            frames.append(f"{file}:{line}:{frame.f_code.co_qualname}")
        text = f"{type(one).__name__} at {' < '.join(reversed(frames[-MAX_FRAMES:])) or '-'}"
        worker_trace = getattr(one, "worker_trace", "")
        described.append(f"{text}; in a worker process: {worker_trace}" if worker_trace else text)
    return ", after ".join(described)


def drop_frames(error: BaseException | None) -> None:
    """Remove the tracebacks of an error and its causes, whose frames keep data in memory."""
    for one in _chain(error):
        one.__traceback__ = None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
