"""Trials as the charts see them, and the filter that acts on all charts at once."""

from collections.abc import Mapping, Sequence
from math import inf

import streamlit as st

from smfh.plots import Axis, TrialDot
from smfh.plots.trials import short_number
from smfh.tuning import FIGURES, Study, Trial
from smfh.types import parameters
from smfh.ui.address import hold
from smfh.ui.tune.wanted import change, current_wanted, read_spans, write_span

SECONDS = "seconds"
WIDTH = 220  # pixels


def axes_of(study: Study) -> list[Axis]:
    """One for each tuned parameter, by its symbol."""
    about = parameters(study.plan.method)
    return [Axis(about[one.name].symbol, log=one.scale == "log") for one in study.plan.ranges]


def dots_of(study: Study, trials: Sequence[Trial]) -> list[TrialDot]:
    """Those that have a score, finished or given up early."""
    about = parameters(study.plan.method)
    first = min((trial.started for trial in trials if trial.started), default=None)
    dots = []
    for trial in trials:
        if not trial.parts or not trial.values or trial.state not in ("complete", "pruned"):
            continue
        begun = (trial.started - first).total_seconds() if trial.started and first else 0.0
        ended = (trial.ended - first).total_seconds() if trial.ended and first else begun
        dots.append(
            TrialDot(
                number=trial.number,
                settings={about[name].symbol: value for name, value in trial.parameters.items()},
                score=trial.values[0],
                parts={
                    label: tuple(part.measure(name) for part in trial.parts)
                    for name, label in FIGURES.items()
                },
                seconds=tuple(part.seconds for part in trial.parts),
                begun=begun,
                lasted=ended - begun,
                pruned=trial.state == "pruned",
                start=trial.is_start,
            )
        )
    return dots


def seconds_dots(dots: Sequence[TrialDot]) -> dict[int, float]:
    """The mean training time of each trial that is finished."""
    return {dot.number: dot.mean_seconds for dot in dots if not dot.pruned}


def figures_of(dot: TrialDot, label: str) -> dict[str, float]:
    """What can be filtered by: parameters, score and time."""
    return {**dot.settings, label: dot.score, SECONDS: dot.mean_seconds}


def inside(dots: Sequence[TrialDot], spans: Mapping[str, tuple[float, ...]], label: str) -> list[TrialDot]:
    """The dots that lie within all spans; one over what they do not have keeps none away."""
    return [
        dot
        for dot in dots
        if all(
            spans[name][0] <= value <= spans[name][1]
            for name, value in figures_of(dot, label).items()
            if name in spans
        )
    ]


def draw_filter(dots: Sequence[TrialDot], label: str) -> list[TrialDot]:
    """A slider with two ends for each parameter, the score and the time; the dots that are left."""
    spans = read_spans(current_wanted().within)
    names = list(figures_of(dots[0], label)) if dots else []
    with st.container(horizontal=True, key="tune_filter", gap="medium"):
        for name in names:
            values = sorted({figures_of(dot, label)[name] for dot in dots})
            if len(values) > 1:
                _draw_slider(name, values, spans)
    kept = inside(dots, read_spans(current_wanted().within), label)
    if len(kept) < len(dots):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(kept)} of {len(dots)} trials are shown.", width="content")
            st.button("Show all", key="tune_filter_off", type="tertiary", on_click=change, kwargs={"within": ()})
    return kept


def _draw_slider(name: str, values: Sequence[float], spans: dict[str, tuple[float, ...]]) -> None:
    """Over the values that there are; an end that stands at the last of them is open, for those to come."""
    key = f"tune_within_{name}"
    low, high = spans.get(name, (-inf, inf))
    within = [value for value in values if low <= value <= high] or values

    def narrow() -> None:
        first, last = st.session_state[key]
        others = {other: ends for other, ends in spans.items() if other != name}
        ends = (-inf if first == values[0] else first, inf if last == values[-1] else last)
        if ends != (-inf, inf):
            others[name] = ends
        change(within=tuple(write_span(other, *span) for other, span in others.items()))

    st.select_slider(
        name,
        values,
        key=hold(key, (within[0], within[-1])),
        format_func=short_number,
        on_change=narrow,
        width=WIDTH,
    )
