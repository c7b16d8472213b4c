"""What the server does when it starts, before anybody visits: the log, the health address, the browser.

A page's component is known only to the server that runs when its module is imported, so that nothing here
may import one.
"""

import asyncio
import contextlib
import ctypes
import gc
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread
from time import monotonic

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from smfh.bench.measure import family_bytes
from smfh.datasets.cache import clear_all_left_over
from smfh.runs import begin_compiling
from smfh.types import InputError
from smfh.ui.log import begin_log, tell, tell_fault
from smfh.ui.server import STARTED, forget_all, health_path, job_queue, processes, tidy

EMPTY = 300.0  # seconds without an open page after which nobody is here
_last_page = monotonic()  # when an open page has asked how the server is


@asynccontextmanager
async def running(app: st.App) -> AsyncIterator[None]:
    """From the start of the server to its end."""
    begin_log()
    tell("server", state="begun", cleared=clear_all_left_over())
    processes().prepare()
    begin_compiling(processes().call)
    tidying = asyncio.create_task(tidy_up())
    if not st.get_option("server.headless"):  # what `streamlit run` does of itself, but not for an App
        Thread(target=webbrowser.open, args=(_address(),), daemon=True).start()
    yield
    tidying.cancel()
    tell("server", state="ended")


async def tidy_up(every: float = 60.0) -> None:
    """Give back what visitors who left had, whenever nothing is at work; all of it when no page is open."""
    is_empty = False
    while True:
        await asyncio.sleep(every)
        if job_queue().load != (0, 0):
            continue
        was_empty, is_empty = is_empty, monotonic() - _last_page > EMPTY
        if is_empty and not was_empty:
            forget_all()
        gc.collect()
        tidy()
        release_memory()


def release_memory() -> None:
    """Let the system have what is free; C's library keeps it otherwise, a part for each thread there was."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # not every C library can
            ctypes.CDLL(None).malloc_trim(0)


def health() -> dict[str, object]:
    """Whether it takes work, is at work, how many wait, its bytes with all its processes, since when."""
    queue = job_queue()
    at_work, waiting = queue.load
    return {
        "ready": waiting < queue.waiting,
        "busy": at_work > 0,
        "queue": waiting,
        "memory_bytes": family_bytes(),
        "started": STARTED,
    }


async def answer_health(request: Request) -> JSONResponse:
    """As JSON, never kept by a proxy; 503 where no more work is taken. An open page asks again and again."""
    global _last_page
    if "page" in request.query_params:
        _last_page = monotonic()
    about = health()
    return JSONResponse(about, 200 if about["ready"] else 503, {"Cache-Control": "no-store"})


def note_fault(error: Exception) -> bool:
    """A page that failed: a line in the log, and on the page what can be done about it.

    Of an error that nobody foresaw Streamlit tells the traceback to the log, and nothing of it to visitors.
    """
    tell_fault(error, str(st.session_state.get("visitor", "")))
    if not isinstance(error, InputError):
        return False
    st.error("This part of the page cannot be shown:")
    st.text("\n".join(error.problems))
    return True


def _address() -> str:
    host = st.get_option("server.address") or "localhost"
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"http://{host}:{st.get_option('server.port')}/{base}"


ROUTES = [Route(health_path(), answer_health)]
