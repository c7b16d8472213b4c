"""The frame of every page: navigation, sidebar, data and run, the progress of a job, and links to other pages."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from smfh.datasets import DatasetSource
from smfh.folders import app_folder
from smfh.hashing import HashMethod
from smfh.jobs import OVER, Job, State
from smfh.plots import convergence
from smfh.runs import Run, begin_compiling, is_ready
from smfh.types import InputError, parameters
from smfh.ui import session
from smfh.ui.address import current, forget, go, keep, saved_texts
from smfh.ui.charts import show_chart
from smfh.ui.plain import draw_problems, paragraphs, plain
from smfh.ui.server import STARTED, Loaded, health_path, job_queue, local_engine
from smfh.ui.session import UPLOAD, UPLOAD_GONE, CurrentRun
from smfh.ui.settings import SETTINGS, Settings, differences, in_words, setting_keys
from smfh.ui.sidebar import CONTROL, MAIN, SWEEP, draw_sidebar
from smfh.ui.visitor import may_edit, owner_id, visitor

PRESENTATION_STYLE, SCRIPT = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("presentation.css", "page.js")
)
# a page reloads at most once in this time, in case two servers share an address
TIMES = {"pollMilliseconds": 5000, "reloadMilliseconds": 60_000}
SAVED_RUN_SECONDS = 2.0  # for which a page waits until a saved run is read
RELATIVE_LINK = re.compile(r"!?\[([^\]]+)\]\((?!https?:)[^)]*\)")
# the icon of the browser tab, four bits; a named icon would be fetched from the network at every redraw
ICON = '<svg viewBox="0 0 2 2"><path fill="#dfe3f0" d="M0 0h2v2H0z"/><path fill="#445cb0" d="M0 0h1v2h1V1H0z"/></svg>'
REDRAW_SECONDS = 0.5  # between redraws of a running job; a page that is redrawn all the time misses clicks
SLOW_REDRAW_SECONDS = 1.0  # between redraws of charts and results while a run trains
QUEUED_REDRAW_SECONDS = 2.0  # between redraws of a waiting job: many wait at the same time
DIMMED = ".st-key-scores, .st-key-below { opacity: .5; }"  # while another run trains
MEASURED = ("How is this measured?", "results.md")  # label and file of a guide

_INVISIBLE = st.components.v2.component("smfh_page", js=SCRIPT)


@dataclass(frozen=True)
class PageEntry:
    """A page of the app: its script, its icon, the prefix of its link parameters, and its guide files."""

    script: str
    icon: str
    prefix: str = ""
    places: str = ""  # names of its link parameters whose changes are steps for Back
    guides: tuple[tuple[str, str], ...] = ()


SEARCH_PLACES = "words row source target why"
PAGES = {  # Streamlit's own list would name the first page after its file
    "Explore": PageEntry("streamlit_app.py", ":material/image_search:", "search.", SEARCH_PLACES, (MEASURED,)),
    "Search": PageEntry("pages/2_Search.py", ":material/search:", "search.", SEARCH_PLACES),
    "Bits": PageEntry("pages/3_Bits.py", ":material/grid_view:", "bits.", "bit", (MEASURED,)),
    "Tune": PageEntry("pages/4_Tune.py", ":material/tune:", "tune.", "study", (MEASURED,)),
    "Compare": PageEntry("pages/5_Compare.py", ":material/stacked_line_chart:", "compare.", "", (MEASURED,)),
    "Learn": PageEntry("pages/9_Learn.py", ":material/school:", "learn.", "part lesson"),
    "Runs": PageEntry("pages/6_Runs.py", ":material/history:", guides=(MEASURED, ("Run it for a class", "server.md"))),
    "Paper": PageEntry("pages/7_Paper.py", ":material/article:", "paper.", "", (MEASURED,)),
    "Data": PageEntry("pages/8_Data.py", ":material/folder_open:"),
}


def draw_guide(label: str, file: str) -> None:
    """Draw a button that shows a file of the guide in a dialog; links to other files become plain text."""
    if st.button(label, icon=":material/menu_book:", type="tertiary", key=f"guide_{file}"):
        text = (app_folder() / "assets" / "guide" / file).read_text(encoding="utf-8")
        st.dialog(label, width="large")(partial(st.markdown, RELATIVE_LINK.sub(r"\1", text)))()


def begin_plainly(title: str, subtitle: str, trains: bool = False, methods: bool = True, data: bool = True) -> Settings:
    """Draw the top of a page that needs no data: navigation, title and sidebar; return the settings."""
    is_presented = current(SETTINGS, CONTROL)[0].present
    st.set_page_config(
        page_title=f"{title} · SMFH Explorer",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state="collapsed" if is_presented else "auto",
    )
    begin_compiling(local_engine().call)
    top = st.container(gap="xxsmall", key="top")
    settings = draw_sidebar(trains, methods, data)
    if SWEEP in st.session_state and title != "Tune":
        go(PAGES["Tune"].script, PAGES["Tune"].prefix)
    if settings.present:
        st.html(f"<style>{PRESENTATION_STYLE}</style>")
    with top:
        with st.container(horizontal=True, gap="small", key="navigation"):
            for name, page in PAGES.items():  # each page opens in its last state
                query = saved_texts("", page.prefix)
                st.page_link(page.script, label=name, icon=page.icon, query_params=query, width="content")
            places = [f"{page.prefix}{key}" for page in PAGES.values() for key in page.places.split()]
            places += setting_keys()
            server = {"started": STARTED, "health": health_path()}
            # Streamlit imports pandas to check whether a list is a data frame, but not for a tuple
            _INVISIBLE(data={"places": tuple(places), **server, **TIMES}, key="smfh_page")
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="title"):
            st.title(title, anchor=False, width="content")
            st.caption(subtitle, width="content")
            for guide in PAGES[title].guides:
                draw_guide(*guide)
            if title == "Explore":
                learn, icon = PAGES["Learn"], ":material/school:"
                st.page_link(learn.script, label="How does it work?", icon=icon, width="content")
            if settings.present:
                st.button(
                    "End presentation",
                    icon=":material/close_fullscreen:",
                    type="tertiary",
                    on_click=st.session_state.__setitem__,
                    args=(f"{CONTROL}present", False),
                )
        with st.container(key="heartbeats"):  # last, so that nothing moves when one begins or ends
            if job_queue().unfinished_of(visitor(), object) is not None:
                session.touch_jobs()
            if settings.source.name == UPLOAD:
                session.touch_upload()
    return settings


def begin_page(title: str, subtitle: str, trains: bool = False, methods: bool = True) -> tuple[Settings, Loaded]:
    """Draw the top of a page, and return settings and data; if data is missing, explain and stop."""
    settings = begin_plainly(title, subtitle, trains, methods)
    if missing := settings.source.missing():
        choose = "Choose another data set in the sidebar, or open the Data page."
        st.info(UPLOAD_GONE if settings.source.name == UPLOAD else paragraphs([*missing, choose]))
        st.stop()
    try:
        return settings, session.load(settings)
    except InputError as error:
        st.error(paragraphs(error.problems))
        st.stop()


def begin_training(title: str, subtitle: str) -> tuple[CurrentRun, Run | None]:
    """Draw the top of a page that shows a run; return the current run, and the run to show (or None).

    The current run is started if there is none. The run to show is the last one that has finished.
    """
    settings, loaded = begin_page(title, subtitle, trains=True)
    try:
        session.start_requested(settings, loaded)
    except InputError as error:
        st.error(paragraphs(error.problems))
    if (current := session.current_run()) is None:
        st.button("Retry")
        st.stop()
    if session.is_saved(current.settings):
        current.job.wait("paused", timeout=SAVED_RUN_SECONDS)
    state, last = current.state, session.finished_run()
    shown = None if last is None else last.job.result
    draw_run_strip(current, state, shown)
    return current, shown


def begin_run(title: str, subtitle: str) -> Run:
    """Draw the top of a page that needs a finished run, and return that run; stop the page if there is none."""
    shown = begin_training(title, subtitle)[1]
    if shown is None:
        st.stop()
    return shown


def open_run(source: DatasetSource, method: HashMethod, loaded: Loaded) -> None:
    """Start a run with these settings and open Explore, or show why it cannot start; not for callbacks."""
    settings = Settings(source, method, current(SETTINGS, CONTROL)[0].hidden)
    try:
        session.start(settings, loaded)
    except InputError as error:
        draw_problems("The run cannot be opened now:", error.problems)
    else:
        open_settings(settings)


def open_settings(settings: Settings) -> NoReturn:
    """Open Explore with these settings in its controls; not for callbacks."""
    keep(SETTINGS, settings)
    forget(CONTROL)
    go(PAGES["Explore"].script, PAGES["Explore"].prefix)


@st.fragment
def draw_run_strip(current: CurrentRun, seen: State, shown: Run | None) -> None:
    """Draw one line: the name of the run that the page shows or, while another trains, progress and buttons.

    `seen` is the state of the run when the page was drawn; when it changes, the page is redrawn.
    """
    state, job = current.state, current.job
    st.html(f"<style>{'' if state in OVER else DIMMED}</style>")
    with st.container(horizontal=True, vertical_alignment="center", key="run_strip"):
        if state not in OVER:
            with st.container():
                draw = partial(draw_progress, job, current.method, training_title(current, shown))
                watch_job(job, seen, draw, lambda job: current.state)
            draw_job_buttons(job, state, "run_controls", can_step=True)
        else:
            if shown is not None:
                st.subheader(describe(shown.source, shown.method), anchor=False, width="content")
            if state == "cancelled":
                st.caption("Cancelled; press Train to start again.", width="content")
            if state == "failed" and shown is not None:
                st.caption(f":red-badge[Training stopped] {plain(' '.join(job.problems))}")
    if state == "failed" and shown is None:
        st.error(f"Training stopped:\n\n{paragraphs(job.problems)}")
    if state != seen:
        st.rerun()


def training_title(current: CurrentRun, shown: Run | None) -> str:
    """Return a title for the run in training: its changes from the shown run, such as "r 64 → 32", or its name."""
    changes = [] if shown is None else differences(shown.method, current.method)
    if changes and shown is not None and shown.source == current.settings.source:
        return ", ".join(changes)
    return describe(current.settings.source, current.method)


def watch_job(
    job: Job[Any],
    seen: object,
    draw: Callable[[], object],
    look: Callable[[Job[Any]], object] = lambda job: job.state,
    every: float | None = None,
) -> None:
    """Call `draw` regularly; redraw the whole page as soon as `look(job)` differs from `seen`."""
    seconds = {"queued": QUEUED_REDRAW_SECONDS, "paused": SLOW_REDRAW_SECONDS}

    @st.fragment(run_every=every or (None if job.over else seconds.get(job.state, REDRAW_SECONDS)))
    def live() -> None:
        job.touch(visitor())
        draw()
        if look(job) != seen:
            st.rerun()

    live()


def is_over(job: Job[Any]) -> bool:
    return job.over


def phase_of(job: Job[Any]) -> str:
    """Return the phase of a job: "over" if it has ended, "paused", or "moving" if it waits or runs."""
    return "over" if job.over else "paused" if job.state == "paused" else "moving"


def draw_convergence(current: CurrentRun, shown: Run, pinned: Run | None) -> None:
    """Draw an expander with the objective by iteration; it is updated while the run trains."""
    is_live = current.state not in OVER
    chart = convergence(shown.hasher.trace)
    label, key, icon = f"Convergence. {chart.title}", "convergence_strip", ":material/trending_down:"
    with st.expander(label, icon=icon, key=key, on_change="rerun") as strip:
        if strip.open:
            with st.container(horizontal=True):
                log = st.toggle("Log scale", key="convergence_log")
                relative = st.toggle("Relative to the first iteration", key="convergence_relative")

            @st.fragment(run_every=SLOW_REDRAW_SECONDS if is_live else None)
            def live() -> None:
                trace, steps = shown.hasher.trace, shown.method.steps
                if is_live and current.job.reports:
                    trace, steps = current.job.reports, current.method.steps
                before = None if pinned is None or pinned is shown else pinned.hasher.trace
                show_chart(convergence(trace, before, log, relative, steps), "convergence")

            live()
            if note := shown.hasher.trace[-1].note if shown.hasher.trace else "":
                st.caption(plain(f"{note[0].upper()}{note[1:]}."))


def draw_job_buttons(
    job: Job[Any], phase: str, name: str, can_step: bool = False, is_owned: bool = False, owner: str = ""
) -> None:
    """Draw the buttons of an unfinished job; call this outside of redrawn parts, which miss clicks.

    Only the owner may pause or cancel a job that `is_owned`; see `steer_owned`.
    """
    order = partial(steer_owned, job, owner=owner) if is_owned else steer
    with st.container(horizontal=True, key=f"{name}_buttons"):
        if phase == "paused" or job.is_pausing:
            st.button("Resume", icon=":material/play_arrow:", on_click=job.resume, key=f"{name}_resume")
        else:
            icon = ":material/pause:"
            st.button("Pause", icon=icon, on_click=order, args=(job.pause,), key=f"{name}_pause")
        if can_step:
            icon = ":material/skip_next:"
            st.button("Step", icon=icon, on_click=order, args=(job.step,), key=f"{name}_step")
        st.button("Cancel", icon=":material/close:", on_click=order, args=(job.cancel,), key=f"{name}_cancel")


def steer(order: Callable[[str], bool]) -> None:
    """Pause, step or cancel a job; if it continues because other visitors view it, show a message."""
    if not order(visitor()):
        st.toast("Not stopped: other people are viewing this run.", icon=":material/group:")


def steer_owned(job: Job[Any], order: Callable[[str], bool], owner: str = "") -> None:
    """Pause or cancel a job if the visitor started it or may edit results of `owner`."""
    if job.submitter == visitor() or may_edit(owner or owner_id(job.submitter), visitor()):
        steer(order)
    else:
        st.toast("Not stopped: only its owner can stop it.", icon=":material/lock:")


def queue_position(job: Job[Any]) -> str:
    """Return the position of a waiting job in the queue as text; "" if it does not wait."""
    return f"waiting, number {job.position} in the queue" if job.position else ""


def draw_progress(job: Job[Run], method: HashMethod, title: str = "") -> None:
    """Draw the progress of an unfinished run as a bar with text, or a message if it failed."""
    done, total, heading = len(job.reports), method.steps, f"Training {title}" if title else "Training"
    if job.state == "queued":
        waiting = queue_position(job) or "starting"
        st.progress(0.0, plain(f"{heading}: {waiting}"))
    elif job.state in ("running", "paused"):
        left = job.time_left(total)
        text = f"{heading}: iteration {done} of {total}"
        text += "" if is_ready("training") else " · compiling, only once on this machine"
        if job.is_pausing:
            text += " · one more step, then a pause"
        else:
            text += " · paused" if job.state == "paused" else "" if left is None else f" · {left:.1f} s left"
        st.progress(min(done / total, 1.0), plain(text))
    elif job.state == "failed":
        st.error(f"Training stopped:\n\n{paragraphs(job.problems)}")


def describe(source: DatasetSource, method: HashMethod) -> str:
    """Describe a run in one line: data, method, bits, main parameters and seed."""
    about = parameters(method)
    main = [name for name in MAIN[1:] if name in about]
    values = [f"{about[name].symbol} {in_words(name, getattr(method, name))}" for name in main]
    return " · ".join([source.title, method.title, f"{method.bits} bits", *values, f"seed {method.seed}"])
