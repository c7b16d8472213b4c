"""Commands on a full disk, with a cache that cannot be written, or without a home folder.

RLIMIT_FSIZE simulates a full disk: the system refuses to write more than a few bytes to a file. A folder in
/proc cannot be written, not even by root.
"""

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from smfh.runs import RunStore

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SMALL = ["planted", "--option", "items=60"]
UNWRITABLE = "/proc/smfh"
MAX_FILE_BYTES = 6000  # a run is larger


def smfh(*words: str, full: bool = False, without: str = "", **environment: str):
    """Run a command in its own process, without one environment variable."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    known = {name: value for name, value in os.environ.items() if name != without}
    return subprocess.run(
        [sys.executable, "-m", "smfh", *words], cwd=ROOT, env=known | environment, capture_output=True,
        text=True, timeout=120, preexec_fn=limit if full else None, check=False,
    )  # fmt: skip


def compare(bits: str, **how):
    return smfh("compare", *SMALL, "--methods", "cvh", "--bits", *bits.split(), "--seeds", "1", **how)


def test_a_full_disk_is_reported_and_finished_runs_stay(tmp_path):
    here = {"SMFH_CACHE": str(tmp_path)}
    assert compare("8", **here).returncode == 0
    (saved,) = RunStore(tmp_path / "runs").records()
    full = compare("8 16", full=True, **here)
    assert full.returncode != 0
    assert "SMFH_CACHE" in full.stderr
    assert "Traceback" not in full.stderr
    assert RunStore(tmp_path / "runs").records() == [saved]
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [f"{saved.id}.npz"]
    assert compare("8 16", **here).returncode == 0
    assert {run.method.bits for run in RunStore(tmp_path / "runs").records()} == {8, 16}


def test_a_study_on_a_full_disk_is_refused(tmp_path):
    order = ["tune", "--datasets", "planted", "--method", "cvh", "--trials", "2", "--study", "full"]
    full = smfh(*order, full=True, SMFH_CACHE=str(tmp_path))
    assert full.returncode == 2
    assert full.stderr.startswith("error: ")
    assert "Traceback" not in full.stderr
    assert smfh(*order, SMFH_CACHE=str(tmp_path)).returncode == 0


def test_without_a_writable_cache_fit_works_and_others_say_what_to_do():
    assert "mAP" in smfh("fit", *SMALL, "--method", "cvh", SMFH_CACHE=UNWRITABLE).stdout
    compared = compare("8", SMFH_CACHE=UNWRITABLE)
    study = smfh("tune", "--datasets", "planted", "--trials", "2", SMFH_CACHE=UNWRITABLE)
    for one in (compared, study):
        assert one.returncode == 2
        assert "SMFH_CACHE" in one.stderr
        assert "Traceback" not in one.stderr
