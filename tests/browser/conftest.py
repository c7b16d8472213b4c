"""A real server and a real browser, each started once."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# nothing of these is needed for a page on this machine, and some of it would reach for the network
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 60


@dataclass
class Server:
    """One that runs, or ran."""

    address: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def end(self) -> None:
        self.process.kill()  # also where it was stopped
        self.process.wait(timeout=20)


def start(folder: Path, root: Path = ROOT, port: int = 0, **environment: str) -> Server:
    """The app on a port of this machine, a free one where none is named; its log is in the folder."""
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
        port = free.getsockname()[1]
    log = folder / f"log_{time.monotonic_ns()}.txt"
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1"]
    paths = {"PYTHONPATH": str(ROOT)}
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=root, stdout=output, stderr=output, env=os.environ | paths | environment
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    wait_until_up(server)
    return server


@pytest.fixture(scope="session")
def app(cache_folder: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app."""
    server = start(tmp_path_factory.mktemp("server"))
    yield server.address
    server.process.terminate()
    server.process.wait(timeout=20)


@pytest.fixture
def start_server(cache_folder: None, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """For servers of one's own, with other folders or to be ended."""
    started: list[Server] = []

    def make(**how: Any) -> Server:
        started.append(start(tmp_path, **how))
        return started[-1]

    yield make
    for server in started:
        server.end()


def wait_until_up(server: Server) -> None:
    end, health = time.monotonic() + START_SECONDS, f"{server.address}/_stcore/health"
    while time.monotonic() < end and server.process.poll() is None:
        try:
            with urllib.request.urlopen(health, timeout=2):  # noqa: S310, our own server
                return
        except OSError:
            time.sleep(0.2)
    server.end()
    pytest.fail(f"The server did not start:\n{server.log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("There is no Chromium; .ci/run should have installed it.")
        pytest.skip("there is no Chromium: install it (Debian: chromium) or name it in CHROMIUM")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser) -> Iterator[object]:
    """A fresh visitor at a desk."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    yield opened
    context.close()
