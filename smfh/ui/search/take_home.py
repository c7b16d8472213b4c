"""The search to take home: a page in one file that answers words as this one does."""

import streamlit as st

from smfh.asking import takes_words
from smfh.export.page import content_bytes, search_page, size_problem
from smfh.runs import Run
from smfh.ui.asked import Asked
from smfh.ui.server import derive, reading

HELP = (
    "One HTML file with the codes, pictures and hash function of this run. It opens in any browser, without "
    "a server and without a network, and answers words as this page does. It is made when you click."
)


def draw_take_home(asked: Asked, run: Run) -> None:
    """A button where words can be asked; the file is made when it is clicked, and costs nothing before."""
    speaks = takes_words(run.data)
    if not speaks or asked.target in speaks or run.data.dtype != "float32":
        return
    how = (asked.source if asked.source in speaks else speaks[0], asked.target, asked.ties)
    size = derive(run, ("page", how), lambda: content_bytes(run.data, run.split, *how))
    if too_large := size_problem(size, asked.ties):
        st.caption(f"This search cannot be taken home. {too_large}")
        return
    st.download_button(
        "This search as one HTML file",
        lambda: make_page(run, *how),
        f"smfh_{run.data.name}_{run.hasher.bits}_bits.html",
        "text/html",
        "search_page",
        icon=":material/download:",
        help=HELP,
        on_click="ignore",
    )


def make_page(run: Run, source: str, target: str, ties: str) -> str:
    """The file; made in another process, so that nobody's page waits for it."""
    return reading().call(search_page, run.hasher, run.data, run.split, source, target, ties)
