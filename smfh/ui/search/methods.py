"""The same query by several methods, one row each; those that are not trained yet can be, from here."""

from dataclasses import replace

import streamlit as st

from smfh.hashing import METHODS, HashMethod, make_method
from smfh.jobs import Job, JobKey
from smfh.study import Trained
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.gallery import caption_of
from smfh.ui.items import cut, pictures_of
from smfh.ui.search.asking import Posed, answers_of
from smfh.ui.search.link import Asked
from smfh.ui.session import queue, start_beside, visitor
from smfh.ui.training import MOVING, TICK, draw_progress, job_method, run_key

SHOWN = 8
CARD, SMALL = 92, 56  # pixels
CAPTION = 22  # characters shown
STILL = (*MOVING, "paused")  # on its way
GOING = ("finished", *STILL)
ASKED_FOR = (
    "search_runs"  # the runs that this visitor started here, by key: a failed one is found nowhere else
)


def draw_methods(
    job: Job[Trained], asked: Asked, posed: Posed, data: MultimodalDataset, split: Split
) -> None:
    """A row a method, the shown one first."""
    st.subheader("The same query by other methods", anchor=False)
    st.caption(
        "With as many bits and the same seed, else as each method comes. AP@100 has ties in database order; "
        "– where nobody knows what is right."
    )
    runs = rivals(job)
    for method, run in runs:
        if run is not None and run.state in (*GOING, "failed"):
            with st.container(border=True, key=f"search_method_{method.name}"):
                if run.state == "finished":
                    _draw_answers(run, asked, posed, data, split)
                else:
                    _draw_unfinished(run)
    for problem in st.session_state.pop("search_refused", ()):
        st.error(problem)
    _draw_missing(job, [method for method, run in runs if run is None or run.state not in GOING])


def rivals(job: Job[Trained]) -> list[tuple[HashMethod, Job[Trained] | None]]:
    """The shown run, then each other method with as many bits and the same seed, and its run if any."""
    own, key = job_method(job), run_key(job)
    others = [make_method(name, bits=own.bits, seed=own.seed) for name in METHODS if name != own.name]
    started: dict[JobKey, Job[Trained]] = st.session_state.get(ASKED_FOR, {})
    runs = []
    for method in others:
        wanted = replace(key, method=method)
        runs.append((method, queue().find(wanted) or started.get(wanted)))
    return [(own, job), *runs]


def _draw_answers(
    run: Job[Trained], asked: Asked, posed: Posed, data: MultimodalDataset, split: Split
) -> None:
    answers = answers_of(run, posed, asked, data, split)
    score = "–" if answers.average_precision is None else f"{answers.average_precision:.3f}"
    rows = answers.rows[:SHOWN].tolist()
    pictures = pictures_of(data, rows, None if data.thumbnails is not None else answers.target)
    about, found = st.columns([1, 5], vertical_alignment="center")
    with about:
        st.markdown(f"**{job_method(run).title}**")
        st.text(f"AP@100 {score}")
    with found.container(horizontal=True, gap="small"):
        for place, (row, picture) in enumerate(zip(rows, pictures, strict=True)):
            right = None if answers.relevance is None else bool(answers.relevance[place])
            with st.container(width=CARD, gap=None):
                st.image(picture, width=SMALL, alt=caption_of(data, row))
                st.text(f"{_mark(right)} {answers.distances[place]}")
                st.text(cut(caption_of(data, row), CAPTION))


def _mark(right: bool | None) -> str:
    return {None: "–", True: "✓", False: "✗"}[right]


def _draw_missing(job: Job[Trained], methods: list[HashMethod]) -> None:
    """A button for each method that has no run, and one for all of them."""
    if not methods:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="search_missing"):
        for method in methods:
            st.button(
                f"Train {method.title}",
                icon=":material/play_arrow:",
                key=f"search_train_{method.name}",
                on_click=_train,
                args=(job, [method]),
            )
        if len(methods) > 1:
            st.button(
                f"Train all {len(methods)}",
                type="primary",
                icon=":material/play_arrow:",
                key="search_train_all",
                on_click=_train,
                args=(job, methods),
            )


def _draw_unfinished(run: Job[Trained]) -> None:
    """How far it is, or why it failed."""
    st.markdown(f"**{job_method(run).title}**")
    if run.state == "failed":
        st.text("Training stopped: " + " ".join(run.problems))
    else:
        _draw_moving(run)


def _draw_moving(run: Job[Trained]) -> None:
    """Drawn again by itself until the run is over."""

    @st.fragment(run_every=TICK if run.state in MOVING else None)
    def live() -> None:
        draw_progress(run)
        st.button(
            "Cancel",
            icon=":material/close:",
            key=f"search_cancel_{job_method(run).name}",
            on_click=_cancel,
            args=(run,),
        )
        if run.over:
            st.rerun()

    live()


def _cancel(run: Job[Trained]) -> None:
    if not run.cancel(visitor()):
        st.toast("Others watch this run too, so it goes on.", icon=":material/group:")


def _train(job: Job[Trained], methods: list[HashMethod]) -> None:
    """Put them in line; the run that the visitor looks at stays."""
    started: dict[JobKey, Job[Trained]] = st.session_state.setdefault(ASKED_FOR, {})
    for method in methods:
        key = replace(run_key(job), method=method)
        try:
            started[key] = start_beside(method)
        except InputError as error:
            st.session_state["search_refused"] = error.problems
            return
