"""The state of a visitor's session: the upload, the current run, and the pinned run."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

import streamlit as st

from smfh.datasets.user_data import UserDataset
from smfh.hashing import HashMethod
from smfh.jobs import Job, JobContext, State
from smfh.memory import BoundedCache
from smfh.runs import Run, RunKey, check_cost, current_limits, estimate, find_or_train, is_ready, run_key
from smfh.types import InputError
from smfh.ui.log import logging_refusal
from smfh.ui.server import (
    AWAY_SECONDS,
    Loaded,
    Upload,
    fastest_run,
    job_queue,
    load_source,
    peek_source,
    private_key,
    run_store,
    snapshots_of,
    upload_of,
)
from smfh.ui.settings import Settings
from smfh.ui.visitor import PrivateKey, owner_id, visitor

UPLOAD = UserDataset.name  # the source of uploaded data
UPLOAD_GONE = (
    "Your upload is not on the server: it was deleted, you were away for more than an hour, the server was "
    "restarted, or this link is somebody else's. Uploads are held in memory only. Upload the file again on "
    "the Data page, or choose another data set in the sidebar."
)
CURRENT_RUN, FINISHED_RUN, PINNED_RUN, UPLOAD_CACHE = "shown", "finished_run", "pinned", "upload_cache"
REQUESTED_RUN, REQUESTED_REPLAY, TRAIN_ON_CHANGE = "requested_run", "requested_replay", "train_on_change"
RIVAL_JOBS = "rival_jobs"  # session key: jobs started by Search, since the queue forgets failed ones
MAX_CACHED = 16
TOUCH_SECONDS = 10.0  # between two updates of the jobs' viewers
MAX_SECONDS_ON_CHANGE = 5.0  # of a run that starts whenever a slider moves
V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class CurrentRun:
    """The run that a visitor's pages show, finished or not, with its settings and data."""

    settings: Settings
    loaded: Loaded
    job: Job[Run]

    @property
    def method(self) -> HashMethod:
        return self.settings.method

    @property
    def key(self) -> RunKey:
        return run_key(*self.loaded, self.settings.method)

    @property
    def is_private(self) -> bool:
        """Whether only this visitor can see the job of this run."""
        return isinstance(self.job.key, PrivateKey)

    @property
    def state(self) -> State:
        """State of the run's job; "cancelled" as soon as it was requested, even if the job has not ended yet."""
        return "cancelled" if self.job.is_cancelled else self.job.state

    def has(self, settings: Settings) -> bool:
        """Whether this run was started with these settings."""
        return (self.settings.source, self.settings.method) == (settings.source, settings.method)


def cache_for_visit(what: Hashable, compute: Callable[[], V]) -> V:
    """Return a value computed from an uploaded query, cached in this visitor's session."""
    cache: BoundedCache[Hashable, V] = st.session_state.setdefault(UPLOAD_CACHE, BoundedCache(MAX_CACHED))
    return cache.get(what, compute)


def load(settings: Settings) -> Loaded:
    """Load and return the data set of these settings, which may be the visitor's upload."""
    if settings.source.name != UPLOAD:
        return load_source(settings.source, visitor())
    if (upload := current_upload()) is None:
        raise InputError(UPLOAD_GONE)
    return upload.loaded


def current_upload() -> Upload | None:
    """Return the visitor's upload; if it is gone, return None and remove its runs from this session."""
    if (upload := upload_of(visitor())) is None:
        drop_upload_runs()
    return upload


def drop_upload_runs() -> None:
    """Remove the runs on the visitor's upload from this session."""
    for name in (CURRENT_RUN, FINISHED_RUN):
        run: CurrentRun | None = st.session_state.get(name)
        if run is not None and run.settings.source.name == UPLOAD:
            for what in (name, RIVAL_JOBS, UPLOAD_CACHE):
                st.session_state.pop(what, None)
    if (pinned := pinned_run()) is not None and pinned.source.name == UPLOAD:
        del st.session_state[PINNED_RUN]


@st.fragment(run_every=AWAY_SECONDS / 4)
def touch_upload() -> None:
    """Record that the visitor's page is open, so that the upload is not deleted; draws nothing."""
    upload_of(visitor())


@st.fragment(run_every=TOUCH_SECONDS)
def touch_jobs() -> None:
    """Record that the visitor's page is open, so that the visitor's jobs go on; draws nothing."""
    job_queue().touch(visitor())


def will_start(settings: Settings) -> bool:
    """Whether a run starts without a further click: after Train, on the first visit, for a new data set, if it
    is saved, or after a change if "Train while I move the sliders" is on and the run is short."""
    current = current_run()
    if current is None or st.session_state.get(REQUESTED_RUN) == settings:
        return True
    if current.has(settings):
        return False  # it was cancelled or failed, or is there
    if current.settings.source.name != settings.source.name or is_saved(settings):
        return True
    return bool(st.session_state.get(TRAIN_ON_CHANGE)) and is_short(settings)


