"""A study in the background: what starts it, how far it is, how to hold it up, and how it goes on."""

from dataclasses import replace
from itertools import count

import streamlit as st

from smfh.jobs import Job
from smfh.runs import check_plan, current_limits
from smfh.tuning import (
    Studies,
    Study,
    StudyKey,
    StudyPlan,
    StudyProgress,
    progress_of,
    setting_in_words,
    study_work,
)
from smfh.tuning.storage import errors_in_words, put_back_lost
from smfh.types import InputError
from smfh.ui.grids import TICK, duration
from smfh.ui.log import told_refusal
from smfh.ui.rights import maker_of
from smfh.ui.running import follow, phase_of, place_in_line, steer
from smfh.ui.server import job_queue, kept_studies
from smfh.ui.session import load, visitor
from smfh.ui.settings import Settings
from smfh.ui.tune.wanted import change

REFUSED, STARTED = "study_refused", "study_started"
BUSY = "A study of yours is under way: stop it or wait for it."


def start_study(plan: StudyPlan, owner: str, named: bool) -> None:
    """For callbacks: make the study, or find the one of this plan; open it and go on with it."""
    if running_study() is not None:
        st.session_state[REFUSED] = [BUSY]
        return
    try:
        study = settle(kept_studies(owner), plan, named, maker_of(visitor()))
        change(study=study.name, trial=None, within=())
        if progress_of(study).done < len(study.trials) or plan.minutes:
            resume_study(study)
        else:
            st.toast("This study is there already.", icon=":material/check:")
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def settle(studies: Studies, plan: StudyPlan, named: bool, maker: str = "") -> Study:
    """The study of this plan, or a new one; a name that nobody chose gets a number where it is taken."""
    for k in count(1):
        one = plan if k == 1 else replace(plan, name=f"{plan.name} ({k})")
        try:
            return studies.join(one, maker)
        except InputError:
            if named or one.name not in studies.names():
                raise
    raise AssertionError("unreachable")


def resume_study(study: Study) -> None:
    """For callbacks: go on with what stands in line. One study at a time for each visitor."""
    if running_study() is not None:
        st.session_state[REFUSED] = [BUSY]
        return
    try:
        study.check_current()
        _check_costs(study.plan)
        st.session_state[STARTED] = job_queue().submit(study.key, study_work(study), visitor(), again=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _check_costs(plan: StudyPlan) -> None:
    """Refuse a study of which one training would take more than is taken on."""
    with told_refusal("study", visitor()):
        for source in plan.sources:
            data, split = load(Settings(source, plan.method))
            check_plan(plan.method, plan.ranges, data, split, current_limits(), plan.bits)


def own_job() -> Job[StudyProgress] | None:
    """The study of this visitor that is under way, in whatever tab, or that was started here last."""
    job: Job[StudyProgress] | None = job_queue().unfinished_of(visitor(), StudyKey)
    return job or st.session_state.get(STARTED)


def running_study() -> str | None:
    """The name of this visitor's study that is under way."""
    own = own_job()
    return own.key.name if own is not None and not own.over and isinstance(own.key, StudyKey) else None


def study_job(study: Study) -> Job[StudyProgress] | None:
    """The job of this study under way, whoever started it, or what became of this visitor's."""
    found, own = job_queue().find(study.key), own_job()
    if found is not None and not found.over:
        return found
    return own if own is not None and own.key == study.key else None


def draw_refusal() -> None:
    """Why the last order could not be followed."""
    if problems := st.session_state.pop(REFUSED, ()):
        st.error("That did not work. Nothing is lost.")
        st.text("\n".join(problems))


def draw_running(study: Study) -> bool:
    """How far the study is, with its orders; whether anybody is at work on it, here or elsewhere."""
    job = study_job(study)
    if job is not None and (phase := phase_of(job)) != "over":
        _draw_orders(study, job, phase)
        return True
    if job is not None and job.state == "failed":
        st.error("The study stopped. What is finished is kept.")
        st.text("\n".join(job.problems))
    with errors_in_words(study.key.address):
        put_back_lost(study.optuna, study.storage)
    progress = progress_of(study)
    if not progress.seconds_left and progress.done == progress.total:
        return False
    if not study.is_current:
        st.info("Another version made this study: it can be looked at and exported, and gets no more trials.")
        return False
    with st.container(horizontal=True, vertical_alignment="center", key="tune_resume_row"):
        st.button(
            "Join in" if progress.running else "Resume",
            type="primary",
            icon=":material/play_arrow:",
            key="tune_resume",
            on_click=resume_study,
            args=(study,),
            disabled=running_study() is not None,
        )
        who = "Another program is at work on it. " if progress.running else ""
        st.caption(f"{who}{in_words(study, progress)}")
    return progress.running > 0


def _draw_orders(study: Study, job: Job[StudyProgress], phase: str) -> None:
    """Orders, and below them the progress, drawn again by itself: a button put up anew can miss a click."""
    with st.container(horizontal=True, key="tune_orders"):
        if phase == "paused":
            st.button("Go on", icon=":material/play_arrow:", on_click=job.resume, key="tune_go_on")
        else:
            pause = ":material/pause:"
            st.button("Pause", icon=pause, on_click=steer, args=(job.pause,), key="tune_pause")
        why = "What is finished is kept, and Resume goes on from there."
        stop = ":material/stop:"
        st.button("Stop", icon=stop, on_click=steer, args=(job.cancel,), key="tune_stop", help=why)
    follow(job, phase, lambda: st.progress(*shown_progress(study, job)), phase_of, TICK)


def shown_progress(study: Study, job: Job[StudyProgress]) -> tuple[float, str]:
    """The share that is done, and in words."""
    waits = place_in_line(job)
    if not job.reports:
        return 0.0, waits or "drawing validation parts of the training rows"
    progress: StudyProgress = job.reports[-1]
    halted = "paused" if job.state == "paused" else waits
    words = " · ".join(filter(None, [in_words(study, progress), halted]))
    if progress.total:
        return progress.done / progress.total, words
    return min(1.0, progress.seconds / (progress.seconds + (progress.seconds_left or 0.0) or 1.0)), words


def in_words(study: Study, progress: StudyProgress) -> str:
    """How many trials, the best so far, how long the rest takes."""
    of = f" of {progress.total}" if progress.total else ""
    words = [f"{progress.done}{of} trials"]
    if (best := progress.best) is not None:
        words.append(f"best {best.values[0]:.3f} ({setting_in_words(study, best)})")
    if progress.seconds_left:
        words.append(f"about {duration(progress.seconds_left)} left")
    return " · ".join(words)
