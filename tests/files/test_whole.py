"""A file is whole or not there, whoever is killed; and what was left of it is cleared away."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smfh.files.whole import LEFT_OVER, MACHINE, clear_left_over, passing_name, write_whole

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from smfh.files.whole import write_whole
def write(file):
    file.write(b"half of the new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_whole(Path(sys.argv[1]), write)
"""


def test_a_writer_killed_in_the_midst_leaves_the_old_file_and_nothing_after_the_next_start(tmp_path):
    target = tmp_path / "file"
    write_whole(target, lambda file: file.write(b"old"))
    killed = subprocess.run([sys.executable, "-c", KILLED, target], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    assert clear_left_over(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_in_the_midst_leaves_nothing(tmp_path):
    def write(file):
        file.write(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_whole(tmp_path / "file", write)
    assert list(tmp_path.iterdir()) == []


def test_what_is_at_work_and_what_is_not_ours_stays(tmp_path):
    stays = [f".{passing_name()}at_work", f"smfh-00000000-{os.getpid()}-young", ".hidden", "smfh-notes.txt"]
    stays += [f"{MACHINE}-1-x", ".smfh-1-2-3"]
    for name in stays:
        (tmp_path / name).write_text("x")
    assert clear_left_over(tmp_path) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(stays)
    assert clear_left_over(tmp_path / "nowhere") == 0


def test_what_cannot_be_removed_stays_and_stops_nobody(tmp_path, monkeypatch):
    old = time.time() - LEFT_OVER - 60
    for number in range(3):
        file = tmp_path / f".smfh-00000000-1-{number}"
        file.write_text("half")
        os.utime(file, (old, old))
    unlink = Path.unlink

    def refuse_one(path, missing_ok=False):
        if path.name.endswith("1"):
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse_one)
    assert clear_left_over(tmp_path) == 2
    assert [file.name[-1] for file in tmp_path.iterdir()] == ["1"]


@pytest.mark.parametrize("seconds", [-LEFT_OVER - 60, LEFT_OVER + 60])
def test_another_machines_goes_when_it_is_old_or_the_clock_was_set_back(tmp_path, seconds):
    left, folder = tmp_path / ".smfh-00000000-1-file", tmp_path / "smfh-00000000-1-folder"
    left.write_text("half")
    folder.mkdir()
    (folder / "inside").write_text("half")
    for path in (left, folder):
        os.utime(path, (time.time() + seconds,) * 2)
    assert clear_left_over(tmp_path) == 2
    assert list(tmp_path.iterdir()) == []
