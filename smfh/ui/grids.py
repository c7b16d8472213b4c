"""A grid in the background, as Compare and Paper show it: what starts it, how far it is, how to stop it."""

from collections.abc import Callable

import streamlit as st

from smfh.comparison import Grid, GridKey, GridProgress, Problems, estimate_seconds, grid_work, name_training
from smfh.jobs import Job
from smfh.runs import check_costs, current_limits
from smfh.types import InputError
from smfh.ui.log import told_refusal
from smfh.ui.plain import plain
from smfh.ui.rights import maker_of
from smfh.ui.running import follow, phase_of, place_in_line, steer
from smfh.ui.server import job_queue, kept_runs
from smfh.ui.session import visitor

TICK = 1.0  # seconds between two looks at the progress
REDRAWN = 3.0  # seconds until runs that have come meanwhile are drawn
REFUSED, STARTED = "grid_refused", "grid_started"
MINUTE, HOUR = 60, 3600


def draw_grid(grid: Grid, name: str, verb: str, draw_results: Callable[[], None]) -> None:
    """Its button, or how far it is; below it what is finished, drawn again while more comes in.

    The keys of the controls begin with `name`, and `verb` is what the button says.
    """
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(plain(problem))
    job = grid_job(grid)
    if job is None or (phase := phase_of(job)) == "over":
        _draw_start(grid, job, name, verb)
        redrawn = None
    else:
        _draw_progress(job, phase, name)
        redrawn = REDRAWN
    st.fragment(draw_results, run_every=redrawn)()


def grid_job(grid: Grid) -> Job[Problems] | None:
    """The job of this grid under way, whoever started it, or what became of this visitor's; None for none."""
    found, own = job_queue().find(grid.key), own_job()
    if found is not None and not found.over:
        return found
    return own if own is not None and own.key == grid.key else None


def own_job() -> Job[Problems] | None:
    """The grid of this visitor that is under way, in whatever tab, or that was started here last."""
    job: Job[Problems] | None = job_queue().unfinished_of(visitor(), GridKey)
    return job or st.session_state.get(STARTED)


def start_grid(grid: Grid) -> None:
    """For callbacks: before the page is drawn, so that no time is lost. One at a time for each visitor."""
    own = own_job()
    if own is not None and not own.over:
        st.session_state[REFUSED] = ["A comparison of yours is under way: cancel it or wait for it."]
        return
    try:
        store, limits = kept_runs(grid.owner, maker_of(visitor())), current_limits()
        with told_refusal("grid", visitor()):
            check_costs(grid.missing(store), grid.data, grid.split, limits)
        work = grid_work(grid, store)
        st.session_state[STARTED] = job_queue().submit(grid.key, work, visitor(), again=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _draw_start(grid: Grid, job: Job[Problems] | None, name: str, verb: str) -> None:
    store, own, total = kept_runs(grid.owner), own_job(), len(grid.keys)
    if not (missing := grid.missing(store)):
        label = f"All {total} trainings are there" if total > 1 else "The training is there"
        st.button(label, disabled=True, key=f"{name}_run")
        return
    busy = own is not None and not own.over
    seconds = estimate_seconds(missing, store.records(), grid.data.fingerprint)
    about = f" · about {duration(sum(seconds.values()))}" if seconds else ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{name}_start"):
        st.button(
            f"{verb} {len(missing)} training{'s' * (len(missing) > 1)}{about}",
            type="primary",
            icon=":material/play_arrow:",
            key=f"{name}_run",
            on_click=start_grid,
            args=(grid,),
            disabled=busy,
        )
        if own is not None and busy:
            st.button("Cancel the other", on_click=steer, args=(own.cancel,), key=f"{name}_cancel_other")
            st.caption("Another choice of yours is still being trained: cancel it or wait.")
        elif len(missing) < total:
            st.caption(f"{total - len(missing)} of {total} are there already and shown below.")
        elif not seconds:
            st.caption("Nothing was trained on this data yet, so the time is not known.")
    if job is not None:
        _draw_end(job)


def _draw_progress(job: Job[Problems], phase: str, name: str) -> None:
    """Orders, and below them the progress, drawn again by itself: a button put up anew can miss a click."""
    with st.container(horizontal=True, key=f"{name}_orders"):
        if phase == "paused":
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume, key=f"{name}_resume")
        else:
            pause = ":material/pause:"
            st.button("Pause", icon=pause, on_click=steer, args=(job.pause,), key=f"{name}_pause")
        cancel = ":material/close:"
        st.button("Cancel", icon=cancel, on_click=steer, args=(job.cancel,), key=f"{name}_cancel")
    follow(job, phase, lambda: st.progress(*progress_of(job)), phase_of, TICK)


def _draw_end(job: Job[Problems]) -> None:
    """What is to be said of a grid that is over, and not all there."""
    if job.state == "cancelled":
        st.info("Cancelled. What is finished is kept: start again, and it goes on from there.")
    elif problems := problem_lines(job):
        st.error("Not everything could be trained. What is finished is kept.")
        with st.expander("What, and why", expanded=job.state == "failed"):
            st.text("\n".join(problems))


def progress_of(job: Job[Problems]) -> tuple[float, str]:
    """The share that is done, and in words: how many trainings, which is at work, how long the rest takes."""
    waits = place_in_line(job)
    if not job.reports:
        return 0.0, waits or "looking at what is there"
    progress: GridProgress = job.reports[-1]
    words = [f"{progress.done} of {progress.total} trainings"]
    if job.state == "paused" or waits:
        words.append(waits or "paused")
    elif progress.current is not None:
        words.append(f"now {name_training(progress.current)}")
    if progress.seconds_left is not None:
        words.append(f"about {duration(progress.seconds_left)} left")
    return progress.done / progress.total, " · ".join(words)


def problem_lines(job: Job[Problems]) -> list[str]:
    """What could not be trained, and why; or why all of it stopped."""
    if job.state != "finished":
        return list(job.problems)
    return [f"{name_training(method)}: {' '.join(why)}" for method, why in job.result.items()]


def duration(seconds: float) -> str:
    """Such as 40 s, 3 min or 2.5 h."""
    if seconds < 1.5 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 1.5 * HOUR else f"{seconds / HOUR:.1f} h"
