"""What one visitor has: a name, data of their own, the run they look at and the one they pinned."""

import re
import secrets
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TypeVar

import streamlit as st

from smfh.hashing import HashMethod
from smfh.jobs import Course, Job, Work
from smfh.memory import Memory
from smfh.runs import Run, RunKey, check_cost, current_limits, find_or_train, run_key
from smfh.types import InputError
from smfh.ui.log import told_refusal
from smfh.ui.rights import maker_of
from smfh.ui.server import AWAY, Brought, Loaded, brought, film_of, job_queue, load_source, run_store
from smfh.ui.settings import Settings

SHOWN, PINNED, OWN = "shown", "pinned", "own"
GONE = (
    "Your own data is not here: it was forgotten, you were away for more than an hour, the server began "
    "anew, or the link is somebody else's. It is kept in memory alone. Drop the file again on the Data page, "
    "or choose another data set on the left."
)
VISITOR, COOKIE, NAME = "visitor", "smfh_visitor", re.compile("[0-9a-f]{32}")
WANTED_RUN, WANTED_FILM, AS_I_MOVE = "wanted_run", "wanted_film", "train_as_i_move"
UPLOADED, FEW = "made_of_an_upload", 16
RIVALS = "rival_jobs"  # that Search has started, by key: a failed one is found nowhere else
V = TypeVar("V")
SEEN = 10.0  # seconds between two signs of a visitor who has something under way
SHORT = 3.0  # seconds of a training that may start whenever a slider is let go


@dataclass(frozen=True, eq=False)
class Shown:
    """The run that a visitor looks at, finished or on its way, and what it was started with."""

    settings: Settings
    loaded: Loaded
    job: Job[Run]

    @property
    def method(self) -> HashMethod:
        return self.settings.method

    @property
    def key(self) -> RunKey:
        return key_of(self.settings, self.loaded)

    @property
    def job_key(self) -> RunKey:
        """The key of the job: that of a model from a file names its visitor."""
        assert isinstance(self.job.key, RunKey)  # noqa: S101, the pages show runs alone
        return self.job.key

    def is_of(self, settings: Settings) -> bool:
        """Whether it is the run of these settings, or will be."""
        same = (self.settings.source, self.settings.method) == (settings.source, settings.method)
        return same and self.job.is_wanted and self.job.state != "failed"


def visitor() -> str:
    """A name for this browser that nobody can guess; a cookie, so that it outlives a reload."""
    if VISITOR not in st.session_state:
        told = str(st.context.cookies.get(COOKIE, ""))
        st.session_state[VISITOR] = told if NAME.fullmatch(told) else secrets.token_hex(16)
    name: str = st.session_state[VISITOR]
    return name


_REMEMBER = st.components.v2.component(
    "smfh_visitor",
    js="""
    export default function ({ data }) {
      document.cookie = `${data.cookie}=${data.name}; path=/; max-age=86400; SameSite=Strict`
    }
    """,
)


def remember_visitor() -> None:
    """Nothing to see: the browser keeps the visitor's name for a day."""
    _REMEMBER(data={"cookie": COOKIE, "name": visitor()}, key="smfh_visitor")


def during_visit(what: Hashable, make: Callable[[], V]) -> V:
    """What is made of an upload, remembered until its visitor has left."""
    memory: Memory[Hashable, V] = st.session_state.setdefault(UPLOADED, Memory(FEW))
    return memory.get(what, make)


def load(settings: Settings) -> Loaded:
    """The data of the settings; uploads stay with their visitor."""
    if settings.source.name != OWN:
        return load_source(settings.source, visitor())
    if (own := own_data()) is None:
        raise InputError(GONE)
    return own.loaded


def own_data() -> Brought | None:
    """What this visitor has brought; where it is gone, also from what this visit shows."""
    own, looked_at, pinned = brought(visitor()), shown(), pinned_run()
    if own is None and looked_at is not None and looked_at.settings.source.name == OWN:
        for what in (SHOWN, RIVALS, UPLOADED):
            st.session_state.pop(what, None)
    if own is None and pinned is not None and pinned.source.name == OWN:
        del st.session_state[PINNED]
    return own


@st.fragment(run_every=AWAY / 4)
def stay() -> None:
    """Nothing to see: as long as the page is open, its visitor is here."""
    brought(visitor())


