"""The Learn page: a menu of its five parts, and two of them, the idea and the symbols."""

import numpy as np
import streamlit as st

from smfh.datasets import Emoji
from smfh.hamming import unpack
from smfh.hashing import SMFHPlus
from smfh.lessons.symbols import SYMBOLS
from smfh.paper import CONTRADICTED_CLAIMS, EQUATION_NOTE, ERRATA, NOT_AN_ERROR
from smfh.retrieval.search import encode_query, query_from_words
from smfh.runs.run import run_key
from smfh.types import MultimodalDataset
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.items import caption_of, code_strip, pictures_of
from smfh.ui.learn.iteration import PRESENTATION_STYLE, draw_erratum, draw_iteration
from smfh.ui.learn.lesson import draw_lesson, draw_replay
from smfh.ui.learn.overview import draw_overview
from smfh.ui.learn.state import CONTROLS, PARTS, control, learn_part
from smfh.ui.server import load_source, run_store
from smfh.ui.settings import Settings

PICTURE_PIXELS, STRIP_PIXELS = 64, 420
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
            st.subheader("Claims that its own tables contradict", anchor=False)
            st.markdown("\n".join(f"- {claim}" for claim in CONTRADICTED_CLAIMS))


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
