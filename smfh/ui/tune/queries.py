"""The chosen trial beside the start where it counts: on the queries, once, in numbers and in pictures."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from smfh.jobs import Job
from smfh.runs import check_costs, current_limits
from smfh.tuning import FIGURES, Confirmation, Study, Trial, confirm_work, confirmations
from smfh.tuning.confirmation import ALL, SEEDS
from smfh.types import InputError
from smfh.ui.grids import TICK
from smfh.ui.log import told_refusal
from smfh.ui.rights import maker_of
from smfh.ui.running import follow, is_over, place_in_line, steer
from smfh.ui.server import job_queue, kept_runs
from smfh.ui.session import load, visitor
from smfh.ui.settings import Settings
from smfh.ui.tune.chosen import draw_figure
from smfh.ui.tune.pictures import draw_pictures
from smfh.ui.tune.running import REFUSED

STARTED = "confirmation_started"
ONCE = (
    f"Trains the start and this trial with {SEEDS} seeds each on all training rows and asks by the queries. "
    "It is meant for the one setting you have settled on: to choose among several by what you see here "
    "would be tuning on the queries."
)


@dataclass(frozen=True)
class ConfirmKey:
    """What makes two confirmations the same job."""

    study: str
    address: str
    number: int
    owner: str


def draw_queries(study: Study, trial: Trial) -> None:
    """The button, how far it is, or what came out of it."""
    st.markdown("#### On the queries")
    if study.method_of(trial) == study.plan.method:
        st.caption("This is the start itself. Choose another trial, and it can be set beside the start here.")
        return
    if (found := confirmations(study).get(trial.number)) is not None:
        _draw_confirmation(found)
        draw_pictures(study, trial)
        return
    key = ConfirmKey(study.name, study.key.address, trial.number, study.key.owner)
    job: Job[Confirmation] | None = job_queue().find(key) or _own_job(key)
    if job is None or job.over:
        st.button(
            "See it on the queries, once",
            icon=":material/verified:",
            key="tune_confirm",
            on_click=_start,
            args=(study, trial, key),
            help=ONCE,
        )
        st.caption(f"Trial {trial.number} beside the start: {SEEDS} seeds, a paired test, and pictures.")
        if job is not None and job.state == "failed":
            st.error("That did not work. What is finished is kept.")
            st.text("\n".join(job.problems))
        return
    st.button("Stop", icon=":material/stop:", key="tune_confirm_stop", on_click=steer, args=(job.cancel,))
    follow(job, False, lambda: st.progress(*_how_far(job)), is_over, TICK)


def _how_far(job: Job[Confirmation]) -> tuple[float, str]:
    done, total = job.reports[-1] if job.reports else (0, 1)
    words = f"{done} of {total} trainings" if job.reports else "Beginning"
    return done / total, " · ".join(filter(None, [words, place_in_line(job)]))


def _own_job(key: ConfirmKey) -> Job[Confirmation] | None:
    """What became of this visitor's last one, if it is of this trial."""
    job: Job[Confirmation] | None = st.session_state.get(STARTED)
    return job if job is not None and job.key == key else None


def _start(study: Study, trial: Trial, key: ConfirmKey) -> None:
    try:
        with told_refusal("confirmation", visitor()):
            for source in study.plan.sources:
                loaded = load(Settings(source, study.plan.method))
                check_costs([study.plan.method, study.method_of(trial)], *loaded, current_limits())
        work = confirm_work(study, trial.number, kept_runs(study.key.owner, maker_of(visitor())))
        st.session_state[STARTED] = job_queue().submit(key, work, visitor(), again=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _draw_confirmation(found: Confirmation) -> None:
    """Means over seeds of both, and whether the difference is more than noise."""
    whole = [one for one in found.figures if one.direction == ALL and one.measure in FIGURES]
    for dataset in dict.fromkeys(one.dataset for one in whole):
        st.text(f"{dataset}, mean of {ALL}, {SEEDS} seeds; below each, the difference from the start")
        with st.container(horizontal=True, gap="small"):
            for one in (one for one in whole if one.dataset == dataset):
                draw_figure(FIGURES[one.measure], float(np.mean(one.chosen)), one.gain)
    first, others = [line for line in found.lines if ALL in line], [x for x in found.lines if ALL not in x]
    for line in first:
        st.text(line)
    with st.expander("In each direction"):
        st.text("\n".join(others))
