"""A lesson: a question, something to move, what to look at, and an answer behind a click."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from smfh.comparison import Comparison, Grid
from smfh.lessons.evidence import Series, Worked, gather
from smfh.lessons.lessons import LESSONS, Lesson
from smfh.lessons.symbols import meanings_in
from smfh.memory import Memory
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import along_stops
from smfh.types import MultimodalDataset
from smfh.ui.address import current, hold
from smfh.ui.charts import show_chart
from smfh.ui.gallery import draw_terms
from smfh.ui.grids import draw_grid, grid_job, own_job, start_grid
from smfh.ui.learn.studied import CONTROLS, Studied, studied_part, study
from smfh.ui.learn.walls import items_of, show_walls
from smfh.ui.server import load_source, run_store
from smfh.ui.settings import ALWAYS, Settings, unusual_in_words
from smfh.ui.sharing import show_link

LESSON, AT, QUERY, ANSWER = (f"{CONTROLS}{what}" for what in ("lesson", "at", "query", "answer"))
SMFH_PLUS = "SMFH+ is the same idea with a start from the labels, other features, and a discrete finish."
IN_LATEX = {"α": r"\alpha", "m": "m", "bits": "r"}  # what a slider moves, where it is a symbol
_worked: Memory[tuple[str, tuple[str, ...]], Worked] = Memory(32)


def draw_lesson(studied: Studied, data: MultimodalDataset, settings: Settings) -> None:
    """The lesson that the link names, or the first; its trainings start by themselves, once for all."""
    name = studied.lesson or next(iter(LESSONS))
    lesson = LESSONS[name]
    if not settings.present:
        _choose(studied, name, data)
    st.subheader(lesson.question, anchor=False)
    st.markdown(f"{lesson.move} **Look:** {lesson.look}")
    grid = Grid(lesson.runs, *load_source(lesson.runs.source))
    missing, own = grid.missing(run_store()), own_job()
    if missing and grid_job(grid) is None and (own is None or own.over):
        start_grid(grid)
    if missing:
        st.caption("These trainings are made once on this server, and shared by all who come to the lesson.")
        draw_grid(grid, f"{CONTROLS}grid", "Train", lambda: None)
        return
    draw_worked(name, worked_of(name, lesson, grid), grid.data, data)
    scores = [AP_DEFINITIONS[name] for name in HEADLINE[:2]]
    meant = "\n\n".join(f"**{score.label}**: {score.words}" for score in scores)
    st.caption(f"{runs_in_words(lesson.runs)} What the scores mean:", help=meant)
    if not settings.present and st.button("A link for the class", icon=":material/co_present:"):
        show_link(replace(settings, present=True))


def runs_in_words(runs: Comparison) -> str:
    """Which trainings the figures come from."""
    method, many = runs.methods[0], len(runs.trainings)
    settings = unusual_in_words(method, (*ALWAYS, "graph_weight", "graph_sample"))
    told = f"{method.title}{f' ({settings})' if settings else ''}"
    own = f" {SMFH_PLUS}" if method.name == "smfh-plus" else ""
    return f"From {many} trainings of {told} on {runs.source.card.title}; its held-out items ask.{own}"


def worked_of(name: str, lesson: Lesson, grid: Grid) -> Worked:
    """The lesson from its kept runs, worked out once for all who look at it."""
    ids = tuple(key.id for key in grid.keys.values())

    return _worked.get((name, ids), lambda: lesson.work_out(gather(grid, run_store())))


@st.fragment
def draw_worked(name: str, worked: Worked, shown: MultimodalDataset, data: MultimodalDataset) -> None:
    """Slider, figures and pictures; drawn anew alone. `shown` has its items, `data` is the sidebar's."""
    studied = current(studied_part(data), CONTROLS)[0]
    at = min(studied.at, len(worked.stops) - 1)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            worked.axis,
            range(len(worked.stops)),
            key=hold(AT, at),
            format_func=worked.stops.__getitem__,
            help=meanings_in(IN_LATEX[worked.axis]) if worked.axis in IN_LATEX else None,
            on_change=lambda: study(studied, data, lesson=name, at=st.session_state[AT]),
        )
        captions = list(worked.walls)
        asked = min(studied.query, max(len(captions) - 1, 0))
        if len(captions) > 1:
            st.selectbox(
                "Query",
                range(len(captions)),
                key=hold(QUERY, asked),
                format_func=captions.__getitem__,
                on_change=lambda: study(studied, data, lesson=name, query=st.session_state[QUERY]),
                width=240,
            )
    st.text(worked.words[at])
    first, *others = by_unit(worked).items()
    if captions:
        left, right = st.columns(2, gap="medium")
        with right:  # first: it is what one looks at
            walls = worked.walls[captions[asked]][at]
            show_walls([(wall.title, items_of(shown, wall)) for wall in walls], "lesson_walls")
            draw_terms(shown)
        with left:
            _draw_chart(worked, at, *first)
    else:
        _draw_chart(worked, at, *first)
    for unit, series in others:
        _draw_chart(worked, at, unit, series)
    with st.expander("The answer", icon=":material/lightbulb:", key=f"{ANSWER}_{name}"):
        st.markdown(worked.answer)


def _draw_chart(worked: Worked, at: int, unit: str, series: Sequence[Series]) -> None:
    drawn = [(one.name, one.values, one.band) for one in series]
    show_chart(along_stops(worked.axis, worked.stops, drawn, unit, at), f"lesson_{unit}", download=False)


def by_unit(worked: Worked) -> dict[str, list[Series]]:
    """The series that share a chart."""
    units: dict[str, list[Series]] = {}
    for one in worked.series:
        units.setdefault(one.unit, []).append(one)
    return units


def _choose(studied: Studied, name: str, data: MultimodalDataset) -> None:
    st.pills(
        "Lesson",
        list(LESSONS),
        format_func=lambda one: LESSONS[one].title,
        required=True,
        key=hold(LESSON, name),
        label_visibility="collapsed",
        on_change=lambda: study(
            studied, data, part="lessons", lesson=st.session_state[LESSON], at=0, query=0
        ),
    )
