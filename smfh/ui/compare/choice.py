"""What to compare, and the comparison under way: cells, progress, time left."""

from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.comparison import Comparison, Grid, Problems, estimate_seconds
from smfh.hashing import METHODS
from smfh.jobs import Job
from smfh.types import InputError
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.compare.wanted import LENGTHS, MOST_SEEDS, PRESETS, WANTED, Wanted
from smfh.ui.grids import REFUSED, TICK, duration, grid_job, problem_lines, progress_of, start_grid, under_way
from smfh.ui.running import steer
from smfh.ui.server import Loaded, run_store
from smfh.ui.settings import Settings, differences

CONTROLS = "compare_"


def keep_wanted(wanted: Wanted) -> None:
    """For the next visit of this page, and in the address bar."""
    keep(WANTED, wanted)


def current_wanted() -> Wanted:
    """What the visitor chose before, or what the link asks for."""
    return current(WANTED, CONTROLS)[0]


def set_once(key: str, value: Any) -> str:
    """The key of a widget that begins with this value, also after its page was left."""
    st.session_state.setdefault(key, value)
    return key


def choose_grid(settings: Settings, loaded: Loaded) -> Grid:
    """Methods, lengths and seeds; the page ends here where they make no comparison."""
    before, notes = current(WANTED, CONTROLS)
    wanted = _choose(before, settings)
    if wanted == before:
        draw_notes(notes)
    keep_wanted(wanted)
    if not wanted.methods or not wanted.bits:
        st.info("Choose at least one method and one number of bits.")
        st.stop()
    try:
        methods = wanted.chosen_methods(settings.method, settings.source.name)
        return Grid(Comparison(settings.source, methods, wanted.bits, wanted.seeds), *loaded)
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
    usual = replace(METHODS[method.name](), bits=method.bits, seed=method.seed)
    if not (changed := differences(usual, method)):
        return False
    label = f"Also {method.title} as set on the left"
    own = st.toggle(label, key=set_once("compare_own", wanted.own))
    st.text(", ".join(changed))
    return own


def draw_run(grid: Grid) -> bool:
    """The button or how far it is; whether this grid is under way, for this visitor or another."""
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(problem)
    job = grid_job(grid)
    if job is not None and not job.over:
        _draw_orders(job)
        _watch(job)
        return True
    _draw_start(grid)
    if job is not None:
        _draw_end(job)
    return False


def _draw_start(grid: Grid) -> None:
    store = run_store()
    missing, total, other = grid.missing(store), len(grid.keys), under_way()
    with st.container(horizontal=True, vertical_alignment="center", key="compare_start"):
        if not missing:
            label = f"All {total} trainings are there" if total > 1 else "The training is there"
            st.button(label, disabled=True, key="compare_run")
            return
        seconds = estimate_seconds(missing, store.records(), grid.data.fingerprint)
        about = f" · about {duration(sum(seconds.values()))}" if seconds else ""
        trainings = "training" if len(missing) == 1 else "trainings"
        st.button(
            f"Run {len(missing)} {trainings}{about}",
            type="primary",
            icon=":material/play_arrow:",
            key="compare_run",
            on_click=start_grid,
            args=(grid,),
            disabled=other is not None,
        )
        if other is not None and (job := grid_job(other)) is not None:
            st.button("Cancel the other", on_click=steer, args=(job.cancel,), key="compare_cancel_other")
            st.caption("An earlier choice of yours is still being trained: cancel it or wait.")
        elif len(missing) < total:
            st.caption(f"{total - len(missing)} of {total} are there already and shown below.")
        elif not seconds:
            st.caption("Nothing was trained on this data yet, so the time is not known.")


def _draw_orders(job: Job[Problems]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="compare_orders"):
        if job.state == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume, key="compare_resume")
        else:
            pause = ":material/pause:"
            st.button("Pause", icon=pause, on_click=steer, args=(job.pause,), key="compare_pause")
        st.button("Cancel", icon=":material/close:", on_click=steer, args=(job.cancel,), key="compare_cancel")


def _watch(job: Job[Problems]) -> None:
    """Drawn again by itself as long as it moves."""

    @st.fragment(run_every=TICK)
    def live() -> None:
        if job.over:
            st.rerun()
        st.progress(*progress_of(job))

    live()


def _draw_end(job: Job[Problems]) -> None:
    """What is to be said of a grid that is over."""
    if job.state == "cancelled":
        st.info("Cancelled. What is finished is kept: run it again, and it goes on from there.")
    if job.state == "failed":
        st.error("The comparison stopped. What is finished is kept; mend this and run it again:")
        st.text("\n".join(problem_lines(job)))
    elif job.state == "finished" and job.result:
        st.warning(f"{len(job.result)} could not be trained; the others are shown.")
        with st.expander("Which, and why"):
            st.text("\n".join(problem_lines(job)))
