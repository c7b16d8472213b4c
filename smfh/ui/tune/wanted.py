"""What a visitor tunes and looks at, as one value that the link carries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from smfh.tuning import MEASURES, OVER, SWEEPS
from smfh.tuning.plan import LONGEST_NAME, MOST_FOLDS, MOST_MINUTES, MOST_TRIALS
from smfh.types import InputError
from smfh.ui.address import SHOWN, Reader, any_text, current, keep, one_of, part_of, several, told, whole

WAYS = {"sweep": "Sweep", "search": "Search"}
OTHER = "other"  # than the ready-made sweeps
CONTROLS = "tune_"  # how the keys of its controls begin
LONGEST_SPAN = 120  # characters
LARGEST = 1e12  # end of a range that a field takes


def span(numbers: int, largest: float) -> Reader:
    """Reads what `write_span` writes with so many numbers, none beyond the largest; it stays text."""

    def read(name: str, text: str) -> str:
        try:
            ends = next(iter(read_spans([text]).values()))
        except ValueError:
            ends = ()
        fits = len(ends) == numbers and all(-largest <= end <= largest for end in ends)  # NaN does not
        if not fits or len(text) > LONGEST_SPAN:
            such = write_span("graph_weight", *(0.1, 100, 9)[:numbers])
            raise InputError(f"{name} must be such as {such}; got {text[:SHOWN]!r}.")
        return text

    return read


@dataclass(frozen=True)
class Wanted:
    """What the next study does, which one is open, and what of it is looked at."""

    way: str = told("sweep", one_of(WAYS))
    sweep: str = told("α", one_of((*SWEEPS, OTHER)))
    tuned: tuple[str, ...] = told((), several(any_text(40)))  # of another sweep or a search; none: the usual
    ranges: tuple[str, ...] = told(
        (), several(span(3, LARGEST))
    )  # that are not as usual, NAME=LOW:HIGH:VALUES
    trials: int = told(40, whole(2, MOST_TRIALS))
    minutes: int = told(0, whole(0, MOST_MINUTES))  # 0: trials decide
    measure: str = told("balanced", one_of(MEASURES))
    over: str = told("mean", one_of(OVER))
    parts: int = told(3, whole(1, MOST_FOLDS))
    study: str = told("", any_text(LONGEST_NAME))  # that is open
    trial: int | None = told(None, whole(0, 10**6))  # that is chosen; None: the best
    within: tuple[str, ...] = told((), several(span(2, inf)))  # the filter: SYMBOL=LOW:HIGH


WANTED = part_of(Wanted(), "tune.")


def current_wanted() -> Wanted:
    """What this visit wants now."""
    return current(WANTED, CONTROLS)[0]


def change(**changes: Any) -> None:
    """Want something else; also for callbacks, before the page is drawn."""
    keep(WANTED, replace(current_wanted(), **changes))


def write_span(name: str, *numbers: float) -> str:
    """Such as graph_weight=0.1:100:9."""
    return f"{name}={':'.join(f'{x:.12g}' for x in numbers)}"


def read_spans(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """What `write_span` has written, by name."""
    split = [text.rpartition("=") for text in texts]
    return {name: tuple(float(end) for end in ends.split(":")) for name, _, ends in split}
