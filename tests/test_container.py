"""The container, without Docker: the files in its build context, and its health check."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
IGNORED = (ROOT / ".dockerignore").read_text().split()


def is_sent(path: str, patterns: list[str] = IGNORED) -> bool:
    """Whether Docker sees this file: the last pattern that matches it, or a folder above it, decides."""
    parts, sent = path.split("/"), True
    above = ["/".join(parts[:number]) for number in range(1, len(parts) + 1)]
    for pattern in patterns:
        fits = re.compile(_expression(pattern.removeprefix("!").strip("/")))
        if any(fits.fullmatch(place) for place in above):
            sent = pattern.startswith("!")
    return sent


def _expression(pattern: str) -> str:
    """A pattern of .dockerignore as a regular expression: ** matches across folders, * does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meant = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(meant.get(piece, re.escape(piece)) for piece in pieces)


def copied() -> list[str]:
    """The sources of the COPY lines in the Dockerfile."""
    return [source for line in re.findall("^COPY (.*)$", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]]


def needed() -> list[str]:
    """The files that the wheel is built from, according to pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = project["tool"]["setuptools"]
    patterns = [pattern for named in tools["data-files"].values() for pattern in named]
    for package, named in tools["package-data"].items():
        patterns += [f"{package.replace('.', '/')}/{pattern}" for pattern in named]
    patterns += ["pyproject.toml", "smfh/**/*.py"]
    found = {pattern: [str(file.relative_to(ROOT)) for file in ROOT.glob(pattern)] for pattern in patterns}
    assert [pattern for pattern, files in found.items() if not files] == []
    return [file for files in found.values() for file in files]


def test_the_build_context_has_all_files_of_the_wheel():
    assert copied()
    for source in copied():
        assert source == "." or ((ROOT / source).exists() and is_sent(source)), source
    assert [file for file in needed() if not is_sent(file)] == []


def test_the_build_context_has_no_other_files():
    for path in (".git/HEAD", ".venv/bin/python", "tests/test_container.py", "smfh/__pycache__/home.pyc"):
        assert not is_sent(path)


def health_check(port: int) -> "subprocess.CompletedProcess[str]":
    """Run the command of the Dockerfile's HEALTHCHECK with this Python and port."""
    command = json.loads(re.search(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert command[0] == "python"
    assert "http://127.0.0.1:8501/health" in command[-1]
    code = command[-1].replace("127.0.0.1:8501", f"127.0.0.1:{port}")
    return subprocess.run([sys.executable, *command[1:-1], code], capture_output=True, text=True, timeout=60)


def test_the_health_check_fails_without_an_answer():
    assert health_check(1).returncode
