"""A grid in the background, as Compare and Paper start it and tell how far it is."""

import streamlit as st

from smfh.comparison import Grid, GridProgress, Problems, grid_work, name_training
from smfh.jobs import Job
from smfh.types import InputError
from smfh.ui.server import job_queue, run_store
from smfh.ui.session import visitor

TICK = 1.0  # seconds between two looks at the progress
REFUSED, STARTED = "grid_refused", "grid_started"
MINUTE, HOUR = 60, 3600


def start_grid(grid: Grid) -> None:
    """For callbacks: before the page is drawn, so that no time is lost. One at a time for each visitor."""
    if under_way() is not None:
        st.session_state[REFUSED] = ["A comparison of yours is under way: cancel it or wait for it."]
        return
    try:
        job = job_queue().submit(grid.key, grid_work(grid, run_store()), visitor())
        st.session_state[STARTED] = (grid, job)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def grid_job(grid: Grid) -> Job[Problems] | None:
    """The job of this grid under way, whoever started it, or what became of this visitor's; None for none."""
    known: tuple[Grid, Job[Problems]] | None = st.session_state.get(STARTED)
    own = known[1] if known is not None and known[0].key == grid.key else None
    if own is not None and not own.over:
        return own
    found = job_queue().find(grid.key)
    return found if found is not None and not found.over else own


def under_way() -> Grid | None:
    """The grid that this visitor has started and that is not over yet."""
    known: tuple[Grid, Job[Problems]] | None = st.session_state.get(STARTED)
    return known[0] if known is not None and not known[1].over else None


def progress_of(job: Job[Problems]) -> tuple[float, str]:
    """The share that is done, and in words: how many trainings, which is at work, how long the rest takes."""
    if not job.reports:
        waits = f"waiting, number {job.position} in line" if job.position else "looking at what is there"
        return 0.0, waits
    progress: GridProgress = job.reports[-1]
    words = [f"{progress.done} of {progress.total} trainings"]
    if job.state == "paused":
        words.append("paused")
    elif position := job.position:
        words.append(f"waiting, number {position} in line")
    elif progress.current is not None:
        words.append(f"now {name_training(progress.current)}")
    if progress.seconds_left is not None:
        words.append(f"about {duration(progress.seconds_left)} left")
    return progress.done / max(progress.total, 1), " · ".join(words)


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
