"""What the features allow: measured once for a data set, in the background, when somebody asks for it."""

import streamlit as st

from smfh.ceiling import Ceiling
from smfh.comparison import Grid, ceiling_work
from smfh.jobs import Job
from smfh.runs import check_ceiling, current_limits
from smfh.types import InputError
from smfh.ui.log import told_refusal
from smfh.ui.plain import plain
from smfh.ui.running import follow, is_over, place_in_line, steer
from smfh.ui.server import job_queue, kept_runs
from smfh.ui.session import visitor

TICK = 1.0  # seconds between two looks at the progress
REFUSED, STARTED = "ceiling_refused", "ceiling_started"
ABOUT = (
    "Classifiers without bits or a common space, tuned on the training rows: what lies between codes and "
    "their level is what a better method could win from the same features. About a minute on Wiki."
)


def draw_ceiling(grid: Grid) -> None:
    """How it was measured, how far that is, or the button that starts it."""
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(plain(problem))
    if (ceiling := kept_runs(grid.owner).ceiling(grid.ceiling_key)) is not None:
        st.caption(plain(" ".join(ceiling.told)))
        return
    job: Job[Ceiling] | None = job_queue().find(grid.ceiling_key) or st.session_state.get(STARTED)
    if job is None or job.over or job.key != grid.ceiling_key:
        if job is not None and job.key == grid.ceiling_key:
            st.text("\n".join(job.problems))
        label, icon = "Measure what the features allow", ":material/vertical_align_top:"
        st.button(label, icon=icon, help=ABOUT, on_click=start_ceiling, args=(grid,), key="ceiling_run")
        return
    st.button("Cancel the measurement", on_click=steer, args=(job.cancel,), key="ceiling_cancel")
    follow(job, False, lambda: st.caption(plain(_how_far(job))), is_over, TICK)


def _how_far(job: Job[Ceiling]) -> str:
    return f"Measuring: {job.reports[-1] if job.reports else place_in_line(job) or 'beginning'} …"


def start_ceiling(grid: Grid) -> None:
    """For callbacks; who asks for what is under way joins it."""
    try:
        with told_refusal("ceiling", visitor()):
            check_ceiling(grid.data, grid.split, current_limits())
        work = ceiling_work(grid, kept_runs(grid.owner))
        st.session_state[STARTED] = job_queue().submit(grid.ceiling_key, work, visitor(), again=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems
