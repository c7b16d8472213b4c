"""What all visitors of this process share; plain values of the process, which no visitor can clear."""

import os
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, wraps
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st

from smfh.cluster.calls import ClusterCalls
from smfh.datasets import DatasetSource, load_set
from smfh.datasets.own import OwnData
from smfh.jobs import Caller, Course, Job, JobQueue, Processes
from smfh.memory import Memory
from smfh.runs import Film, KeptRuns, PrivateRuns, Run, RunKey, RunStore, bytes_of, check_size, current_limits
from smfh.runs.limits import GB
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.log import tell_job, told_refusal

if TYPE_CHECKING:
    from smfh.tuning import Studies

DATA_SETS = 6  # in memory at once
AT_HOME = 2  # trainings on this machine's cores beside a cluster's: one, and one that is paused
LOADED_AT_ONCE = 4  # so that a small set does not wait for another visitor's large one
READ_AT_ONCE = 2  # files and maps that are being made, and as many data sets
RUNS = 8  # in memory at once
WAITING = 64  # jobs in line: two for each of a class of thirty
EACH = 12  # of them of one visitor: a grid, a study, and all rivals of a query
DERIVED = 512  # values such as answers, maps and topics
REMEMBERED = 64  # charts of a comparison and tests of it, a page's each
GLANCE = 0.1  # seconds between two looks at what is being loaded
MODEL = " "  # in the name of an owner, between the visitor and the model file that they brought
OWNERS = 16  # visitors whose own data is in memory at once
AWAY = 3600.0  # seconds without a visitor after which their data is let go
STARTED = datetime.now(UTC).isoformat(timespec="milliseconds")  # tells this server from the one before it

Loaded = tuple[MultimodalDataset, Split]
Derived = Memory[tuple[RunKey, Hashable], Any]
V = TypeVar("V")
_shared: Memory[str, Any] = Memory(32)
_live: WeakKeyDictionary[MultimodalDataset, int] = WeakKeyDictionary()  # all that is in use, with its bytes


def once(make: Callable[[], V]) -> Callable[[], V]:
    """A value of the process, made by whoever asks first; all others wait for it."""
    return wraps(make)(lambda: _shared.get(make.__name__, make))


def health_path() -> str:
    """Where this server tells how it is, below the path that it is set to."""
    return "/".join(["", *filter(None, [str(st.get_option("server.baseUrlPath")).strip("/"), "health"])])


@once
def run_store() -> RunStore:
    """Finished runs on disk."""
    return RunStore()


@once
def job_queue() -> JobQueue:
    """One job at a time over all visitors, two would take turns on the same cores; more with a cluster."""
    return JobQueue(1, WAITING, RUNS, caller_of, tell_job, each=EACH)


def caller_of(key: Hashable) -> Caller:
    """Who does the work of a job: the cluster, but what is one visitor's alone never leaves this machine."""
    if (found := cluster()) is None:
        return processes()
    return beside_cluster() if getattr(key, "owner", None) else found


@cache
def beside_cluster() -> Processes:
    """For what never leaves this machine, where as many jobs are at work as a cluster has workers."""
    return Processes(AT_HOME)


@once
def cluster() -> ClusterCalls | None:
    """The cluster that whoever runs the server has named; as many jobs are at work as it has workers."""
    address = os.environ.get("SMFH_CLUSTER")
    return ClusterCalls(address, job_queue().set_workers) if address else None


@cache
def processes() -> Processes:
    """Where jobs do what takes long, so that pages keep this one; a paused job keeps its process."""
    return Processes()


@cache
def reading() -> Processes:
    """Where pages have files read and maps laid out: a few at a time over all visitors."""
    return Processes(READ_AT_ONCE)


@cache
def loading() -> Processes:
    """Where data sets are loaded, which nobody's files hold up."""
    return Processes(READ_AT_ONCE)


@once
def data_queue() -> JobQueue:
    """Data sets being loaded and loaded: what is loaded is the result of a job, whose key is its source."""
    return JobQueue(LOADED_AT_ONCE, WAITING, DATA_SETS, lambda _: loading(), tell_job)


@once
def light_queue() -> JobQueue:
    """The same for light ones, which never wait for another visitor's large one."""
    return JobQueue(LOADED_AT_ONCE, WAITING, DATA_SETS, tell=tell_job)


def _queue_of(source: DatasetSource) -> JobQueue:
    return light_queue() if source.is_light else data_queue()


def forget_sources(unwanted: Callable[[Hashable], bool]) -> None:
    """Load such data sets anew when they are asked for again."""
    for queue in (data_queue(), light_queue()):
        queue.forget(unwanted)


def load_source(source: DatasetSource, visitor: str = "") -> Loaded:
    """The data set, with a progress bar where it takes a while; a click meanwhile does not start it anew."""
    bar, queue = st.empty(), _queue_of(source)  # what comes below the bar keeps its place
    if queue.find(source) is None:
        with told_refusal("load", visitor):
            check_size(source, current_limits())
            check_room(source)
    while True:
        job: Job[Loaded] = queue.submit(source, lambda course: _load(source, course), visitor)
        while not job.wait(timeout=GLANCE):
            job.see(visitor)
            share, what = job.reports[-1] if job.reports else (0.0, f"Loading {source.card.title} …")
            bar.progress(min(share, 1.0), what)
        if job.state != "cancelled":  # as when somebody has fetched the set anew
            break
    bar.empty()
    if job.error is not None:
        raise job.error
    _live[job.result[0]] = source.bytes
    return job.result


