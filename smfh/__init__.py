"""SMFH Explorer: supervised cross-modal hashing as a library."""

import tomllib
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfh.datasets import DATASETS
from smfh.hashing import METHODS, SMFH, FittedHasher, SMFHPlus, load_hasher, save_hasher
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError, MultimodalDataset, Split

if TYPE_CHECKING:
    from smfh.retrieval.estimator import SMFHEstimator

__all__ = [
    "DATASETS",
    "METHODS",
    "SMFH",
    "FittedHasher",
    "InputError",
    "MultimodalDataset",
    "SMFHEstimator",
    "SMFHPlus",
    "Split",
    "__version__",
    "evaluate",
    "explore",
    "load_hasher",
    "save_hasher",
]


def __getattr__(name: str) -> Any:
    """Import the scikit-learn estimator and the app when they are used, not before."""
    if name == "SMFHEstimator":
        from smfh.retrieval.estimator import SMFHEstimator

        return SMFHEstimator
    if name == "explore":
        return import_module("smfh.ui.notebook").explore  # this layer does not depend on the app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    """Return the version of the installed package or, in a source checkout, that of pyproject.toml."""
    try:
        return metadata.version("smfh-explorer")
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


__version__ = _version()
