"""The button that starts a study, with its name and how long it takes."""

import streamlit as st

from smfh.tuning import StudyPlan
from smfh.tuning.plan import LONGEST_NAME
from smfh.ui.grids import duration
from smfh.ui.server import Loaded, kept_runs
from smfh.ui.session import owner_of
from smfh.ui.settings import Settings
from smfh.ui.tune.choice import NAME, estimate
from smfh.ui.tune.running import draw_refusal, own_job, start_study

WIDTH = 420  # pixels


def draw_start(plan: StudyPlan | None, settings: Settings, loaded: Loaded) -> None:
    """Nothing to press where there is no plan."""
    draw_refusal()
    if plan is None:
        return
    owner, named = owner_of(settings), bool(st.session_state.get(NAME, "").strip())
    seconds, own = estimate(plan, kept_runs(owner), loaded[0].fingerprint), own_job()
    about = f" · about {duration(seconds)}" if seconds else ""
    trials = "" if plan.minutes else f" {len(plan.points)} trials"
    with st.container(horizontal=True, vertical_alignment="bottom", key="tune_start"):
        st.button(
            f"Run{trials}{about}",
            type="primary",
            icon=":material/play_arrow:",
            key="tune_run",
            on_click=start_study,
            args=(plan, owner, named),
            disabled=own is not None and not own.over,
        )
        st.text_input(
            "Name",
            key=NAME,
            max_chars=LONGEST_NAME,
            placeholder=plan.name,
            label_visibility="collapsed",
            width=WIDTH,
        )
