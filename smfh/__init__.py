"""SMFH Explorer: supervised cross-modal hashing as a library."""

import tomllib
from importlib import metadata
from pathlib import Path

from smfh.datasets import DATASETS
from smfh.evaluation import evaluate
from smfh.hashing import METHODS, SMFH, FittedHasher, SMFHPlus, load_hasher, save_hasher
from smfh.types import InputError, MultimodalDataset, Split

__all__ = [
    "DATASETS",
    "METHODS",
    "SMFH",
    "FittedHasher",
    "InputError",
    "MultimodalDataset",
    "SMFHPlus",
    "Split",
    "__version__",
    "evaluate",
    "load_hasher",
    "save_hasher",
]


def _version() -> str:
    """What pyproject.toml says: as it was installed, or beside a package that is used where it lies."""
    try:
        return metadata.version("smfh-explorer")
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


__version__ = _version()