def _load(source: DatasetSource, course: Course) -> Loaded:
    """The data set, as long as somebody waits for it."""

    def tell(share: float, what: str) -> None:
        course.report((share, what))

    def check() -> None:
        course.check()
        job = data_queue().find(source)
        if job is not None and not job.watchers:
            raise InputError(f"Nobody waits for {source.card.title} any more, so it was not loaded.")

    if source.is_light:
        return load_set(source, on_progress=tell)
    loaded: Loaded = course.call(load_set, source, on_progress=tell, check=check)
    return loaded


def check_room(source: DatasetSource) -> None:
    """Refuse a data set that all in use together leave no memory for, whoever uses them.

    What is in memory for those to come goes before that.
    """
    most = current_limits().gigabytes * GB
    if not source.bytes or sum(_live.values()) + source.bytes <= most:
        return
    data_queue().forget_results()
    if (used := sum(_live.values())) + source.bytes > most:
        raise InputError(
            f"{source.card.title} with these options takes {source.bytes / GB:.1f} GB, and of the "
            f"{most / GB:.1f} GB for data all who are here use {used / GB:.1f}. Take fewer items, or try "
            "again when somebody has left."
        )


def peek_source(source: DatasetSource) -> Loaded | None:
    """The data set where it is in memory."""
    job = _queue_of(source).find(source)
    return job.result if job is not None and job.state == "finished" else None


def derive(run: Run, what: Hashable, make: Callable[[], V], spinner: str = "") -> V:
    """What follows from a run, made once for all who look at it; of private data it goes with that."""
    memory = _derived_of(run)
    with st.spinner(spinner) if spinner and memory.peek((run.key, what)) is None else nullcontext():
        value: V = memory.get((run.key, what), make)
    return value


def _derived_of(run: Run) -> Derived:
    if run.source.name != OwnData.name:
        return _derived()
    found = _brought.get(run.key.owner)
    return Memory(1) if found is None else found.derived


@once
def _derived() -> Derived:
    return Memory(DERIVED)


def remember(what: Hashable, make: Callable[[], V]) -> V:
    """What follows from kept runs, such as charts, made once for all who look at it; nothing private."""
    value: V = _remembered().get(what, make)
    return value


@once
def _remembered() -> Memory[Hashable, Any]:
    return Memory(REMEMBERED)


def film_of(key: RunKey) -> Film:
    """The film of a run's training, one for all who watch it; empty where the run was found."""
    return _films().get(key, Film)


@once
def _films() -> Memory[RunKey, Film]:
    return Memory(RUNS)


@dataclass(eq=False)
class Brought:
    """A visitor's own data, and what was trained on it to be compared or tuned; in memory alone."""

    source: OwnData
    loaded: Loaded
    runs: PrivateRuns = field(default_factory=PrivateRuns)
    derived: Derived = field(default_factory=lambda: Memory(DERIVED))
    studies: "Studies | None" = None
    came: float = field(default_factory=monotonic)
    seen: float = field(default_factory=monotonic)  # when its visitor was there last


_brought: dict[str, Brought] = {}  # by visitor
_bringing = Lock()


def bring(owner: str, source: OwnData, loaded: Loaded) -> None:
    """Keep this data for its visitor until they forget it, or are away for long, or too many others came."""
    forget(owner)
    with _bringing:
        what = _brought[owner] = Brought(source, loaded)
        _live[loaded[0]] = bytes_of(loaded[0])
        longest_away = sorted(_brought, key=lambda name: _brought[name].seen)[:-OWNERS]
    for name in longest_away:
        forget(name)
    _expire(owner, what.came)


def brought(owner: str) -> Brought | None:
    """What this visitor, who is here now, has brought; None where it is gone, or never was."""
    if (found := _brought.get(owner)) is not None:
        found.seen = monotonic()
    return found


def _expire(owner: str, came: float) -> None:
    """Let go of what came then where its visitor is away for long; else look again when that may be so."""
    if (what := _brought.get(owner)) is None or what.came != came:
        return
    if (left := what.seen + AWAY - monotonic()) <= 0:
        del what
        forget(owner)
        return
    later = Timer(left, _expire, (owner, came))
    later.daemon = True
    later.start()


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
        return _studies()
    if (found := _brought.get(owner)) is None:
        raise InputError("Your own data is not here any more, and its studies went with it.")
    if found.studies is None:
        found.studies = Studies(own=found.source, owner=owner)
    return found.studies


@once
def _studies() -> "Studies":
    from smfh.tuning import Studies

    return Studies()


def forget(owner: str) -> None:
    """Let go of the private data of this owner and everything that was made from it."""
    with _bringing:
        _brought.pop(owner, None)
    forget_runs(lambda name: name.partition(MODEL)[0] == owner)


def forget_later(owner: str) -> None:
    """Let go of the runs of a visitor's model file after an hour; who looks at one still has it."""
    later = Timer(AWAY, forget_runs, (owner.__eq__,))
    later.daemon = True
    later.start()


def forget_runs(is_theirs: Callable[[str], bool]) -> None:
    """Let go of all runs with such an owner and of what was made from them, here and in all processes."""
    job_queue().forget(lambda key: is_theirs(getattr(key, "owner", "")))
    _derived().forget_where(lambda key: is_theirs(key[0].owner))
    _films().forget_where(lambda key: is_theirs(key.owner))
    tidy()


def forget_all() -> None:
    """Let go of whatever can be made or read again, when nobody is here: what they brought stays its hour."""
    for queue in (job_queue(), data_queue(), light_queue()):
        queue.forget_results()
    for memory in (_derived(), _films(), _remembered()):
        memory.forget_where(lambda key: True)
    for one in (processes(), beside_cluster(), reading(), loading()):
        one.rest()
    processes().prepare()


def tidy() -> None:
    """Let processes forget what is held here no more, and this one what they hold no more."""
    for one in (processes(), beside_cluster(), reading(), loading()):
        one.tidy()
