"""The Learn page: a menu of its five parts, and two of them: the idea, with the diagram, and the symbols."""

import numpy as np
import streamlit as st

from smfh.datasets import Emoji
from smfh.hamming import unpack
from smfh.hashing import SMFHPlus
from smfh.lessons.diagram import BOXES, EXERCISES, Findings, box_values
from smfh.lessons.example import default_rows
from smfh.lessons.symbols import SYMBOLS, meanings_in
from smfh.lessons.walkthrough import Walkthrough
from smfh.paper import CONTRADICTED_CLAIMS, EQUATION_NOTE, ERRATA, NOT_AN_ERROR
from smfh.retrieval.search import encode_query, query_from_words
from smfh.runs.run import run_key
from smfh.types import MultimodalDataset
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.items import caption_of, code_strip, pictures_of
from smfh.ui.learn import components
from smfh.ui.learn.iteration import (
    PRESENTATION_STYLE,
    draw_erratum,
    draw_files,
    draw_item_choice,
    draw_iteration,
    draw_query_choice,
    draw_sliders,
    load_walkthrough,
)
from smfh.ui.learn.lesson import draw_lesson, draw_replay
from smfh.ui.learn.state import CONTROLS, PARTS, POSITIONS, LearnState, change_state, control, learn_part
from smfh.ui.server import load_source, run_store
from smfh.ui.settings import Settings

PICTURE_PIXELS, STRIP_PIXELS = 64, 420
SLIDER_PIXELS = 150
DIAGRAM, NUMBERS = f"{CONTROLS}diagram", f"{CONTROLS}box_numbers"
SOLVED = "exercises_solved"  # session key: numbers of the solved exercises
IDEA = """\
**A computer cannot compare words with pictures directly.** Therefore each gets a short *code*, a row of bits.
Codes are learnt from pairs, such as an emoji and its name, **and from labels**: items that share a class are
pulled to the same code. **Searching means counting**: take the code of the words, count for every picture the
bits that differ (the *Hamming distance*), and show the pictures with the fewest. The diagram shows all of it
on a few items, with the numbers of the real algorithm."""


def draw_learn(settings: Settings, data: MultimodalDataset) -> None:
    """Draw the menu of parts, which presentation mode hides, and the part of the page in the link."""
    state, notes = current(learn_part(data), CONTROLS)
    draw_notes(notes)
    keep(learn_part(data), state)
    if not settings.present:
        st.segmented_control(
            "Part",
            PARTS,
            format_func=PARTS.__getitem__,
            required=True,
            label_visibility="collapsed",
            **control(state, data, "part", state.current_part),
        )
    match state.current_part:
        case "idea":
            if settings.present:
                st.html(PRESENTATION_STYLE)
            else:
                st.markdown(IDEA)
            draw_overview(data)
            _draw_codes()
        case "iteration":
            draw_iteration(state, data, settings.present)
        case "film":
            draw_replay(data)
        case "lessons":
            draw_lesson(state, data, settings)
        case _:
            lines = [f"| ${symbol.latex}$ | {symbol.meaning} | {symbol.origin} |" for symbol in SYMBOLS]
            st.markdown("\n".join(["| symbol | meaning | origin |", "|---|---|---|", *lines]))
            st.subheader("Corrections to the paper", anchor=False)
            st.caption(EQUATION_NOTE)
            for erratum in ERRATA:
                with st.expander(erratum.where):
                    draw_erratum(erratum)
            st.caption(NOT_AN_ERROR)
            st.subheader("Claims that the paper's own tables contradict", anchor=False)
            st.markdown("\n".join(f"- {claim}" for claim in CONTRADICTED_CLAIMS))


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
            "**X**: features of words and of pictures. **U**: the weight of each feature in each bit. "
            "**Â**: which of the sampled items share a label. **Y**: a number per item and bit; above the "
            "mean of the bit, the bit is 1. **W**: hash functions, which compute the code of a query from "
            "its features. A result marked ✗ shares no label with the query."
        )
        st.caption(
            "Click a box for its numbers, its equation and its code. Play shows the training step by step. "
            "Violet is positive, orange is negative; in Y, violet is above the mean of the bit and orange "
            "below it. An orange bar marks a sampled item; orange frames and arrows mark the current step. "
            "Four bits are few, so the random start matters: the best of twenty starts is shown, which would be "
            "unfair for a score but makes a clear picture."
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


def _draw_codes() -> None:
    """Draw the codes of a few words, and of near and distant pictures, from the default run."""
    source, method, words = Emoji(), SMFHPlus(), Emoji.card.example
    data, split = load_source(source)
    record = run_store().find(run_key(data, split, method))
    st.subheader("Real codes", anchor=False)
    if record is None or not record.model_arrays:
        st.caption("Open Explore once: it trains the default run, whose codes are then shown here.")
        return
    st.markdown(
        "Here are real codes, learnt from the built-in emoji. Each strip shows two codes: the words' code "
        "on top and the picture's code below it. Dark is on, pale is off, **orange marks the bits that differ**."
    )
    hasher = run_store().hasher(record, data.take(split.train) if run_store().is_shipped(record) else None)
    query = encode_query(hasher, data, split, query_from_words(data, "text", words))
    bits, train = hasher.bits, split.train.tolist()
    query_bits, codes = unpack(query, bits)[0], unpack(hasher.database_codes["image"], bits)
    distances = np.count_nonzero(codes != query_bits, axis=1).tolist()
    st.text(f"Query: the words “{words}”.")
    different = sorted(set(distances))
    for distance in sorted({*different[:3], different[len(different) // 2], different[-1]}):
        place = distances.index(distance)
        row = train[place]
        text = f"{distance} of {bits} bits {'differs' if distance == 1 else 'differ'}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.image(pictures_of(data, [row], None)[0], width=PICTURE_PIXELS, alt=caption_of(data, row))
            st.image(code_strip(query_bits, codes[place]), width=STRIP_PIXELS, alt=text)
            st.text(f"{caption_of(data, row)}: {text}")
    st.markdown(
        "**How are the codes learnt?** By repeating the five small steps of the diagram. The next part shows them "
        "one by one, with all numbers. The third part replays a complete run. The lessons show what can go wrong."
    )
