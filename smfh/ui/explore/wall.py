"""Words find pictures: a box to type in, and a wall of what is nearest, above everything else."""

from dataclasses import replace

import numpy as np
import streamlit as st

from smfh.asking import MOST_CHARACTERS, TIES, Answer, takes_words
from smfh.runs import Run
from smfh.types import InputError
from smfh.ui.address import go, hold
from smfh.ui.asked import Asked, answer_of, ask, current_asked, draw_ask, keep_asked, pose
from smfh.ui.gallery import caption_of, draw_terms, in_bits, labels_of
from smfh.ui.items import cut, looks_of
from smfh.ui.navigation import PAGES

WORDS = "search_words"  # the same box as on Search
EXAMPLES = {"emoji": "smiling cat"}  # a first question for those who have not asked yet
SHOWN = 16
CARD, PICTURE = 76, 64  # pixels
CAPTION = 18  # characters


def draw_wall(run: Run) -> None:
    """The box, the wall, and in words how many of it are right and how many share a code."""
    asked, _ = current_asked(run)
    keep_asked(asked, run)
    asked = with_example(asked, run)
    _draw_box(asked, run)
    try:
        answer = answer_of(run, pose(asked, run), asked)
    except InputError as error:
        st.text("\n".join(error.problems))
        return
    _draw_cards(answer, run)
    st.caption(in_words(answer))
    draw_terms(run.data)


def with_example(asked: Asked, run: Run) -> Asked:
    """What is asked, or a charming question where nothing is."""
    words = EXAMPLES.get(run.data.name)
    nothing = asked.words is None and asked.row is None
    return (
        replace(asked, words=words) if nothing and words and asked.source in takes_words(run.data) else asked
    )


def _draw_box(asked: Asked, run: Run) -> None:
    data, row = run.data, asked.row
    with st.container(horizontal=True, vertical_alignment="bottom", key="explore_box"):
        if takes_words(data):
            st.text_input(
                "Type words",
                key=hold(WORDS, asked.words or ""),
                max_chars=MOST_CHARACTERS,
                icon=":material/search:",
                placeholder="Type words",
                label_visibility="collapsed",
                on_change=lambda: ask(asked, run, words=st.session_state[WORDS] or None, row=None),
            )
        any_row = int(np.random.default_rng().choice(run.split.queries))
        surprise = {"words": None, "row": any_row}
        draw_ask("Surprise me", "explore_any", asked, run, surprise, icon=":material/casino:")
        if st.button("Open in Search", icon=":material/open_in_new:", key="explore_search"):
            keep_asked(asked, run)
            go(PAGES["Search"].script, PAGES["Search"].prefix)
    if asked.words is None and row is not None:
        st.text(f"“{caption_of(data, row)}” · {', '.join(labels_of(data, row))} · a held-out query")


def _draw_cards(answer: Answer, run: Run) -> None:
    data, rows = run.data, answer.rows[:SHOWN].tolist()
    pictures = looks_of(data, rows, answer.target)
    grid = st.grid(min_column_width=CARD, gap="xsmall", key="wall")
    for place, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
        with grid.cell(), st.container(gap=None, horizontal_alignment="center"):
            said = caption_of(data, row)
            st.image(picture, width=PICTURE, alt=said)
            st.text(f"{_mark(answer, place)}{cut(said, CAPTION)}")


def _mark(answer: Answer, place: int) -> str:
    return "" if answer.relevance is None or answer.relevance[place] else "✗ "


def in_words(answer: Answer) -> str:
    """How near they are, how many share a code, whether they are right, and how ties are ordered."""
    nearest = answer.nearest
    tied = int(answer.counts.items[0, nearest])
    share = f"{tied:,} items share this code" if tied > 1 else "one item has this code"
    words = [share if nearest == 0 else f"nearest {in_bits(nearest)} away, {tied:,} there"]
    if answer.relevance is not None:
        first = answer.relevance[:SHOWN]
        words.append(
            f"{np.count_nonzero(first)} of these {len(first)} share a label with what is asked (✗: not)"
        )
    return " · ".join([*words, TIES["likeness"]])
