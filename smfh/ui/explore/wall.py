"""Words find pictures: a box to type in, and a wall of what is nearest, above everything else."""

from dataclasses import replace

import numpy as np
import streamlit as st

from smfh.asking import MOST_CHARACTERS, TIES, Answer, Question, answer, takes_words
from smfh.hashing import FittedHasher
from smfh.runs import Run, is_ready
from smfh.types import InputError
from smfh.ui.address import go, hold
from smfh.ui.asked import (
    Asked,
    answer_of,
    ask,
    current_asked,
    draw_ask,
    draw_unknown,
    keep_asked,
    nearest_in_words,
    pose,
)
from smfh.ui.gallery import caption_of, draw_terms, in_bits, labels_of
from smfh.ui.items import code_strip, cut, looks_of
from smfh.ui.navigation import PAGES
from smfh.ui.running import SLOW_TICK
from smfh.ui.server import film_of
from smfh.ui.session import WANTED_FILM, Shown

WORDS, ITERATION = "search_words", "wall_iteration"  # the box is the same as on Search
SHOWN = 16
CARD, PICTURE, SMALL, STRIP = 76, 64, 28, 256  # pixels
CAPTION = 40  # characters
SOON = "Pictures come with the first step of the training."
FIRST = "Pictures come in a moment: the training is being compiled, some seconds, once on this machine."


@st.fragment
def draw_wall(run: Run) -> None:
    """The box, the wall, and a way back through the iterations; drawn anew alone."""
    asked, _ = current_asked(run)
    keep_asked(asked, run)
    asked = replace(with_example(asked, run), flips=())
    _draw_box(asked, run)
    cards = st.container()
    with cards:
        draw_unknown(asked, run)
    frame = choose_frame(run)
    try:
        question = pose(asked, run)
    except InputError as error:
        cards.text("\n".join(error.problems))
        return
    if frame is None:
        found = answer_of(run, question, asked)
    else:
        ways = (asked.target, asked.database, asked.ties)
        found = answer(frame, run.data, run.split, question, *ways)
    with cards:
        draw_query(question, run)
        draw_idea(found, run)
        draw_cards(found, run)
    draw_terms(run.data)


def draw_wall_live(shown: Shown) -> None:
    """The wall as the training under way would answer now; order comes out of noise."""
    job = shown.job

    @st.fragment(run_every=SLOW_TICK if job.state == "running" else None)
    def live() -> None:
        frames = film_of(shown.job_key).frames()
        if not frames:
            st.text(SOON if is_ready("training") else FIRST)
        if frames:
            run = Run(shown.job_key, shown.settings.source, *shown.loaded, frames[-1])
            asked = with_example(current_asked(run)[0], run)
            try:
                question = pose(asked, run)
                found = answer(frames[-1], run.data, run.split, question, asked.target)
            except InputError:  # the finished page says what is wrong with it
                return
            st.text(f"“{asked.words or 'a held-out query'}” after {frames[-1].trace[-1].iteration} steps")
            draw_query(question, run)
            draw_idea(found, run)
            draw_cards(found, run)

    live()


def choose_frame(run: Run) -> FittedHasher | None:
    """The model at an earlier iteration, where there is a film of the training; None for the finished one."""
    frames = film_of(run.key).frames()
    if len(frames) < 2:
        if run.method.steps > 1 and not run.key.owner:
            draw_offer_of_a_film()
        return None
    iterations = [frame.trace[-1].iteration for frame in frames]
    if st.session_state.get(ITERATION) not in iterations:
        st.session_state[ITERATION] = iterations[-1]
    why = "Go back: what this training would have answered if it had been stopped there."
    chosen = st.select_slider("Iteration", iterations, key=ITERATION, help=why)
    return None if chosen == iterations[-1] else frames[iterations.index(chosen)]


def draw_offer_of_a_film() -> None:
    """A run that was found on the disk can be trained once more, to be watched."""
    why = "Trains it once more, the same, and keeps what it would have answered after each step."
    if st.button("Watch it train", icon=":material/movie:", key="watch", help=why, type="tertiary"):
        st.session_state[WANTED_FILM] = True
        st.rerun()


def with_example(asked: Asked, run: Run) -> Asked:
    """What is asked; where nothing is, a charming question, or the first query where words cannot ask."""
    if asked.words is not None or asked.row is not None:
        return asked
    if asked.source in takes_words(run.data):
        return replace(asked, words=run.source.card.example or None)
    return replace(asked, row=int(run.split.queries[0]))


def _draw_box(asked: Asked, run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="explore_box"):
        if takes_words(run.data):
            st.text_input(
                "Type words",
                key=hold(WORDS, asked.words or ""),
                max_chars=MOST_CHARACTERS,
                icon=":material/search:",
                placeholder="Type words",
                label_visibility="collapsed",
                on_change=lambda: ask(asked, run, words=st.session_state[WORDS] or None, row=None),
            )
        surprise = {"words": None, "row": int(np.random.default_rng().choice(run.split.queries))}
        draw_ask("Surprise me", "explore_any", asked, run, surprise, icon=":material/casino:")
        if st.button("Open in Search", icon=":material/open_in_new:", key="explore_search"):
            keep_asked(asked, run)
            go(PAGES["Search"].script, PAGES["Search"].prefix)


def draw_query(question: Question, run: Run) -> None:
    """The item that asks, as it looks in its modality; words stand in the box."""
    if (row := question.row) is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="wall_query"):
            st.image(looks_of(run.data, [row], question.source)[0], width=PICTURE, alt="the query")
            with st.container(gap="xxsmall"):
                st.text(f"“{caption_of(run.data, row)}”")
                st.text(" · ".join([*labels_of(run.data, row), f"a held-out query of {question.source}"]))


def draw_idea(found: Answer, run: Run) -> None:
    """text → code ← picture: the query's code above that of what is nearest to it."""
    row = int(found.rows[0])
    same = f"{in_bits(found.nearest)} of {len(found.code)} differ" if found.nearest else "the same code"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="wall_idea"):
        st.text(f"{found.question.source} →", width="content")
        what = f"The query's code above that of “{caption_of(run.data, row)}”: {same}"
        st.image(code_strip(found.code, found.codes[0]), width=STRIP, alt=what)
        st.text("←", width="content")
        st.image(looks_of(run.data, [row], found.target)[0], width=SMALL, alt="")
        st.text(same, width="content")


def draw_cards(found: Answer, run: Run) -> None:
    """The nearest items, and in words how near, how many share a code, and how many are right."""
    data, rows = run.data, found.rows[:SHOWN].tolist()
    grid = st.grid(min_column_width=CARD, gap="xsmall", key="wall")
    for place, (row, picture) in enumerate(zip(rows, looks_of(data, rows, found.target), strict=True)):
        with grid.cell(), st.container(gap=None, horizontal_alignment="center"):
            said = caption_of(data, row)
            wrong = found.relevance is not None and not found.relevance[place]
            st.image(picture, width=PICTURE, alt=said)
            st.text(f"{'✗ ' if wrong else ''}{cut(said, CAPTION)}")
    st.caption(in_words(found))


def in_words(found: Answer) -> str:
    """How near they are, how many share a code, whether they are right, and how ties are ordered."""
    words = [nearest_in_words(found)]
    if found.relevance is not None:
        first = found.relevance[:SHOWN]
        words.append(f"{np.count_nonzero(first)} of {len(first)} have a label of what is asked (✗: not)")
    return " · ".join([*words, TIES["likeness"]])
