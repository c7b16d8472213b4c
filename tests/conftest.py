"""Data that many tests share."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.types import MultimodalDataset, Split


@pytest.fixture(scope="session", autouse=True)
def cache_folder(pytestconfig: pytest.Config) -> None:
    """Keep what is drawn once out of the user's own cache, and for the next run; but no finished runs."""
    folder = pytestconfig.cache.mkdir("smfh")
    shutil.rmtree(folder / "runs", ignore_errors=True)
    os.environ["SMFH_CACHE"] = str(folder)


@pytest.fixture(scope="session")
def planted() -> tuple[MultimodalDataset, Split]:
    return Planted(items=240).load()


@pytest.fixture(scope="session")
def three_modalities() -> tuple[MultimodalDataset, Split]:
    return Planted(items=240, modalities=3, sparse_text=True).load()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def wiki_folder() -> Path:
    folder = Path(os.environ.get("SMFH_DATA", "")) / "wiki"
    if not (folder / "raw_features.mat").is_file():
        pytest.skip("the Wiki files are not here: SMFH_DATA should name a folder that has wiki/")
    return folder
