"""Where a visitor is on Learn, as one value that the link carries."""

from dataclasses import dataclass, replace
from typing import Any

from smfh.hashing import SMFH
from smfh.hashing.smfh import STEPS
from smfh.lessons.example import MOST, usual_rows
from smfh.lessons.iteration import ABOUT, USUAL
from smfh.lessons.lessons import LESSONS
from smfh.types import InputError, MultimodalDataset, parameters, read_value
from smfh.ui.address import Part, Reader, any_text, keep, one_of, part_of, several, told, whole

CONTROLS = "learn_"  # how the keys of controls begin that take their values anew after Back
PARTS = {
    "idea": "1 · The idea",
    "iteration": "2 · One iteration",
    "film": "3 · From noise to order",
    "lessons": "4 · Lessons",
    "symbols": "5 · Symbols",
}
STEP_NAMES = tuple(name for name, _ in STEPS)
MOST_BITS, MOST_FRAMES, MOST_STOPS = 8, 10_000, 100


def weight(field: str) -> Reader:
    """Reads a parameter of the method, of the range that it declares."""

    def read(name: str, text: str) -> Any:
        value, about = read_value(name, text, getattr(USUAL, field)), parameters(SMFH)[field]
        if not about.takes(value):
            raise InputError(f"{name} ({about.symbol}) must be {about.wanted}; got {text[:40]!r}.")
        return value

    return read


@dataclass(frozen=True)
class Studied:
    """The part; where one is in the small example and how it is set; the film; the lesson."""

    part: str | None = told(None, one_of(PARTS))
    rows: tuple[int, ...] = ()
    iteration: int = told(1, whole(1, USUAL.iterations))
    step: str = told(STEP_NAMES[0], one_of(STEP_NAMES))
    entry: str | None = told(None, any_text(200))  # matrix:modality:row:column
    asks: int = told(0, whole(0, MOST - 1))  # which of the items
    bits: int = told(USUAL.bits, whole(2, MOST_BITS))
    alpha: float = told(USUAL.graph_weight, weight("graph_weight"))
    mu: float = told(USUAL.projection_weight, weight("projection_weight"))
    sample: int = told(USUAL.graph_sample, whole(2, MOST))
    frame: int | None = told(None, whole(1, MOST_FRAMES))  # an iteration of the film; the last one
    lesson: str | None = told(None, one_of(LESSONS))
    at: int = told(0, whole(0, MOST_STOPS))  # a stop of the lesson
    query: int = told(0, whole(0, MOST_STOPS))  # which of the lesson's queries

    @property
    def shown_part(self) -> str:
        """A link to a lesson need not say that it is one."""
        return self.part or ("lessons" if self.lesson else "idea")

    @property
    def method(self) -> SMFH:
        """Of the small example."""
        return replace(
            USUAL,
            bits=self.bits,
            graph_weight=self.alpha,
            projection_weight=self.mu,
            graph_sample=self.sample,
        )

    @property
    def moment(self) -> int:
        """Steps before this one, over all iterations."""
        return (self.iteration - 1) * len(STEP_NAMES) + STEP_NAMES.index(self.step)

    def moved_to(self, moment: int) -> "Studied":
        """The same at another moment; an entry stays chosen where the step there gives its matrix."""
        iteration, place = divmod(moment, len(STEP_NAMES))
        step, matrix = STEP_NAMES[place], (self.entry or "").split(":")[0]
        stays = step == self.step or matrix in ABOUT[step].gives
        return replace(self, iteration=iteration + 1, step=step, entry=self.entry if stays else None)


MOMENTS = USUAL.iterations * len(STEP_NAMES)


def studied_part(data: MultimodalDataset) -> Part[Studied]:
    """How the address tells it, for this data."""
    return part_of(
        Studied(rows=usual_rows(data)),
        "learn.",
        about=data.fingerprint,
        rows=several(whole(0, len(data) - 1)),
    )


def study(studied: Studied, data: MultimodalDataset, **changes: Any) -> None:
    """Go elsewhere: for callbacks, before the page is drawn again."""
    keep(studied_part(data), replace(studied, **changes))
