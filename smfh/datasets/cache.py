"""Where computed files are kept between starts; everything in there can be deleted at any time."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """SMFH_CACHE if set, else `smfh` in the user's cache folder of this platform."""
    if own := os.environ.get("SMFH_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        named, fallback = "LOCALAPPDATA", Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        named, fallback = "", Path.home() / "Library" / "Caches"
    else:
        named, fallback = "XDG_CACHE_HOME", Path.home() / ".cache"
    folder = Path(os.environ.get(named, ""))
    return (folder if folder.is_absolute() else fallback) / "smfh"  # XDG: a relative path is no path
