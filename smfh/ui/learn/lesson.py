"""The replay of a run, and the lessons: each has a question, a slider, charts, results and an answer."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.experiments.comparison import Grid
from smfh.jobs import Job
from smfh.lessons.animation import replay_animation
from smfh.lessons.lesson_runs import Series, WorkedLesson, read_lesson_runs
from smfh.lessons.lessons import EMOJI, LESSONS
from smfh.lessons.offline import lesson_page, teacher_sheet
from smfh.lessons.predictions import PREDICTIONS, Prediction
from smfh.lessons.replay import REPLAY_METHOD, Replay, record_replay, shipped_replay
from smfh.lessons.shipped import shipped_lesson
from smfh.lessons.symbols import meanings_in
from smfh.memory import BoundedCache
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import along_stops, objective_at
from smfh.types import InputError, MultimodalDataset, TrainingStep
from smfh.ui.address import current
from smfh.ui.canvas import Sheet, make_sheet, map_chart, show_pictures
from smfh.ui.charts import show_chart
from smfh.ui.grids import draw_grid
from smfh.ui.items import draw_terms, in_bits, pictures_of
from smfh.ui.learn.components import gallery_items, show_galleries, show_map_legend
from smfh.ui.learn.room import (
    draw_own_room,
    draw_room_controls,
    draw_status,
    draw_waiting,
    send_prediction,
    waits_for_answer,
)
from smfh.ui.learn.state import CONTROLS, LearnState, change_state, control, learn_part, played_to, start_playing
from smfh.ui.plain import paragraphs
from smfh.ui.running import REDRAW_SECONDS, queue_position
from smfh.ui.server import job_queue, load_source, run_store
from smfh.ui.session import visitor
from smfh.ui.settings import ALWAYS, Settings, unusual_in_words
from smfh.ui.sidebar import show_link

RANKED_ITEMS = 12
PLAYING = "replay_playing_since"
FRAME_SECONDS = 1.0  # time per iteration after Play is pressed
POLL_SECONDS = 0.1  # between two checks of the replay's progress
SMFH_PLUS = "SMFH+ develops this idea: it starts from the labels, uses other features, and ends with a discrete phase."
AXIS_SYMBOLS = {"α": r"\alpha", "m": "m", "bits": "r"}
_map_pictures: BoundedCache[str, Sheet] = BoundedCache(1)
_replay: BoundedCache[str, Replay] = BoundedCache(1)
_worked_lessons: BoundedCache[tuple[str, tuple[str, ...]], WorkedLesson] = BoundedCache(32)


def load_replay() -> Replay:
    """Return the replay that is shipped with the program; without one, record it once for all visitors."""
    if (replay := _replay.peek("replay")) is not None:
        return replay
    place, loaded, steps = st.empty(), load_source(EMOJI, visitor()), REPLAY_METHOD.iterations
    if (shipped := shipped_replay(*loaded)) is not None:
        return _replay.get("replay", lambda: shipped)
    try:
        job: Job[Replay] = job_queue().submit(
            ("film", REPLAY_METHOD),
            lambda context: record_replay(EMOJI, *loaded, context.report, context.call),
            visitor(),
        )
    except InputError as error:  # the queue is full
        st.warning(paragraphs(error.problems))
        st.stop()
    while not job.wait(timeout=POLL_SECONDS if job.reports else REDRAW_SECONDS):
        with place.container():
            job.touch(visitor())
            done = len(job.reports)
            st.progress(done / steps, queue_position(job) or f"Training: iteration {done} of {steps}")
    place.empty()
    if job.state != "finished":
        st.error(paragraphs(job.problems) or "The training was cancelled.")
        st.button("Retry")
        st.stop()
    return _replay.get("replay", lambda: job.result)


def draw_replay(replay: Replay, data: MultimodalDataset) -> None:
    """Draw the replay of a run with its Play button; `data`, the sidebar's data set, is part of the link."""
    iterations = replay.iterations
    now = current(learn_part(data), CONTROLS)[0]
    last, at = len(iterations) - 1, played_to(PLAYING, FRAME_SECONDS, len(iterations) - 1)

    def play() -> None:
        start_playing(PLAYING, iterations.index(now.frame) if now.frame in iterations else last, last)

    if at is None:
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
    at, caption, evidence = iterations.index(chosen), captions[query], replay.items
    row = evidence.queries[caption]
    rows, distances = replay.nearest(at, caption, RANKED_ITEMS)
    ranking = evidence.gallery("", rows, row)
    title = f"Results for the text of “{caption}”: {sum(ranking.relevant)} of {RANKED_ITEMS} relevant"
    ranked = gallery_items(evidence.data, ranking, [(in_bits(distance),) for distance in distances])
    left, right = st.columns([1, 1], gap="medium")
    with left:
        values = zip(iterations, replay.objective.tolist(), strict=True)
        trace = [TrainingStep(iteration, {"objective": value}, 0.0) for iteration, value in values]
        show_chart(objective_at(trace, replay.scores.tolist(), chosen), "film_objective")
        show_galleries([(title, ranked)], "film_ranking")
    with right:
        codes = replay.maps[at]
        code = replay.query_code(at, caption)
        chart = map_chart("PCA", codes, evidence.data, code, np.array(rows))
        pictures = pictures_of(evidence.data, codes.rows.tolist(), None)
        show_pictures(chart, _map_pictures.get("replay", lambda: make_sheet(pictures)), "film_map")
        show_map_legend(evidence.data.class_names, "film_legend")
    st.download_button(
        "Save as animation",
        partial(replay_animation, replay, caption),
        "smfh-replay.webp",
        "image/webp",
        f"{CONTROLS}animation",
        help="All iterations with this query as an animated WebP file.",
        icon=":material/download:",
        on_click="ignore",
    )
    every_query = [(f"“{other}”", gallery_items(evidence.data, stops[at])) for other, stops in replay.galleries.items()]
    show_galleries(every_query, "film_wall")
    draw_terms(evidence.data)


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
    draw_own_room(name, PREDICTIONS[name](worked))
    _draw_worked(name, worked, grid.data, data)
    scores = [AP_DEFINITIONS[name] for name in HEADLINE[:2]]
    meanings = "\n\n".join(f"**{score.label}**: {score.words}" for score in scores)
    method, runs = lesson.runs.methods[0], len(lesson.runs.trainings)
    parameters = unusual_in_words(method, (*ALWAYS, "graph_weight", "graph_sample"))
    title = f"{method.title} ({parameters})" if parameters else method.title
    plus = f" {SMFH_PLUS}" if method.name == "smfh-plus" else ""
    st.caption(
        f"Measured with {runs} runs of {title} on {lesson.runs.source.card.title}; queries are held-out "
        f"items.{plus} What the scores mean:",
        help=meanings,
    )
    if settings.present:
        return
    with st.container(horizontal=True):
        terms = DATASETS[grid.data.name].card.terms if grid.data.name in DATASETS else ""
        for label, file, make in (
            ("Lesson as a file", f"lesson-{name}.html", partial(lesson_page, name, worked, grid.data, terms)),
            ("Teacher's sheet", "teacher-sheet.html", partial(_make_sheet, grid)),
        ):
            st.download_button(
                label,
                make,
                file,
                "text/html",
                f"{CONTROLS}{file}",
                help="One HTML file; it works without this app and can be printed.",
                icon=":material/download:",
                on_click="ignore",
            )
        if st.button("Create a presentation link", icon=":material/co_present:"):
            show_link(replace(settings, present=True))
        draw_room_controls(name, state, data)


