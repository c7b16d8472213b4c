"""What outlives a rerun: loaded data, the training queue, and who the visitor is."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import partial

import streamlit as st

from smfh.comparison import kept_or_trained
from smfh.datasets import DatasetSource, OnProgress
from smfh.hashing import HashMethod
from smfh.jobs import Job, JobKey, TrainingQueue, Work, job_key
from smfh.study import Trained, train_and_search
from smfh.types import MultimodalDataset, Split
from smfh.ui.kept import run_store
from smfh.ui.settings import Settings

SHELVES = 6  # data sets kept in memory at once
Loaded = tuple[MultimodalDataset, Split]


@dataclass
class Shelf:
    """Loaded data sets, the least recently used one dropped first; each is loaded once."""

    room: int = SHELVES
    _kept: "OrderedDict[DatasetSource, Loaded]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, source: DatasetSource, on_progress: OnProgress) -> Loaded:
        with self._lock:
            if source not in self._kept:
                self._kept[source] = source.load(on_progress=on_progress)
            self._kept.move_to_end(source)
            while len(self._kept) > self.room:
                self._kept.popitem(last=False)
            return self._kept[source]

    def peek(self, source: DatasetSource) -> Loaded | None:
        """What is loaded already; does not wait for what is being loaded."""
        return self._kept.get(source)


@st.cache_resource
def shelf() -> Shelf:
    """Shared by all visitors: public data only."""
    return Shelf()


@st.cache_resource
def queue() -> TrainingQueue:
    """One training at a time over all visitors; two would take turns on the same cores."""
    return TrainingQueue(workers=1, kept=8)


def visitor() -> str:
    """A name for this browser session that nobody can guess."""
    name: str = st.session_state.setdefault("visitor", secrets.token_hex(8))
    return name


def load(settings: Settings) -> Loaded:
    """The data of the settings, with a progress bar where that takes a while; uploads stay private."""
    if settings.source.name == "own":
        own: Loaded = st.session_state["own_loaded"]
        return own
    bar = st.empty()  # there in any case: what comes below keeps its place when the bar is gone
    if (kept := shelf().peek(settings.source)) is not None:
        return kept

    def show(share: float, what: str) -> None:
        bar.progress(min(share, 1.0), what)

    show(0.0, f"Loading {settings.source.card.title} …")
    loaded = shelf().get(settings.source, show)
    bar.empty()
    return loaded


def key_of(settings: Settings, loaded: Loaded) -> JobKey:
    owner = visitor() if settings.source.name == "own" else ""
    return job_key(loaded[0], settings.method, owner, loaded[1])


def start(settings: Settings, loaded: Loaded) -> Job[Trained]:
    """Train with these settings, or join whoever does, or find it done, now or long ago; and show it."""
    job = _submit(settings, loaded)
    show(job, settings, loaded)
    return job


def start_beside(method: HashMethod) -> Job[Trained]:
    """The same for another method on the data of the shown run, which stays on the screen."""
    return _submit(replace(st.session_state["shown_settings"], method=method), shown_data())


def _submit(settings: Settings, loaded: Loaded) -> Job[Trained]:
    """What is trained on public data is kept on disk; uploads leave nothing there."""
    if settings.source.name == "own":
        work: Work[Trained] = partial(train_and_search, settings.method, *loaded)
    else:
        work = partial(kept_or_trained, run_store(), settings.source, settings.method, *loaded)
    return queue().submit(key_of(settings, loaded), work, visitor())


def show(job: Job[Trained], settings: Settings, loaded: Loaded) -> None:
    """Let this be the run that the visitor looks at."""
    st.session_state["shown"], st.session_state["shown_data"] = job, loaded
    st.session_state["shown_settings"] = settings


def shown_data() -> Loaded:
    """The data of the run that this visitor looks at, whatever the sidebar says meanwhile."""
    loaded: Loaded = st.session_state["shown_data"]
    return loaded


def shown() -> Job[Trained] | None:
    """The run that this visitor looks at."""
    job: Job[Trained] | None = st.session_state.get("shown")
    return job


def pinned_run() -> Job[Trained] | None:
    """The finished run that the visitor keeps for comparison."""
    job: Job[Trained] | None = st.session_state.get("pinned")
    return job
