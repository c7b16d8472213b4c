"""The form for a new study: sweep or search, parameters, ranges, budget, goal, and the Run button."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from smfh.experiments import tuning
from smfh.experiments.tuning import Goal, Range, Studies, StudyPlan, Way
from smfh.experiments.tuning import plan as limits
from smfh.experiments.tuning.plan import check_tunable
from smfh.hashing import HashMethod
from smfh.runs import SavedRuns
from smfh.runs.limits import estimate as estimate_cost
from smfh.types import InputError, collect_problems, parameters
from smfh.ui.address import current, draw_notes, forget, keep
from smfh.ui.grids import duration
from smfh.ui.plain import draw_problems
from smfh.ui.server import Loaded, saved_runs, saved_studies
from smfh.ui.settings import Settings
from smfh.ui.sidebar import SWEEP, title_of
from smfh.ui.tune import state
from smfh.ui.tune.state import StudyRequest

FIELD_PIXELS, NUMBER_PIXELS = 100, 90
NAME, RANGES_OF = "tune_name", "ranges_of"  # session keys: the study's name, and whose ranges are shown
GOALS = {"balanced": f"Balanced: {', '.join(tuning.BASE_MEASURES.values())}", **tuning.BASE_MEASURES}
BUDGET_HELP = "After each fold, trials that score below the median of the other trials are stopped early."
FOLDS_HELP = (
    "Each fold holds out a different quarter of the training items for validation and uses its own random seed. "
    "More folds: more reliable scores, longer runs. The bands in the charts show how much the folds differ."
)


def start_sweep(settings: Settings) -> None:
    """If the visitor pressed a parameter's sweep button in the sidebar, start that sweep."""
    if (name := st.session_state.pop(SWEEP, None)) is None:
        return
    method = settings.method
    sweep = next((title for title, swept in tuning.SWEEPS.items() if swept == (name,)), state.OTHER)
    tuned = (name,) if sweep == state.OTHER else ()
    forget(f"tune_{method.name}_")
    st.session_state.update({"tune_way": "sweep", "tune_sweep": sweep})
    st.session_state[f"tune_tuned_sweep_{method.name}"] = [name]
    state.change(way="sweep", sweep=sweep, tuned=tuned, ranges=(), study="", trial=None, within=())
    one = tuning.default_range(method, name)
    try:
        span = state.write_span(name, one.low, one.high, one.points)
        state.start_study(make_plan(state.current_request(), settings, [span]), is_named=False)
    except InputError as error:
        st.session_state[state.REFUSED] = error.problems


def draw_form(settings: Settings, loaded: Loaded) -> StudyPlan | None:
    """Draw the controls for a new study and, if they are valid, the Run button; return the plan of the study."""
    owner = (settings.source.name, settings.method.name)
    if st.session_state.setdefault(RANGES_OF, owner) != owner:  # ranges belong to a method and its data
        st.session_state[RANGES_OF] = owner
        forget(f"tune_{settings.method.name}_")
        state.change(ranges=())
    if problems := st.session_state.pop(state.REFUSED, ()):
        draw_problems("The study could not be started or changed:", problems)
    what = st.container(horizontal=True, vertical_alignment="bottom", key="tune_what")
    row = st.container(horizontal=True, vertical_alignment="bottom", key="tune_how")
    if (plan := choose_plan(settings, what, row)) is None:
        return None
    try:
        store = saved_runs(settings.source)
        seconds: float | None = estimate(plan, saved_studies(settings.source), store, loaded)
    except InputError:  # the studies cannot be read, which the page reports below
        seconds = None
    about = f" · about {duration(seconds)}" if seconds else ""
    trials = "" if plan.minutes else f" {len(plan.points)} trials"
    args, running = (plan, bool(st.session_state.get(NAME, "").strip())), state.running_study()
    look: dict[str, Any] = {"type": "primary", "icon": ":material/play_arrow:"}
    label, is_busy = f"Run{trials}{about}", running is not None
    row.button(
        label,
        "tune_run",
        "Trial 0 is the starting point: the settings in the sidebar.",
        state.start_study,
        args,
        disabled=is_busy,
        **look,
    )
    if running is not None and running != current(state.REQUEST, state.CONTROLS)[0].study:
        opened, icon = {"study": running, "trial": None, "within": ()}, ":material/visibility:"
        row.button("Show your study", "tune_watch", state.BUSY, state.change, kwargs=opened, icon=icon)
    return plan


