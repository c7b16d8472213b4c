"""What the server does at its start and in the background: log, workers, health check, freeing memory.

A Streamlit component is registered with the server that runs when the component's module is imported. This
module is imported before the server runs, so it must not import a component.
"""

import asyncio
import contextlib
import gc
import logging
import os
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from traceback import extract_tb

import psutil
import streamlit as st
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from streamlit.runtime import RuntimeState, get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from smfh.files.atomic import remove_all_leftovers, write_atomically
from smfh.folders import DATA_FOLDER, STUDIES_FILE, app_folder, cache_folder
from smfh.memory import free_memory, limit_arenas
from smfh.plugins import load_plugins
from smfh.runs import begin_compiling
from smfh.types import InputError
from smfh.ui.log import log_error, log_event, set_up_log
from smfh.ui.plain import draw_problems
from smfh.ui.server import (
    STARTED,
    forget_all,
    forget_unused,
    health_path,
    job_queue,
    local_engine,
    submit_load,
    submit_saved_run,
)
from smfh.ui.settings import default_settings
from smfh.ui.visitor import COOKIE, VISITOR, visitor_name

TIDY_SECONDS = 60.0
SESSION_UPLOADS = 2  # of the largest size, per open page
FORM_BYTES = 1 << 20  # around the file in an upload
COOKIE_SECONDS = 86_400  # that a browser keeps the visitor's cookie after the last open page
FIRST_PAGE_SECONDS = 5.0  # before workers start
EMPTY_SECONDS = 300.0  # without an open page, after which caches are emptied


@asynccontextmanager
async def running(app: st.App) -> AsyncIterator[None]:
    """Prepare the server (log, workers, compiled code, browser) and free memory regularly until it stops."""
    set_up_log()
    logging.getLogger("streamlit.error_util").addFilter(has_traceback)
    hold_uploads_in_memory()
    with contextlib.suppress(ImportError, OSError, ValueError):  # as many files and connections as the system permits
        import resource  # not available on every system

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for plugin in load_plugins():
        log_event("plugin", origin=plugin.origin, problem=plugin.problem)
    log_event("server", state="begun", cleared=remove_all_leftovers())
    adopt_shipped_studies()
    Thread(target=warm_up, name="warming up", daemon=True).start()
    tidying = asyncio.create_task(tidy_up())
    if not st.get_option("server.headless"):  # `streamlit run` opens no browser for an App
        host, base = st.get_option("server.address") or "localhost", str(st.get_option("server.baseUrlPath"))
        address = f"http://{host}:{st.get_option('server.port')}/{base.strip('/')}"
        address += "/Data" if DATA_FOLDER in os.environ else ""
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    yield
    tidying.cancel()
    log_event("server", state="ended")


def warm_up() -> None:
    """Prepare the first visit: import Explore, load its data, read its saved run.

    Workers start later, because starting them uses all cores and the first visit may not need them.
    """
    begin_compiling(local_engine().call)
    from smfh.ui.explore.page import draw_explore  # noqa: F401, registers components with the running server

    with contextlib.suppress(InputError):  # the page shows what is wrong
        source, method = (settings := default_settings()).source, settings.method
        loading = submit_load(source) if source.is_light else None
        if loading is not None and loading.wait() and loading.state == "finished":
            submit_saved_run(source, method, loading.result)
    sleep(FIRST_PAGE_SECONDS)
    local_engine().connect()
    import smfh.experiments.tuning  # noqa: F401, Optuna takes seconds, which the first sweep would wait

    gc.freeze()  # modules stay for ever; looking through them at each collection delays a page by 0.1 s


def adopt_shipped_studies() -> None:
    """Copy the studies that are shipped with the program into a new cache folder."""
    shipped, target = app_folder() / "assets" / "results" / STUDIES_FILE, cache_folder() / STUDIES_FILE
    if "SMFH_STUDIES" in os.environ or target.exists() or not shipped.exists():
        return
    with contextlib.suppress(OSError):  # the Tune page reports a folder that cannot be written
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, lambda copy: copy.write(shipped.read_bytes()))


