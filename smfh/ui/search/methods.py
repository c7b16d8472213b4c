"""The same query by several methods, one row each; those that are not trained yet can be, from here."""

from dataclasses import replace

import streamlit as st

from smfh.hashing import METHODS, HashMethod, make_method
from smfh.jobs import Job
from smfh.runs import Run, RunKey
from smfh.types import InputError
from smfh.ui.asked import Asked, Posed, answer_of
from smfh.ui.gallery import caption_of
from smfh.ui.items import cut, pictures_of
from smfh.ui.running import MOVING, TICK, draw_progress, steer
from smfh.ui.server import job_queue
from smfh.ui.session import shown, submit

SHOWN = 8
CARD, PICTURE = 92, 56  # pixels
CAPTION = 22  # characters shown
STARTED = "search_runs"  # the jobs that this visitor started here, by key: a failed one is found nowhere else


def draw_methods(asked: Asked, posed: Posed, run: Run) -> None:
    """A row a method, the shown one first."""
    st.subheader("The same query by other methods", anchor=False)
    st.caption(
        "With as many bits and the same seed, else as each method comes. AP@100 has ties in database order; "
        "– where nobody knows what is right."
    )
    with st.container(border=True, key=f"search_method_{run.method.name}"):
        _draw_answer(run, asked, posed)
    untrained = []
    for method, job in rivals(run):
        if job is None or job.state == "cancelled":
            untrained.append(method)
            continue
        with st.container(border=True, key=f"search_method_{method.name}"):
            if job.state == "finished":
                _draw_answer(job.result, asked, posed)
            else:
                _draw_unfinished(job, method)
        if job.state == "failed":
            untrained.append(method)
    for problem in st.session_state.pop("search_refused", ()):
        st.error(problem)
    _draw_untrained(untrained)


def rivals(run: Run) -> list[tuple[HashMethod, Job[Run] | None]]:
    """Each other method with as many bits and the same seed, and its job if there is one."""
    own = run.method
    others = [make_method(name, bits=own.bits, seed=own.seed) for name in METHODS if name != own.name]
    started: dict[RunKey, Job[Run]] = st.session_state.get(STARTED, {})
    keys = [replace(run.key, method=method) for method in others]
    return [(key.method, job_queue().find(key) or started.get(key)) for key in keys]


def _draw_answer(run: Run, asked: Asked, posed: Posed) -> None:
    answer, data = answer_of(run, posed, asked), run.data
    score = "–" if answer.average_precision is None else f"{answer.average_precision:.3f}"
    rows = answer.rows[:SHOWN].tolist()
    pictures = pictures_of(data, rows, None if data.thumbnails is not None else answer.target)
    about, found = st.columns([1, 5], vertical_alignment="center")
    with about:
        st.markdown(f"**{run.method.title}**")
        st.text(f"AP@100 {score}")
    with found.container(horizontal=True, gap="small"):
        for place, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
            right = None if answer.relevance is None else bool(answer.relevance[place])
            with st.container(width=CARD, gap=None):
                st.image(picture, width=PICTURE, alt=caption_of(data, row))
                st.text(f"{_mark(right)} {answer.distances[place]}")
                st.text(cut(caption_of(data, row), CAPTION))


def _mark(right: bool | None) -> str:
    return {None: "–", True: "✓", False: "✗"}[right]


def _draw_untrained(methods: list[HashMethod]) -> None:
    """A button for each method that has no run, and one for all of them."""
    if not methods:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="search_missing"):
        for method in methods:
            key = f"search_train_{method.name}"
            words = f"Train {method.title}"
            st.button(words, icon=":material/play_arrow:", key=key, on_click=_train, args=([method],))
        if len(methods) > 1:
            st.button(
                f"Train all {len(methods)}",
                type="primary",
                icon=":material/play_arrow:",
                key="search_train_all",
                on_click=_train,
                args=(methods,),
            )


def _draw_unfinished(job: Job[Run], method: HashMethod) -> None:
    """How far it is, drawn again by itself until it is over; or why it failed."""
    st.markdown(f"**{method.title}**")
    if job.state == "failed":
        st.text("Training stopped: " + " ".join(job.problems))
        return

    @st.fragment(run_every=TICK if job.state in MOVING else None)
    def live() -> None:
        draw_progress(job, method)
        key = f"search_cancel_{method.name}"
        st.button("Cancel", icon=":material/close:", key=key, on_click=steer, args=(job.cancel,))
        if job.over:
            st.rerun()

    live()


def _train(methods: list[HashMethod]) -> None:
    """Put them in line, on the data of the run that the visitor looks at, which stays."""
    if (looked_at := shown()) is None:
        return
    started: dict[RunKey, Job[Run]] = st.session_state.setdefault(STARTED, {})
    for method in methods:
        try:
            job = submit(replace(looked_at.settings, method=method), looked_at.loaded)
            started[replace(looked_at.key, method=method)] = job
        except InputError as error:
            st.session_state["search_refused"] = error.problems
            return
