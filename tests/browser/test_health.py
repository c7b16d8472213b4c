"""The health address and the log of a real server."""

import http.client
import json
import re
import shutil
import signal
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from smfh.ui.log import short_id

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 60  # a test that hangs fails after this time


def health(app: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{app}/health", timeout=10) as answer:  # noqa: S310, our own server
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        return json.load(answer)


def test_health_has_readiness_queue_and_memory(page: Page, start_server):
    server = start_server()
    before = health(server.address)
    memory, started = before.pop("memory_bytes"), before.pop("started")
    assert before == {"ready": True, "busy": False, "queue": 0}
    assert 50e6 < memory < 5e9
    page.goto(f"{server.address}/?data=planted&data.items=8000&bits=256&iterations=500")
    until = time.monotonic() + WAIT_SECONDS
    while not (about := health(server.address))["busy"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert (about["ready"], about["started"]) == (True, started)
    server.process.terminate()  # while a job runs and a page is open
    assert server.process.wait(timeout=20) in (0, -signal.SIGTERM)
    said = server.log.read_text()
    assert re.search("run visitor=[0-9a-f]{8} state=begun .* method=smfh-plus bits=256", said)
    assert "Traceback" not in said


FAILING = """
import streamlit as st
if __name__ == "__main__":
    st.session_state["visitor"] = "ann"
    raise ValueError("a caption")
else:
    from smfh.ui.start import note_fault, running
    app = st.App(__file__, lifespan=running, on_script_error=note_fault)
"""


def test_an_error_of_a_page_is_logged_and_not_shown(page: Page, start_server, tmp_path):
    (tmp_path / "streamlit_app.py").write_text(FAILING)
    (tmp_path / ".streamlit").mkdir()
    shutil.copy(ROOT / ".streamlit" / "config.toml", tmp_path / ".streamlit")
    server = start_server(root=tmp_path)
    page.goto(server.address)
    expect(page.get_by_test_id("stException")).to_be_visible()
    assert "a caption" not in page.inner_text("body")
    (line,) = [line for line in server.log.read_text().splitlines() if " fault " in line]
    assert re.search(rf"fault visitor={short_id('ann')} error=ValueError at=streamlit_app.py:5", line)


@pytest.mark.parametrize(("host", "status"), [("evil.example", 403), ("localhost", 101)])
def test_only_known_host_names_reach_a_local_server(app, host, status):
    port = int(app.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}", "Upgrade": "websocket"}
    headers |= {"Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    connection.request("GET", "/_stcore/stream", headers=headers | {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    assert connection.getresponse().status == status
    connection.close()
