"""From noise to order: a film of the training to scrub, with everything at the same iteration."""

from typing import Any

import numpy as np
import streamlit as st

from smfh.jobs import Job
from smfh.lessons.evidence import TEXT
from smfh.lessons.film import FILMED, Reel, shoot
from smfh.lessons.lessons import EMOJI
from smfh.memory import Memory
from smfh.plots import code_map, objective_at
from smfh.types import InputError, MultimodalDataset
from smfh.ui.address import current, hold
from smfh.ui.canvas import Sheet, make_sheet, show_pictures
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_terms, in_bits
from smfh.ui.items import cut, pictures_of
from smfh.ui.learn.studied import CONTROLS, Studied, studied_part, study
from smfh.ui.learn.walls import Item, items_of, show_walls
from smfh.ui.plain import paragraphs
from smfh.ui.running import TICK, place_in_line
from smfh.ui.server import job_queue, load_source
from smfh.ui.session import visitor

FRAME, QUERY = f"{CONTROLS}frame", f"{CONTROLS}film_query"
RANKED = 12  # answers
GLANCE = 0.1  # seconds
_drawn: Memory[str, Any] = Memory(2)
_shot: Memory[str, Reel] = Memory(1)


def reel() -> Reel:
    """The film, shot once for all visitors; the page waits for it and shows how far it is."""
    if (shot := _shot.peek("reel")) is not None:
        return shot
    place, loaded = st.empty(), load_source(EMOJI, visitor())
    try:
        job: Job[Reel] = job_queue().submit(
            ("film", FILMED), lambda course: shoot(EMOJI, *loaded, course.report, course.call), visitor()
        )
    except InputError as error:  # the line is full
        st.warning(paragraphs(error.problems))
        st.stop()
    while not job.wait(timeout=GLANCE if job.reports else TICK):
        with place.container():
            job.see(visitor())
            done, waits = len(job.reports), place_in_line(job)
            st.progress(
                done / FILMED.iterations, waits or f"filming: iteration {done} of {FILMED.iterations}"
            )
    place.empty()
    if job.state != "finished":
        st.error(paragraphs(job.problems) or "The training was ended.")
        st.button("Again")
        st.stop()
    return _shot.get("reel", lambda: job.result)


def draw_film(studied: Studied, data: MultimodalDataset) -> None:
    """What it is, and the film."""
    st.markdown(
        f"All of it now: the built-in emoji, {FILMED.bits} bits, {FILMED.iterations} iterations of the five "
        "steps. It starts from random numbers. Move the slider, and see what the training would have "
        "answered if it had been stopped there."
    )
    draw_frames(reel(), data)


@st.fragment
def draw_frames(shot: Reel, data: MultimodalDataset) -> None:
    """The frame that the slider says; drawn anew alone. `data` is the sidebar's, of which the link speaks."""
    studied = current(studied_part(data), CONTROLS)[0]
    iterations, captions = shot.iterations, list(shot.walls)
    chosen = studied.frame if studied.frame in iterations else iterations[-1]
    scrubber, which = st.columns([3, 1], vertical_alignment="bottom")
    scrubber.select_slider(
        "Iteration",
        iterations,
        key=hold(FRAME, chosen),
        on_change=lambda: study(studied, data, frame=st.session_state[FRAME]),
    )
    asked = which.selectbox(
        "Query",
        range(len(captions)),
        key=hold(QUERY, min(studied.query, len(captions) - 1)),
        format_func=captions.__getitem__,
        on_change=lambda: study(studied, data, query=st.session_state[QUERY]),
    )
    place, caption = iterations.index(chosen), captions[asked]
    left, right = st.columns([1, 1], gap="medium")
    with left:
        show_chart(objective_at(shot.run.hasher.trace, shot.scores, chosen), "film_objective", download=False)
        show_walls([ranking_of(shot, place, caption)], "film_ranking")
    with right:
        _draw_map(shot, place, caption)
    show_walls(answers_of(shot, place), "film_wall")
    draw_terms(shot.frames.data)


def ranking_of(shot: Reel, place: int, caption: str) -> tuple[str, list[Item]]:
    """One query's first answers with their distances."""
    evidence = shot.frames
    row, run = evidence.queries[caption], evidence.runs[place]
    rows, distances = evidence.nearest(run, TEXT, row, RANKED)
    wall = evidence.wall("", rows, row)
    title = f"The words of “{caption}” find {sum(wall.right)} of {RANKED} right"
    return title, items_of(evidence.data, wall, [(in_bits(away),) for away in distances])


def answers_of(shot: Reel, place: int) -> list[tuple[str, list[Item]]]:
    """The wall: the first answers to every query."""
    return [
        (f"“{caption}”", items_of(shot.frames.data, stops[place][0])) for caption, stops in shot.walls.items()
    ]


def _draw_map(shot: Reel, place: int, caption: str) -> None:
    evidence, flat = shot.frames, shot.maps[place]
    data, row = evidence.data, evidence.queries[caption]
    code = evidence.runs[place].hasher.encode("text", data.modalities["text"][[row]])[0]
    rows, _ = evidence.nearest(evidence.runs[place], TEXT, row, RANKED)
    sheet: Sheet = _drawn.get("sheet", lambda: make_sheet(pictures_of(data, flat.rows.tolist(), None)))
    words: list[str] = _drawn.get("words", lambda: [cut(caption_of(data, int(row))) for row in flat.rows])
    chart = code_map(
        "PCA",
        flat.positions,
        flat.rows,
        data.labels[flat.rows].argmax(axis=1),
        data.class_names,
        words,
        flat.items,
        flat.locate(code),
        flat.find(np.array(rows)),
    )
    show_pictures(chart, sheet, "film_map")
