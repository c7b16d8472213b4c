"""From one page to another, with something in hand; not from a callback."""

from typing import NoReturn

from smfh.ui.address import forget, go, keep
from smfh.ui.navigation import PAGES
from smfh.ui.settings import SETTINGS, Settings
from smfh.ui.sidebar import CONTROL


def open_query(row: int, source: str, target: str) -> NoReturn:
    """Go to Search and ask there with an item of the shown data."""
    go(PAGES["Search"].script, PAGES["Search"].prefix, row=str(row), source=source, target=target)


def open_settings(settings: Settings) -> NoReturn:
    """Go to Explore and let the controls there say these settings."""
    keep(SETTINGS, settings)
    forget(CONTROL)
    go(PAGES["Explore"].script, PAGES["Explore"].prefix)
