"""The pages, the row of links to them on top of each, and how a page looks."""

from dataclasses import dataclass

import streamlit as st

from smfh.ui.address import draw_history, told_by

STYLE = """
.stMainBlockContainer { padding: .6rem 2rem 3rem; }
.stAppHeader { background: transparent; height: 2.5rem; }
.stAppHeader, .stAppHeader * { pointer-events: none; }
.stAppHeader button, .stAppHeader button * { pointer-events: auto; }
.st-key-navigation { padding-right: 3rem; }
.st-key-top h1 { font-size: 1.25rem; padding: 0; }
.stMain h3 { font-size: 1.05rem; padding: .2rem 0; }
.stSidebar [data-testid="stSidebarHeader"] { height: 1.6rem; margin: 0; padding: 0; }
.stSidebar [data-testid="stVerticalBlock"] { gap: .45rem; }
.st-key-wall [data-testid="stText"], .st-key-wall [data-testid="stText"] * {
  font-size: .8rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 5.6rem; }
.st-key-study_title [data-testid="stText"] * { font-size: 1.1rem; font-weight: 600; }
@media (max-width: 640px) {
  .st-key-navigation { margin-left: 2rem; max-width: calc(100% - 4rem); }
  .st-key-navigation { flex-wrap: nowrap; overflow-x: auto; } }
:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
"""
LARGE = """html { font-size: 130%; }
.st-key-navigation, [data-testid="stMainMenu"] { display: none; }
.st-key-top { padding-left: 1.5rem; }
"""


@dataclass(frozen=True)
class PageEntry:
    """A page: its script, its sign, and where it keeps its part of the address."""

    script: str
    icon: str
    prefix: str = ""
    place: str = ""  # what of its part makes another place, a step for Back


ASKED = "words row source target why"
PAGES = {  # Streamlit's own list would call the first page by its file
    "Explore": PageEntry("streamlit_app.py", ":material/image_search:", "search.", ASKED),
    "Search": PageEntry("pages/2_Search.py", ":material/search:", "search.", ASKED),
    "Bits": PageEntry("pages/3_Bits.py", ":material/grid_view:", "bits.", "bit"),
    "Tune": PageEntry("pages/4_Tune.py", ":material/tune:", "tune.", "study"),
    "Compare": PageEntry("pages/5_Compare.py", ":material/stacked_line_chart:", "compare."),
    "Learn": PageEntry("pages/9_Learn.py", ":material/school:", "learn.", "part lesson"),
    "Runs": PageEntry("pages/6_Runs.py", ":material/history:"),
    "Paper": PageEntry("pages/7_Paper.py", ":material/article:", "paper."),
    "Data": PageEntry("pages/8_Data.py", ":material/folder_open:"),
}


def set_up_page(title: str, present: bool = False) -> None:
    """What the browser's tab says, the whole width, and the look: for a room, large type and no more."""
    st.set_page_config(
        page_title=f"{title} · SMFH Explorer",
        page_icon=":material/image_search:",
        layout="wide",
        initial_sidebar_state="collapsed" if present else "auto",
    )
    st.html(f"<style>{STYLE}{LARGE if present else ''}</style>")


def draw_navigation() -> None:
    """A row of links to all pages; each opens as it was left."""
    with st.container(horizontal=True, gap="small", key="navigation"):
        for title, page in PAGES.items():
            told = told_by("", page.prefix)
            st.page_link(page.script, label=title, icon=page.icon, query_params=told, width="content")
        draw_history([f"{page.prefix}{key}" for page in PAGES.values() for key in page.place.split()])
