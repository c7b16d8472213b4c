"""The program as a wheel: built, installed where nothing of it is, started from another folder, visited."""

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_container import health_check

from smfh.folders import app_folder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
START_SECONDS = 60

COPIED = ("smfh", "pages", "assets", ".streamlit", "streamlit_app.py", "pyproject.toml", "requirements.txt")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with the wheel in it; the packages that it needs are those of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    source, environment = folder / "source", folder / "environment"
    source.mkdir()
    for name in (*COPIED, "LICENSE"):  # setuptools writes beside what it builds
        is_folder = (ROOT / name).is_dir()
        (shutil.copytree if is_folder else shutil.copy)(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(folder), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("setuptools 77 or newer cannot be fetched to build with")
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    [wheel] = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, "install", "--no-deps", "--quiet", str(wheel)], check=True)
    shutil.rmtree(source)
    return environment


@pytest.fixture(scope="module")
def clean():
    """The surroundings of somebody who has no checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_wheel_has_all_it_needs_and_finds_it(installed, clean, tmp_path):
    code = (
        "from smfh.folders import app_folder; from smfh.datasets import DATASETS;"
        "from smfh.export.page import assemble;"
        "print(app_folder(), len(DATASETS['emoji']().load()[0]), len(assemble('a', '')))"
    )
    python = str(installed / "bin" / "python")
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    place, items, letters = done.stdout.split()
    assert Path(place) == installed / "share" / "smfh"
    assert int(items) == 1740
    assert int(letters) > 10_000


def is_up(port, server):
    """Whether it answers before long."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as visitor:
            if visitor.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.2)
    return False


def test_the_installed_app_is_visited(installed, clean, tmp_path, page, cache_folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "log.txt"
    command = [str(installed / "bin" / "smfh"), "app", "--port", str(port), "--headless"]
    with log.open("w") as output:
        server = subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=output, env=clean)
    try:
        assert is_up(port, server), log.read_text()
        page.goto(f"http://localhost:{port}/Data?data=emoji")
        expect(page.get_by_role("heading", name="Emoji").first).to_be_visible()
        expect(page.get_by_role("img", name=re.compile("[a-z]")).first).to_be_visible()  # of its pairs
        expect(page.get_by_test_id("stSidebarNav")).to_have_count(0)  # as .streamlit/config.toml has it
        assert server.poll() is None
        asked = health_check(port)  # as the container is asked
        assert asked.returncode == 0, asked.stderr
    finally:
        server.terminate()
        server.wait(timeout=20)


def test_a_checkout_is_the_app_folder():
    assert app_folder() == ROOT
