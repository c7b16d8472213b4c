"""What to compare, and the comparison under way: cells, progress, time left."""

from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.comparison import Comparison, ComparisonRun, Grid, grid_of, seconds_left
from smfh.hashing import METHODS
from smfh.types import InputError
from smfh.ui.compare.link import COMPARE, LENGTHS, MOST_SEEDS, PRESETS, Wanted, read_wanted, to_query
from smfh.ui.comparing import REFUSED, TICK, duration, progress_in_words, start_comparison
from smfh.ui.kept import comparisons, run_store
from smfh.ui.session import Loaded, visitor
from smfh.ui.settings import Settings, differences

WANTED, NOTES = "compare_wanted", "compare_notes"


def kept_wanted() -> Wanted:
    """What the visitor chose before, or what the link asks for."""
    if WANTED not in st.session_state:
        st.session_state[WANTED], st.session_state[NOTES] = read_wanted(dict(st.query_params))
    wanted: Wanted = st.session_state[WANTED]
    return wanted


def keep_wanted(wanted: Wanted) -> None:
    """For the next visit of this page, and in the address bar."""
    if wanted != st.session_state[WANTED]:
        st.session_state[WANTED], st.session_state[NOTES] = wanted, []
    others = {key: text for key, text in st.query_params.items() if not key.startswith(COMPARE)}
    if dict(st.query_params) != others | to_query(wanted):
        st.query_params.from_dict(others | to_query(wanted))


def _draw_notes() -> None:
    """What was wrong in the link, until something else is chosen."""
    if notes := st.session_state[NOTES]:
        st.warning("A part of the link cannot be used:", icon=":material/link_off:")
        st.text("\n".join(notes))


def set_once(key: str, value: Any) -> str:
    """The key of a widget that begins with this value, also after its page was left."""
    st.session_state.setdefault(key, value)
    return key


def choose_grid(settings: Settings, loaded: Loaded) -> Grid:
    """Methods, lengths and seeds; the page ends here where they make no comparison."""
    wanted = _choose(kept_wanted(), settings)
    _draw_notes()
    keep_wanted(wanted)
    if not wanted.methods or not wanted.bits:
        st.info("Choose at least one method and one number of bits.")
        st.stop()
    try:
        methods = wanted.chosen_methods(settings.method, settings.source.name)
        return grid_of(Comparison(settings.source, methods, wanted.bits, wanted.seeds), *loaded)
    except InputError as error:
        st.info("Nothing to compare here.", icon=":material/info:")
        st.text("\n".join(error.problems))
        st.stop()


def _choose(wanted: Wanted, settings: Settings) -> Wanted:
    left, right = st.columns(2, gap="large")
    with left:
        methods = st.pills(
            "Methods",
            list(METHODS),
            selection_mode="multi",
            key=set_once("compare_methods", list(wanted.methods)),
            format_func=lambda name: METHODS[name].title,
            wrap=True,
        )
        preset = st.segmented_control(
            "Settings",
            list(PRESETS),
            required=True,
            key=set_once("compare_preset", wanted.preset),
            help="; ".join(f"**{name}**: {words}" for name, words in PRESETS.items()),
        )
    with right:
        bits = st.pills(
            "Bits",
            LENGTHS,
            selection_mode="multi",
            key=set_once("compare_bits", list(wanted.bits)),
            wrap=True,
        )
        seeds = st.slider("Seeds", 1, MOST_SEEDS, key=set_once("compare_seeds", wanted.seeds))
    return replace(
        wanted,
        methods=tuple(name for name in METHODS if name in methods),
        bits=tuple(sorted(bits)),
        seeds=seeds,
        preset=preset or wanted.preset,
        own=_add_own(wanted, settings),
    )


def _add_own(wanted: Wanted, settings: Settings) -> bool:
    """Only where the sidebar says something else than the usual."""
    method = settings.method
    usual = replace(METHODS[method.name](), bits=method.bits, seed=method.seed)  # type: ignore[type-var]
    if not (changed := differences(usual, method)):
        return False
    label = f"Also {method.title} as set on the left"
    own = st.toggle(label, key=set_once("compare_own", wanted.own))
    st.text(", ".join(changed))
    return own


def draw_run(grid: Grid) -> bool:
    """The button or how far it is; whether a comparison of this visitor is under way."""
    run = comparisons().of(visitor())
    moving = run is not None and not run.over
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(problem)
    if run is not None and moving:
        _draw_orders(run, grid)
        _watch(run)
    else:
        _draw_start(grid)
        if run is not None and run.grid.comparison == grid.comparison:
            _draw_end(run)
    return moving


def _draw_start(grid: Grid) -> None:
    store = run_store()
    missing, total = grid.missing(store), len(grid.keys)
    with st.container(horizontal=True, vertical_alignment="center", key="compare_start"):
        if not missing:
            label = f"All {total} trainings are there" if total > 1 else "The training is there"
            st.button(label, disabled=True, key="compare_run")
            return
        seconds = seconds_left(missing, store.records(), grid.data.fingerprint)
        about = "" if seconds is None else f" · about {duration(seconds)}"
        trainings = "training" if len(missing) == 1 else "trainings"
        st.button(
            f"Run {len(missing)} {trainings}{about}",
            type="primary",
            icon=":material/play_arrow:",
            key="compare_run",
            on_click=start_comparison,
            args=(grid,),
        )
        if len(missing) < total:
            st.caption(f"{total - len(missing)} of {total} are there already and shown below.")
        elif seconds is None:
            st.caption("Nothing was trained on this data yet, so the time is not known.")


def _draw_orders(run: ComparisonRun, grid: Grid) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="compare_orders"):
        if run.state == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=run.resume, key="compare_resume")
        else:
            st.button("Pause", icon=":material/pause:", on_click=run.pause, key="compare_pause")
        st.button("Cancel", icon=":material/close:", on_click=run.cancel, key="compare_cancel")
        if run.grid.comparison != grid.comparison:
            st.caption(
                "An earlier choice of yours is still being trained: cancel it or wait, then run this one."
            )


def _watch(run: ComparisonRun) -> None:
    """Drawn again by itself as long as it moves."""

    @st.fragment(run_every=TICK)
    def live() -> None:
        if run.over:
            st.rerun()
        st.progress(run.done / max(run.total, 1), progress_in_words(run))

    live()


def _draw_end(run: ComparisonRun) -> None:
    """What is to be said of a comparison that is over."""
    if run.state == "cancelled":
        st.info("Cancelled. What is finished is kept: run it again, and it goes on from there.")
    if run.state == "failed":
        st.error("The comparison stopped. What is finished is kept; mend this and run it again:")
        st.text("\n".join(run.stopped_by))
    if run.problems:
        st.warning(f"{len(run.problems)} of {run.total} could not be trained; the others are shown.")
        with st.expander("Which, and why"):
            st.text(
                "\n".join(
                    f"{cell.title}, {cell.bits} bits, seed {cell.seed}: {' '.join(why)}"
                    for cell, why in run.problems.items()
                )
            )
