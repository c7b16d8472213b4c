"""The replay of a run, and the lessons: each has a question, a slider, charts, results and an answer."""

from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.experiments.comparison import Grid
from smfh.jobs import Job, JobContext
from smfh.lessons.lesson_runs import Prediction, WorkedLesson, read_lesson_runs, shipped_lesson
from smfh.lessons.lessons import EMOJI, LESSONS
from smfh.lessons.offline import lesson_page, teacher_sheet
from smfh.lessons.replay import REPLAY_METHOD, Replay, record_replay, shipped_replay
from smfh.lessons.symbols import meanings_in
from smfh.memory import BoundedCache
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import along_stops, objective_at
from smfh.types import MultimodalDataset, TrainingStep
from smfh.ui.address import current
from smfh.ui.canvas import make_sheet, map_chart, show_pictures
from smfh.ui.charts import offer_file, show_chart
from smfh.ui.grids import draw_grid, draw_task
from smfh.ui.items import draw_terms, in_bits, pictures_of
from smfh.ui.learn.components import show_galleries, show_map_legend
from smfh.ui.learn.room import (
    draw_own_room,
    draw_room_controls,
    draw_status,
    draw_waiting,
    send_prediction,
    waits_for_answer,
)
from smfh.ui.learn.state import CONTROLS, LearnState, change_state, control, learn_part, played_to, start_playing
from smfh.ui.page import queue_position
from smfh.ui.server import load_source, run_store
from smfh.ui.session import visitor
from smfh.ui.settings import ALWAYS, Settings, unusual_in_words
from smfh.ui.sidebar import show_link

RANKED_ITEMS = 12
PLAYING = "replay_playing_since"
FRAME_SECONDS = 1.0  # time per iteration after Play is pressed
SMFH_PLUS = "SMFH+ develops this idea: it starts from the labels, uses other features, and ends with a discrete phase."
AXIS_SYMBOLS = {"α": r"\alpha", "m": "m", "bits": "r"}
_map_pictures: BoundedCache[str, bytes] = BoundedCache(1)
_replay: BoundedCache[str, Replay] = BoundedCache(1)
_worked_lessons: BoundedCache[tuple[str, tuple[str, ...]], WorkedLesson] = BoundedCache(32)


def draw_replay(data: MultimodalDataset) -> None:
    """Draw the replay of a run with its Play button; its link contains `data`, the sidebar's data set.

    If no replay is shipped with the program, a button records one, which all visitors share.
    """
    st.markdown(
        f"A complete run: the built-in emoji, {REPLAY_METHOD.bits} bits, {REPLAY_METHOD.iterations} iterations of the "
        "five steps, starting from random numbers. Move the slider to see what the results would be if training had "
        "stopped at that iteration."
    )
    loaded = load_source(EMOJI, visitor())
    if (found := _replay.peek("replay") or shipped_replay(*loaded)) is None:

        def record(context: JobContext) -> Replay:
            return _replay.get("replay", lambda: record_replay(EMOJI, *loaded, context.report, context.call))

        def draw_progress(job: Job[Any]) -> None:
            done, steps = len(job.reports), REPLAY_METHOD.iterations
            st.progress(done / steps, queue_position(job) or f"Training: iteration {done} of {steps}")

        st.caption("The replay needs one run that is trained once on this server and shared by all visitors.")
        draw_task(f"{CONTROLS}replay", ("film", REPLAY_METHOD), "Record the replay", lambda: record, draw_progress)
        return
    replay = _replay.get("replay", lambda: found)
    now, iterations = current(learn_part(data), CONTROLS)[0], replay.iterations
    last = len(iterations) - 1

    def play() -> None:
        start_playing(PLAYING, iterations.index(now.frame) if now.frame in iterations else last, last)

    if (at := played_to(PLAYING, FRAME_SECONDS, last)) is None:
        st.button("Play", icon=":material/play_arrow:", on_click=play, key=f"{CONTROLS}play_replay")
    else:
        pause = partial(_stop_playing, now, data, iterations[at])
        st.button("Pause", icon=":material/pause:", on_click=pause, key=f"{CONTROLS}pause_replay")
    st.fragment(_draw_frame, run_every=None if at is None else FRAME_SECONDS)(replay, data)


