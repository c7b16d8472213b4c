"""A short form of the load: a few visitors at once, on a real server, meet no error and see what they ask."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
VISITORS = 3


def test_simultaneous_visitors_get_scores_and_results():
    command = [sys.executable, str(Path(__file__).parent / "twenty.py")]
    command += ["--visitors", str(VISITORS), "--minutes", "0.05"]  # each goes round once at least
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    assert told["faults"] == []
    assert told["timed out"] == {}
    for what in ("open Explore", "scores", "ask", "from the end of a training to its scores"):
        assert told["seconds"][what]["times"] >= VISITORS
    assert told["memory in GB"]["peak"] > 0