def choose_plan(settings: Settings, what: DeltaGenerator, how: DeltaGenerator) -> StudyPlan | None:
    """Draw the controls for a new study; return its plan, or None (and say why) if they are not valid."""
    (before, notes), method = current(state.REQUEST, state.CONTROLS), settings.method
    with what:
        st.session_state.setdefault("tune_way", before.way)
        chosen = st.segmented_control(
            "Method of tuning",
            list(state.WAYS),
            key="tune_way",
            format_func=state.WAYS.__getitem__,
            required=True,
            help="**Sweep**: try every value of one parameter, or every pair of values of two. "
            "**Search**: Optuna looks for the best values of several parameters.",
        )
        way: Way = "sweep" if chosen == "sweep" else "search"
        searched = [one.name for one in tuning.default_ranges(method)]
        names = _choose_parameters(replace(before, way=way), method, searched)
    with how:
        spans = [_choose_span(name, before, method, way) for name in names]
        request = _choose_rest(replace(before, way=way), way)
    if way == "search" or request.sweep == state.OTHER:
        is_default = way == "search" and names == searched
        request = replace(request, tuned=() if is_default else tuple(names))
    usual = [tuning.default_range(method, name) for name in names]
    unchanged = [state.write_span(one.name, one.low, one.high, one.points) for one in usual]
    request = replace(request, ranges=tuple(text for text in spans if text not in unchanged))
    if request == before:
        draw_notes(notes)
    keep(state.REQUEST, request)
    try:
        return make_plan(request, settings, spans)
    except InputError as error:
        draw_problems("Fix this to run the study:", error.problems, st.warning)
        return None


def make_plan(request: StudyRequest, settings: Settings, spans: Sequence[str]) -> StudyPlan:
    """Return the plan of the requested study, with these ranges; raise one InputError that lists all problems."""

    def make_range(name: str, ends: tuple[float, ...]) -> Range:
        default, (low, high, points) = tuning.default_range(settings.method, name), ends
        scale = parameters(settings.method)[name].scale if name != "bits" else "log"
        return Range(name, low, high, scale if low > 0 else "linear", default.whole, int(points))

    ranges = collect_problems(*(lambda n=n, e=e: make_range(n, e) for n, e in state.read_spans(spans).items()))
    plan = StudyPlan(
        name="unnamed",
        sources=(settings.source,),
        method=settings.method,
        ranges=tuple(ranges),
        way="sweep" if request.way == "sweep" else "search",
        trials=0 if request.minutes else request.trials,
        minutes=float(request.minutes),
        goal=Goal(request.measure, request.over),
        folds=request.parts,
    )
    return replace(plan, name=st.session_state.get(NAME, "").strip() or tuning.default_name(plan))


def estimate(plan: StudyPlan, studies: Studies, store: SavedRuns, loaded: Loaded) -> float:
    """Estimate how many seconds a planned study will take.

    The estimated costs of its trials are multiplied by the median of measured / estimated seconds of earlier
    trials of the method on this data, else of its saved runs; without either, they are used as they are.
    """
    if plan.minutes:
        return plan.minutes * 60

    def cost(own: StudyPlan, point: Mapping[str, float]) -> float:
        method = own.method_of(point)
        methods = [replace(method, bits=bits) for bits in own.bits or (method.bits,)]
        share = own.folds * (1 - tuning.VALIDATION_SHARE)
        return share * sum(estimate_cost(one, *loaded).seconds for one in methods)

    ratios = [
        trial.duration / cost(record.plan, trial.parameters)
        for record in studies.records()
        if record.plan is not None
        if (record.plan.sources, record.plan.method.name) == (plan.sources, plan.method.name)
        for trial in studies.open(record.name).trials
        if trial.state == "complete"
    ] or [
        record.timing.run / estimate_cost(record.method, *loaded).seconds
        for record in store.records()
        if (record.key.data, record.method.name) == (loaded[0].fingerprint, plan.method.name)
    ]
    return (median(ratios) if ratios else 1.0) * sum(cost(plan, point) for point in plan.points)