def _stop_playing(state: LearnState, data: MultimodalDataset, iteration: int) -> None:
    st.session_state.pop(PLAYING, None)
    change_state(state, data, frame=iteration)


def _draw_frame(replay: Replay, data: MultimodalDataset) -> None:
    """Draw the chosen iteration of the replay, or the one that Play has reached."""
    state = current(learn_part(data), CONTROLS)[0]
    iterations, captions = replay.iterations, list(replay.galleries)
    played = played_to(PLAYING, FRAME_SECONDS, len(iterations) - 1)
    chosen = state.frame if state.frame in iterations else iterations[-1]
    if played is not None:
        chosen = iterations[played]
        if played == len(iterations) - 1:
            _stop_playing(state, data, chosen)
            st.rerun()
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    slider = control(state, data, "frame", chosen)
    left.select_slider("Iteration", iterations, disabled=played is not None, **slider)
    query = right.selectbox(
        "Query",
        range(len(captions)),
        format_func=captions.__getitem__,
        **control(state, data, "query", min(state.query, len(captions) - 1)),
    )
    at, caption, items = iterations.index(chosen), captions[query], replay.items.data
    ranking, distances = replay.nearest(at, caption, RANKED_ITEMS)
    title = f"Results for the text of “{caption}”: {sum(ranking.relevant)} of {RANKED_ITEMS} relevant"
    left, right = st.columns([1, 1], gap="medium")
    with left:
        values = zip(iterations, replay.objective.tolist(), strict=True)
        trace = [TrainingStep(iteration, {"objective": value}, 0.0) for iteration, value in values]
        show_chart(objective_at(trace, replay.scores.tolist(), chosen), "film_objective")
        notes = [(in_bits(distance),) for distance in distances]
        show_galleries(items, [replace(ranking, title=title)], "film_ranking", notes)
    with right:
        codes = replay.maps[at]
        chart = map_chart("PCA", codes, items, replay.query_code(at, caption), np.array(ranking.rows))
        pictures = pictures_of(items, codes.rows.tolist(), None)
        show_pictures(chart, _map_pictures.get("replay", lambda: make_sheet(pictures)), "film_map")
        show_map_legend(items.class_names, "film_legend")
    offer_file(
        "Save as animation",
        partial(replay.animation, caption),
        "smfh-replay.webp",
        "image/webp",
        f"{CONTROLS}animation",
        help="All iterations with this query as an animated WebP file.",
    )
    show_galleries(items, [stops[at] for stops in replay.galleries.values()], "film_wall")
    draw_terms(items)


def draw_lesson(state: LearnState, data: MultimodalDataset, settings: Settings) -> None:
    """Draw the lesson in the link, or the first one; if its runs are missing, a button that trains them."""
    name = state.lesson or next(iter(LESSONS))
    lesson = LESSONS[name]
    if not settings.present:
        st.pills(
            "Lesson",
            list(LESSONS),
            format_func=lambda one: LESSONS[one].title,
            required=True,
            label_visibility="collapsed",
            **control(state, data, "lesson", name, part="lessons", at=0, query=0, guess=None),
        )
    st.subheader(lesson.question, anchor=False)
    st.markdown(f"{lesson.task} **Look:** {lesson.look_at}")
    grid = Grid(lesson.runs, *load_source(lesson.runs.source))
    run_ids = tuple(key.id for key in grid.keys.values())
    worked = _worked_lessons.peek((name, run_ids)) or shipped_lesson(name, grid)
    if worked is None and grid.missing(run_store()):
        st.caption("This lesson needs runs that are trained once on this server and shared by all visitors.")
        draw_grid(grid, f"{CONTROLS}grid", "Train", lambda: None)
        return
    worked = _worked_lessons.get((name, run_ids), lambda: worked or lesson.answer(read_lesson_runs(grid, run_store())))
    prediction = lesson.predict(worked)
    draw_own_room(name, prediction)
    _draw_worked(name, worked, prediction, grid.data, data)
    method, plus = lesson.runs.methods[0], f" {SMFH_PLUS}" if lesson.runs.methods[0].name == "smfh-plus" else ""
    parameters = unusual_in_words(method, (*ALWAYS, "graph_weight", "graph_sample"))
    st.caption(
        f"Measured with {len(lesson.runs.trainings)} runs of {method.title}{parameters and f' ({parameters})'} on "
        f"{lesson.runs.source.card.title}; queries are held-out items.{plus} mAP@100 is 1 if only relevant items "
        "(with a class of the query) are among the first 100, and near 0 if hardly any are. Definitions:",
        help="\n\n".join(f"**{AP_DEFINITIONS[one].label}**: {AP_DEFINITIONS[one].words}" for one in HEADLINE[:2]),
    )
    if settings.present:
        return

    def make_sheet_of_all() -> str:
        found = {}
        for other, one in LESSONS.items():
            if one.runs.source == lesson.runs.source:
                found[other] = shipped_lesson(other, Grid(one.runs, grid.data, grid.split))
        return teacher_sheet({other: answer for other, answer in found.items() if answer is not None})

    terms = DATASETS[grid.data.name].card.terms if grid.data.name in DATASETS else ""
    with st.container(horizontal=True):
        for label, file, make in (
            ("Lesson as a file", f"lesson-{name}.html", partial(lesson_page, name, worked, grid.data, terms)),
            ("Teacher's sheet", "teacher-sheet.html", make_sheet_of_all),
        ):
            about = "One HTML file; it works without this app and can be printed."
            offer_file(label, make, file, "text/html", f"{CONTROLS}{file}", help=about)
        if st.button("Create a presentation link", icon=":material/co_present:"):
            show_link(replace(settings, present=True))
        draw_room_controls(name, state, data)


