"""The charts of a study: all show the same trials, and a click on one of them chooses it everywhere."""

from collections.abc import Callable, Sequence

import streamlit as st

from smfh.paper import PAPER_METHODS, paper_method
from smfh.plots import (
    Chart,
    Mark,
    TrialDot,
    parameter_importance,
    sweep_curve,
    sweep_map,
    sweep_seconds,
    trial_contour,
    trial_front,
    trial_history,
    trial_lines,
    trial_slices,
    trial_times,
)
from smfh.tuning import Study, importances
from smfh.types import parameters
from smfh.ui.address import hold
from smfh.ui.charts import picked_numbers, show_chart, show_pickable
from smfh.ui.tune.dots import axes_of, remembered
from smfh.ui.tune.wanted import change

LAST = "picked_"  # before a chart's key: what was clicked there last
BAND = "Lines are means over the parts, bands reach from the lowest part to the highest. Click a point."


def draw_main(study: Study, dots: Sequence[TrialDot], chosen: int | None) -> None:
    """The one chart that says most: the curve, the map, or the history."""
    axes, label = axes_of(study), study.plan.goal.titles[0]
    if study.plan.way == "search":
        _pickable(trial_history(dots, label, chosen), "history")
    elif len(axes) == 1:
        _pickable(sweep_curve(dots, axes[0], known_marks(study), chosen), f"curve_{axes[0].label}")
        st.caption(BAND)
    else:
        _pickable(sweep_map(dots, axes[0], axes[1], label, chosen), "map")


def draw_others(study: Study, dots: Sequence[TrialDot], chosen: int | None) -> None:
    """Whatever else can be seen, two beside each other."""
    axes, label = axes_of(study), study.plan.goal.titles[0]
    draws: list[Callable[[], None]] = []
    if len(axes) == 1:
        draws.append(lambda: _pickable(sweep_seconds(dots, axes[0], chosen), "seconds"))
    else:
        by_share = sorted(axes, key=lambda axis: -shares_of(study, dots).get(axis.label, 0.0))
        draws += [
            lambda: show_chart(parameter_importance(shares_of(study, dots)), "tune_importance"),
            lambda: _pickable(trial_slices(dots, by_share, label, chosen), "slices"),
            lambda: _draw_contour(study, dots, chosen),
            lambda: _pickable(trial_lines(dots, axes, label, chosen), "lines"),
        ]
    draws += [lambda: _draw_front(study, dots, chosen), lambda: _pickable(trial_times(dots, chosen), "times")]
    for first in range(0, len(draws), 2):
        for column, draw in zip(st.columns(2, gap="large"), draws[first : first + 2], strict=False):
            with column:
                draw()


def known_marks(study: Study) -> list[Mark]:
    """Where the study began, and where the paper stands on its own data."""
    (one,), method, source = study.plan.ranges, study.plan.method, study.plan.sources[0]
    values = {"start": study.plan.start[one.name]}
    if method.name in PAPER_METHODS and source.name in method.presets:
        values["paper"] = getattr(paper_method(method.name, source.name), one.name)
    return [Mark(name, value) for name, value in values.items() if value > 0 or one.scale != "log"]


def shares_of(study: Study, dots: Sequence[TrialDot]) -> dict[str, float]:
    """What each parameter explains among these trials, by its symbol; found once for the same trials."""
    numbers, about = tuple(dot.number for dot in dots), parameters(study.plan.method)
    found = remembered(study, study.trials, ("shares", numbers), lambda: importances(study, numbers))
    return {about[name].symbol: share for name, share in found.items()}


def front_of(dots: Sequence[TrialDot], others: dict[int, float], fewer_is_better: bool) -> list[int]:
    """The finished trials that none is better than in both."""
    sign = -1 if fewer_is_better else 1
    points = {dot.number: (dot.score, sign * others[dot.number]) for dot in dots if dot.number in others}
    return [
        number
        for number, (a, b) in points.items()
        if not any(c >= a and d >= b and (c, d) != (a, b) for c, d in points.values())
    ]


def _draw_front(study: Study, dots: Sequence[TrialDot], chosen: int | None) -> None:
    """Both objectives of a front; else the score against the time that it takes."""
    goal, finished = study.plan.goal, [dot for dot in dots if not dot.pruned]
    if goal.over == "directions":
        values = {trial.number: trial.values for trial in study.trials if len(trial.values) > 1}
        others, title = {dot.number: values[dot.number][1] for dot in finished}, goal.titles[1]
    else:
        others, title = {dot.number: dot.mean_seconds for dot in finished}, "training seconds"
    front = front_of(finished, others, goal.over != "directions")
    _pickable(trial_front(finished, title, goal.titles[0], others, front, chosen), "front")


def _draw_contour(study: Study, dots: Sequence[TrialDot], chosen: int | None) -> None:
    axes = {axis.label: axis for axis in axes_of(study)}
    names = list(axes)
    if len(names) > 2:
        by_share = list(shares_of(study, dots)) or names
        with st.container(horizontal=True):
            first = st.selectbox("Across", names, key=_begin("contour_x", by_share[0], names), width=120)
            rest = [name for name in names if name != first]
            second = st.selectbox("Up", rest, key=_begin("contour_y", by_share[1], rest), width=120)
    else:
        first, second = names
    label = study.plan.goal.titles[0]
    _pickable(trial_contour(dots, axes[first], axes[second], label, chosen), "contour")


def _begin(name: str, value: str, options: Sequence[str]) -> str:
    """The key of a control that begins with this value where it holds none of the options."""
    key = f"tune_{name}"
    held = st.session_state.get(key)
    return hold(key, held if held in options else value if value in options else options[0])


def _pickable(chart: Chart, name: str) -> None:
    key = f"chart_tune_{name}"

    def choose() -> None:
        # Streamlit tells a second click on the same point as a choice of none
        numbers = picked_numbers(st.session_state[key]) or st.session_state.get(f"{LAST}{key}", [])
        st.session_state[f"{LAST}{key}"] = numbers
        if numbers:
            change(trial=numbers[0])

    show_pickable(chart, key, ("points",), choose)
