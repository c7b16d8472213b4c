"""The state of the Tune page: the settings in its link, and the study that runs as a background job."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from typing import Any

import streamlit as st

from smfh.experiments import tuning
from smfh.experiments.tuning import Studies, Study, StudyKey, StudyPlan, StudyProgress
from smfh.experiments.tuning.plan import MAX_FOLDS, MAX_MINUTES, MAX_NAME_LENGTH, MAX_TRIALS
from smfh.jobs import Job
from smfh.runs import check_study_cost, current_limits
from smfh.types import InputError
from smfh.ui.address import (
    QUOTE_CHARACTERS,
    Reader,
    any_text,
    current,
    keep,
    link_field,
    one_of,
    part_of,
    several,
    whole,
)
from smfh.ui.grids import PROGRESS_SECONDS, duration
from smfh.ui.log import logging_refusal
from smfh.ui.page import REDRAW_SECONDS, draw_job_buttons, phase_of, queue_position, watch_job
from smfh.ui.plain import draw_problems
from smfh.ui.server import job_queue, private_key, saved_studies
from smfh.ui.session import current_run, load
from smfh.ui.settings import Settings
from smfh.ui.visitor import PrivateKey, owner_id, visitor

WAYS = {"sweep": "Sweep", "search": "Search"}
OTHER = "other"  # a sweep that is not ready-made
CONTROLS = "tune_"  # prefix of the session keys of the page's controls
MAX_SPAN_LENGTH = 120  # characters
MAX_END = 1e12  # largest absolute value of an end of a range
REFUSED, STARTED = "study_refused", "study_started"  # session keys
BUSY = "One of your studies is running: stop it, or wait until it is done."


def span(numbers: int, largest: float) -> Reader:
    """Return a function that checks a range as text, in the form that `write_span` writes.

    The range must have this many numbers, none of them larger than `largest` in absolute value.
    """

    def read(name: str, text: str) -> str:
        try:
            ends = next(iter(read_spans([text]).values()))
        except ValueError:
            ends = ()
        fits = len(ends) == numbers and all(-largest <= end <= largest for end in ends)  # NaN does not fit
        if not fits or len(text) > MAX_SPAN_LENGTH:
            example = write_span("graph_weight", *(0.1, 100, 9)[:numbers])
            raise InputError(f"{name} must look like {example}; got {text[:QUOTE_CHARACTERS]!r}.")
        return text

    return read


@dataclass(frozen=True)
class StudyRequest:
    """The settings for a new study, and which study, trial and filter are shown."""

    way: str = link_field("sweep", one_of(WAYS))
    sweep: str = link_field("α", one_of((*tuning.SWEEPS, OTHER)))
    tuned: tuple[str, ...] = link_field((), several(any_text(40)))  # parameter names; empty: the defaults
    ranges: tuple[str, ...] = link_field((), several(span(3, MAX_END)))  # changed ones: NAME=LOW:HIGH:VALUES
    trials: int = link_field(40, whole(2, MAX_TRIALS))
    minutes: int = link_field(0, whole(0, MAX_MINUTES))  # 0: `trials` is the budget
    measure: str = link_field("balanced", one_of(tuning.MEASURES))
    over: str = link_field("mean", one_of(tuning.SCOPES))
    parts: int = link_field(3, whole(1, MAX_FOLDS))  # validation folds
    study: str = link_field("", any_text(MAX_NAME_LENGTH))  # name of the open study
    trial: int | None = link_field(None, whole(0, 10**6))  # number of the selected trial; None: the best
    within: tuple[str, ...] = link_field((), several(span(2, inf)))  # filter of the charts: SYMBOL=LOW:HIGH


REQUEST = part_of(StudyRequest(), "tune.")


def current_request() -> StudyRequest:
    return current(REQUEST, CONTROLS)[0]


def change(**changes: Any) -> None:
    """Change these fields of the page's StudyRequest; may be called from callbacks."""
    keep(REQUEST, replace(current_request(), **changes))


def write_span(name: str, *numbers: float) -> str:
    """Write a range as text for a link, for example "graph_weight=0.1:100:9"."""
    return f"{name}={':'.join(f'{x:.12g}' for x in numbers)}"


