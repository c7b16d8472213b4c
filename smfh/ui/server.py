"""State that all visitors share: job queues, loaded data, saved runs, cached results and uploads."""

import os
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, wraps
from itertools import pairwise
from statistics import median
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st

from smfh.datasets import DatasetSource, load_set
from smfh.datasets.user_data import UserDataset
from smfh.engine import Engine
from smfh.folders import app_folder
from smfh.hashing import HashMethod
from smfh.jobs import Job, JobContext, JobQueue
from smfh.lessons.rooms import Rooms
from smfh.memory import BoundedCache, call_limited, forget_caches
from smfh.runs import (
    MemoryRuns,
    Run,
    RunStore,
    SavedRuns,
    Snapshots,
    check_source_size,
    current_limits,
    dataset_bytes,
    estimate,
    find_or_train,
    run_key,
)
from smfh.runs.limits import GB
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.log import log_job, logging_refusal
from smfh.ui.visitor import PrivateKey, owner_id, visitor

if TYPE_CHECKING:
    from smfh.experiments.tuning import Studies

MAX_DATA_SETS = 6  # in memory: so many large ones, and as many small ones
LOADING_THREADS = 4  # so that a data set does not wait for a larger one
READY_WORKERS = 2  # processes that stay alive: one trains while the other one loads or reads
MAX_RUNS = 8  # in memory
MAX_WAITING_JOBS = 64  # two for each student in a class of thirty
MAX_JOBS_PER_VISITOR = 12  # a grid, a study, and all methods of a query
MAX_DERIVED = 64  # cached results of a run, such as rankings, maps and topics
MAX_CHARTS = 64  # cached charts and tests of comparisons
POLL_SECONDS = 0.1  # between two checks of a data set that is loading
MAX_UPLOADS = 16  # visitors whose uploads are in memory
READ_SECONDS = 120.0  # to read an upload or compute its features
READ_BYTES = 3 << 30  # maximum memory for it
MAX_READERS = 4  # at once; the other worker processes stay free for training
SMALLER = "Use fewer or smaller files."
UNUSED_SECONDS = 600.0  # after which a data set or run that no page asks for is dropped
AWAY_SECONDS = 3600.0  # from the visitor's last activity until their upload is deleted
STARTED = datetime.now(UTC).isoformat(timespec="milliseconds")  # differs after a restart

Loaded = tuple[MultimodalDataset, Split]
V = TypeVar("V")
_shared: BoundedCache[str, Any] = BoundedCache(32, lasts=True)
_weak_lock = Lock()  # for the two dictionaries below: a weak dictionary must not grow while it is read
_live_bytes: WeakKeyDictionary[MultimodalDataset, int] = WeakKeyDictionary()  # all data sets in use
_derived: WeakKeyDictionary[Run, BoundedCache[Hashable, Any]] = WeakKeyDictionary()


def once(make: Callable[[], V]) -> Callable[[], V]:
    """Decorate a function so that its value is computed once and shared by the whole process."""
    return wraps(make)(lambda: _shared.get(make.__name__, make))


def health_path() -> str:
    """Return the path of the health address, below the server's base path."""
    return "/".join(["", *filter(None, [str(st.get_option("server.baseUrlPath")).strip("/"), "health"])])


@once
def run_store() -> RunStore:
    """Return the store of saved runs on disk, including the results that are shipped with the program."""
    return RunStore(shipped=app_folder() / "assets" / "results")


@once
def job_queue() -> JobQueue:
    """Return the queue of runs, grids and studies: one job at a time on all cores, more on a cluster."""
    return JobQueue(1, MAX_WAITING_JOBS, MAX_RUNS, engine_of, log_job, max_per_visitor=MAX_JOBS_PER_VISITOR)


def engine_of(key: Hashable) -> Engine:
    """Return the engine for a job: the cluster if there is one; for private data, this machine."""
    found = cluster()
    return local_engine() if found is None or getattr(key, "owner", None) else found


@once
def cluster() -> Engine | None:
    """Return the cluster in SMFH_CLUSTER, or None; the job queue then runs one job per worker."""
    address = os.environ.get("SMFH_CLUSTER")
    return Engine(address, on_count=job_queue().set_workers) if address else None


@cache
def local_engine() -> Engine:
    """Return this machine's worker processes; each call of a job uses its own, so paused jobs block no others."""
    return Engine(workers=READY_WORKERS)


@once
def data_queue() -> JobQueue:
    """Return the queue that loads large data sets and downloads files; uploads do not use it."""
    return JobQueue(LOADING_THREADS, MAX_WAITING_JOBS, MAX_DATA_SETS, lambda _: local_engine(), log_job)


@once
def light_queue() -> JobQueue:
    """Return the queue that loads small data sets, so that they do not wait for a large one."""
    return JobQueue(LOADING_THREADS, MAX_WAITING_JOBS, MAX_DATA_SETS, on_event=log_job)


def _queue_of(source: DatasetSource) -> JobQueue:
    return light_queue() if source.is_light else data_queue()