def hold_uploads_in_memory() -> None:
    """Keep uploads off the disk, and limit those of a page to SESSION_UPLOADS × the maximum file size.

    By default, Starlette writes an upload above 1 MB to a temporary file, and Streamlit stores any number of them.
    """
    max_bytes = int(st.get_option("server.maxUploadSize")) << 20
    MultiPartParser.spool_max_size = max_bytes + FORM_BYTES
    add_file = MemoryUploadedFileManager.add_file

    def add_and_limit(self: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
        add_file(self, session_id, file)
        stored = list(self.file_storage[session_id].values())  # the oldest first
        while sum(len(one.data) for one in stored) > SESSION_UPLOADS * max_bytes:
            self.remove_file(session_id, stored.pop(0).file_id)

    MemoryUploadedFileManager.add_file = add_and_limit  # type: ignore[method-assign]


async def tidy_up() -> None:
    """Free memory and delete old files every minute, even while jobs run; if no page is open, empty all caches."""
    last_open = monotonic()
    while True:
        await asyncio.sleep(TIDY_SECONDS)
        if get_instance().state == RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED:
            last_open = monotonic()
        if monotonic() - last_open > EMPTY_SECONDS:
            forget_all()
        forget_unused()
        with contextlib.suppress(AttributeError):  # else a closed page stays until another one closes
            get_instance()._session_mgr._session_storage._cache.expire()  # type: ignore[attr-defined]
        await asyncio.to_thread(local_engine().trim)
        free_memory()


async def answer_health(request: Request) -> JSONResponse:
    """Answer a health check with the server's state as JSON; status 503 if it accepts no more jobs."""
    at_work, waiting = job_queue().load
    server, memory_bytes = psutil.Process(), 0  # of this process and all processes that it has started
    for process in (server, *server.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended meanwhile
            memory_bytes += process.memory_info().rss
    is_ready = waiting < job_queue().max_waiting
    about = {"ready": is_ready, "busy": at_work > 0, "queue": waiting, "started": STARTED}
    headers = {"Cache-Control": "no-store"}
    response = JSONResponse(about | {"memory_bytes": memory_bytes}, 200 if is_ready else 503, headers)
    if COOKIE in request.cookies:  # an open page asks regularly, which extends the life of its cookie
        set_cookie(request, response)
    return response


def note_fault(error: Exception) -> bool:
    """Log an exception raised by a page; if it has messages for visitors, show them and return True.

    For any other error, Streamlit logs the traceback and shows visitors no details.
    """
    log_error(error, str(st.session_state.get(VISITOR, "")))
    problems = problems_of(error)
    if problems:
        draw_problems("This part of the page cannot be shown:", problems)
    return bool(problems)


def problems_of(error: BaseException | None) -> tuple[str, ...]:
    """Return the messages of an error that visitors may see; none if the error is a fault in the program."""
    if error is None or isinstance(error, InputError):
        return () if error is None else error.problems
    frames = [(Path(frame.filename).name, frame.name) for frame in extract_tb(error.__traceback__)]
    is_bad_value = ("session_state.py", "__getitem__") in frames and not isinstance(error, KeyError)
    return ("The browser sent a value that this page cannot use. Reload the page.",) if is_bad_value else ()


def has_traceback(record: logging.LogRecord) -> bool:
    """Whether Streamlit should log an error with its traceback; `note_fault` logs the others in one line."""
    return not (record.exc_info and problems_of(record.exc_info[1]))


INDEX = Path(st.__file__).with_name("static") / "index.html"
STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


async def answer_page(request: Request) -> HTMLResponse:
    """Return Streamlit's page with our style, so that it applies before anything is drawn, and with the cookie."""
    page = INDEX.read_text(encoding="utf-8").replace("</body>", f"<style>{STYLE}</style></body>")
    response = HTMLResponse(page, headers={"Cache-Control": "no-cache"})
    set_cookie(request, response)
    return response


def set_cookie(request: Request, response: Response) -> None:
    """Send the visitor's cookie, the same as before or a new one, which no script can read.

    It is `Lax`, not `Strict`: a browser that follows a link from another site would not send a strict cookie with
    its request for the page, so the visitor would get a new name.
    """
    is_encrypted = "https" in (request.url.scheme, request.headers.get("X-Forwarded-Proto"))
    response.set_cookie(
        COOKIE,
        visitor_name(request.cookies.get(COOKIE, "")),
        max_age=COOKIE_SECONDS,
        secure=is_encrypted,
        httponly=True,
        samesite="lax",
    )


limit_arenas()  # here, because the server has no threads yet
BASE = health_path().removesuffix("health")
PAGE_NAMES = ("", *(file.stem.partition("_")[2] for file in (app_folder() / "pages").glob("*.py")))
ROUTES = [Route(health_path(), answer_health), *(Route(f"{BASE}{name}", answer_page) for name in PAGE_NAMES)]
