"""The container, as far as it can be looked at without Docker: what goes in, and how its health is asked."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
IGNORED = (ROOT / ".dockerignore").read_text().split()


def is_sent(path: str, patterns: list[str] = IGNORED) -> bool:
    """Whether Docker sees this file: the last pattern that fits it, or a folder above it, decides."""
    parts, sent = path.split("/"), True
    above = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
    for pattern in patterns:
        fits = re.compile(_expression(pattern.removeprefix("!").strip("/")))
        if any(fits.fullmatch(place) for place in above):
            sent = pattern.startswith("!")
    return sent


def _expression(pattern: str) -> str:
    """As Docker reads it: * stays in its folder, ** does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meant = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(meant.get(piece, re.escape(piece)) for piece in pieces)


def copied() -> list[str]:
    """What the Dockerfile takes from the folder that it lies in."""
    return [
        source for line in re.findall("^COPY (.*)$", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]
    ]


def needed() -> list[str]:
    """What pyproject.toml builds the wheel from, file by file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = project["tool"]["setuptools"]
    patterns = [pattern for named in tools["data-files"].values() for pattern in named]
    for package, named in tools["package-data"].items():
        patterns += [f"{package.replace('.', '/')}/{pattern}" for pattern in named]
    patterns += [*tools["dynamic"]["dependencies"]["file"], "pyproject.toml", "smfh/**/*.py"]
    found = {pattern: [str(file.relative_to(ROOT)) for file in ROOT.glob(pattern)] for pattern in patterns}
    assert [pattern for pattern, files in found.items() if not files] == []
    return [file for files in found.values() for file in files]


def test_a_pattern_is_read_as_docker_reads_it():
    patterns = [".*", "!.streamlit", "**/__pycache__", "assets/*.png"]
    assert is_sent(".streamlit/config.toml", patterns)
    assert not is_sent(".venv/bin/python", patterns)
    assert not is_sent("smfh/ui/__pycache__/a.pyc", patterns)
    assert not is_sent("assets/a.png", patterns)
    assert is_sent("assets/deep/a.png", patterns)
    assert is_sent("smfh/.hidden", patterns)


def test_all_that_is_copied_and_all_that_the_wheel_is_built_from_is_there_and_sent():
    assert copied()
    for source in copied():
        assert source == "." or ((ROOT / source).exists() and is_sent(source)), source
    assert [file for file in needed() if not is_sent(file)] == []


def test_what_nobody_needs_in_a_container_stays_outside():
    for path in (".git/HEAD", ".venv/bin/python", "tests/test_container.py", "smfh/__pycache__/home.pyc"):
        assert not is_sent(path)


@contextmanager
def answering(status: int) -> Iterator[tuple[int, list[str]]]:
    """A server that always says this; its port, and the paths that it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """It has nothing to say."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def health_check(port: int) -> "subprocess.CompletedProcess[str]":
    """The command of the Dockerfile's HEALTHCHECK, by this Python, on this port."""
    command = json.loads(re.search(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert command[0] == "python"
    code = command[-1].replace("127.0.0.1:8501", f"127.0.0.1:{port}")
    assert code != command[-1]
    return subprocess.run([sys.executable, *command[1:-1], code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("status", "is_well"), [(200, True), (503, False), (404, False)])
def test_a_container_is_well_where_its_server_takes_work(status, is_well):
    with answering(status) as (port, asked):
        assert (health_check(port).returncode == 0) == is_well
    assert asked == ["/health"]


def test_the_port_and_the_command_are_those_of_the_app():
    assert re.search("^EXPOSE 8501$", DOCKERFILE, re.MULTILINE)
    command = json.loads(re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert shlex.join(command) == "smfh app --address 0.0.0.0 --headless"
