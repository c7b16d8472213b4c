"""Background jobs of a page, such as a grid of runs: start them, show their progress, cancel them."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import streamlit as st

from smfh.experiments.comparison import Grid, GridProgress, Problems, estimate_seconds, grid_work, name_training
from smfh.jobs import Job, JobContext
from smfh.runs import RunStore, check_costs, current_limits
from smfh.types import InputError
from smfh.ui.log import logging_refusal
from smfh.ui.page import draw_job_buttons, is_over, phase_of, queue_position, steer, steer_owned, watch_job
from smfh.ui.plain import draw_problems, plain
from smfh.ui.server import job_queue, private_key, saved_runs
from smfh.ui.visitor import visitor

PROGRESS_SECONDS = 1.0  # between two drawings of the progress
RESULTS_SECONDS = 3.0  # between two drawings of the results while more runs finish
REFUSALS, LAST_JOB = "grid_refused", "grid_started"  # session state
MINUTE_SECONDS, HOUR_SECONDS = 60, 3600


def draw_grid(grid: Grid, name: str, verb: str, draw_results: Callable[[], None]) -> None:
    """Draw the start button or the progress of a grid, and below it the results of finished runs.

    The keys of the controls begin with `name`; the button's label begins with `verb`.
    """
    for problem in st.session_state.pop(REFUSALS, ()):
        st.error(plain(problem))
    job = grid_job(grid)
    if job is None or (phase := phase_of(job)) == "over":
        _draw_start(grid, job, name, verb)
        seconds = None
    else:
        draw_job_buttons(job, phase, name, is_owned=True)
        watch_job(job, phase, lambda: st.progress(*progress_of(job)), phase_of, PROGRESS_SECONDS)
        seconds = RESULTS_SECONDS
    st.fragment(draw_results, run_every=seconds)()


def grid_job(grid: Grid) -> Job[Problems] | None:
    """Return the unfinished job that trains this grid, else this session's last job for it, else None."""
    return find_job(private_key(grid.comparison.source, grid.key), LAST_JOB)


def find_job(key: Hashable, own: str) -> Job[Any] | None:
    """Return the unfinished job with this key, else the finished one that this session started, else None."""
    found, last = job_queue().find(key), st.session_state.get(own)
    if found is not None and not found.over:
        return found
    return last if last is not None and last.key == key else None


def draw_task(
    name: str,
    key: Hashable,
    label: str,
    prepare: Callable[[], Callable[[JobContext], object]],
    draw_progress: Callable[[Job[Any]], object],
    icon: str = ":material/play_arrow:",
    help: str | None = None,
) -> None:
    """Draw the button that starts a job or, while it is unfinished, its progress and a Cancel button.

    `prepare` returns the work of the job, or raises InputError to refuse it, for example if it costs too much.
    The job and a refusal are in the session state; the keys begin with `name`, like those of the buttons.
    """
    for problem in st.session_state.pop(f"{name}_refused", ()):
        st.error(plain(problem))
    job = find_job(key, f"{name}_started")
    if job is not None and not job.over:
        args = (job, job.cancel)
        st.button("Cancel", icon=":material/close:", key=f"{name}_cancel", on_click=steer_owned, args=args)
        watch_job(job, False, lambda: draw_progress(job), is_over, PROGRESS_SECONDS)
        return

    st.button(label, icon=icon, help=help, key=f"{name}_run", on_click=start_job, args=(name, key, prepare))
    if job is not None and job.state == "failed":
        draw_problems("Stopped by an error. Finished runs are saved.", job.problems)


def start_job(name: str, key: Hashable, prepare: Callable[[], Callable[[JobContext], object]]) -> None:
    """Start a job when a button is pressed.

    The job, or the reason why it was refused, is in the session under keys that begin with `name`.
    """
    try:
        with logging_refusal(name, visitor()):
            work = prepare()
        st.session_state[f"{name}_started"] = job_queue().submit(key, work, visitor(), rerun=True)
    except InputError as error:
        st.session_state[f"{name}_refused"] = error.problems


