"""Trials as the charts see them, and the filter that acts on all charts at once."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import ceil, floor, inf, log10
from typing import Any, TypeVar

import streamlit as st

from smfh.memory import Memory
from smfh.plots import Axis, TrialDot
from smfh.plots.trials import short_number
from smfh.tuning import FIGURES, Range, Study, Trial
from smfh.types import parameters
from smfh.ui.tune.wanted import change, current_wanted, read_spans, write_span

SECONDS = "seconds"
V = TypeVar("V")
MEMORY: Memory[Hashable, Any] = Memory(64)
WIDTH = 185  # pixels
MOST_TICKS = 4


def axes_of(study: Study) -> list[Axis]:
    """One for each tuned parameter, by its symbol."""
    about = parameters(study.plan.method)
    return [
        Axis(about[one.name].symbol, log=one.scale == "log", ticks=_decades(one)) for one in study.plan.ranges
    ]


def _decades(one: Range) -> tuple[float, ...] | None:
    """1, 10, 100, … in the range, a few of them: Plotly would write digits between them."""
    if one.scale != "log":
        return None
    powers = range(floor(log10(one.low)), ceil(log10(one.high)) + 1)
    return tuple(10.0**power for power in powers[:: -(-len(powers) // MOST_TICKS)])


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


def figures_of(dot: TrialDot, label: str) -> dict[str, float]:
    """What can be filtered by, to the digits that a slider shows: parameters, score and time."""
    figures = {**dot.settings, label: dot.score, SECONDS: dot.mean_seconds}
    return {name: float(short_number(value)) for name, value in figures.items()}


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
    if names:
        st.caption("Show only trials within these ends, in every chart:")
    with st.container(horizontal=True, vertical_alignment="bottom", key="tune_filter", gap="small"):
        for name in names:
            values = sorted({figures_of(dot, label)[name] for dot in dots})
            if len(values) > 1:
                _draw_slider(name, values, spans)
    kept = inside(dots, read_spans(current_wanted().within), label)
    if len(kept) < len(dots):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(kept)} of {len(dots)} trials are shown.", width="content")
            st.button(
                "Show all", key="tune_filter_off", type="tertiary", on_click=change, kwargs={"within": ()}
            )
    return kept


def _draw_slider(name: str, values: Sequence[float], spans: dict[str, tuple[float, ...]]) -> None:
    """Over the values that there are; an end that stands at the last of them is open, for those to come."""
    low, high = spans.get(name, (-inf, inf))
    within = [value for value in values if low <= value <= high] or values
    # another key for another filter, and when the first or the last value is another: it begins anew then
    key = f"tune_within_{write_span(name, low, high, values[0], values[-1])}"

    def narrow() -> None:
        first, last = st.session_state[key]
        ends = (-inf if first == values[0] else first, inf if last == values[-1] else last)
        others = {other: span for other, span in spans.items() if other != name}
        now = others if ends == (-inf, inf) else others | {name: ends}
        change(within=tuple(write_span(other, *span) for other, span in now.items()))

    st.select_slider(
        name,
        values,
        (within[0], within[-1]),
        format_func=short_number,
        key=key,
        on_change=narrow,
        width=WIDTH,
    )


def remembered(study: Study, trials: Sequence[Trial], what: Hashable, make: Callable[[], V]) -> V:
    """What follows from these trials, found once for all who look; of private data nothing is remembered."""
    if study.key.owner:
        return make()
    value: V = MEMORY.get((study.key, tuple((trial.number, trial.ended) for trial in trials), what), make)
    return value
