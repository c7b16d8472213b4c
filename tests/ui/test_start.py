"""Uploads stay in memory and are bounded; scripts cannot read the cookie; hostile widget values are errors in words."""

import asyncio
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie

import pytest
from app_pages import make_page
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from smfh.folders import app_folder
from smfh.ui import start
from smfh.ui.visitor import COOKIE

MEGABYTE = 1 << 20


@pytest.fixture
def limits(monkeypatch):
    """Uploads of at most 3 MB; what the server changes in Streamlit is undone after the test."""
    monkeypatch.setattr(MultiPartParser, "spool_max_size", MultiPartParser.spool_max_size)
    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", MemoryUploadedFileManager.add_file)
    monkeypatch.setattr(start.st, "get_option", {"server.maxUploadSize": 3}.__getitem__)
    start.hold_uploads_in_memory()


def test_an_upload_of_the_largest_size_is_not_written_to_disk(limits):
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.npz"\r\n\r\n'

    async def body():
        yield head + bytes(3 * MEGABYTE) + b"\r\n--x--\r\n"

    parser = MultiPartParser(Headers({"content-type": "multipart/form-data; boundary=x"}), body())
    with ThreadPoolExecutor(1) as pool:  # the browser of other tests has a loop in this thread
        upload = pool.submit(asyncio.run, parser.parse()).result()["file"]
    assert upload.size == 3 * MEGABYTE
    assert not upload.file._rolled  # a temporary file on disk, if it were
    upload.file.close()


def test_the_uploads_of_a_page_are_bounded_and_the_newest_stay(limits):
    files = MemoryUploadedFileManager("/upload")
    for number in range(10):
        file = UploadedFileRec(str(number), "a.npz", "", bytes(2 * MEGABYTE))
        files.add_file(session_id="ann", file=file)  # named, as Streamlit does
    files.add_file(session_id="bob", file=UploadedFileRec("first", "b.npz", "", b"1"))
    assert list(files.file_storage["ann"]) == ["7", "8", "9"]
    assert list(files.file_storage["bob"]) == ["first"]


@pytest.mark.parametrize("sent", [{"json_value": "{"}, {"string_value": "x"}])
def test_a_value_of_the_wrong_type_is_an_error_in_words(monkeypatch, sent):
    messages = []
    monkeypatch.setattr(start, "draw_problems", lambda title, problems: messages.extend(problems))
    states, number = WStates(), WidgetMetadata("id", lambda value: value + 1, int, "json_value")
    states.set_widget_metadata(number)
    states.set_widget_from_proto(WidgetState(id="id", **sent))
    with pytest.raises((ValueError, TypeError)) as caught:
        states["id"]
    assert start.note_fault(caught.value)
    assert messages == ["The browser sent a value that this page cannot use. Reload the page."]


def cookie_from(answer, **headers):
    """The visitor's cookie in the answer to a request with these headers; None if there is none."""
    raw = [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "scheme": "http", "method": "GET", "path": "/", "query_string": b"", "headers": raw}
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(asyncio.run, answer(Request(scope))).result()
    return SimpleCookie(response.headers.get("Set-Cookie", "")).get(COOKIE)


@pytest.mark.parametrize("name", ["", "0123456789abcdef" * 2, "forged"])
@pytest.mark.parametrize("proxy", [{}, {"X_Forwarded_Proto": "https"}])
@pytest.mark.parametrize("answer", [start.answer_page, start.answer_health])
def test_scripts_cannot_read_the_cookie_which_lasts_and_is_secure_over_tls(name, proxy, answer):
    cookie = cookie_from(answer, cookie=f"{COOKIE}={name}", **proxy)
    assert re.fullmatch("[0-9a-f]{32}", cookie.value)
    assert (cookie.value == name) == (len(name) == 32)
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
    assert bool(cookie["secure"]) == bool(proxy)


def test_a_page_brings_a_new_visitor_a_cookie_and_the_health_address_does_not():
    assert cookie_from(start.answer_page).value != cookie_from(start.answer_page).value
    assert cookie_from(start.answer_health) is None


def test_an_error_of_the_program_is_left_to_streamlit():
    with pytest.raises(KeyError) as caught:
        WStates()["missing"]
    assert not start.note_fault(caught.value)
    assert not start.note_fault(TypeError("a fault of a page"))


def test_a_server_that_has_warmed_up_shows_pictures_and_scores_in_the_first_run_of_the_page(monkeypatch):
    monkeypatch.setattr("smfh.runs.training.train", lambda *_: pytest.fail("trained"))
    monkeypatch.setattr(start, "begin_compiling", lambda call: None)
    monkeypatch.setattr(start, "FIRST_PAGE_SECONDS", 0.0)
    start.warm_up()
    jobs = start.job_queue().load
    page = make_page("streamlit_app.py").run()
    assert not page.exception
    assert page.metric
    assert page.get("bidi_component")
    assert not page.get("progress")
    assert start.job_queue().load == jobs
    assert not page.get("plotly_chart")  # the browser draws the wall first, as the chart library is large
    assert page.run().get("plotly_chart")


@pytest.mark.slow
def test_the_first_page_is_drawn_without_large_libraries_that_it_does_not_need(tmp_path):
    code = f"""
import sys
from streamlit.testing.v1 import AppTest
from smfh.runs import training
training.FIRST_PAGE_SECONDS = 600  # Numba is imported later
page = AppTest.from_file({str(app_folder() / "streamlit_app.py")!r}, default_timeout=120).run()
print(len(page.metric), page.exception, {{"onnxruntime", "pandas", "numba", "optuna"}} & set(sys.modules))
"""
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"SMFH_CACHE": str(tmp_path)}
    )
    assert finished.stdout.split("\n")[-2] == "4 ElementList() set()", finished.stderr
