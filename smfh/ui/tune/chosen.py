"""The chosen trial: what it is, and what can be done with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NoReturn

import streamlit as st

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.tuning import FIGURES, Study, Trial, fit_code, fit_command, setting_in_words
from smfh.types import InputError
from smfh.ui.address import forget, hold, keep
from smfh.ui.controls import CONTROL
from smfh.ui.opening import open_run
from smfh.ui.session import OWN, load
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.tune.wanted import change, current_wanted

TRIAL = "tune_trial"
BEST = -1  # instead of the number of a trial
FIGURE = 118  # pixels
SPELLED = {"As a command": fit_command, "As Python": fit_code}


def chosen_trial(study: Study, trials: Sequence[Trial], number: int | None) -> Trial | None:
    """That of the number, else the best; None where nothing is finished."""
    scored = {trial.number: trial for trial in trials if trial.parts and trial.values}
    return scored.get(-1 if number is None else number) or study.best


def draw_chosen(study: Study, trials: Sequence[Trial], chosen: Trial, settings: Settings) -> None:
    """A list to choose from for who cannot click in a chart; its figures; and orders."""
    ranked = _ranked(study, trials)
    by_number = {trial.number: trial for trial in ranked}
    if chosen.number not in by_number:
        ranked, by_number = [chosen, *ranked], {chosen.number: chosen, **by_number}
    wanted = current_wanted().trial
    # to follow the best is a choice of its own: one that the page sets while it draws itself anew could pass
    # for the visitor's
    st.selectbox(
        "Chosen trial",
        [BEST, *by_number],
        key=hold(TRIAL, wanted if wanted in by_number else BEST),
        format_func=lambda number: "The best" if number == BEST else _named(study, by_number[number]),
        on_change=_choose,
        help="Or click a point in any chart.",
    )
    if wanted not in by_number:
        st.text(_named(study, chosen))
    start = next((trial for trial in trials if trial.is_start and trial.parts), None)
    with st.container(horizontal=True, gap="small"):
        for name, label in FIGURES.items():
            value = chosen.measure(name)
            draw_figure(
                label, value, None if start is None or chosen.is_start else value - start.measure(name)
            )
    st.caption("Means over the validation parts; below each, the difference from the start.")
    _draw_orders(study, chosen, settings)


def _choose() -> None:
    number: int = st.session_state[TRIAL]
    change(trial=None if number == BEST else number)


def draw_figure(label: str, value: float, gain: float | None) -> None:
    """A score, and below it its difference from the start; one that rounds to nothing has no direction."""
    even = gain is not None and round(gain, 3) == 0
    told = None if gain is None else "0.000" if even else f"{gain:+.3f}"
    colour: Literal["off", "normal"] = "off" if even else "normal"
    arrow: Literal["off", "auto"] = "off" if even else "auto"
    st.metric(label, f"{value:.3f}", told, delta_color=colour, delta_arrow=arrow, width=FIGURE)


def use_these(source: DatasetSource, method: HashMethod, settings: Settings) -> NoReturn:
    """Let the controls and the address say these, and draw the whole page again."""
    keep(SETTINGS, replace(settings, source=source, method=method))
    forget(CONTROL)
    st.toast("The controls on the left have these parameters now.", icon=":material/check:")
    st.rerun()


def _draw_orders(study: Study, trial: Trial, settings: Settings) -> None:
    source, method = study.plan.sources[0], study.method_of(trial)
    with st.container(horizontal=True, key="tune_chosen_orders", gap="small"):
        wants_use = st.button(
            "Use these",
            icon=":material/check:",
            key="tune_use",
            disabled=(settings.source, settings.method) == (source, method),
            help="Puts them into the controls on the left and into the address.",
        )
        wants_open = st.button("Open in Explore", icon=":material/open_in_new:", key="tune_open")
        for title, say in SPELLED.items() if source.name != OWN else ():
            with st.popover(title, icon=":material/content_copy:"):
                st.code(say(source, method), language=None, wrap_lines=True)
    if wants_use:
        use_these(source, method, settings)
    if wants_open:
        try:
            open_run(source, method, load(Settings(source, method)))
        except InputError as error:
            st.warning("That did not work:", icon=":material/error:")
            st.text("\n".join(error.problems))


def _ranked(study: Study, trials: Sequence[Trial]) -> list[Trial]:
    complete = [trial for trial in trials if trial.state == "complete"]
    return sorted(complete, key=lambda trial: -study.plan.goal.worth(trial.values))


def _named(study: Study, trial: Trial) -> str:
    start = ", the start" if trial.is_start else ""
    return f"{trial.values[0]:.3f} · {setting_in_words(study, trial)} (trial {trial.number}{start})"
