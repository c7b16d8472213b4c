"""The state of the Learn page, which is part of the page's link."""

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import streamlit as st

from smfh.hashing import SMFH
from smfh.lessons.example import MAX_ITEMS, default_rows
from smfh.lessons.lessons import LESSONS
from smfh.lessons.rooms import read_code
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_INFO, STEP_NAMES
from smfh.types import MultimodalDataset, read_value
from smfh.ui.address import Part, Reader, any_text, hold, keep, link_field, one_of, part_of, several, whole

CONTROLS = "learn_"  # prefix of the keys of all controls on this page
PARTS = {
    "idea": "1 · The idea",
    "iteration": "2 · One iteration",
    "film": "3 · Replay of a run",
    "lessons": "4 · Lessons",
    "symbols": "5 · Symbols",
}
MAX_BITS, MAX_ITERATION, MAX_STOPS = 8, 10_000, 100
MAX_DIGITS = 40  # of a parameter in a link
POSITIONS = DEFAULT_METHOD.iterations * len(STEP_NAMES)  # steps of the small example


def parameter_reader(field: str) -> Reader:
    """Return a function that parses a value of this SMFH parameter; SMFH checks its range."""

    def read(name: str, text: str) -> Any:
        value = read_value(name, text[:MAX_DIGITS], getattr(DEFAULT_METHOD, field))
        return getattr(replace(DEFAULT_METHOD, **{field: value}), field)

    return read


@dataclass(frozen=True)
class LearnState:
    """State of the Learn page: part, step and settings of the small example, positions in replay and lesson."""

    part: str | None = link_field(None, one_of(PARTS))
    rows: tuple[int, ...] = ()
    iteration: int = link_field(1, whole(1, DEFAULT_METHOD.iterations))
    step: str = link_field(STEP_NAMES[0], one_of(STEP_NAMES))
    entry: str | None = link_field(None, any_text(200))  # matrix:modality:row:column
    stage: int | None = link_field(None, whole(0, POSITIONS))  # steps done in the diagram; None: all
    box: str | None = link_field(None, any_text(200))  # open box of the diagram, name:modality
    asks: int = link_field(0, whole(0, MAX_ITEMS - 1))  # which item of the example is the query
    bits: int = link_field(DEFAULT_METHOD.bits, whole(2, MAX_BITS))
    alpha: float = link_field(DEFAULT_METHOD.graph_weight, parameter_reader("graph_weight"))
    mu: float = link_field(DEFAULT_METHOD.projection_weight, parameter_reader("projection_weight"))
    sample: int = link_field(DEFAULT_METHOD.graph_sample, whole(2, MAX_ITEMS))
    frame: int | None = link_field(None, whole(1, MAX_ITERATION))  # iteration of the replay; None: the last
    lesson: str | None = link_field(None, one_of(LESSONS))
    at: int = link_field(0, whole(0, MAX_STOPS))  # stop of the lesson's slider
    guess: int | None = link_field(None, whole(-1, MAX_STOPS))  # predicted answer of the lesson; -1: skipped
    query: int = link_field(0, whole(0, MAX_STOPS))  # which query of the lesson or the replay
    room: str | None = link_field(None, lambda name, text: read_code(text))  # to which predictions are sent

    @property
    def current_part(self) -> str:
        """The part of the page to show; by default the lessons if a lesson or room is set, else the idea."""
        return self.part or ("lessons" if self.lesson or self.room else "idea")

    @property
    def method(self) -> SMFH:
        """SMFH with the settings of the small example."""
        method = replace(DEFAULT_METHOD, bits=self.bits, graph_sample=self.sample)
        return replace(method, graph_weight=self.alpha, projection_weight=self.mu)

    @property
    def position(self) -> int:
        """The number of steps before the current one, counted over all iterations."""
        return (self.iteration - 1) * len(STEP_NAMES) + STEP_NAMES.index(self.step)

    def moved_to(self, position: int) -> "LearnState":
        """Return the state at another step; the entry stays selected if that step computes its matrix."""
        iteration, number = divmod(position, len(STEP_NAMES))
        step, matrix = STEP_NAMES[number], (self.entry or "").split(":")[0]
        stays = step == self.step or matrix in STEP_INFO[step].outputs
        return replace(self, iteration=iteration + 1, step=step, entry=self.entry if stays else None)


def learn_part(data: MultimodalDataset) -> Part[LearnState]:
    """Return the part of the link that holds the state of this page for this data set."""
    return part_of(
        LearnState(rows=default_rows(data)), "learn.", about=data.fingerprint, rows=several(whole(0, len(data) - 1))
    )


def played_to(key: str, seconds: float, last: int) -> int | None:
    """Return the step that Play has reached, at `seconds` per step; None if Play is not running."""
    if key not in st.session_state:
        return None
    start, since = st.session_state[key]
    return min(int(start + (monotonic() - since) / seconds), last)


def start_playing(key: str, at: int, last: int) -> None:
    """Start Play at this step, or at the first step if this is the last one."""
    st.session_state[key] = (at if at < last else 0, monotonic())


def control(state: LearnState, data: MultimodalDataset, field: str, value: Any, **others: Any) -> dict[str, Any]:
    """Return `key` and `on_change` of a control that shows `value` and changes fields of the page state."""
    key = hold(f"{CONTROLS}{field}", value)

    def changed() -> None:
        chosen = st.session_state[key]
        change_state(state, data, **others, **{field: tuple(chosen) if isinstance(chosen, list) else chosen})

    return {"key": key, "on_change": changed}


def change_state(state: LearnState, data: MultimodalDataset, **changes: Any) -> None:
    """Save the state of the Learn page with these changes; they show when the page is redrawn."""
    keep(learn_part(data), replace(state, **changes))
