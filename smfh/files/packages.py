"""Find files of installed packages without running the packages' code."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path


def missing_packages(packages: Sequence[str], extra: str) -> list[str]:
    """Return a message for each package that is not installed, with the extra that installs it."""
    absent = [package for package in packages if find_spec(package) is None]
    return [f'The package {package} is needed: python -m pip install ".[{extra}]"' for package in absent]


def package_file(package: str, file: str) -> Path:
    """Return the path of a file in an installed package."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ("",))), file)
