"""Write files completely or not at all, and remove the temporary files of killed programs."""

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

import psutil

from smfh.folders import cache_folder

LEFTOVER_SECONDS = 3600.0  # age after which any temporary file counts as left over
TEMPORARY_NAME = re.compile(r"\.?smfh-(?P<machine>[0-9a-f]{8})-(?P<process>\d{1,9})-")
MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def temporary_prefix() -> str:
    """Return the prefix of this process's temporary file names, which contains the machine and process id."""
    return f"smfh-{MACHINE}-{os.getpid()}-"


def write_atomically(path: Path, write: Callable[[BinaryIO], object], durable: bool = True) -> None:
    """Write a temporary file beside the target and rename it, so that no program ever reads half a file.

    A durable file is flushed to disk before and after the rename, so that it also survives a power cut.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{temporary_prefix()}")
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
    if durable and os.name != "nt":  # Windows cannot open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_leftovers(folder: Path) -> int:
    """Remove temporary files of ended processes, or over an hour old, from a folder; return their number."""
    removed = 0
    for path in [*folder.iterdir()] if folder.is_dir() else []:
        with suppress(OSError):
            if (made_by := TEMPORARY_NAME.match(path.name)) is None:
                continue
            has_ended = made_by["machine"] == MACHINE and not psutil.pid_exists(int(made_by["process"]))
            age = abs(time.time() - path.lstat().st_mtime)  # clocks may be set back
            if has_ended or age > LEFTOVER_SECONDS:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                removed += 1
    return removed


def remove_all_leftovers() -> int:
    """Remove leftovers from the cache folder and the temporary folder; return their number."""
    cache = cache_folder()
    folders = [cache, cache / "runs", cache / "runs" / "ceilings", Path(tempfile.gettempdir())]
    return sum(map(remove_leftovers, folders))
