"""The form of the next study, with the button that starts it."""

import streamlit as st

from smfh.ui.grids import duration
from smfh.ui.server import Loaded, kept_runs
from smfh.ui.session import owner_of
from smfh.ui.settings import Settings
from smfh.ui.tune.choice import NAME, choose_plan, estimate
from smfh.ui.tune.running import draw_refusal, own_job, start_study


def draw_form(settings: Settings, loaded: Loaded) -> None:
    """All controls of the next study; nothing to press where they make no plan."""
    draw_refusal()
    what = st.container(horizontal=True, vertical_alignment="bottom", key="tune_what")
    row = st.container(horizontal=True, vertical_alignment="bottom", key="tune_how")
    if (plan := choose_plan(settings, what, row)) is None:
        return
    owner, named, own = owner_of(settings), bool(st.session_state.get(NAME, "").strip()), own_job()
    seconds = estimate(plan, kept_runs(owner), loaded[0].fingerprint)
    about = f" · about {duration(seconds)}" if seconds else ""
    trials = "" if plan.minutes else f" {len(plan.points)} trials"
    row.button(
        f"Run{trials}{about}",
        type="primary",
        icon=":material/play_arrow:",
        key="tune_run",
        on_click=start_study,
        args=(plan, owner, named),
        disabled=own is not None and not own.over,
    )
