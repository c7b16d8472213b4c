"""What all visitors of this process share; plain values of the process, which no visitor can clear."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from smfh.datasets import DatasetSource, load_set
from smfh.datasets.own import OwnData
from smfh.jobs import Course, Job, JobQueue, Processes, here
from smfh.memory import Memory
from smfh.runs import Film, KeptRuns, PrivateRuns, Run, RunKey, RunStore, check_size, current_limits
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.log import tell_job, told_refusal

if TYPE_CHECKING:
    from smfh.tuning import Studies

DATA_SETS = 6  # in memory at once
LOADED_AT_ONCE = 4  # so that a small set does not wait for another visitor's large one
READ_AT_ONCE = 2  # files, data sets and maps that are being made
RUNS = 8  # in memory at once
WAITING = 64  # jobs in line: two for each of a class of thirty
DERIVED = 512  # values such as answers, maps and topics
REMEMBERED = 64  # charts of a comparison and tests of it, a page's each
GLANCE = 0.1  # seconds between two looks at what is being loaded
OWNERS = 16  # visitors whose own data is in memory at once
AWAY = 3600.0  # seconds without a visitor after which their data is let go
STARTED = datetime.now(UTC).isoformat(timespec="milliseconds")  # tells this server from the one before it

Loaded = tuple[MultimodalDataset, Split]
V = TypeVar("V")
_shared: Memory[str, Any] = Memory(32)


def health_path() -> str:
    """Where this server tells how it is, below the path that it is set to."""
    return "/".join(["", *filter(None, [str(st.get_option("server.baseUrlPath")).strip("/"), "health"])])


def run_store() -> RunStore:
    """Finished runs on disk."""
    store: RunStore = _shared.get("runs", RunStore)
    return store


def job_queue() -> JobQueue:
    """One job at a time over all visitors; two would take turns on the same cores."""
    queue: JobQueue = _shared.get("jobs", lambda: JobQueue(1, WAITING, RUNS, processes(), tell_job))
    return queue


@cache
def processes() -> Processes:
    """Where jobs do what takes long, so that pages keep this one; a paused job keeps its process."""
    return Processes()


@cache
def reading() -> Processes:
    """Where pages have files read, data sets loaded and maps laid out: a few at a time over all visitors."""
    return Processes(READ_AT_ONCE)


def data_queue() -> JobQueue:
    """Data sets being loaded and loaded: what is loaded is the result of a job, whose key is its source."""
    queue: JobQueue = _shared.get(
        "data", lambda: JobQueue(LOADED_AT_ONCE, WAITING, DATA_SETS, reading(), tell_job)
    )
    return queue


def load_source(source: DatasetSource) -> Loaded:
    """The data set, with a progress bar where it takes a while; a click meanwhile does not start it anew."""
    bar = st.empty()  # there in any case: what comes below keeps its place when the bar is gone
    if data_queue().find(source) is None:
        with told_refusal("load", ""):
            check_size(source, current_limits())
    job: Job[Loaded] = data_queue().submit(source, lambda course: _load(source, course))
    while not job.wait(timeout=GLANCE):
        share, what = job.reports[-1] if job.reports else (0.0, f"Loading {source.card.title} …")
        bar.progress(min(share, 1.0), what)
    bar.empty()
    if job.error is not None:
        raise job.error
    return job.result


def _load(source: DatasetSource, course: Course) -> Loaded:
    call = here if source.is_light else course.call
    loaded: Loaded = call(load_set, source, on_progress=lambda share, what: course.report((share, what)))
    return loaded


def peek_source(source: DatasetSource) -> Loaded | None:
    """The data set where it is in memory."""
    job = data_queue().find(source)
    return job.result if job is not None and job.state == "finished" else None


def derive(run: Run, what: Hashable, make: Callable[[], V], spinner: str = "") -> V:
    """What follows from a run, made once for all who look at it; it goes with its owner."""
    memory: Memory[tuple[RunKey, Hashable], Any] = _shared.get("derived", lambda: Memory(DERIVED))
    value: V
    if spinner and memory.peek((run.key, what)) is None:
        with st.spinner(spinner):
            value = memory.get((run.key, what), make)
    else:
        value = memory.get((run.key, what), make)
    return value


def remember(what: Hashable, make: Callable[[], V]) -> V:
    """What follows from kept runs, such as charts, made once for all who look at it; nothing private."""
    memory: Memory[Hashable, V] = _shared.get("remembered", lambda: Memory(REMEMBERED))
    return memory.get(what, make)


def film_of(key: RunKey) -> Film:
    """The film of a run's training, one for all who watch it; empty where the run was found."""
    film: Film = _films().get(key, Film)
    return film


