"""A real server and a real browser, each started once."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="session")
def app(cache_folder: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1", "--server.fileWatcherType=none"]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, env=os.environ)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_until_up(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):  # noqa: S310, our own server
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"The server did not start:\n{log.read_text()}")


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
