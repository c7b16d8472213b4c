"""Where an error came from, without a word of what it says, which may hold what somebody wrote."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb

ROOT = Path(__file__).parents[2]
FRAMES = 20  # of each error, the innermost ones
ELSEWHERE = "In another process: "  # how our notes begin; others' may hold anything


def trace(error: BaseException) -> str:
    """The error and those behind it: their types, and file:line:function, the innermost first."""
    return ", after ".join(_told(one) for one in _chain(error))


def note_elsewhere(error: BaseException, place: str) -> None:
    """Let the error tell, besides its frames here, its trace in the process that it comes from."""
    error.add_note(ELSEWHERE + place)


def drop_frames(error: BaseException | None) -> None:
    """Forget where an error and those behind it came from: their frames hold the data."""
    for one in _chain(error):
        one.__traceback__ = None


def sendable(error: Exception) -> Exception:
    """The error, or its words where it would not survive the way to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301, ours a moment ago
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _told(error: BaseException) -> str:
    frames = [
        f"{_short(frame.f_code.co_filename)}:{line}:{frame.f_code.co_qualname}"
        for frame, line in walk_tb(error.__traceback__)
    ]
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(ELSEWHERE)]
    places = " < ".join(reversed(frames[-FRAMES:])) or "-"
    return "; ".join([f"{type(error).__name__} at {places}", *notes])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _short(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
