"""A run on its way: its controls, how far it is, and its convergence while it trains."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from smfh.hashing import HashMethod
from smfh.jobs import OVER, Job, State
from smfh.plots import convergence
from smfh.runs import Run, is_ready
from smfh.types import parameters
from smfh.ui.charts import show_chart
from smfh.ui.plain import paragraphs
from smfh.ui.session import Shown, visitor
from smfh.ui.settings import in_words
from smfh.ui.sidebar import MAIN

TICK = 0.5  # seconds between two looks at a run; a page that is always being drawn misses clicks
SLOW_TICK = 1.0  # between two drawings of what a run has come to
WAITING_TICK = 2.0  # between two looks at one that waits: many wait at the same time
PATIENCE = 1.5  # seconds that a page waits for a run before it draws the rest: most are over by then
GLANCE = 0.05  # seconds between two looks at the progress meanwhile


def draw_run(shown: Shown, state: State) -> None:
    """Controls and progress of a run on its way; drawn anew as long as it moves.

    `state` is what the page began with: whatever the job has become meanwhile, the page draws that too.
    """
    _draw_controls(shown.job, state)
    follow(shown.job, state, lambda: draw_progress(shown.job, shown.method))


def follow(
    job: Job[Any],
    seen: object,
    draw: Callable[[], object],
    look: Callable[[Job[Any]], object] = lambda job: job.state,
    every: float | None = None,
) -> None:
    """Draw this again and again, and the whole page as soon as a look at the job is not what it was `seen`
    as when the page began; its visitor is there meanwhile."""

    @st.fragment(run_every=every or _tick_of(job))
    def live() -> None:
        job.see(visitor())
        draw()
        if look(job) != seen:
            st.rerun()

    live()


def is_over(job: Job[Any]) -> bool:
    return job.over


def phase_of(job: Job[Any]) -> str:
    """For pages that do not care whether it waits or works."""
    return "over" if job.over else "paused" if job.state == "paused" else "moving"


def _tick_of(job: Job[Any]) -> float | None:
    """Seconds until a job is looked at again; None where nothing will change by itself."""
    return None if job.over else {"queued": WAITING_TICK, "paused": SLOW_TICK}.get(job.state, TICK)


def draw_convergence_live(shown: Shown) -> None:
    """How far the objective has come down in a run on its way."""
    job = shown.job

    @st.fragment(run_every=SLOW_TICK if job.state == "running" else None)
    def live() -> None:
        if job.reports:
            show_chart(convergence(job.reports, total=shown.method.steps), "convergence", download=False)

    live()


@st.fragment
def draw_convergence(shown: Shown, pinned: Run | None) -> None:
    """A strip that says what happened, and opens."""
    run = shown.job.result
    before = None if pinned is None or pinned is run else pinned.hasher.trace
    log, relative = (bool(st.session_state.get(f"convergence_{how}")) for how in ("log", "relative"))
    chart = convergence(run.hasher.trace, before, log, relative, shown.method.steps)
    strip = st.expander(
        f"Convergence. {chart.title}",
        icon=":material/trending_down:",
        key="convergence_strip",
        on_change="rerun",
    )
    if strip.open:
        with strip:
            with st.container(horizontal=True):
                st.toggle("Log scale", key="convergence_log")
                st.toggle("Relative to the start", key="convergence_relative")
            show_chart(chart, "convergence")


def draw_waiting(shown: Shown) -> None:
    """Nothing for a finished run; else its progress, and the page ends here until it is over."""
    job = shown.job
    wait_a_moment(shown)
    if (state := job.state) == "finished":
        return
    follow(job, state, lambda: draw_progress(job, shown.method))
    st.stop()


def _draw_controls(job: Job[Run], state: State) -> None:
    """Outside of what redraws itself, and in one place: a button that is put up anew can miss a click."""
    with st.container(horizontal=True, key="run_controls"):
        if state in OVER:
            return
        if state == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume)
        else:
            st.button("Pause", icon=":material/pause:", on_click=steer, args=(job.pause,))
        st.button("Step", icon=":material/skip_next:", on_click=steer, args=(job.step,))
        st.button("Cancel", icon=":material/close:", on_click=steer, args=(job.cancel,))


def wait_a_moment(shown: Shown) -> None:
    """A run that has just begun is often over before the page is drawn twice."""
    place, job = st.empty(), shown.job
    while job.state == "running" and job.seconds < PATIENCE:
        with place.container():
            draw_progress(job, shown.method)
        job.wait("paused", timeout=GLANCE)
    place.empty()


def steer(order: Callable[[str], bool]) -> None:
    """Give the order; where others wait for the same job, it goes on, and this is said."""
    if not order(visitor()):
        st.toast("Others watch this run too, so it goes on.", icon=":material/group:")


def place_in_line(job: Job[Any]) -> str:
    """Where it waits, or nothing; nobody is told of a queue that is all their own."""
    if not (position := job.position):
        return ""
    return f"waiting, number {position} in line" if job.others_ahead else "waiting for what you began before"


def draw_progress(job: Job[Run], method: HashMethod) -> None:
    """Where the run is, in words and as a bar."""
    done, total = len(job.reports), method.steps
    if job.state == "queued":
        waits = place_in_line(job) or "beginning"
        st.progress(0.0, f"{waits[0].upper()}{waits[1:]}. It starts by itself.")
    elif job.state in ("running", "paused"):
        left = job.time_left(total)
        words = f"Step {done} of {total} · {job.seconds:.1f} s"
        words += "" if is_ready("training") else " · compiling, once on this machine"
        words += " · paused" if job.state == "paused" else "" if left is None else f" · {left:.1f} s left"
        st.progress(min(done / total, 1.0), words)
    elif job.state == "cancelled":
        st.info("Cancelled. The settings are kept: press Train to start again.")
    elif job.state == "failed":
        problems = paragraphs(job.problems)
        st.error(f"Training stopped:\n\n{problems}\n\nChange the settings and train again.")


def describe_run(run: Run) -> str:
    """Which run it is, with the parameters that matter."""
    method, about = run.method, parameters(run.method)
    main = [name for name in MAIN[1:] if name in about]
    told = [f"{about[name].symbol} {in_words(name, getattr(method, name))}" for name in main]
    return " · ".join(
        [run.source.card.title, method.title, f"{method.bits} bits", *told, f"seed {method.seed}"]
    )
