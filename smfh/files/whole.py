"""Files that are whole or not there; and what killed programs left of them is cleared away."""

import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LEFT_OVER = 3600.0  # seconds after which what another machine's program writes is what it left behind
OURS = re.compile(r"\.?smfh-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-")
MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def passing_name() -> str:
    """How the name of a temporary file or folder of this program begins: with who makes it."""
    return f"smfh-{MACHINE}-{os.getpid()}-"


def write_whole(path: Path, write: Callable[[BinaryIO], object], durable: bool = True) -> None:
    """Write beside the file and move into place, so that no reader ever meets a half of it.

    All is on the disk before the name is, and then the name: neither a killed program nor a power cut leaves
    a half behind it. What need not outlive a power cut is not waited for.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{passing_name()}")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def clear_left_over(folder: Path) -> int:
    """Remove what programs that are gone left in the folder, not below it; how much it was.

    What cannot be removed, as in a folder that may only be read, stays: it harms nobody.
    """
    try:
        with os.scandir(folder) as entries:
            ours = [entry for entry in entries if OURS.match(entry.name)]
    except OSError:  # not there, or not for us: nothing of ours is in it
        return 0
    removed = 0
    for entry in filter(is_left_over, ours):
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink(missing_ok=True)
            removed += 1
    return removed


def is_left_over(entry: "os.DirEntry[str]") -> bool:
    """Whether its program is gone; of another machine's, and where the clock was set back, its age tells."""
    if (who := OURS.match(entry.name)) is None:
        return False
    if who["machine"] == MACHINE and not _runs(int(who["process"])):
        return True
    try:
        return abs(time.time() - entry.stat(follow_symlinks=False).st_mtime) > LEFT_OVER
    except OSError:  # gone meanwhile
        return False


def _runs(process: int) -> bool:
    if os.name == "nt":  # there one cannot ask without ending it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        pass
    return True


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # there a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
