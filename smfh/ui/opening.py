"""From one page to another, with something in hand; not from a callback."""

from typing import NoReturn

import streamlit as st

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.types import InputError
from smfh.ui.address import current, forget, go, keep
from smfh.ui.navigation import PAGES
from smfh.ui.server import Loaded
from smfh.ui.session import start
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.sidebar import CONTROL


def open_query(row: int, source: str, target: str) -> NoReturn:
    """Go to Search and ask there with an item of the shown data."""
    go(PAGES["Search"].script, PAGES["Search"].prefix, row=str(row), source=source, target=target)


def open_run(source: DatasetSource, method: HashMethod, loaded: Loaded) -> None:
    """Make this run the one that is set, trained and shown, and go to Explore; or say why it cannot be."""
    settings = Settings(source, method, current(SETTINGS, CONTROL)[0].hidden)
    try:
        start(settings, loaded)
    except InputError as error:  # the line is full
        st.error("The run cannot be opened now:")
        st.text("\n".join(error.problems))
        return
    open_settings(settings)


def open_settings(settings: Settings) -> NoReturn:
    """Go to Explore and let the controls there say these settings."""
    keep(SETTINGS, settings)
    forget(CONTROL)
    go(PAGES["Explore"].script, PAGES["Explore"].prefix)