def _make_sheet(grid: Grid) -> str:
    """Return the teacher's sheet of all lessons on this data whose answers come with the program."""
    found: dict[str, WorkedLesson] = {}
    for name, lesson in LESSONS.items():
        if lesson.runs.source == grid.comparison.source:
            worked = shipped_lesson(name, Grid(lesson.runs, grid.data, grid.split))
            found |= {} if worked is None else {name: worked}
    return teacher_sheet(found)


@st.fragment
def _draw_worked(name: str, worked: WorkedLesson, lesson_data: MultimodalDataset, data: MultimodalDataset) -> None:
    """Draw a lesson's slider, charts and results; `data`, the sidebar's data set, is part of the link."""
    state = current(learn_part(data), CONTROLS)[0]
    prediction = PREDICTIONS[name](worked)
    draw_status(name, prediction, state, data)
    if state.guess is None and state.at == 0:  # a link to another stop shows the lesson at once
        _ask(prediction, name, state, data)
        return
    if waits_for_answer(name, state):
        draw_waiting(name, state)
        return
    if state.guess is not None:
        st.info(prediction.verdict(state.guess), icon=":material/psychology:")
    at = min(state.at, len(worked.stops) - 1)
    captions = list(worked.galleries)
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
            st.selectbox(
                "Query",
                range(len(captions)),
                format_func=captions.__getitem__,
                width=240,
                **control(state, data, "query", query, lesson=name),
            )
    st.text(worked.notes[at])
    by_unit: dict[str, list[Series]] = {}
    for series in worked.series:
        by_unit.setdefault(series.unit, []).append(series)
    left, right = st.columns(2, gap="medium") if captions else (st.container(), None)
    if right is not None:
        with right:  # drawn first, since visitors look at the results first
            galleries = worked.galleries[captions[query]][at]
            shown = [(gallery.title, gallery_items(lesson_data, gallery)) for gallery in galleries]
            show_galleries(shown, "lesson_walls")
            draw_terms(lesson_data)
    for number, (unit, of_unit) in enumerate(by_unit.items()):
        with left if number == 0 else st.container():
            lines = [(series.name, series.values, series.band) for series in of_unit]
            chart = along_stops(worked.axis, worked.stops, lines, unit, at)
            show_chart(chart, f"lesson_{unit}")
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
    skip = {"lesson": name, "guess": -1}
    st.button(
        "Show without predicting",
        type="tertiary",
        on_click=change_state,
        args=(state, data),
        kwargs=skip,
        key=f"{CONTROLS}skip",
    )