def forget_sources(is_unwanted: Callable[[Hashable], bool]) -> None:
    """Drop loaded data sets for whose key `is_unwanted` returns true; they are loaded again when needed."""
    for queue in (data_queue(), light_queue()):
        queue.forget(is_unwanted)


def load_source(source: DatasetSource, visitor: str = "") -> Loaded:
    """Load a data set and return it; show a progress bar meanwhile."""
    place, bar = st.empty(), None
    while True:
        job = submit_load(source, visitor)
        while not job.wait(timeout=POLL_SECONDS):
            job.touch(visitor)
            share, what = job.reports[-1] if job.reports else (0.0, f"Loading {source.card.title} …")
            if bar is None:  # a page may load several data sets, so their bars need different keys
                bar = place.container(key=f"loading_{hash(source):x}").empty()
            bar.progress(min(share, 1.0), what)
        if job.state != "cancelled":  # a download of the same data set cancels loading it
            break
    place.empty()
    if job.error is not None:
        raise job.error
    return job.result


def submit_load(source: DatasetSource, visitor: str = "") -> Job[Loaded]:
    """Return the job that loads a data set; raise InputError if the set is too large."""
    queue = _queue_of(source)
    if queue.find(source) is None:
        with logging_refusal("load", visitor):
            check_source_size(source, current_limits())
            check_memory(source)

    def load(context: JobContext) -> Loaded:
        def report(share: float, what: str) -> None:
            context.report((share, what))

        def check() -> None:
            context.check()
            job = queue.find(source)
            if job is not None and not job.viewers:
                raise InputError(f"Loading {source.card.title} stopped: no page needs it any more.")

        loaded: Loaded
        if source.is_light:
            loaded = load_set(source, on_progress=report)
        else:
            loaded = context.call(load_set, source, on_progress=report, check=check)
        with _weak_lock:
            _live_bytes[loaded[0]] = source.bytes
        return loaded

    return queue.submit(source, load, visitor)


def submit_saved_run(source: DatasetSource, method: HashMethod, loaded: Loaded) -> None:
    """Start a job that reads a run from disk if it is saved, before a visitor asks for it."""
    key, store = run_key(*loaded, method), run_store()
    if (saved := store.find(key)) is not None and saved.model_arrays:
        job_queue().submit(key, lambda _: find_or_train(store, source, method, *loaded)).wait()


def check_memory(source: DatasetSource) -> None:
    """Raise InputError if a data set does not fit in memory beside all data sets in use.

    Loaded data sets that no page uses are dropped first.
    """

    def used_bytes() -> int:
        with _weak_lock:
            return sum(_live_bytes.values())

    max_bytes = current_limits().gigabytes * GB
    if not source.bytes or used_bytes() + source.bytes <= max_bytes:
        return
    data_queue().forget_results()
    if (used := used_bytes()) + source.bytes > max_bytes:
        raise InputError(
            f"{source.card.title} with these options takes {source.bytes / GB:.1f} GB. Of the "
            f"{max_bytes / GB:.1f} GB available for data, visitors of this server use {used / GB:.1f} GB. "
            "Use fewer items, or try again later."
        )


def peek_source(source: DatasetSource) -> Loaded | None:
    """Return the data set if it is loaded, otherwise None."""
    job = _queue_of(source).find(source)
    return job.result if job is not None and job.state == "finished" else None


def derive(run: Run, what: Hashable, compute: Callable[[], V], spinner: str = "") -> V:
    """Return a value computed from a run, cached until the run is dropped from memory."""
    with _weak_lock:
        cache = _derived.setdefault(run, BoundedCache(MAX_DERIVED))
    with st.spinner(spinner) if spinner and cache.peek(what) is None else nullcontext():
        value: V = cache.get(what, compute)
    return value


def remember(what: Hashable, compute: Callable[[], V]) -> V:
    """Return a value computed from saved runs, cached for all visitors; never for private data."""
    charts: BoundedCache[Hashable, V] = _shared.get("charts", lambda: BoundedCache(MAX_CHARTS))
    return charts.get(what, compute)


def snapshots_of(job_key: Hashable) -> Snapshots:
    """Return the snapshots that a job took during training; none if it found a saved run."""
    return _snapshots().get(job_key, Snapshots)


@once
def _snapshots() -> BoundedCache[Hashable, Snapshots]:
    return BoundedCache(MAX_RUNS, lasts=True)


def fastest_run(source: DatasetSource, run: Run, evaluation: float | None = None) -> tuple[float, float]:
    """Return the smallest ratio of actual to estimated training time, and the shortest evaluation in seconds.

    Both are minima over the runs with this data and method on this server; give `evaluation` to count `run` among
    them. If there are none, both are those of `run`, which may have been trained elsewhere. The training time is the
    number of steps times the median step; the first step is left out, because it may compile kernels.
    """
    what, cost = (source.name, run.method.name), estimate(run.method, run.data, run.split).seconds
    steps = [after - before for before, after in pairwise([0.0, *(step.seconds for step in run.hasher.trace)])]
    own = median(steps[1:] or steps or [0.0]) * len(steps) / cost, evaluation or 0.0
    known = _fastest.get(what, own)
    if evaluation is not None:
        known = _fastest[what] = min(own[0], known[0]), min(own[1], known[1])
    return known