def start_grid(grid: Grid, again: bool = False) -> None:
    """Start the grid as a job; with `again`, runs that come with the program are trained here too."""

    def prepare() -> Callable[[JobContext], Problems]:
        store = saved_runs(grid.comparison.source)
        store = store.without_shipped() if again and isinstance(store, RunStore) else store
        check_costs(grid.missing(store), grid.data, grid.split, current_limits())
        return grid_work(grid, store)

    start_job("grid", private_key(grid.comparison.source, grid.key), prepare)


def _draw_start(grid: Grid, job: Job[Problems] | None, name: str, verb: str) -> None:
    source, total = grid.comparison.source, len(grid.keys)
    store = saved_runs(source)
    if not (missing := grid.missing(store)):
        found = grid.found(store).values()
        shipped = [one for one in found if isinstance(store, RunStore) and store.is_shipped(one)]
        with st.container(horizontal=True, vertical_alignment="center", key=f"{name}_start"):
            if shipped:
                st.button("Run again here", key=f"{name}_again", on_click=start_grid, args=(grid, True))
                st.caption(f"{len(shipped)} of {total} runs come with this version of the program.")
            else:
                label = f"All {total} runs are done" if total > 1 else "The run is done"
                st.button(label, disabled=True, key=f"{name}_run")
        return
    seconds = estimate_seconds(missing, store.records(), grid.data.fingerprint)
    about = f" · about {duration(sum(seconds.values()))}" if seconds else ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"{name}_start"):
        st.button(
            f"{verb} {len(missing)} run{'s' * (len(missing) > 1)}{about}",
            type="primary",
            icon=":material/play_arrow:",
            key=f"{name}_run",
            on_click=start_grid,
            args=(grid,),
        )
        other = st.session_state.get(LAST_JOB)
        if other is not None and not other.over and other.key != private_key(source, grid.key):
            cancel = f"{name}_cancel_other"
            st.button("Cancel your other runs", on_click=steer, args=(other.cancel,), key=cancel)
            st.caption("Your other runs are still training.")
        elif len(missing) < total:
            st.caption(f"{total - len(missing)} of {total} runs are done and shown below.")
        elif not seconds:
            st.caption("No run on this data has finished yet, so the time is unknown.")
    if job is not None and job.state == "cancelled":
        st.info("Cancelled. Finished runs are saved; start again to train the rest.")
        return
    problems: Sequence[str] = () if job is None else job.problems  # why the whole grid failed, or else each failed run
    if job is not None and job.state == "finished":
        problems = [f"{name_training(method)}: {' '.join(why)}" for method, why in job.result.items()]
    if job is not None and problems:
        st.error("Some runs failed. All others are saved.")
        with st.expander("Failed runs and reasons", expanded=job.state == "failed"):
            st.text("\n".join(problems))


def progress_of(job: Job[Problems]) -> tuple[float, str]:
    """Return the progress of a grid as a share and as a text, with the current run and the time left."""
    position = queue_position(job)
    if not job.reports:
        return 0.0, position or "looking for saved runs"
    return progress_of_grid(job.reports[-1], position or "paused" * (job.state == "paused"))


def progress_of_grid(progress: GridProgress, waiting: str = "") -> tuple[float, str]:
    """Return the share of finished runs and a text about progress; `waiting` says why no run is training."""
    parts = [f"{progress.done} of {progress.total} runs"]
    if waiting:
        parts.append(waiting)
    elif progress.current is not None:
        parts.append(f"training {name_training(progress.current)}")
    if progress.seconds_left is not None:
        parts.append(f"about {duration(progress.seconds_left)} left")
    return progress.done / progress.total, " · ".join(parts)


def duration(seconds: float) -> str:
    """Format a duration such as 40 s, 3 min or 2.5 h."""
    if seconds < 1.5 * MINUTE_SECONDS:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 1.5 * HOUR_SECONDS:
        return f"{seconds / MINUTE_SECONDS:.0f} min"
    return f"{seconds / HOUR_SECONDS:.1f} h"
