"""What the next study does: a sweep or a search, over which ranges, for how long, and by what it judges."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from smfh.comparison import estimate_seconds
from smfh.hashing import HashMethod
from smfh.runs import KeptRuns
from smfh.tuning import (
    FIGURES,
    MEASURES,
    OVER,
    SWEEPS,
    VALIDATION_SHARE,
    Goal,
    Range,
    StudyPlan,
    Way,
    tunable,
    usual_range,
    usual_ranges,
)
from smfh.tuning.plan import LONGEST_NAME, MOST_FOLDS, MOST_MINUTES, MOST_SWEPT, MOST_TRIALS
from smfh.tuning.ranges import MOST_POINTS, refuse_strangers
from smfh.types import InputError, collect_problems, parameters
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.controls import words_of
from smfh.ui.settings import Settings
from smfh.ui.tune.wanted import CONTROLS, OTHER, WANTED, WAYS, Wanted, read_spans, write_span

FIELD, NUMBER = 100, 90  # pixels
NAME = "tune_name"
GOALS = {"balanced": f"Balanced: {', '.join(FIGURES.values())}", **FIGURES}
FEWER = "Poor trials are given up early: below the median of the others after a part."
PARTS = (
    "Parts of the training rows, each a quarter drawn anew and trained with a seed of its own. The bands in "
    "the charts are what they differ by."
)


def choose_plan(settings: Settings, what: DeltaGenerator, how: DeltaGenerator) -> StudyPlan | None:
    """What the controls make of the data and the method on the left; None, and why, where it is no plan."""
    (before, notes), method = current(WANTED, CONTROLS), settings.method
    with what:
        way = _choose_way(before)
        names = _choose_sweep(before, method) if way == "sweep" else _choose_tuned(before, method)
    with how:
        spans = [_choose_span(name, before, method, way) for name in names]
        wanted = _choose_rest(replace(before, way=way), way)
    if way == "search" or wanted.sweep == OTHER:
        usual = way == "search" and names == [one.name for one in usual_ranges(method)]
        wanted = replace(wanted, tuned=() if usual else tuple(names))
    unusual = [text for name, text in spans if text != _text(usual_range(method, name))]
    wanted = replace(wanted, ranges=tuple(unusual))
    if wanted == before:
        draw_notes(notes)
    keep(WANTED, wanted)
    try:
        return make_plan(wanted, settings, [text for _, text in spans])
    except InputError as error:
        st.warning("This cannot be run:", icon=":material/error:")
        st.text("\n".join(error.problems))
        return None


def make_plan(wanted: Wanted, settings: Settings, spans: Sequence[str]) -> StudyPlan:
    """The plan; one error lists all that is wrong with it."""
    found = read_spans(spans)
    ranges = collect_problems(*(lambda n=n, e=e: read_range(settings.method, n, e) for n, e in found.items()))
    way: Way = "sweep" if wanted.way == "sweep" else "search"
    plan = StudyPlan(
        name="unnamed",
        sources=(settings.source,),
        method=settings.method,
        ranges=tuple(ranges),
        way=way,
        trials=0 if wanted.minutes else wanted.trials,
        minutes=float(wanted.minutes),
        goal=Goal(wanted.measure, wanted.over),
        folds=wanted.parts,
    )
    return replace(plan, name=st.session_state.get(NAME, "").strip() or usual_name(plan))


def read_range(method: HashMethod, name: str, ends: tuple[float, ...]) -> Range:
    """The range with these ends; by factors where the parameter is and it does not begin at 0."""
    usual, (low, high, points) = usual_range(method, name), ends
    scale = parameters(method)[name].scale if name != "bits" else "log"
    return Range(name, low, high, scale if low > 0 else "linear", usual.whole, int(points))


def usual_name(plan: StudyPlan) -> str:
    """Such as α × μ of SMFH on Wiki, 64 bits."""
    symbols = [parameters(plan.method)[one.name].symbol for one in plan.ranges]
    what = "Search" if plan.way == "search" else " × ".join(symbols)
    sets = ", ".join(source.card.title for source in plan.sources)
    bits = f", {plan.method.bits} bits" if plan.bits else ""
    return f"{what} of {plan.method.title} on {sets}{bits}"[:LONGEST_NAME]


def estimate(plan: StudyPlan, store: KeptRuns, fingerprint: str) -> float | None:
    """Seconds that the study takes, by what trainings on this data took; None where none is known."""
    if plan.minutes:
        return plan.minutes * 60
    methods = [plan.method_of(point) for point in plan.points]
    seconds = estimate_seconds(list(dict.fromkeys(methods)), store.records(), fingerprint)
    return sum(seconds[one] for one in methods) * plan.folds * (1 - VALIDATION_SHARE) if seconds else None


def _choose_way(wanted: Wanted) -> Way:
    st.session_state.setdefault("tune_way", wanted.way)
    chosen = st.segmented_control(
        "How",
        list(WAYS),
        key="tune_way",
        format_func=WAYS.__getitem__,
        required=True,
        help="**Sweep**: every value of one parameter, or every pair of two. "
        "**Search**: Optuna looks for the best values of several.",
    )
    return "sweep" if chosen == "sweep" else "search"


def _choose_sweep(wanted: Wanted, method: HashMethod) -> list[str]:
    """The parameters of a ready-made sweep that this method has, or of another."""
    known = tunable(method)
    offered = [name for name, swept in SWEEPS.items() if set(swept) <= set(known)] + [OTHER]
    if st.session_state.get("tune_sweep") not in offered:
        st.session_state["tune_sweep"] = wanted.sweep if wanted.sweep in offered else offered[0]
    chosen = st.pills("Sweep over", offered, key="tune_sweep", required=True)
    if chosen in SWEEPS:
        return list(SWEEPS[chosen])
    return _choose_parameters("One or two parameters", wanted, method, known[1:2] or known[:1], MOST_SWEPT)


def _choose_tuned(wanted: Wanted, method: HashMethod) -> list[str]:
    usual = [one.name for one in usual_ranges(method)]
    return _choose_parameters("Parameters", wanted, method, usual, None)


def _choose_parameters(
    label: str, wanted: Wanted, method: HashMethod, usual: list[str], most: int | None
) -> list[str]:
    known, about, key = tunable(method), parameters(method), f"tune_tuned_{wanted.way}_{method.name}"
    try:
        refuse_strangers(method, wanted.tuned)
    except InputError as error:  # a link, or what was tuned of another method
        st.text("\n".join(error.problems))
    begin = [name for name in wanted.tuned if name in known][:most] or usual
    st.session_state.setdefault(key, begin)
    chosen: list[str] = st.multiselect(
        label,
        known,
        key=key,
        max_selections=most,
        format_func=lambda name: f"{about[name].symbol} · {words_of(name).lower()}",
        placeholder="Choose at least one",
    )
    return chosen


def _choose_span(name: str, wanted: Wanted, method: HashMethod, way: Way) -> tuple[str, str]:
    """The ends of a parameter and how many values a sweep takes, as the link says them."""
    usual, about = usual_range(method, name), parameters(method)[name]
    low, high, points = read_spans(wanted.ranges).get(name) or (usual.low, usual.high, usual.points)
    key, kind = f"tune_{method.name}_{name}", int if usual.whole else float
    with st.container(
        horizontal=True, vertical_alignment="bottom", width="content", wrap=False, gap="xsmall"
    ):
        for end, value in (("from", low), ("to", high)):
            st.session_state.setdefault(f"{key}_{end}", kind(value))
        look = {"step": 1} if usual.whole else {"format": "%g", "step": None}
        first = st.number_input(
            f"{about.symbol} from", key=f"{key}_from", width=FIELD, help=about.help, **look
        )
        last = st.number_input("to", key=f"{key}_to", width=FIELD, **look)
        if way == "sweep":
            st.session_state.setdefault(f"{key}_points", min(max(int(points), 2), MOST_POINTS))
            points = st.number_input(
                "values", 2, MOST_POINTS, key=f"{key}_points", width=NUMBER, help=_spacing(about.scale)
            )
    return name, write_span(name, first, last, points)


def _spacing(scale: str) -> str:
    return "Spaced by factors." if scale == "log" else "Evenly spaced."


def _text(usual: Range) -> str:
    return write_span(usual.name, usual.low, usual.high, usual.points)


def _choose_rest(wanted: Wanted, way: Way) -> Wanted:
    """Budget, goal, validation parts and the name."""
    begin = {"sweep": wanted.sweep, "budget": "minutes" if wanted.minutes else "trials"}
    begin |= {name: getattr(wanted, name) for name in ("trials", "measure", "over", "parts")}
    for name, value in (begin | {"minutes": wanted.minutes or 5}).items():
        st.session_state.setdefault(f"tune_{name}", value)
    trials, minutes = wanted.trials, 0
    if way == "search":
        budget = st.segmented_control(
            "Budget", ["trials", "minutes"], key="tune_budget", required=True, help=FEWER
        )
        if budget == "minutes":
            minutes = st.number_input("Minutes", 1, MOST_MINUTES, key="tune_minutes", width=NUMBER)
        else:
            trials = st.number_input("Trials", 2, MOST_TRIALS, key="tune_trials", width=NUMBER)
    with st.popover(f"Goal: {GOALS[st.session_state['tune_measure']].split(':')[0]}", icon=":material/flag:"):
        measure = st.selectbox("Goal", list(MEASURES), key="tune_measure", format_func=GOALS.__getitem__)
        over = st.selectbox("In which direction", list(OVER), key="tune_over", format_func=OVER.__getitem__)
        parts = st.number_input("Validation parts", 1, MOST_FOLDS, key="tune_parts", help=PARTS)
        st.text_input(
            "Name of the study", key=NAME, max_chars=LONGEST_NAME, placeholder="Made from the choice"
        )
    return replace(
        wanted,
        sweep=st.session_state["tune_sweep"],
        trials=trials,
        minutes=minutes,
        measure=measure,
        over=over,
        parts=parts,
    )
