"""A link to a page as it is, for the eye and for a telephone."""

import io
from dataclasses import replace

import streamlit as st

from smfh.ui.address import SHARED, own_keys
from smfh.ui.controls import words_of
from smfh.ui.settings import Settings, hideable, to_link


def draw_share(settings: Settings) -> None:
    """A link to the page as it is, for the eye and for a telephone; made when it is asked for."""
    if settings.source.name == "own":
        st.caption("Own data stays in this visit; a link cannot carry it.")
        return
    share = st.popover("Share", icon=":material/qr_code:", width="stretch", key="share", on_change="rerun")
    if not share.open:
        return
    with share:
        st.caption(
            "For a class, some controls can be hidden, and the first run can wait for all to be there."
        )
        hidden = st.multiselect("Hide", hideable(settings), key="share_hidden", format_func=words_of)
        paused = st.toggle("Start paused", key="share_paused")
        present = st.toggle("Large type, no furniture", key="share_present")
        shared = replace(settings, hidden=frozenset(hidden), paused=paused, present=present)
        own = own_keys(st.query_params, SHARED)
        rest = {key: text for key, text in st.query_params.items() if key not in own}
        link = to_link(shared, st.context.url or "", rest)
        st.code(link, language=None, wrap_lines=True)
        st.image(qr_code(link), width=220, alt="The link as a QR code")


def qr_code(text: str) -> bytes:
    """A PNG file."""
    import segno

    file = io.BytesIO()
    segno.make(text, micro=False).save(file, kind="png", scale=6, border=2)
    return file.getvalue()
