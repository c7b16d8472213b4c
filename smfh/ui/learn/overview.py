"""The first part of the Learn page: the diagram of the method, its sliders, and the chosen box."""

import streamlit as st

from smfh.datasets import Emoji
from smfh.lessons.diagram import BOXES, EXERCISES, Findings, box_values
from smfh.lessons.example import default_rows
from smfh.lessons.symbols import meanings_in
from smfh.lessons.walkthrough import Walkthrough
from smfh.types import MultimodalDataset
from smfh.ui.address import current
from smfh.ui.items import caption_of
from smfh.ui.learn import components
from smfh.ui.learn.iteration import draw_files, draw_item_choice, draw_query_choice, draw_sliders, load_walkthrough
from smfh.ui.learn.state import CONTROLS, POSITIONS, LearnState, change_state, learn_part

SLIDER_PIXELS = 150
DIAGRAM, NUMBERS = f"{CONTROLS}diagram", f"{CONTROLS}box_numbers"
SOLVED = "exercises_solved"  # session key: numbers of the solved exercises


@st.fragment
def draw_overview(data: MultimodalDataset) -> None:
    """Draw the sliders, the diagram and the chosen box; moving a slider redraws only these."""
    state = current(learn_part(data), CONTROLS)[0]
    if (walkthrough := load_walkthrough(state, data)) is None:
        draw_item_choice(state, data)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="learn_diagram_controls"):
        draw_sliders(state, data, SLIDER_PIXELS)
        draw_query_choice(state, data)
    query = min(state.asks, len(walkthrough.example.data) - 1)
    stage = POSITIONS if state.stage is None else state.stage
    box = state.box if state.box in box_values(walkthrough.steps[0].before, walkthrough.source, query) else ""

    def moved() -> None:
        sent = st.session_state[DIAGRAM].stage
        is_valid = isinstance(sent, int) and 0 <= sent < POSITIONS  # None stands for the last stage
        change_state(state, data, stage=sent if is_valid else None)

    components.show_diagram(
        walkthrough,
        query,
        stage,
        box,
        DIAGRAM,
        on_stage_change=moved,
        on_box_change=lambda: change_state(state, data, box=st.session_state[DIAGRAM].box),
    )
    if box:
        _draw_box(state, data, walkthrough, box, stage, query)
    else:
        st.caption(
            "**X**: features of words and of pictures. **U**: how much of each feature a bit stands for. "
            "**Â**: which of the sampled items share a label. **Y**: a number per item and bit; above the "
            "mean of the bit, the bit is 1. **W**: hash functions, which compute the code of a query from "
            "its features. ✗: shares no label with the query."
        )
        st.caption(
            "Click a box for its numbers, its equation and its code. Play shows the training step by step. "
            "Violet is positive, orange is negative; in Y, violet is above the mean of the bit and orange "
            "below it. An orange bar marks a sampled item; orange frames and arrows mark the current step. "
            "Four bits are few, so the random start matters: this seed is the best of twenty."
        )
    with st.expander("Your own items", icon=":material/edit:", key="learn_items"):
        draw_item_choice(state, data)
    if state.rows == default_rows(data) and data.name == Emoji.name:
        now, solved = Findings.of(walkthrough), st.session_state.setdefault(SOLVED, set())
        solved |= {number for number, one in enumerate(EXERCISES) if one.is_solved(walkthrough, now)}
        title = f"Exercises: {len(solved)} of {len(EXERCISES)} solved"
        with st.expander(title, icon=":material/exercise:", key="learn_exercises"):
            st.caption(
                f"Move the sliders above the diagram; each exercise is checked at once. Now {now.perfect} of "
                f"{now.queries} queries find all their relevant items first, and {now.different_bits} of {now.bits} "
                "bits are different."
            )
            for number, one in enumerate(EXERCISES):
                if number in solved:
                    st.success(f"{one.task} **Solved.** {one.lesson}", icon=":material/check:")
                else:
                    st.info(f"{one.task} Not solved yet.", icon=":material/radio_button_unchecked:")
    draw_files(walkthrough, query)


def _draw_box(
    state: LearnState, data: MultimodalDataset, walkthrough: Walkthrough, box: str, stage: int, query: int
) -> None:
    """Draw the numbers in a box of the diagram, its equation, and the code that computes it."""
    name, modality = box.split(":", 1)
    about, step = BOXES[name], walkthrough.steps[max(stage - 1, 0)]
    snapshot = step.after if stage else step.before
    values = box_values(snapshot, walkthrough.source, query)[box]
    with st.container(border=True, key="learn_box"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            if name == "results":
                ranked = [caption_of(walkthrough.example.data, row) for row in values.tolist()]
                st.text("\n".join(f"{place}. {caption}" for place, caption in enumerate(ranked, 1)))
            else:
                table = components.matrix_table(walkthrough, (name, modality), values, snapshot.sample)
                components.show_matrices({"": [table]}, "", NUMBERS, lambda: None)
        with right:
            st.subheader(about.title, anchor=False)
            st.markdown(about.meaning)
            if about.equation:
                st.latex(about.equation, help=meanings_in(about.equation) or None)
            if about.code:
                st.code(about.code, language="python")
            if about.step and st.button("Open this step with all numbers", key=f"{CONTROLS}open_step"):
                change_state(state, data, part="iteration", iteration=step.iteration, step=about.step, entry=None)
                st.rerun()  # another part: redraw the whole page