@st.fragment
def _draw_worked(
    name: str, worked: WorkedLesson, prediction: Prediction, lesson_data: MultimodalDataset, data: MultimodalDataset
) -> None:
    """Draw a lesson's slider, charts and results; `data`, the sidebar's data set, is part of the link."""
    state = current(learn_part(data), CONTROLS)[0]
    draw_status(name, prediction, state, data)
    if state.guess is None and state.at == 0:  # a link to another stop shows the lesson at once
        _ask(prediction, name, state, data)
        return
    if waits_for_answer(name, state):
        draw_waiting(name, state)
        return
    if state.guess is not None:
        st.info(prediction.verdict(state.guess), icon=":material/psychology:")
    at, captions = min(state.at, len(worked.stops) - 1), list(worked.galleries)
    query = min(state.query, max(len(captions) - 1, 0))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            worked.axis,
            range(len(worked.stops)),
            format_func=worked.stops.__getitem__,
            help=meanings_in(AXIS_SYMBOLS[worked.axis]) if worked.axis in AXIS_SYMBOLS else None,
            **control(state, data, "at", at, lesson=name),
        )
        if len(captions) > 1:
            choice = control(state, data, "query", query, lesson=name)
            st.selectbox("Query", range(len(captions)), format_func=captions.__getitem__, width=240, **choice)
    st.text(worked.notes[at])
    left, right = st.columns(2, gap="medium") if captions else (st.container(), None)
    if right is not None:
        with right:  # drawn first, since visitors look at the results first
            show_galleries(lesson_data, worked.galleries[captions[query]][at], "lesson_walls")
            draw_terms(lesson_data)
    for number, (unit, of_unit) in enumerate(groupby(worked.series, lambda series: series.unit)):
        with left if number == 0 else st.container():
            lines = [(series.name, series.values, series.band) for series in of_unit]
            show_chart(along_stops(worked.axis, worked.stops, lines, unit, at), f"lesson_{unit}")
    with st.expander("Answer", icon=":material/lightbulb:", key=f"{CONTROLS}answer_{name}"):
        st.markdown(worked.answer)


def _ask(prediction: Prediction, name: str, state: LearnState, data: MultimodalDataset) -> None:
    """Draw the question that asks for a prediction before the lesson shows its measurements."""
    choice = control(state, data, "guess", None, lesson=name)

    def answered() -> None:
        choice["on_change"]()
        send_prediction(state.room, name, st.session_state[choice["key"]])

    st.markdown("**Predict first.** The measurements are shown after your answer.")
    st.radio(
        prediction.question,
        range(len(prediction.options)),
        format_func=prediction.options.__getitem__,
        index=None,
        horizontal=True,
        key=choice["key"],
        on_change=answered,
    )
    skip = partial(change_state, state, data, lesson=name, guess=-1)
    st.button("Show without predicting", type="tertiary", on_click=skip, key=f"{CONTROLS}skip")
