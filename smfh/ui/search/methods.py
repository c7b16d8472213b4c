"""The same query by several methods, one row each; those that are not trained yet can be, from here."""

from dataclasses import replace

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.hashing import COMPARED, HashMethod, make_method
from smfh.jobs import Job
from smfh.runs import Run, RunKey
from smfh.types import InputError
from smfh.ui.asked import Asked, answer_of
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.items import cut, looks_of
from smfh.ui.plain import plain
from smfh.ui.running import draw_progress, follow, is_over, steer
from smfh.ui.server import job_queue
from smfh.ui.session import RIVALS, shown, submit

SHOWN = 8  # answers a method
CARD, PICTURE = 92, 56  # pixels
CAPTION = 22  # characters shown
REFUSED = "rivals_refused"


def draw_methods(asked: Asked, answer: Answer, run: Run) -> None:
    """A row a method, the shown one first; then buttons for those that have no run."""
    st.subheader("The same query by other methods", anchor=False)
    st.caption(
        "With as many bits and the same seed, else as each method comes. AP@100 has ties in database order, "
        "– where nobody knows what is right; ✗ marks what is not right."
    )
    with st.container(border=True, key=f"search_method_{run.method.name}"):
        _draw_answers(answer, run)
    untrained = []
    for method, job in rivals(run):
        if job is None or job.state in ("cancelled", "failed"):
            untrained.append(method)
        if job is None or job.state == "cancelled":
            continue
        with st.container(border=True, key=f"search_method_{method.name}"):
            if job.state == "finished":
                _draw_answers(answer_of(job.result, answer.question, replace(asked, flips=())), job.result)
            else:
                _draw_unfinished(job, method)
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(plain(problem))
    if untrained:
        _draw_untrained(untrained)


def rivals(run: Run) -> list[tuple[HashMethod, Job[Run] | None]]:
    """Each other method with as many bits and the same seed, and its job if there is one."""
    bits, seed = run.method.bits, run.method.seed
    others = [make_method(name, bits=bits, seed=seed) for name in COMPARED if name != run.method.name]
    started: dict[RunKey, Job[Run]] = st.session_state.get(RIVALS, {})
    looked_at = shown()  # a run of the visitor's alone has a key of its own
    usual = run.key if looked_at is None else looked_at.key
    keys = [replace(usual, method=method) for method in others]
    return [(key.method, job_queue().find(key) or started.get(key)) for key in keys]


def _draw_answers(answer: Answer, run: Run) -> None:
    """The method, its score, and the first answers to what is asked."""
    data, rows = run.data, answer.rows[:SHOWN].tolist()
    score = "–" if answer.average_precision is None else f"{answer.average_precision:.3f}"
    wrong = np.zeros(len(rows), dtype=np.bool_) if answer.relevance is None else ~answer.relevance
    about, found = st.columns([1, 5], vertical_alignment="center")
    with about:
        st.markdown(f"**{run.method.title}**")
        st.text(f"AP@100 {score}")
    with found.container(horizontal=True):
        for rank, (row, picture) in enumerate(zip(rows, looks_of(data, rows, answer.target), strict=True)):
            with st.container(width=CARD, gap=None):
                st.image(picture, width=PICTURE, alt=caption_of(data, row))
                st.text(f"{'✗ ' if wrong[rank] else ''}{cut(caption_of(data, row), CAPTION)}")
                st.text(in_bits(int(answer.distances[rank])))


def _draw_untrained(methods: list[HashMethod]) -> None:
    """A button for each method, and one for all of them."""
    icon = ":material/play_arrow:"
    with st.container(horizontal=True, vertical_alignment="center", key="search_missing"):
        for method in methods:
            key = f"search_train_{method.name}"
            st.button(f"Train {method.title}", key, on_click=_train, args=([method],), icon=icon)
        if len(methods) > 1:
            words = f"Train all {len(methods)}"
            st.button(words, "search_train_all", on_click=_train, args=(methods,), type="primary", icon=icon)


def _draw_unfinished(job: Job[Run], method: HashMethod) -> None:
    """How far it is, drawn again by itself until it is over; or why it failed."""
    st.markdown(f"**{method.title}**")
    if job.state == "failed":
        st.text("Training stopped: " + " ".join(job.problems))
        return
    key = f"search_cancel_{method.name}"
    st.button("Cancel", key, on_click=steer, args=(job.cancel,), icon=":material/close:")
    follow(job, False, lambda: draw_progress(job, method), is_over)


def _train(methods: list[HashMethod]) -> None:
    """Put them in line, on the data of the run that the visitor looks at, which stays."""
    if (looked_at := shown()) is None:
        return
    before: dict[RunKey, Job[Run]] = st.session_state.get(RIVALS, {})
    started = st.session_state[RIVALS] = {key: job for key, job in before.items() if job.state != "finished"}
    try:
        for method in methods:
            job = submit(replace(looked_at.settings, method=method), looked_at.loaded)
            started[replace(looked_at.key, method=method)] = job
    except InputError as error:
        st.session_state[REFUSED] = error.problems