def _films() -> Memory[RunKey, Film]:
    films: Memory[RunKey, Film] = _shared.get("films", lambda: Memory(RUNS))
    return films


@dataclass(eq=False)
class Brought:
    """A visitor's own data, and what was trained on it to be compared or tuned; in memory alone."""

    source: OwnData
    loaded: Loaded
    runs: PrivateRuns = field(default_factory=PrivateRuns)
    studies: "Studies | None" = None
    seen: float = field(default_factory=monotonic)  # when its visitor was there last
    timer: Timer | None = None  # until somebody looks whether the visitor is still there


_brought: dict[str, Brought] = {}  # by visitor
_bringing = Lock()


def bring(owner: str, source: OwnData, loaded: Loaded) -> None:
    """Keep this data for its visitor until they forget it, or are away for long, or too many others came."""
    forget(owner)
    with _bringing:
        what = _brought[owner] = Brought(source, loaded)
        longest_away = sorted(_brought, key=lambda name: _brought[name].seen)[:-OWNERS]
    for name in longest_away:
        forget(name)
    _expire(owner, what)


def brought(owner: str) -> Brought | None:
    """What this visitor, who is here now, has brought; None where it is gone, or never was."""
    if (found := _brought.get(owner)) is not None:
        found.seen = monotonic()
    return found


def _expire(owner: str, what: Brought) -> None:
    """Let go of it where its visitor is away for long; else look again when that may be so."""
    if _brought.get(owner) is not what:
        return
    if (left := what.seen + AWAY - monotonic()) <= 0:
        forget(owner)
        return
    what.timer = Timer(left, _expire, (owner, what))
    what.timer.daemon = True
    what.timer.start()


def kept_runs(owner: str, maker: str = "") -> KeptRuns:
    """Where runs of this owner's private data are kept; those of nobody in particular on disk."""
    if not owner:
        return run_store().by(maker)
    found = _brought.get(owner)
    return PrivateRuns() if found is None else found.runs


def kept_studies(owner: str) -> "Studies":
    """Where studies on this owner's private data are kept; those of nobody in particular in the storage."""
    from smfh.tuning import Studies  # with Optuna, which no other page needs

    if not owner:
        shared: Studies = _shared.get("studies", Studies)
        return shared
    if (found := _brought.get(owner)) is None:
        raise InputError("Your own data is not here any more, and its studies went with it.")
    if found.studies is None:
        found.studies = Studies(own=found.source, owner=owner)
    return found.studies


def forget(owner: str) -> None:
    """Let go of the private data of this owner and everything that was made from it."""
    with _bringing:
        gone = _brought.pop(owner, None)
        if gone is not None and gone.timer is not None:
            gone.timer.cancel()
    job_queue().forget(lambda key: getattr(key, "owner", "") == owner)
    memory: Memory[tuple[RunKey, Hashable], Any] = _shared.get("derived", lambda: Memory(DERIVED))
    memory.forget_where(lambda key: key[0].owner == owner)
    _films().forget_where(lambda key: key.owner == owner)
    processes().tidy()
    reading().tidy()