@st.fragment(run_every=SEEN)
def be_seen() -> None:
    """Nothing to see: whatever page is open, its visitor waits for what they have started."""
    job_queue().see(visitor())


def owner_of(settings: Settings) -> str:
    """Whose data it is; nobody's in particular where it is public."""
    return visitor() if settings.source.name == OWN else ""


def key_of(settings: Settings, loaded: Loaded) -> RunKey:
    return run_key(*loaded, settings.method, owner_of(settings))


def start(settings: Settings, loaded: Loaded) -> None:
    """Train with these settings, or join whoever does, or find it done, now or long ago; and show it."""
    show(settings, loaded, submit(settings, loaded))


def will_start(settings: Settings) -> bool:
    """Whether a run begins: by Train, by a first visit, or by moving a slider where that takes a moment."""
    before = shown()
    if before is None or st.session_state.get(WANTED_RUN) == settings:
        return True
    return bool(
        st.session_state.get(AS_I_MOVE) and not before.is_of(settings) and _is_short(before, settings)
    )


def start_wanted(settings: Settings, loaded: Loaded) -> None:
    """Start what is to begin. What a moved slider has made old news is pinned, or cancelled where it still
    trains, so that never more than the newest waits."""
    before = shown()
    if before is not None and st.session_state.pop(WANTED_FILM, False):
        show(before.settings, before.loaded, submit_alone(before.settings, before.loaded))
    elif before is None and settings.paused:
        show(settings, loaded, submit_alone(settings, loaded, paused=True))
    elif will_start(settings):
        if before is not None and st.session_state.get(AS_I_MOVE):
            if before.job.state == "finished":
                pin(before.job.result)
            else:
                before.job.cancel(visitor())
        elif before is not None:
            before.job.cancel(visitor())  # it goes on where others watch it
        start(settings, loaded)
    st.session_state.pop(WANTED_RUN, None)


def _is_short(before: Shown, settings: Settings) -> bool:
    """Whether a training of this kind takes a moment, as far as is known."""
    last = before.job.result if before.job.state == "finished" else pinned_run()
    alike = last is not None and (last.source, last.method.name) == (settings.source, settings.method.name)
    return last is not None and alike and last.hasher.seconds < SHORT


def submit(settings: Settings, loaded: Loaded) -> Job[Run]:
    """The run as a job; what is trained on public data is kept on disk, uploads leave nothing there."""
    key = key_of(settings, loaded)
    if job_queue().find(key) is None and (key.owner or run_store().find(key) is None):
        _check_cost(settings, loaded)
    return job_queue().submit(key, _work(key, settings, loaded), visitor())


def submit_alone(settings: Settings, loaded: Loaded, paused: bool = False) -> Job[Run]:
    """The run trained anew for this visitor alone, whether or not it is kept: to watch, and to hold up."""
    key = replace(key_of(settings, loaded), owner=visitor())
    _check_cost(settings, loaded)
    job = job_queue().submit(key, _work(key, settings, loaded), visitor(), again=True)
    if paused:
        job.pause(visitor())
    return job


def _check_cost(settings: Settings, loaded: Loaded) -> None:
    with told_refusal("run", visitor()):
        check_cost(settings.method, *loaded, current_limits())


def _work(key: RunKey, settings: Settings, loaded: Loaded) -> Work[Run]:
    store = None if key.owner else run_store().by(maker_of(visitor()))

    def work(course: Course) -> Run:
        return find_or_train(
            store,
            settings.source,
            settings.method,
            *loaded,
            course.report,
            key.owner,
            film_of(key),
            course.call,
        )

    return work


def show(settings: Settings, loaded: Loaded, job: Job[Run]) -> None:
    """Let this be the run that the visitor looks at."""
    st.session_state[SHOWN] = Shown(settings, loaded, job)


def shown() -> Shown | None:
    """The run that this visitor looks at."""
    what: Shown | None = st.session_state.get(SHOWN)
    return what


def pin(run: Run | None) -> None:
    """Keep this finished run for comparison; None: keep none."""
    st.session_state[PINNED] = run


def pinned_run() -> Run | None:
    """The finished run that the visitor keeps for comparison."""
    run: Run | None = st.session_state.get(PINNED)
    return run
