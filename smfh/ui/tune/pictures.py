"""The same three queries, answered by the start and by the chosen trial side by side."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np
import streamlit as st

from smfh.asking import Answer, ask_item
from smfh.hashing import HashMethod
from smfh.runs import Run
from smfh.tuning import Study, Trial
from smfh.types import FloatArray, InputError
from smfh.ui.asked import Asked, answer_of
from smfh.ui.gallery import caption_of, draw_terms, labels_of
from smfh.ui.items import cut, looks_of
from smfh.ui.session import load, submit
from smfh.ui.settings import Settings

SHOWN, PICTURE, CARD = 8, 56, 66  # answers, and pixels
GLANCE = 0.2  # seconds
PATIENCE = 60.0  # seconds until two models that were trained before are there
CAPTION = 60  # characters
SHOWN_BY = "capped"  # the AP of the first hundred answers, which hits far down do not raise


def draw_pictures(study: Study, trial: Trial) -> None:
    """A query in the middle, the one that gained most and the one that lost most."""
    methods = [replace(method, seed=0) for method in (study.plan.method, study.method_of(trial))]
    try:
        runs = _fetch(study, methods)
    except InputError as error:
        st.text("\n".join(error.problems))
        return
    if runs is None:
        st.caption("The two models are not there yet.")
        st.button("Look again", key="tune_look_again")
        return
    titles = ("start", f"trial {trial.number}")
    asks, answers = runs[0].directions[0]
    precision = [run.scores(asks, answers).average_precision[SHOWN_BY].by_query for run in runs]
    st.text(f"The same three queries, {asks} → {answers}, seed 0. ✗: no label in common with what asks.")
    told = telling_queries(*precision)
    for column, (title, place) in zip(st.columns(len(told), gap="large"), told.items(), strict=True):
        with column:
            data, row = runs[0].data, int(runs[0].split.queries[place])
            labels = ", ".join(labels_of(data, row))
            st.text(f"{title}: “{cut(caption_of(data, row), CAPTION)}” · {labels}")
            st.image(looks_of(data, [row], asks)[0], width=PICTURE, alt="the query")
            question, asked = ask_item(data, asks, row), Asked(asks, answers, ties="database")
            found = [answer_of(run, question, asked) for run in runs]
            for name, run, answer, by_query in zip(titles, runs, found, precision, strict=True):
                st.caption(f"{name}: {right_in_words(answer)}, AP@100 {by_query[place]:.2f}")
                _draw_answers(run, answer)
            st.caption(changed_in_words(*found))
    draw_terms(runs[0].data)


def _fetch(study: Study, methods: Sequence[HashMethod]) -> list[Run] | None:
    """The runs, which the confirmation has trained; None where they are not there in time."""
    source = study.plan.sources[0]
    loaded = load(Settings(source, methods[0]))
    jobs = [submit(Settings(source, method), loaded) for method in methods]
    place, end = st.empty(), monotonic() + PATIENCE
    with st.spinner("Fetching both models …"):
        while monotonic() < end and (under_way := [job for job in jobs if not job.over]):
            place.empty()  # where who leaves is noticed
            under_way[0].wait(timeout=GLANCE)
    return [job.result for job in jobs] if all(job.state == "finished" for job in jobs) else None


def telling_queries(before: FloatArray, after: FloatArray) -> dict[str, int]:
    """Places of the query in the middle at the start, of the one that gained most and that lost most."""
    gain = after - before
    middle = int(np.argsort(before, kind="stable")[len(before) // 2])
    return {"In the middle": middle, "Gained most": int(gain.argmax()), "Lost most": int(gain.argmin())}


def rights(answer: Answer) -> list[bool]:
    """Whether each of the first answers shares a label with what asks; of an item it is known."""
    return [] if answer.relevance is None else answer.relevance[:SHOWN].tolist()


def right_in_words(answer: Answer) -> str:
    """Such as 6 of 8 right."""
    return f"{sum(rights(answer))} of {len(rights(answer))} right"


def changed_in_words(before: Answer, after: Answer) -> str:
    """How many of the first answers are others."""
    first, second = (set(answer.rows[:SHOWN].tolist()) for answer in (before, after))
    new = len(second - first)
    return f"{new} of the first {len(second)} are others than before." if new else "The same answers."


def _draw_answers(run: Run, answer: Answer) -> None:
    rows = answer.rows[:SHOWN].tolist()
    pictures, grid = looks_of(run.data, rows, answer.target), st.grid(min_column_width=CARD, gap="xsmall")
    for row, picture, right in zip(rows, pictures, rights(answer), strict=True):
        with grid.cell(), st.container(gap=None, horizontal_alignment="center"):
            st.image(picture, width=PICTURE, alt=caption_of(run.data, row))
            st.text("" if right else "✗")
