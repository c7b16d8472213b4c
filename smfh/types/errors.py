"""The one error for whatever comes from outside and cannot be used."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class InputError(ValueError):
    """What came from outside cannot be used; `problems` lists all that is wrong with it."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


def collect_problems(*steps: Callable[[], Any]) -> list[Any]:
    """What all the steps yield, or one error with the problems of all that fail."""
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
    """The error for a name that does not exist, listing those that do."""
    return InputError(f"Unknown {kind} {name!r}; there are {', '.join(known)}.")
