"""The environment variables that the program reads, and its folders."""

import logging
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from platformdirs import user_cache_path, user_data_path

from smfh.types import InputError

DISTRIBUTION, APP_SCRIPT = "smfh-explorer", "streamlit_app.py"
DATA_FOLDER = "SMFH_OPEN"  # environment variable: the folder of `python -m smfh app --data FOLDER`
ENCODER = "SMFH_ENCODER"  # environment variable: the encoder of `python -m smfh app --encoder NAME`
STUDIES_FILE = "studies.db"  # in the cache folder
WHEEL_FOLDER = Path("share", "smfh")  # where pyproject.toml puts the app's files

OLD_NAMES = {
    "SMFH_EDIT_POLICY": "SMFH_CHANGED_BY",
    "SMFH_MAX_GB": "SMFH_MOST_GB",
    "SMFH_MAX_MINUTES": "SMFH_MOST_MINUTES",
}

log = logging.getLogger(__name__)


def read_variable(name: str) -> str:
    """Return the value of an environment variable, or of its old name; "" if neither is set."""
    if value := os.environ.get(name, ""):
        return value
    old_name = OLD_NAMES.get(name, "")
    if value := os.environ.get(old_name, ""):
        _log_old_name(old_name, name)
    return value


def read_number(name: str, default: float, allow_zero: bool = False) -> float:
    """Return the value of an environment variable as a number, or the default if it is not set.

    Raises InputError if it is negative, infinite or, unless `allow_zero`, zero.
    """
    text = read_variable(name)
    try:
        number = float(text) if text else default
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (number == 0 and not allow_zero):
        expected = "a number of at least 0" if allow_zero else "a number above 0"
        raise InputError(f"{name} must be {expected}; got {text[:40]!r}.")
    return number


@cache
def _log_old_name(old_name: str, name: str) -> None:
    log.warning("%s is now called %s; the old name still works.", old_name, name)


@cache
def app_folder() -> Path:
    """Return the folder with streamlit_app.py, pages/ and assets/, in a checkout or an installation."""
    checkout = Path(__file__).parents[1]
    candidates = (checkout, *_installed_folders())
    return next((folder for folder in candidates if (folder / APP_SCRIPT).is_file()), checkout)


def cache_folder() -> Path:
    """Return the cache folder: SMFH_CACHE if it is set, else a folder in the user's cache directory.

    Everything in it can be deleted at any time. An account without a home folder gets a temporary folder.
    """
    if chosen := read_variable("SMFH_CACHE"):
        return Path(chosen)
    folder = user_cache_path("smfh", appauthor=False)
    return folder if folder.is_absolute() else Path(tempfile.gettempdir()) / f"smfh of user {os.getuid()}"


def data_folders() -> list[Path]:
    """Return the folders to search for data set files: SMFH_DATA if set, then the user's data folder."""
    chosen = read_variable("SMFH_DATA")
    return [*([Path(chosen)] if chosen else []), user_data_path("smfh", appauthor=False)]


def _installed_folders() -> Iterator[Path]:
    """Yield the folders where the app's files may be if the package is installed.

    The first is the folder that pip recorded, the second is the one that `pip install --target` uses.
    """
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return
    for file in installed.files or ():
        if file.name == APP_SCRIPT:
            yield Path(str(installed.locate_file(file))).resolve().parent
    yield Path(__file__).parents[1] / WHEEL_FOLDER