def read_spans(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Parse ranges written by `write_span`; return their numbers by parameter name."""
    split = [text.rpartition("=") for text in texts]
    return {name: tuple(float(end) for end in ends.split(":")) for name, _, ends in split}


def start_study(plan: StudyPlan, is_named: bool) -> None:
    """Open the study with this plan, or create it, and run its waiting trials (callback)."""
    if running_study() is not None:
        st.session_state[REFUSED] = [BUSY]
        return
    try:
        study = find_or_create(saved_studies(plan.sources[0]), plan, is_named, owner_id(visitor()))
        change(study=study.name, trial=None, within=())
        if (run := current_run()) is not None and not run.job.over:
            run.job.leave(visitor())  # it lets the study go first, and continues when Explore is opened again
        if study.progress.is_done:
            st.toast("This study is already finished.", icon=":material/check:")
        else:
            continue_study(study)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def find_or_create(studies: Studies, plan: StudyPlan, is_named: bool, creator: str = "") -> Study:
    """Return the study with this plan, or create it; a number is added to a default name that is taken."""
    if not is_named and (found := studies.find(plan)) is not None:
        return found
    for k in count(1):
        one = plan if k == 1 else replace(plan, name=f"{plan.name} ({k})")
        try:
            return studies.join(one, creator)
        except InputError:
            if is_named or one.name not in studies.names():
                raise
    raise AssertionError("unreachable")


def continue_study(study: Study) -> None:
    """Run the waiting trials of a study (callback). Each visitor can run one study at a time."""
    if running_study() is not None:
        st.session_state[REFUSED] = [BUSY]
        return
    try:
        study.check_current()
        plan = study.plan
        with logging_refusal("study", visitor()):
            for source in plan.sources:
                data, split = load(Settings(source, plan.method))
                ranges = {one.name: (one.low, one.high) for one in plan.ranges}
                check_study_cost(plan.method, ranges, data, split, current_limits(), plan.bits)
        key, work = _job_key(study), tuning.study_work(study)
        st.session_state[STARTED] = job_queue().submit(key, work, visitor(), rerun=True)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _job_key(study: Study) -> Hashable:
    """Return the queue's key for the job of a study; for uploaded data it is private to the visitor."""
    return private_key(study.plan.sources[0], study.key)


def _own_job() -> Job[StudyProgress] | None:
    """Return the job of this visitor's running study, or of the last study started in this browser tab."""
    job: Job[StudyProgress] | None = job_queue().unfinished_of(visitor(), StudyKey)
    return job or st.session_state.get(STARTED)


def running_study() -> str | None:
    """Return the name of this visitor's running study; None if no study is running."""
    if (own := _own_job()) is None or own.over:
        return None
    key = own.key.key if isinstance(own.key, PrivateKey) else own.key
    return key.name if isinstance(key, StudyKey) else None


def study_job(study: Study) -> Job[StudyProgress] | None:
    """Return the job that runs a study, or its finished job if this visitor started it."""
    key, own = _job_key(study), _own_job()
    found = job_queue().find(key)
    if found is not None and not found.over:
        return found
    return own if own is not None and own.key == key else None


def draw_running(study: Study) -> bool:
    """Draw a study's progress and buttons; return whether any process is running its trials."""
    job = study_job(study)
    if job is not None and (phase := phase_of(job)) != "over":
        draw_job_buttons(job, phase, "tune_job", is_owned=True, owner=study.creator)
        seen = _look_of(job)  # when it changes, the page is redrawn, so the first point is drawn at once
        seconds = PROGRESS_SECONDS if seen[1] else REDRAW_SECONDS
        watch_job(job, seen, lambda: _draw_progress(study, job), _look_of, seconds)
        return True
    if job is not None and job.state == "failed":
        draw_problems("The study stopped. Finished trials are saved.", job.problems)
    progress = study.progress
    if progress.is_done:
        return False
    if not study.is_current:
        st.info(
            "This study was created with a different version of the method. You can view and "
            "export it, but not continue it."
        )
        return False
    with st.container(horizontal=True, vertical_alignment="center", key="tune_resume_row"):
        look: dict[str, Any] = {"type": "primary", "icon": ":material/play_arrow:"}
        look["disabled"] = running_study() is not None
        st.button("Continue", "tune_resume", None, continue_study, (study,), **look)
        what = "Another process is working on this study:" if progress.running else "Interrupted after"
        st.text(f"{what} {describe_progress(study, progress)}")
    return progress.running > 0


def _look_of(job: Job[StudyProgress]) -> tuple[str, bool]:
    """Return the phase of a job, and whether it has reported a score."""
    reports = job.reports
    return phase_of(job), bool(reports and reports[-1].has_scores)


def _draw_progress(study: Study, job: Job[StudyProgress]) -> None:
    """Draw a study's progress bar with a description; studies with a time budget are measured by time."""
    waiting = queue_position(job)
    if not job.reports:
        st.progress(0.0, waiting or "loading validation folds")
        return
    progress: StudyProgress = job.reports[-1]
    share = progress.seconds / (progress.seconds + (progress.seconds_left or 0.0) or 1.0)
    if progress.total:
        share = progress.done / progress.total
    state = "paused" if job.state == "paused" else waiting
    st.progress(min(1.0, share), " · ".join(filter(None, [describe_progress(study, progress), state])))


def describe_progress(study: Study, progress: StudyProgress) -> str:
    """Describe a study's progress, for example "3 of 40 trials · best 0.412 (α 10) · about 2 min left"."""
    total = f" of {progress.total}" if progress.total else ""
    parts = [f"{progress.done}{total} trials"]
    if (best := progress.best) is not None:
        parts.append(f"best {study.plan.goal.worth(best.values):.3f} ({tuning.setting_in_words(study, best)})")
    if progress.seconds_left:
        parts.append(f"about {duration(progress.seconds_left)} left")
    return " · ".join(parts)
