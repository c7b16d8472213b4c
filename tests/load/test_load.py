"""A short load test: a few simultaneous visitors of a real server get scores and results without errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
VISITORS = 3


def test_simultaneous_visitors_get_scores_and_results():
    command = [sys.executable, str(Path(__file__).parent / "twenty.py")]
    command += ["--visitors", str(VISITORS), "--minutes", "0.05", "--thinking", "0.1", "0.3"]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    assert report["faults"] == []
    assert report["timed out"] == {}
    for what in ("open Explore", "scores", "ask", "from the end of a training to its scores"):
        assert report["seconds"][what]["times"] >= VISITORS
    assert report["memory in GB"]["peak"] > 0
