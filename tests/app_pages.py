"""Pages of the app in AppTest: open a link, rerun until a condition holds."""

import time
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

SECONDS = 120


def make_page(script: str, visitor: str = "", **query: str) -> AppTest:
    """The page of a link before its first run, for a visitor with this cookie."""
    page = AppTest.from_file("../streamlit_app.py", default_timeout=SECONDS)
    if script != "streamlit_app.py":
        page.switch_page(script)
    if visitor:
        page.session_state["visitor"] = visitor
    for key, value in query.items():
        page.query_params[key] = value
    return page


def open_page(script: str, **query: str) -> AppTest:
    page = make_page(script, **query).run()
    assert not page.exception
    return page


def until(page: AppTest, reached: Callable[[], object]) -> AppTest:
    """Rerun the page until the condition holds."""
    end = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < end
        page.run()
        assert not page.exception
    return page


def texts(page: AppTest) -> str:
    return "\n".join(element.value for element in page.text)