def is_saved(settings: Settings) -> bool:
    """Whether a run with these settings is saved or in memory, so that it need not be trained."""
    own = current_upload() if settings.source.name == UPLOAD else None
    loaded = peek_source(settings.source) if own is None else own.loaded
    if loaded is None:
        return False
    key = run_key(*loaded, settings.method)
    job = job_queue().find(private_key(settings.source, key))
    is_done = job is not None and job.state == "finished"
    saved = run_store().find(key) if own is None else None
    return is_done or (saved is not None and bool(saved.model_arrays))


def seconds_to_train(settings: Settings) -> float | None:
    """Estimate the seconds of a run and its evaluation from the fastest one of this method on this data since
    the server started, or else from the visitor's last run; None if there is neither."""
    last = finished_run()
    if last is None or (last.settings.source, last.method.name) != (settings.source, settings.method.name):
        return None
    per_cost, evaluation = fastest_run(settings.source, last.job.result)
    return per_cost * estimate(settings.method, *last.loaded).seconds + evaluation


def is_short(settings: Settings) -> bool:
    """Whether a run with these settings is short enough for "Train while I move the sliders"."""
    seconds = seconds_to_train(settings)
    return seconds is not None and seconds <= MAX_SECONDS_ON_CHANGE and is_ready("training")


def start_requested(settings: Settings, loaded: Loaded) -> None:
    """Start the run that the visitor has requested, if any.

    The previous run is cancelled, unless others view it. If it has finished and "Train while I move the sliders" is
    on, it is pinned.
    """
    current, last = current_run(), finished_run()
    if current is not None and st.session_state.pop(REQUESTED_REPLAY, False):
        start(current.settings, current.loaded, alone=True)
    elif current is None:
        start(settings, loaded, alone=settings.paused, paused=settings.paused)
    elif will_start(settings):
        if st.session_state.get(TRAIN_ON_CHANGE) and last is not None:
            pin(last.job.result)
        current.job.cancel(visitor())
        start(settings, loaded)
    st.session_state.pop(REQUESTED_RUN, None)


def start(settings: Settings, loaded: Loaded, alone: bool = False, paused: bool = False) -> None:
    """Start a run with these settings, and make it the visitor's current run."""
    job = submit(settings, loaded, alone)
    if paused:
        job.pause(visitor())
    show(settings, loaded, job)


def submit(settings: Settings, loaded: Loaded, alone: bool = False) -> Job[Run]:
    """Return the job of a run: one in the queue, which another visitor may have started, or a new one.

    With `alone`, the run is trained again for this visitor, who can then pause and watch it. Such runs, and
    runs on an upload, are not saved.
    """
    key = run_key(*loaded, settings.method)
    job_key = PrivateKey(visitor(), key) if alone else private_key(settings.source, key)
    is_private = isinstance(job_key, PrivateKey)
    store = None if is_private else run_store().saving_as(owner_id(visitor()))
    with logging_refusal("run", visitor()):
        try:
            check_cost(settings.method, *loaded, current_limits())
        except InputError:
            if store is None or store.find(key) is None:  # a saved run costs nothing
                raise

    def work(context: JobContext) -> Run:
        started = perf_counter()
        run = find_or_train(
            store,
            settings.source,
            settings.method,
            *loaded,
            on_step=context.report,
            snapshots=snapshots_of(job_key),
            call=context.call,
        )
        if len(snapshots_of(job_key)):
            fastest_run(settings.source, run, perf_counter() - started - run.hasher.seconds)
        return run

    return job_queue().submit(job_key, work, visitor(), rerun=alone)


def show(settings: Settings, loaded: Loaded, job: Job[Run]) -> None:
    """Make this run the visitor's current one."""
    st.session_state[CURRENT_RUN] = CurrentRun(settings, loaded, job)


def current_run() -> CurrentRun | None:
    """Return the visitor's current run, finished or not, or None."""
    current: CurrentRun | None = st.session_state.get(CURRENT_RUN)
    return current


def finished_run() -> CurrentRun | None:
    """Return the visitor's last finished run, which pages show while the next one trains."""
    current = current_run()
    if current is not None and current.job.state == "finished":
        st.session_state[FINISHED_RUN] = current
    finished: CurrentRun | None = st.session_state.get(FINISHED_RUN)
    return finished


def pin(run: Run | None) -> None:
    """Pin a finished run, to compare other runs with it; None unpins."""
    st.session_state[PINNED_RUN] = run


def pinned_run() -> Run | None:
    """Return the pinned run, or None."""
    run: Run | None = st.session_state.get(PINNED_RUN)
    return run
