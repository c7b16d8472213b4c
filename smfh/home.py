"""Where the app's scripts and assets lie: at the top of a checkout, or where a wheel has put them."""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

DISTRIBUTION, SCRIPT = "smfh-explorer", "streamlit_app.py"
SHARED = Path("share", "smfh")


@cache
def home() -> Path:
    """The folder with streamlit_app.py, pages/ and assets/; whoever misses a file there says so."""
    checkout = Path(__file__).parents[1]
    return next((folder for folder in (checkout, *_installed()) if (folder / SCRIPT).is_file()), checkout)


def _installed() -> Iterator[Path]:
    """Where pip says that they are, and where it puts them with --target."""
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return
    for file in installed.files or ():
        if file.name == SCRIPT:
            yield Path(str(installed.locate_file(file))).resolve().parent
    yield Path(__file__).parents[1] / SHARED
