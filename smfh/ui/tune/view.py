"""The open study: how far it is, what it says, its charts, and its chosen trial."""

from collections.abc import Sequence

import streamlit as st

from smfh.plots.trials import NOTE
from smfh.tuning import Studies, Study, Trial, confirmations, summarise
from smfh.types import InputError
from smfh.ui.grids import REDRAWN
from smfh.ui.settings import Settings
from smfh.ui.tune.chosen import chosen_trial, draw_chosen
from smfh.ui.tune.dots import dots_of, draw_filter, remembered
from smfh.ui.tune.figures import draw_main, draw_others
from smfh.ui.tune.listing import draw_study_orders
from smfh.ui.tune.queries import draw_queries
from smfh.ui.tune.running import draw_running
from smfh.ui.tune.wanted import current_wanted

EMPTY = (
    "Press Run: each trial trains with other parameters and is scored on parts of the training rows that it "
    "has not seen. The queries stay unseen until you ask for them, once, with the setting you have chosen."
)


def draw_open(studies: Studies, settings: Settings) -> None:
    """The study that the address names; or what to do where it names none."""
    name = current_wanted().study
    if not name:
        st.info(EMPTY, icon=":material/tune:")
        return
    try:
        study = studies.open(name)
    except InputError as error:
        st.warning("The study cannot be opened:", icon=":material/error:")
        st.text("\n".join(error.problems))
        return
    with st.container(key="study_title"):
        st.text(study.name)
        st.caption(f"Goal: {study.plan.goal.words}.")
    at_work = draw_running(study)

    @st.fragment(run_every=REDRAWN if at_work else None)
    def live() -> None:
        try:
            draw_study(study, settings)
        except InputError as error:
            st.warning("The study cannot be read now:", icon=":material/error:")
            st.text("\n".join(error.problems))

    live()
    draw_study_orders(studies, study)


def draw_study(study: Study, settings: Settings) -> None:
    """Charts and words about what is finished."""
    trials = study.trials
    dots, label = dots_of(study, trials), study.plan.goal.titles[0]
    chosen = chosen_trial(study, trials, current_wanted().trial)
    number = None if chosen is None else chosen.number
    left, right = st.columns([3, 2], gap="large")
    with left:
        place = st.container()  # the filter below it is asked first
        kept = draw_filter(dots, label)
        with place:
            if dots:
                draw_main(study, kept, number)
            else:
                st.caption(NOTE)
    with right:
        _draw_words(study, trials, number)
        if chosen is not None:
            draw_chosen(study, trials, chosen, settings)
    if chosen is not None:
        draw_queries(study, chosen)
        st.markdown("#### All trials")
        draw_others(study, kept, number)


def _draw_words(study: Study, trials: Sequence[Trial], chosen: int | None) -> None:
    """What was found so far; what the chosen trial does on the queries is said there."""
    seen = confirmations(study)
    said_there = seen[chosen].lines if chosen in seen else ()
    for line in remembered(study, trials, ("words", tuple(seen)), lambda: summarise(study).lines):
        if line not in said_there:
            st.text(line)
