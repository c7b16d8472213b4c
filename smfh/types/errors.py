"""InputError, the error for invalid input, and functions that create it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class InputError(ValueError):
    """Error for invalid input from a user or a file; `problems` lists everything that is wrong.

    Examples
    --------
    >>> InputError(["There are no items.", "There is no modality."]).problems
    ('There are no items.', 'There is no modality.')
    """

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class MissingFilesError(InputError):
    """Error for a data set whose files are not on this machine; another machine may have the files."""


def collect_problems(*steps: Callable[[], Any]) -> list[Any]:
    """Call every step and return the results; if any fail, raise one InputError with all problems."""
    results: list[Any] = []
    problems: list[str] = []
    for step in steps:
        try:
            results.append(step())
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return results


def unknown(kind: str, name: object, known: Sequence[str] | Mapping[str, object]) -> InputError:
    """Return an InputError that says that `name` is unknown and lists the known names."""
    return InputError(f"Unknown {kind} {name!r}; choose from {', '.join(known)}.")
