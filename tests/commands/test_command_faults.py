"""Commands where the disk is full, the cache cannot be written, or there is no home.

A full disk is RLIMIT_FSIZE: the system refuses what is written beyond some bytes of a file, as it does where
no room is left, and anybody may set it. A folder below /proc can be written by nobody, root included.
"""

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from smfh.datasets import cache
from smfh.runs import RunStore

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SMALL = ["planted", "--option", "items=60"]
NOWHERE = "/proc/smfh"
BYTES = 6000  # of a file; a run has some more


def smfh(*words: str, full: bool = False, without: str = "", **environment: str):
    """What the command says, and how it ends."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (BYTES, BYTES))
    known = {name: value for name, value in os.environ.items() if name != without}
    return subprocess.run(
        [sys.executable, "-m", "smfh", *words], cwd=ROOT, env=known | environment, capture_output=True,
        text=True, timeout=120, preexec_fn=limit if full else None, check=False,
    )  # fmt: skip


def compare(bits: str, **how):
    return smfh("compare", *SMALL, "--methods", "cvh", "--bits", *bits.split(), "--seeds", "1", **how)


def test_on_a_full_disk_what_was_finished_stays_and_the_command_says_what_to_do(tmp_path):
    here = {"SMFH_CACHE": str(tmp_path)}
    assert compare("8", **here).returncode == 0
    (kept,) = RunStore(tmp_path / "runs").records()
    full = compare("8 16", full=True, **here)
    assert full.returncode != 0
    assert "File too large. Make room, or name another folder with SMFH_CACHE" in full.stderr
    assert "Traceback" not in full.stderr
    assert RunStore(tmp_path / "runs").records() == [kept]
    assert [file.name for file in (tmp_path / "runs").iterdir()] == [f"{kept.id}.npz"]
    assert compare("8 16", **here).returncode == 0
    assert {run.method.bits for run in RunStore(tmp_path / "runs").records()} == {8, 16}


def test_a_study_on_a_full_disk_is_refused_in_words(tmp_path):
    order = ["tune", "--datasets", "planted", "--method", "cvh", "--trials", "2", "--study", "full"]
    full = smfh(*order, full=True, SMFH_CACHE=str(tmp_path))
    assert full.returncode == 2
    assert "make room and try again" in full.stderr
    assert "Traceback" not in full.stderr
    assert smfh(*order, SMFH_CACHE=str(tmp_path)).returncode == 0


def test_without_a_cache_that_can_be_written_everything_else_goes_on():
    assert "mAP" in smfh("fit", *SMALL, "--method", "cvh", SMFH_CACHE=NOWHERE).stdout
    said = compare("8", SMFH_CACHE=NOWHERE)
    assert "name another folder with SMFH_CACHE" in said.stderr
    study = smfh("tune", "--datasets", "planted", "--trials", "2", SMFH_CACHE=NOWHERE)
    assert study.returncode == 2
    assert "Name another with SMFH_CACHE, or a database with SMFH_STUDIES" in study.stderr
    for one in (said, study):
        assert "Traceback" not in one.stderr


def test_without_home_the_cache_is_where_the_system_says(tmp_path):
    here = {"SMFH_CACHE": "", "XDG_CACHE_HOME": str(tmp_path)}
    assert compare("8", without="HOME", **here).returncode == 0
    assert len(RunStore(tmp_path / "smfh" / "runs").records()) == 1


def test_who_has_no_home_at_all_has_a_folder_among_the_temporary_ones(monkeypatch, tmp_path):
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("SMFH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    assert cache.cache_folder().parent == tmp_path
