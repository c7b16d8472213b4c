"""What the README shows as Python runs as it stands there."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import smfh

ROOT = Path(smfh.__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
MOST_LINES = {"SMFHPlus(bits=32)": 10, "class ClassCodes": 19, "class Dice": 19}


def test_arrays_methods_and_data_sets_are_shown():
    assert all(any(mark in block for block in BLOCKS) for mark in MOST_LINES)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0][:40])
def test_it_runs(block, tmp_path):
    for mark, most in MOST_LINES.items():
        assert mark not in block or sum(bool(line.strip()) for line in block.splitlines()) <= most
    script = tmp_path / "block.py"
    script.write_text(block, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=here, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()


def test_the_version_has_one_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert smfh.__version__ == project["version"]
    assert project["scripts"]["smfh"] == "smfh.__main__:main"
