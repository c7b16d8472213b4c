"""The chosen trial beside the start where it counts: on the queries, once, in numbers and in pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from smfh.asking import Answer, ask_item
from smfh.jobs import Job
from smfh.runs import Run
from smfh.tuning import FIGURES, Confirmation, Study, Trial, confirm_work, confirmations
from smfh.tuning.confirmation import ALL, SEEDS
from smfh.types import InputError
from smfh.ui.asked import Asked, answer_of
from smfh.ui.gallery import caption_of, draw_terms, labels_of
from smfh.ui.grids import TICK
from smfh.ui.items import cut, looks_of
from smfh.ui.running import steer
from smfh.ui.server import job_queue, kept_runs
from smfh.ui.session import load, submit, visitor
from smfh.ui.settings import Settings
from smfh.ui.tune.chosen import draw_figure
from smfh.ui.tune.running import REFUSED

SHOWN, PICTURE, CARD = 8, 56, 66  # answers, and pixels
PATIENCE = 60.0  # seconds until two models that were trained before are there
CAPTION = 60  # characters
SHOWN_BY = "capped"  # the AP of the first hundred answers, which hits far down do not raise
ONCE = (
    f"Trains the start and this trial with {SEEDS} seeds each on all training rows and asks by the queries. "
    "It is meant for the one setting you have settled on: to choose among several by what you see here "
    "would be tuning on the queries."
)


@dataclass(frozen=True)
class ConfirmKey:
    """What makes two confirmations the same job."""

    study: str
    address: str
    number: int
    owner: str


def draw_queries(study: Study, trial: Trial) -> None:
    """The button, how far it is, or what came out of it."""
    st.markdown("#### On the queries")
    if study.method_of(trial) == study.plan.method:
        st.caption("This is the start itself. Choose another trial, and it can be set beside the start here.")
        return
    if (found := confirmations(study).get(trial.number)) is not None:
        _draw_confirmation(found)
        _draw_pictures(study, trial)
        return
    key = ConfirmKey(study.name, study.key.address, trial.number, study.key.owner)
    job: Job[Confirmation] | None = job_queue().find(key)
    if job is None or job.over:
        st.button(
            "See it on the queries, once",
            icon=":material/verified:",
            key="tune_confirm",
            on_click=_start,
            args=(study, trial, key),
            help=ONCE,
        )
        st.caption(f"Trial {trial.number} beside the start: {SEEDS} seeds, a paired test, and pictures.")
        return
    st.button("Stop", icon=":material/stop:", key="tune_confirm_stop", on_click=steer, args=(job.cancel,))

    @st.fragment(run_every=TICK)
    def live() -> None:
        job.see(visitor())
        if job.over:
            st.rerun()
        done, total = job.reports[-1] if job.reports else (0, 1)
        waits = f" · waiting, number {job.position} in line" if job.position else ""
        st.progress(
            done / total, f"{done} of {total} trainings{waits}" if job.reports else f"Beginning{waits}"
        )

    live()


def _start(study: Study, trial: Trial, key: ConfirmKey) -> None:
    try:
        work = confirm_work(study, trial.number, kept_runs(study.key.owner))
        job_queue().submit(key, work, visitor(), again=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _draw_confirmation(found: Confirmation) -> None:
    """Means over seeds of both, and whether the difference is more than noise."""
    whole = [one for one in found.figures if one.direction == ALL and one.measure in FIGURES]
    for dataset in dict.fromkeys(one.dataset for one in whole):
        st.text(f"{dataset}, mean of {ALL}, {SEEDS} seeds; below each, the difference from the start")
        with st.container(horizontal=True, gap="small"):
            for one in (one for one in whole if one.dataset == dataset):
                draw_figure(FIGURES[one.measure], float(np.mean(one.chosen)), one.gain)
    first, others = [line for line in found.lines if ALL in line], [x for x in found.lines if ALL not in x]
    for line in first:
        st.text(line)
    with st.expander("In each direction"):
        st.text("\n".join(others))


def _draw_pictures(study: Study, trial: Trial) -> None:
    """The same three queries answered by both, side by side."""
    source = study.plan.sources[0]
    methods = [replace(method, seed=0) for method in (study.plan.method, study.method_of(trial))]
    try:
        loaded = load(Settings(source, methods[0]))
        jobs = [submit(Settings(source, method), loaded) for method in methods]
    except InputError as error:
        st.text("\n".join(error.problems))
        return
    with st.spinner("Fetching both models …"):
        there = all(job.wait(timeout=PATIENCE) for job in jobs)
    if not there or any(job.state != "finished" for job in jobs):
        st.caption("The two models are not there yet.")
        st.button("Look again", key="tune_look_again")
        return
    before, after = (job.result for job in jobs)
    asks, answers = before.directions[0]
    precision = [run.scores(asks, answers).average_precision[SHOWN_BY].by_query for run in (before, after)]
    st.text(f"The same three queries, {asks} → {answers}, seed 0. ✗: no label in common with what asks.")
    for column, (title, place) in zip(
        st.columns(3, gap="large"), telling_queries(*precision).items(), strict=False
    ):
        with column:
            row = int(before.split.queries[place])
            labels = ", ".join(labels_of(before.data, row))
            st.text(f"{title}: “{cut(caption_of(before.data, row), CAPTION)}” · {labels}")
            question, asked = ask_item(before.data, asks, row), Asked(asks, answers, ties="database")
            st.image(looks_of(before.data, [row], asks)[0], width=PICTURE, alt="the query")
            found = [answer_of(run, question, asked) for run in (before, after)]
            for name, run, answer, value in zip(
                ("start", f"trial {trial.number}"), (before, after), found, precision, strict=True
            ):
                st.caption(f"{name}: {right_in_words(answer)}, AP@100 {value[place]:.2f}")
                _draw_answers(run, answer)
            st.caption(changed_in_words(*found))
    draw_terms(before.data)


def telling_queries(before: np.ndarray, after: np.ndarray) -> dict[str, int]:
    """The query in the middle at the start, the one that gained most and the one that lost most."""
    gain = after - before
    middle = int(np.argsort(before, kind="stable")[len(before) // 2])
    return {"In the middle": middle, "Gained most": int(gain.argmax()), "Lost most": int(gain.argmin())}


def right_in_words(answer: Answer) -> str:
    """Such as 6 of 8 right."""
    first = answer.relevance[:SHOWN] if answer.relevance is not None else np.zeros(0, dtype=bool)
    return f"{np.count_nonzero(first)} of {len(first)} right"


def changed_in_words(before: Answer, after: Answer) -> str:
    """How many of the first answers are others."""
    first, second = (set(answer.rows[:SHOWN].tolist()) for answer in (before, after))
    new = len(second - first)
    return f"{new} of the first {len(second)} are others than before." if new else "The same answers."


def _draw_answers(run: Run, answer: Answer) -> None:
    rows = answer.rows[:SHOWN].tolist()
    grid = st.grid(min_column_width=CARD, gap="xsmall")
    for row, picture, right in zip(
        rows, looks_of(run.data, rows, answer.target), _relevance(answer, len(rows)), strict=True
    ):
        with grid.cell(), st.container(gap=None, horizontal_alignment="center"):
            st.image(picture, width=PICTURE, alt=caption_of(run.data, row))
            st.text("" if right else "✗")


def _relevance(answer: Answer, number: int) -> Sequence[bool]:
    return [True] * number if answer.relevance is None else answer.relevance[:number].tolist()
