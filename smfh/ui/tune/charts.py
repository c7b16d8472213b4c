"""The charts of a study. All show the same filtered trials; a click on a point selects its trial in all."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import ceil, floor, inf, log10
from typing import TypeVar

import streamlit as st

from smfh import plots
from smfh.experiments.tuning import (
    BASE_MEASURES,
    Studies,
    Study,
    Trial,
    describe_knee,
    importances,
    knee_of,
    levelled_folds,
    near_best,
    pareto_front,
)
from smfh.paper import PAPER_METHODS, paper_method
from smfh.plots import Axis, Chart, Mark, TrialDot
from smfh.plots.chart import short_number
from smfh.types import parameters
from smfh.ui.address import hold
from smfh.ui.charts import picked_numbers, show_chart, show_pickable
from smfh.ui.server import remember
from smfh.ui.session import UPLOAD
from smfh.ui.tune.state import change, current_request, read_spans, write_span

SECONDS = "seconds"
LAST_CLICK = "picked_"  # prefix of the session key of a chart's last click
SLIDER_PIXELS = 185
OVERLAY, WALLS = "tune_overlay", 5
MAX_TICKS = 4
MIN_DENSITY_TRIALS = 10
BANDS = (
    "Means over the validation folds. The band reaches from the lowest fold to the highest; differences between "
    "folds that all trials share are removed first. SE: standard error of a score. Click a point to select its trial."
)
V = TypeVar("V")


def remembered(study: Study, trials: Sequence[Trial], what: Hashable, make: Callable[[], V]) -> V:
    """Return the result of `make()`, cached by study, trials and `what`; for uploads it is not cached."""
    if study.plan.sources[0].name == UPLOAD:
        return make()
    return remember((study.key, tuple((trial.number, trial.state) for trial in trials), what), make)


def axes_of(study: Study) -> list[Axis]:
    """Return a chart axis for each tuned parameter; the ticks of a log axis are a few powers of ten."""
    about, axes = parameters(study.plan.method), []
    for one in study.plan.ranges:
        ticks = None
        if one.scale == "log":
            powers = range(floor(log10(one.low)), ceil(log10(one.high)) + 1)
            ticks = tuple(10.0**power for power in powers[:: -(-len(powers) // MAX_TICKS)])
        axes.append(Axis(about[one.name].symbol, one.scale == "log", (one.low, one.high), ticks))
    return axes


def dots_of(study: Study, trials: Sequence[Trial]) -> list[TrialDot]:
    """Return the scored trials as points for the charts."""
    about, folds, goal = parameters(study.plan.method), levelled_folds(study), study.plan.goal
    states = ("complete", "pruned") if folds else ("running",)  # the first point appears after one fold
    return [
        TrialDot(
            number=trial.number,
            settings={about[name].symbol: value for name, value in trial.parameters.items()},
            score=goal.worth(trial.values or goal.values(trial.folds)),
            measures={label: trial.measure(name) for name, label in BASE_MEASURES.items()},
            seconds=trial.seconds,
            band=(min(own), max(own)) if len(own := folds.get(trial.number, ())) > 1 else None,
            stopped_early=trial.state == "pruned",
            is_start=trial.is_start,
        )
        for trial in trials
        if trial.folds and trial.state in states
    ]


def filter_values(dot: TrialDot, label: str) -> dict[str, float]:
    """Return the parameters, score and seconds of a trial by name, rounded as the sliders show them."""
    values = {**dot.settings, label: dot.score, SECONDS: dot.seconds}
    return {name: float(short_number(value)) for name, value in values.items()}


def inside(dots: Sequence[TrialDot], spans: Mapping[str, tuple[float, ...]], label: str) -> list[TrialDot]:
    """Return the trials whose values lie in all ranges; ranges with unknown names are ignored."""

    def passes(name: str, value: float) -> bool:
        low, high = spans.get(name, (-inf, inf))
        return low <= value <= high

    return [dot for dot in dots if all(passes(*item) for item in filter_values(dot, label).items())]


def draw_filter(dots: Sequence[TrialDot], label: str) -> list[TrialDot]:
    """Draw range sliders for parameters, score and seconds; return the trials that pass the filter."""
    spans = read_spans(current_request().within)
    names = list(filter_values(dots[0], label)) if dots else []
    if names:
        st.caption("Filter the trials in all charts:")
    with st.container(horizontal=True, vertical_alignment="bottom", key="tune_filter", gap="small"):
        for name in names:
            values = sorted({filter_values(dot, label)[name] for dot in dots})
            if len(values) > 1:
                _draw_slider(name, values, spans)
    kept = inside(dots, read_spans(current_request().within), label)
    if len(kept) < len(dots):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(kept)} of {len(dots)} trials are shown.", width="content")
            all_trials = {"within": ()}
            st.button("Show all", key="tune_filter_off", type="tertiary", on_click=change, kwargs=all_trials)
    return kept


def _draw_slider(name: str, values: Sequence[float], spans: dict[str, tuple[float, ...]]) -> None:
    """Draw a range slider with these values as stops; the first and last stop mean no limit on that side."""
    low, high = spans.get(name, (-inf, inf))
    within = [value for value in values if low <= value <= high] or values
    # a new key whenever the filter or the first or last value changes resets the slider
    key = f"tune_within_{write_span(name, low, high, values[0], values[-1])}"

    def narrow() -> None:
        first, last = st.session_state[key]
        ends = (-inf if first == values[0] else first, inf if last == values[-1] else last)
        others = {other: span for other, span in spans.items() if other != name}
        now = others if ends == (-inf, inf) else others | {name: ends}
        change(within=tuple(write_span(other, *span) for other, span in now.items()))

    ends = (within[0], within[-1])
    st.select_slider(name, values, ends, format_func=short_number, key=key, on_change=narrow, width=SLIDER_PIXELS)


def draw_main(
    study: Study, dots: Sequence[TrialDot], selected: int | None, others: Mapping[str, Sequence[TrialDot]]
) -> None:
    """Draw the main chart: a curve or map for a sweep, a history for a search.

    A curve also shows other studies.
    """
    axes, label = axes_of(study), study.plan.goal.title
    if study.plan.way == "search" or (study.plan.listed and len(axes) > 1):
        planned = len(study.trials)
        _draw_clickable(plots.trial_history(dots, label, selected, planned), "history")
    elif len(axes) == 1:
        (one,), method, source, marks = study.plan.ranges, study.plan.method, study.plan.sources[0], list[Mark]()
        if method.name in PAPER_METHODS and source.name in method.presets:
            value = getattr(paper_method(method.name, source.name), one.name)
            if value > 0 or one.scale != "log":
                marks.append(Mark(f"paper: {short_number(value)}", value))
        chart = plots.sweep_curve(dots, axes[0], label, near_best(study), marks, selected, others)
        _draw_clickable(chart, f"curve_{axes[0].label}")
        st.caption(BANDS)
    else:
        _draw_clickable(plots.sweep_map(dots, axes[0], axes[1], label, selected), "map")


def choose_overlay(studies: Studies, study: Study) -> dict[str, list[TrialDot]]:
    """Draw a menu of other studies that tune the same parameter; return the trials of the chosen ones by name."""
    name, goal = study.plan.ranges[0].name, study.plan.goal
    offered = [
        record.name
        for record in studies.records()
        if record.plan is not None and record.name != study.name
        if name in [one.name for one in record.plan.ranges]
    ]
    if len(study.plan.ranges) > 1 or not offered:
        return {}
    st.session_state[OVERLAY] = [one for one in st.session_state.get(OVERLAY, []) if one in offered]
    chosen = st.multiselect("Overlay studies", offered, key=OVERLAY, placeholder="Choose studies to overlay")
    opened = [studies.open(one) for one in chosen]
    if any(one.plan.goal != goal for one in opened):
        st.caption("These studies have different goals: their scores cannot be compared directly.")
    return {one.name: dots_of(one, one.trials) for one in opened}


def wall_trials(study: Study, trials: Sequence[Trial], selected: Trial) -> list[Trial]:
    """Return the trials whose results are compared: five of a sweep, else the starting point and `selected`."""
    if len(study.plan.ranges) > 1 or study.plan.way == "search":
        return [trial for trial in trials if trial.is_start or trial.number == selected.number]
    name = study.plan.ranges[0].name
    along = sorted((trial for trial in trials if trial.state == "complete"), key=lambda trial: trial.parameters[name])
    numbers = [trial.number for trial in along]
    places = [round(k * (len(along) - 1) / (WALLS - 1)) for k in range(WALLS)] if along else []
    if selected.number in numbers:  # in place of the nearest
        at = numbers.index(selected.number)
        nearest = min(range(WALLS), key=lambda k: abs(places[k] - at))
        places[nearest] = at
    return [along[place] for place in dict.fromkeys(places)]


def draw_others(study: Study, dots: Sequence[TrialDot], selected: int | None) -> None:
    """Draw all charts except the main one, two side by side."""
    axes, label = axes_of(study), study.plan.goal.title
    draws: list[Callable[[], None]] = []
    if len(axes) > 1:
        numbers, about = tuple(dot.number for dot in dots), parameters(study.plan.method)
        found = remembered(study, study.trials, ("shares", numbers), lambda: importances(study, numbers))
        shares = {about[name].symbol: share for name, share in found.items()}
        by_share = sorted(axes, key=lambda axis: -shares.get(axis.label, 0.0))
        draws += [
            lambda: show_chart(plots.parameter_importance(shares, dots), "tune_importance"),
            lambda: _draw_clickable(plots.trial_slices(dots, by_share, label, selected), "slices"),
            lambda: _draw_contour(by_share, dots, label, selected),
            lambda: _draw_clickable(plots.trial_lines(dots, axes, label, selected), "lines"),
        ]
    finished = [dot for dot in dots if not dot.stopped_early]
    if len(finished) >= MIN_DENSITY_TRIALS:
        draws.insert(2, lambda: show_chart(plots.trial_densities(dots, axes, label), "tune_densities"))
    if len(axes) > 1 or study.plan.goal.has_front:  # along one parameter, training times differ only by chance
        draws.append(lambda: _draw_front(study, finished, selected))
    for first in range(0, len(draws), 2):
        for column, draw in zip(st.columns(2, gap="large"), draws[first : first + 2], strict=False):
            with column:
                draw()


def _draw_front(study: Study, dots: Sequence[TrialDot], selected: int | None) -> None:
    """Draw the Pareto front of several goals (with its knee), or of score and training time."""
    goal = study.plan.goal
    across, sign = "training seconds", -1
    places = {dot.number: (dot.seconds, dot.score) for dot in dots}
    if goal.over == "directions":
        across, sign = goal.titles[1], 1
        values = {trial.number: trial.values for trial in study.trials if len(trial.values) > 1}
        places = {number: (values[number][1], values[number][0]) for number in places}
    front = pareto_front({number: (up, sign * x) for number, (x, up) in places.items()})
    knee = knee_of(front) if goal.has_front else None
    _draw_clickable(plots.trial_front(dots, across, goal.titles[0], places, list(front), selected, knee), "front")
    if knee is not None:
        st.text(describe_knee(front, knee, goal))


def _draw_contour(by_share: Sequence[Axis], dots: Sequence[TrialDot], label: str, selected: int | None) -> None:
    """Draw the contour of the score over two parameters, by default the two most important ones."""
    axes = {axis.label: axis for axis in by_share}
    first, second, *more = names = list(axes)
    if more:  # each list has its first option, unless it holds another one
        with st.container(horizontal=True):
            value = st.session_state.get("tune_contour_x")
            key = hold("tune_contour_x", value if value in names else first)
            first = st.selectbox("Horizontal axis", names, key=key, width=120)
            rest, value = [name for name in names if name != first], st.session_state.get("tune_contour_y")
            key = hold("tune_contour_y", value if value in rest else rest[0])
            second = st.selectbox("Vertical axis", rest, key=key, width=120)
    _draw_clickable(plots.trial_contour(dots, axes[first], axes[second], label, selected), "contour")


def _draw_clickable(chart: Chart, name: str) -> None:
    key = f"chart_tune_{name}"

    def select() -> None:
        # a second click on the same point arrives as an empty selection
        numbers = picked_numbers(st.session_state[key]) or st.session_state.get(f"{LAST_CLICK}{key}", [])
        st.session_state[f"{LAST_CLICK}{key}"] = numbers
        if numbers:
            change(trial=numbers[0])

    show_pickable(chart, key, ("points",), select)
