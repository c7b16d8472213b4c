"""The five parts of Learn, in the order in which they are to be read."""

import streamlit as st

from smfh.types import MultimodalDataset
from smfh.ui.address import current, draw_notes, hold, keep
from smfh.ui.learn.film import draw_film
from smfh.ui.learn.idea import draw_idea
from smfh.ui.learn.iteration import draw_iteration
from smfh.ui.learn.lesson import draw_lesson
from smfh.ui.learn.studied import CONTROLS, PARTS, Studied, studied_part, study
from smfh.ui.learn.symbols import draw_symbols
from smfh.ui.server import Loaded
from smfh.ui.settings import Settings

PART = f"{CONTROLS}part"


def draw_part(settings: Settings, loaded: Loaded) -> None:
    """What the link says; a teacher's link to a large screen shows that alone."""
    data = loaded[0]
    studied, notes = current(studied_part(data), CONTROLS)
    draw_notes(notes)
    keep(studied_part(data), studied)
    if not settings.present:
        _choose(studied, data)
    match studied.shown_part:
        case "idea":
            draw_idea()
        case "iteration":
            draw_iteration(studied, data)
        case "film":
            draw_film(studied, data)
        case "lessons":
            draw_lesson(studied, data, settings)
        case _:
            draw_symbols()


def _choose(studied: Studied, data: MultimodalDataset) -> None:
    st.segmented_control(
        "Part",
        PARTS,
        format_func=PARTS.__getitem__,
        required=True,
        key=hold(PART, studied.shown_part),
        label_visibility="collapsed",
        on_change=lambda: study(studied, data, part=st.session_state[PART]),
    )
