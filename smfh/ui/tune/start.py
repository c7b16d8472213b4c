"""The form of the next study, with the button that starts it."""

import streamlit as st

from smfh.ui.grids import duration
from smfh.ui.server import Loaded, kept_runs
from smfh.ui.session import owner_of
from smfh.ui.settings import Settings
from smfh.ui.tune.choice import NAME, choose_plan, estimate
from smfh.ui.tune.running import BUSY, draw_refusal, running_study, start_study
from smfh.ui.tune.wanted import change, current_wanted


def draw_form(settings: Settings, loaded: Loaded) -> None:
    """All controls of the next study; nothing to press where they make no plan."""
    draw_refusal()
    what = st.container(horizontal=True, vertical_alignment="bottom", key="tune_what")
    row = st.container(horizontal=True, vertical_alignment="bottom", key="tune_how")
    if (plan := choose_plan(settings, what, row)) is None:
        return
    owner, named = owner_of(settings), bool(st.session_state.get(NAME, "").strip())
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
        disabled=(running := running_study()) is not None,
    )
    if running is not None and running != current_wanted().study:
        open_it, icon = {"study": running, "trial": None, "within": ()}, ":material/visibility:"
        row.button("Watch yours", icon=icon, key="tune_watch", on_click=change, kwargs=open_it, help=BUSY)
