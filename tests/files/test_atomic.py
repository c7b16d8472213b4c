"""A file is complete or absent, also when a program is killed; its leftovers are removed later."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smfh.files.atomic import LEFTOVER_SECONDS, MACHINE, remove_leftovers, temporary_prefix, write_atomically

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from smfh.files.atomic import write_atomically
def write(file):
    file.write(b"half of the new")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), write)
"""


def test_a_killed_writer_leaves_the_old_file_and_a_leftover_that_is_removed(tmp_path):
    target = tmp_path / "file"
    write_atomically(target, lambda file: file.write(b"old"))
    killed = subprocess.run([sys.executable, "-c", KILLED, target], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    assert remove_leftovers(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_while_writing_leaves_nothing(tmp_path):
    def write(file):
        file.write(b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_atomically(tmp_path / "file", write)
    assert list(tmp_path.iterdir()) == []


def test_files_in_use_and_files_of_others_stay(tmp_path):
    names = [f".{temporary_prefix()}in_use", f"smfh-00000000-{os.getpid()}-new", ".hidden", "smfh-notes.txt"]
    names += [f"{MACHINE}-1-x", ".smfh-1-2-3", f"smfh-{MACHINE}-{10**30}-x"]
    for name in names:
        (tmp_path / name).write_text("x")
    assert remove_leftovers(tmp_path) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)
    assert remove_leftovers(tmp_path / "absent") == 0


@pytest.mark.parametrize("seconds", [-LEFTOVER_SECONDS - 60, LEFTOVER_SECONDS + 60])
def test_old_leftovers_of_another_machine_are_removed(tmp_path, seconds):
    file, folder = tmp_path / ".smfh-00000000-1-file", tmp_path / "smfh-00000000-1-folder"
    file.write_text("half")
    folder.mkdir()
    (folder / "inside").write_text("half")
    for path in (file, folder):
        os.utime(path, (time.time() + seconds,) * 2)
    assert remove_leftovers(tmp_path) == 2
    assert list(tmp_path.iterdir()) == []
