"""The Measure button of a table or figure: what it costs, how far it is, and how to stop it."""

from collections.abc import Callable

import streamlit as st

from smfh.comparison import Grid, Problems, estimate_seconds
from smfh.hashing import HashMethod
from smfh.jobs import Job
from smfh.paper import Part
from smfh.ui.grids import REFUSED, TICK, duration, grid_job, problem_lines, progress_of, start_grid, under_way
from smfh.ui.running import steer
from smfh.ui.server import run_store


def draw_measured(part: Part, grid: Grid, draw: Callable[[], None]) -> None:
    """The button, or the progress as long as it runs, and below it what there is."""
    job = grid_job(grid)
    if job is None or job.over:
        _draw_button(part, grid, job)
        draw()
        return

    @st.fragment(run_every=TICK)
    def live() -> None:
        _draw_progress(part, job)
        draw()
        if job.over:
            st.rerun()  # other parts may share its trainings

    live()


def _draw_progress(part: Part, job: Job[Problems]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"progress_{part.name}"):
        st.progress(*progress_of(job))
        key = f"cancel_{part.name}"
        st.button("Cancel", icon=":material/close:", key=key, on_click=steer, args=(job.cancel,))


def _draw_button(part: Part, grid: Grid, job: Job[Problems] | None) -> None:
    missing, busy = grid.missing(run_store()), under_way() is not None
    with st.container(horizontal=True, vertical_alignment="center", key=f"measure_row_{part.name}"):
        if not missing:
            several = f"All {len(grid.keys)} trainings are" if len(grid.keys) > 1 else "Its training is"
            st.badge(f"{several} there", icon=":material/check:", color="blue")
        else:
            st.button(
                "Measure",
                type="primary",
                icon=":material/play_arrow:",
                key=f"measure_{part.name}",
                on_click=start_grid,
                args=(grid,),
                disabled=busy,
                help="Something else of yours is being measured or compared." if busy else None,
            )
            st.text(cost_in_words(missing, grid))
    if job is not None and job.state == "cancelled" and missing:
        st.info("Cancelled. What was finished is kept; Measure goes on from there.")
    _draw_problems(job)


def cost_in_words(missing: list[HashMethod], grid: Grid) -> str:
    """The number of trainings to do, and an estimate from what was trained on this data before."""
    seconds = estimate_seconds(missing, run_store().records(), grid.data.fingerprint)
    there = len(grid.keys) - len(missing)
    words = f"{len(missing)} training{'s' * (len(missing) > 1)}"
    words += f" ({there} more are there)" if there else ""
    return f"{words}, {f'about {duration(sum(seconds.values()))}' if seconds else 'time not known yet'}"


def _draw_problems(job: Job[Problems] | None) -> None:
    problems: list[str] = list(st.session_state.pop(REFUSED, ()))
    problems += [] if job is None else problem_lines(job)
    if problems:
        st.error("Not everything could be measured. What was finished is kept:")
        st.text("\n".join(dict.fromkeys(problems)))
