"""The top of every page (navigation, title, sidebar, data, run), and functions that open another page."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import streamlit as st

from smfh.datasets import DatasetSource
from smfh.folders import app_folder
from smfh.hashing import HashMethod
from smfh.runs import Run, begin_compiling
from smfh.types import InputError
from smfh.ui import session
from smfh.ui.address import current, forget, go, keep, saved_texts
from smfh.ui.plain import draw_problems, paragraphs
from smfh.ui.running import draw_run_strip
from smfh.ui.server import STARTED, Loaded, health_path, job_queue, local_engine
from smfh.ui.session import UPLOAD, UPLOAD_GONE, CurrentRun
from smfh.ui.settings import SETTINGS, Settings, setting_keys
from smfh.ui.sidebar import CONTROL, SWEEP, draw_sidebar
from smfh.ui.visitor import visitor

PRESENTATION_STYLE, SCRIPT = (
    Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("presentation.css", "page.js")
)
# a page reloads at most once in this time, in case two servers share an address
TIMES = {"pollMilliseconds": 5000, "reloadMilliseconds": 60_000}
SAVED_RUN_SECONDS = 2.0  # for which a page waits until a saved run is read
RELATIVE_LINK = re.compile(r"!?\[([^\]]+)\]\((?!https?:)[^)]*\)")
# the icon of the browser tab, four bits; a named icon would be fetched from the network at every redraw
ICON = '<svg viewBox="0 0 2 2"><path fill="#dfe3f0" d="M0 0h2v2H0z"/><path fill="#445cb0" d="M0 0h1v2h1V1H0z"/></svg>'
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
