"""The run that is shown: its controls, how far it is, and its convergence while it trains."""

from collections.abc import Callable, Sequence

import streamlit as st

from smfh.hashing import HashMethod
from smfh.jobs import Job, JobKey
from smfh.plots import Run, convergence
from smfh.study import Trained
from smfh.ui.charts import show_chart
from smfh.ui.session import visitor

TICK = 0.5  # seconds between two looks at a run; a page that is always being drawn misses clicks
PATIENCE = 1.5  # seconds that a page waits for a run before it draws the rest: most are over by then
GLANCE = 0.05  # seconds between two looks at the progress meanwhile
MOVING = ("queued", "running")


def draw_run(job: Job[Trained], pinned: Job[Trained] | None) -> None:
    """Controls, progress and convergence; drawn again by itself as long as the run moves."""
    scale, size = st.columns(2)
    log = scale.toggle("Log scale", key="convergence_log")
    relative = size.toggle("Relative to the start", key="convergence_relative")
    before = pinned.result.hasher.trace if pinned is not None and pinned is not job else None
    _wait_a_moment(job)
    _draw_controls(job)
    moving = job.state in MOVING

    @st.fragment(run_every=TICK if moving else None)
    def live() -> None:
        draw_progress(job)
        trace = job.result.hasher.trace if job.state == "finished" else job.steps
        total = total_steps(job_method(job))
        show_chart(convergence(trace, before, log, relative, total), "convergence", download=job.over)
        if (job.state in MOVING) != moving:
            st.rerun()

    live()


def draw_waiting(job: Job[Trained]) -> None:
    """Nothing for a finished run; else its progress, and the page ends here until it is over."""
    _wait_a_moment(job)
    if job.state == "finished":
        return

    @st.fragment(run_every=None if job.over else TICK)
    def live() -> None:
        draw_progress(job)
        if job.state == "finished":
            st.rerun()

    live()
    st.stop()


def _draw_controls(job: Job[Trained]) -> None:
    """Outside of what redraws itself, and in one place: a button that is put up anew can miss a click."""
    with st.container(horizontal=True, key="run_controls"):
        if job.over:
            return
        if job.state == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume)
        else:
            st.button("Pause", icon=":material/pause:", on_click=_steer, args=(job.pause,))
        st.button("Step", icon=":material/skip_next:", on_click=_steer, args=(job.step,))
        st.button("Cancel", icon=":material/close:", on_click=_steer, args=(job.cancel,))


def _wait_a_moment(job: Job[Trained]) -> None:
    """A run that has just begun is often over before the page is drawn twice."""
    place = st.empty()
    while job.state == "running" and job.seconds < PATIENCE:
        with place.container():
            draw_progress(job)
        job.wait("paused", timeout=GLANCE)
    place.empty()


def _steer(order: Callable[[str], bool]) -> None:
    """Give the order; where others wait for the same run, it goes on, and this is said."""
    if not order(visitor()):
        st.toast("Others watch this run too, so it goes on.", icon=":material/group:")


def draw_progress(job: Job[Trained]) -> None:
    """Where the run is, in words and as a bar."""
    total, steps = total_steps(job_method(job)), job.steps
    if job.state == "queued":
        st.progress(
            0.0, f"Waiting, number {job.position} in line. Others are training; yours starts by itself."
        )
    elif job.state in ("running", "paused"):
        left = job.time_left(total)
        words = f"Iteration {len(steps)} of {total} · {job.seconds:.1f} s"
        words += " · paused" if job.state == "paused" else "" if left is None else f" · {left:.1f} s left"
        st.progress(min(len(steps) / total, 1.0), words)
    elif job.state == "cancelled":
        st.info("Cancelled. The settings are kept: press Train to start again.")
    elif job.state == "failed":
        st.error(
            "Training stopped:\n\n" + "\n\n".join(job.problems) + "\n\nChange the settings and train again."
        )


def total_steps(method: HashMethod) -> int:
    """Iterations and rounds of refinement, where the method has them."""
    return max(1, getattr(method, "iterations", 0) + getattr(method, "rounds", 0))


def run_key(job: Job[Trained]) -> JobKey:
    """What decides the run; a queue takes any key, the pages give it this kind."""
    key: JobKey = job.key  # type: ignore[assignment]
    return key


def job_method(job: Job[Trained]) -> HashMethod:
    return run_key(job).method


def runs_of(job: Job[Trained], protocol: str, directions: Sequence[str], pinned: bool) -> list[Run]:
    """A finished run as charts want it."""
    method = job_method(job)
    return [
        Run(method.name, f"{method.title}, {method.bits} bits", result, pinned)
        for (source, target, searched), result in job.result.results.items()
        if searched == protocol and f"{source} → {target}" in directions
    ]
