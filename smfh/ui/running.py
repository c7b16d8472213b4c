"""Draw a running job: its buttons and its progress, and the convergence of a run."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.jobs import OVER, Job, State
from smfh.plots import convergence
from smfh.runs import Run, is_ready
from smfh.types import parameters
from smfh.ui.charts import show_chart
from smfh.ui.plain import paragraphs, plain
from smfh.ui.session import CurrentRun
from smfh.ui.settings import differences, in_words
from smfh.ui.sidebar import MAIN
from smfh.ui.visitor import may_edit, owner_id, visitor

REDRAW_SECONDS = 0.5  # between redraws of a running job; a page that is redrawn all the time misses clicks
SLOW_REDRAW_SECONDS = 1.0  # between redraws of charts and results while a run trains
QUEUED_REDRAW_SECONDS = 2.0  # between redraws of a waiting job: many wait at the same time
DIMMED = ".st-key-scores, .st-key-below { opacity: .5; }"  # while another run trains


@st.fragment
def draw_run_strip(current: CurrentRun, seen: State, shown: Run | None) -> None:
    """Draw one line: the name of the run that the page shows or, while another trains, progress and buttons.

    `seen` is the state of the run when the page was drawn; when it changes, the page is redrawn.
    """
    state, job = current.state, current.job
    st.html(f"<style>{'' if state in OVER else DIMMED}</style>")
    with st.container(horizontal=True, vertical_alignment="center", key="run_strip"):
        if state not in OVER:
            with st.container():
                draw = partial(draw_progress, job, current.method, training_title(current, shown))
                watch_job(job, seen, draw, lambda job: current.state)
            draw_job_buttons(job, state, "run_controls", can_step=True)
        else:
            if shown is not None:
                st.subheader(describe(shown.source, shown.method), anchor=False, width="content")
            if state == "cancelled":
                st.caption("Cancelled; press Train to start again.", width="content")
            if state == "failed" and shown is not None:
                st.caption(f":red-badge[Training stopped] {plain(' '.join(job.problems))}")
    if state == "failed" and shown is None:
        st.error(f"Training stopped:\n\n{paragraphs(job.problems)}")
    if state != seen:
        st.rerun()


def training_title(current: CurrentRun, shown: Run | None) -> str:
    """Return a title for the run in training: its changes from the shown run, such as "r 64 → 32", or its name."""
    changes = [] if shown is None else differences(shown.method, current.method)
    if changes and shown is not None and shown.source == current.settings.source:
        return ", ".join(changes)
    return describe(current.settings.source, current.method)


def watch_job(
    job: Job[Any],
    seen: object,
    draw: Callable[[], object],
    look: Callable[[Job[Any]], object] = lambda job: job.state,
    every: float | None = None,
) -> None:
    """Call `draw` regularly; redraw the whole page as soon as `look(job)` differs from `seen`."""
    seconds = {"queued": QUEUED_REDRAW_SECONDS, "paused": SLOW_REDRAW_SECONDS}

    @st.fragment(run_every=every or (None if job.over else seconds.get(job.state, REDRAW_SECONDS)))
    def live() -> None:
        job.touch(visitor())
        draw()
        if look(job) != seen:
            st.rerun()

    live()


def is_over(job: Job[Any]) -> bool:
    return job.over


def phase_of(job: Job[Any]) -> str:
    """Return the phase of a job: "over" if it has ended, "paused", or "moving" if it waits or runs."""
    return "over" if job.over else "paused" if job.state == "paused" else "moving"


def draw_convergence(current: CurrentRun, shown: Run, pinned: Run | None) -> None:
    """Draw an expander with the objective by iteration; it is updated while the run trains."""
    is_live = current.state not in OVER
    chart = convergence(shown.hasher.trace)
    label, key, icon = f"Convergence. {chart.title}", "convergence_strip", ":material/trending_down:"
    with st.expander(label, icon=icon, key=key, on_change="rerun") as strip:
        if strip.open:
            with st.container(horizontal=True):
                log = st.toggle("Log scale", key="convergence_log")
                relative = st.toggle("Relative to the first iteration", key="convergence_relative")

            @st.fragment(run_every=SLOW_REDRAW_SECONDS if is_live else None)
            def live() -> None:
                trace, steps = shown.hasher.trace, shown.method.steps
                if is_live and current.job.reports:
                    trace, steps = current.job.reports, current.method.steps
                before = None if pinned is None or pinned is shown else pinned.hasher.trace
                show_chart(convergence(trace, before, log, relative, steps), "convergence")

            live()
            if note := shown.hasher.trace[-1].note if shown.hasher.trace else "":
                st.caption(plain(f"{note[0].upper()}{note[1:]}."))


def draw_job_buttons(
    job: Job[Any], phase: str, name: str, can_step: bool = False, is_owned: bool = False, owner: str = ""
) -> None:
    """Draw the buttons of an unfinished job; call this outside of redrawn parts, which miss clicks.

    Only the owner may pause or cancel a job that `is_owned`; see `steer_owned`.
    """
    order = partial(steer_owned, job, owner=owner) if is_owned else steer
    with st.container(horizontal=True, key=f"{name}_buttons"):
        if phase == "paused" or job.is_pausing:
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume, key=f"{name}_resume")
        else:
            icon = ":material/pause:"
            st.button("Pause", icon=icon, on_click=order, args=(job.pause,), key=f"{name}_pause")
        if can_step:
            icon = ":material/skip_next:"
            st.button("Step", icon=icon, on_click=order, args=(job.step,), key=f"{name}_step")
        st.button("Cancel", icon=":material/close:", on_click=order, args=(job.cancel,), key=f"{name}_cancel")


def steer(order: Callable[[str], bool]) -> None:
    """Pause, step or cancel a job; if it continues because other visitors view it, show a message."""
    if not order(visitor()):
        st.toast("Not stopped: other people are viewing this run.", icon=":material/group:")


def steer_owned(job: Job[Any], order: Callable[[str], bool], owner: str = "") -> None:
    """Pause or cancel a job if the visitor started it or may edit results of `owner`."""
    if job.submitter == visitor() or may_edit(owner or owner_id(job.submitter), visitor()):
        steer(order)
    else:
        st.toast("Not stopped: only its owner can stop it.", icon=":material/lock:")


def queue_position(job: Job[Any]) -> str:
    """Return the position of a waiting job in the queue as text; "" if it does not wait."""
    return f"waiting, number {job.position} in the queue" if job.position else ""


def draw_progress(job: Job[Run], method: HashMethod, title: str = "") -> None:
    """Draw the progress of an unfinished run as a bar with text, or a message if it failed."""
    done, total, heading = len(job.reports), method.steps, f"Training {title}" if title else "Training"
    if job.state == "queued":
        waiting = queue_position(job) or "starting"
        st.progress(0.0, plain(f"{heading}: {waiting}"))
    elif job.state in ("running", "paused"):
        left = job.time_left(total)
        text = f"{heading}: iteration {done} of {total}"
        text += "" if is_ready("training") else " · compiling, only once on this machine"
        if job.is_pausing:
            text += " · one more step, then a pause"
        else:
            text += " · paused" if job.state == "paused" else "" if left is None else f" · {left:.1f} s left"
        st.progress(min(done / total, 1.0), plain(text))
    elif job.state == "failed":
        st.error(f"Training stopped:\n\n{paragraphs(job.problems)}")


def describe(source: DatasetSource, method: HashMethod) -> str:
    """Describe a run in one line: data, method, bits, main parameters and seed."""
    about = parameters(method)
    main = [name for name in MAIN[1:] if name in about]
    values = [f"{about[name].symbol} {in_words(name, getattr(method, name))}" for name in main]
    return " · ".join([source.title, method.title, f"{method.bits} bits", *values, f"seed {method.seed}"])
