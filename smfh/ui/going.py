"""From one page to another, with something in hand."""

from typing import NoReturn

import streamlit as st

from smfh.ui.settings import SHOW, Settings
from smfh.ui.sidebar import CONTROL, KEPT, PAGES


def open_query(row: int, source: str, target: str) -> NoReturn:
    """Go to Search and ask there with an item of the shown data; not from a callback."""
    told = {"row": str(row), "source": source, "target": target}
    st.switch_page(PAGES["Search"][0], query_params={f"{SHOW}{name}": text for name, text in told.items()})


def go_to_explore(settings: Settings) -> NoReturn:
    """Let the sidebar say these settings, and show the run that was just started."""
    st.session_state[KEPT] = settings
    for key in [key for key in map(str, st.session_state) if key.startswith(CONTROL)]:
        del st.session_state[key]  # the sidebar sets them anew
    st.switch_page(PAGES["Explore"][0])
