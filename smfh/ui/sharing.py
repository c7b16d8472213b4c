"""A link to a page as it is, for the eye and for a telephone."""

import io
from dataclasses import replace
from urllib.parse import urlsplit

import streamlit as st

from smfh.ui.address import SHARED, own_keys
from smfh.ui.controls import words_of
from smfh.ui.settings import Settings, hideable, to_link

QR = 240  # pixels


def draw_share(settings: Settings) -> None:
    """A button that opens the link to the page as it is."""
    if settings.source.name == "own":
        st.caption("Own data stays in this visit; a link cannot carry it.")
    elif st.button("Share", icon=":material/qr_code:", key="share"):
        show_link(settings)


@st.dialog("A link to this page as it is")
def show_link(settings: Settings) -> None:
    """The whole link, for the eye and for a telephone; for a class, with less to see or to wait for."""
    own = own_keys(st.query_params, SHARED)
    rest = {key: text for key, text in st.query_params.items() if key not in own}
    place = st.container()
    hidden = st.multiselect("Hide controls", hideable(settings), key="share_hidden", format_func=words_of)
    with st.container(horizontal=True):
        paused = st.toggle("Start paused", key="share_paused", help="The first run waits for Resume.")
        present = st.toggle("Large type, no furniture", settings.present, key="share_present")
    shared = replace(settings, hidden=frozenset(hidden), paused=paused, present=present)
    with place:
        link = to_link(shared, page_address(), rest)
        st.code(link, language=None, wrap_lines=True)
        st.image(qr_code(link), width=QR, alt="The link as a QR code")


def page_address() -> str:
    """Host and page as the visitor's browser has them; the first page is /."""
    address = st.context.url or ""
    return address if urlsplit(address).path else f"{address}/"


def qr_code(text: str) -> bytes:
    """A PNG file."""
    import segno

    file = io.BytesIO()
    segno.make(text, micro=False).save(file, kind="png", scale=6, border=2)
    return file.getvalue()
