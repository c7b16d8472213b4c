"""Where computed files are kept between starts; everything in there can be deleted at any time."""

import os
import sys
import tempfile
from pathlib import Path

from smfh.files.whole import clear_left_over


def cache_folder() -> Path:
    """SMFH_CACHE if set, else `smfh` in the user's cache folder of this platform.

    Who has no home, as some services, has a folder among the temporary ones, which may not last.
    """
    if own := os.environ.get("SMFH_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        named, usual = "LOCALAPPDATA", ("AppData", "Local")
    elif sys.platform == "darwin":
        named, usual = "", ("Library", "Caches")
    else:
        named, usual = "XDG_CACHE_HOME", (".cache",)
    folder = Path(os.environ.get(named, ""))
    if folder.is_absolute():  # XDG: a relative path is no path
        return folder / "smfh"
    try:
        return Path.home().joinpath(*usual, "smfh")
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"smfh of user {os.getuid()}"


def clear_all_left_over() -> int:
    """At the start of a program: remove what killed ones left in the cache and among temporary files."""
    cache = cache_folder()
    folders = [cache, cache / "runs", cache / "runs" / "ceilings", Path(tempfile.gettempdir())]
    return sum(map(clear_left_over, folders))