def _choose_parameters(request: StudyRequest, method: HashMethod, default: list[str]) -> list[str]:
    """Let the visitor choose a ready-made sweep, or single parameters; return the names of the parameters."""
    known, about, key = tuning.tunable(method), parameters(method), f"tune_tuned_{request.way}_{method.name}"
    label, limit = "Parameters", None
    if request.way == "sweep":
        offered = [name for name, swept in tuning.SWEEPS.items() if set(swept) <= set(known)] + [state.OTHER]
        if st.session_state.get("tune_sweep") not in offered:
            st.session_state["tune_sweep"] = request.sweep if request.sweep in offered else offered[0]
        chosen = st.pills("Sweep over", offered, key="tune_sweep", required=True)
        if chosen in tuning.SWEEPS:
            return list(tuning.SWEEPS[chosen])
        label, limit, default = "One or two parameters", limits.MAX_SWEPT, known[1:2] or known[:1]
    try:
        check_tunable(method, request.tuned)
    except InputError as error:  # the parameters came from a link, or from another method
        st.text("\n".join(error.problems))
    st.session_state.setdefault(key, [name for name in request.tuned if name in known][:limit] or default)
    names: list[str] = st.multiselect(
        label,
        known,
        key=key,
        max_selections=limit,
        format_func=lambda name: f"{about[name].symbol} · {title_of(name).lower()}",
        placeholder="Choose at least one",
    )
    return names


def _choose_span(name: str, request: StudyRequest, method: HashMethod, way: Way) -> str:
    """Draw the fields for the range of a parameter; return the range as text for the link."""
    default, about = tuning.default_range(method, name), parameters(method)[name]
    low, high, points = state.read_spans(request.ranges).get(name) or (default.low, default.high, default.points)
    key, kind = f"tune_{method.name}_{name}", int if default.whole else float
    look = {"step": 1} if default.whole else {"format": "%g", "step": None}
    for end, value in (("from", low), ("to", high)):
        st.session_state.setdefault(f"{key}_{end}", kind(value))
    row = st.container(horizontal=True, vertical_alignment="bottom", width="content", wrap=False, gap="xsmall")
    with row:
        label = f"{about.symbol} from"
        first = st.number_input(label, key=f"{key}_from", width=FIELD_PIXELS, help=about.help, **look)
        last = st.number_input("to", key=f"{key}_to", width=FIELD_PIXELS, **look)
        if way == "sweep":
            key, width = f"{key}_points", NUMBER_PIXELS
            st.session_state.setdefault(key, min(max(int(points), 2), limits.MAX_POINTS))
            spacing = "Spaced by equal factors." if about.scale == "log" else "Evenly spaced."
            points = st.number_input("values", 2, limits.MAX_POINTS, key=key, width=width, help=spacing)
    return state.write_span(name, first, last, points)


def _choose_rest(request: StudyRequest, way: Way) -> StudyRequest:
    """Draw the controls of budget, goal, folds and name; return the request with the chosen values."""
    defaults = {name: getattr(request, name) for name in ("sweep", "trials", "measure", "over", "parts")}
    defaults |= {"budget": "minutes" if request.minutes else "trials", "minutes": request.minutes or 5}
    for name, value in defaults.items():
        st.session_state.setdefault(f"tune_{name}", value)
    trials, minutes = request.trials, 0
    if way == "search":
        kinds = ["trials", "minutes"]
        budget = st.segmented_control("Budget", kinds, key="tune_budget", required=True, help=BUDGET_HELP)
        if budget == "minutes":
            minutes = st.number_input("Minutes", 1, limits.MAX_MINUTES, key="tune_minutes", width=NUMBER_PIXELS)
        else:
            trials = st.number_input("Trials", 2, limits.MAX_TRIALS, key="tune_trials", width=NUMBER_PIXELS)
    with st.popover(f"Goal: {GOALS[st.session_state['tune_measure']].split(':')[0]}", icon=":material/flag:"):
        titles = tuning.SCOPES
        measure = st.selectbox("Goal", list(GOALS), key="tune_measure", format_func=GOALS.__getitem__)
        over = st.selectbox("Direction", list(titles), key="tune_over", format_func=titles.__getitem__)
        folds = st.number_input("Validation folds", 1, limits.MAX_FOLDS, key="tune_parts", help=FOLDS_HELP)
        about = "Default: a name made from the settings"
        st.text_input("Study name", key=NAME, max_chars=limits.MAX_NAME_LENGTH, placeholder=about)
    request = replace(request, sweep=st.session_state["tune_sweep"], trials=trials, minutes=minutes)
    return replace(request, measure=measure, over=over, parts=folds)
