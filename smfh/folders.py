"""Folders of the program: the app's scripts and assets, the cache, and downloaded data sets."""

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from platformdirs import user_cache_path, user_data_path

from smfh.environment import read_variable

DISTRIBUTION, APP_SCRIPT = "smfh-explorer", "streamlit_app.py"
DATA_FOLDER = "SMFH_OPEN"  # environment variable: the folder of `python -m smfh app --data FOLDER`
ENCODER = "SMFH_ENCODER"  # environment variable: the encoder of `python -m smfh app --encoder NAME`
STUDIES_FILE = "studies.db"  # in the cache folder
WHEEL_FOLDER = Path("share", "smfh")  # where pyproject.toml puts the app's files


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
    """Yield the folders where an installed package may have the files of the app.

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