_fastest: dict[tuple[str, str], tuple[float, float]] = {}  # by data set and method


@dataclass(eq=False)
class Upload:
    """A visitor's uploaded data with its runs and studies; held in memory only."""

    source: UserDataset
    loaded: Loaded
    runs: MemoryRuns = field(default_factory=MemoryRuns)
    studies: "Studies | None" = None
    last_seen: float = field(default_factory=monotonic)  # when the visitor was last active


_uploads: dict[str, Upload] = {}  # by visitor
_readers: set[str] = set()  # visitors whose files are being read; one file each, so that others can read
_uploads_lock = Lock()


def add_upload(owner: str, source: UserDataset, loaded: Loaded) -> None:
    """Hold an upload in memory until its owner deletes it or leaves, or too many newer uploads replace it."""
    forget(owner)
    with _uploads_lock:
        _uploads[owner] = Upload(source, loaded)
        longest_away = sorted(_uploads, key=lambda name: _uploads[name].last_seen)[:-MAX_UPLOADS]
    with _weak_lock:
        _live_bytes[loaded[0]] = dataset_bytes(loaded[0])
    for name in longest_away:
        forget(name)


def upload_of(owner: str) -> Upload | None:
    """Return the upload of a visitor, or None; also record that the visitor is active."""
    if (found := _uploads.get(owner)) is not None:
        found.last_seen = monotonic()
    return found


def read_in_worker(
    visitor: str,
    work: Callable[..., V],
    *arguments: Any,
    max_seconds: float = READ_SECONDS,
    max_bytes: int = READ_BYTES,
    check: Callable[[], Any] = lambda: None,
    **callbacks: Any,
) -> V:
    """Read a visitor's file in a worker process; raise InputError if it needs too much time or memory.

    Each visitor can read one file at a time, and MAX_READERS visitors at once; others wait for their turn.
    """
    began = monotonic()

    def check_time() -> None:
        check()
        if monotonic() > began + max_seconds:
            raise InputError(f"Reading took more than {max_seconds:,.0f} s, which is the limit. {SMALLER}")

    while True:
        with _uploads_lock:
            if visitor in _readers:
                raise InputError("Another tab of yours is reading a file. Wait until it has finished.")
            if len(_readers) < MAX_READERS:
                _readers.add(visitor)
                break
        check()
        if monotonic() > began + max_seconds:
            raise InputError("Too many visitors are reading files at the moment. Try again in a minute.")
        sleep(POLL_SECONDS)
    began = monotonic()
    try:
        value: V = local_engine().call(call_limited, max_bytes, work, *arguments, check=check_time, **callbacks)
        return value
    finally:
        with _uploads_lock:
            _readers.discard(visitor)


@once
def class_rooms() -> Rooms:
    """Return the rooms in which classes answer questions of lessons; they are in memory only."""
    return Rooms()


def private_key(source: DatasetSource, key: Hashable) -> Hashable:
    """Return the queue's key for a job on this data; for an upload, a key that is private to the visitor."""
    return PrivateKey(visitor(), key) if source.name == UserDataset.name else key


def saved_runs(source: DatasetSource) -> SavedRuns:
    """Return the store of runs on this data: on disk, or in memory for the visitor's upload."""
    if source.name != UserDataset.name:
        return run_store().saving_as(owner_id(visitor()))
    upload = _uploads.get(visitor())
    return MemoryRuns() if upload is None else upload.runs


def saved_studies(source: DatasetSource) -> "Studies":
    """Return the store of studies on this data: the database, or memory for an upload."""
    from smfh.experiments.tuning import Studies  # imports Optuna, which only the Tune page needs

    if source.name != UserDataset.name:
        public: Studies = _shared.get("studies", Studies)
        return public
    if (upload := _uploads.get(visitor())) is None:
        raise InputError("Your upload was deleted, and its studies with it. Upload the file again.")
    if upload.studies is None:
        upload.studies = Studies(upload=upload.source)
    return upload.studies


def forget(owner: str) -> None:
    """Delete a visitor's upload, and all private jobs of the visitor with their results."""
    with _uploads_lock:
        _uploads.pop(owner, None)

    def is_theirs(key: Hashable) -> bool:
        return getattr(key, "owner", "") == owner

    job_queue().forget(is_theirs)
    _snapshots().forget_where(is_theirs)


def forget_unused(seconds: float = UNUSED_SECONDS) -> None:
    """Drop data sets and runs that no page has used for `seconds`, uploads of absent visitors, and expired rooms."""
    for queue in (job_queue(), data_queue(), light_queue()):
        queue.forget_results(seconds)
    for owner, upload in list(_uploads.items()):
        if monotonic() - upload.last_seen > AWAY_SECONDS:
            forget(owner)
    class_rooms().forget_expired()


def forget_all() -> None:
    """When no page is open, drop all cached results and restart idle workers; keep uploads and jobs."""
    forget_unused(0.0)
    forget_caches()
    _snapshots().forget_where(lambda key: job_queue().find(key) is None)
    with _weak_lock:
        _derived.clear()
    local_engine().restart()
