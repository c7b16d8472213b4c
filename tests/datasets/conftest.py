"""Miniatures of data sets whose files are too large for the repository."""

import numpy as np
import pytest
import scipy.io

from smfh.datasets import DATASETS

ITEMS = 40


@pytest.fixture(autouse=True)
def user_data_folder(tmp_path_factory, monkeypatch):
    """An empty data folder of the user."""
    folder = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder / "smfh"


@pytest.fixture
def miniature():
    """Pictures, texts and labels of forty items."""
    rng = np.random.default_rng(0)
    labels = rng.random((ITEMS, 5)) < 0.4
    labels[:, 0] |= ~labels.any(axis=1)
    return rng.random((ITEMS, 6)), (rng.random((ITEMS, 9)) < 0.3).astype(float), labels.astype(float)


@pytest.fixture
def in_parts(miniature):
    """The same as I_tr, I_te, T_tr, T_te, L_tr, L_te: thirty training items and ten queries."""
    parts = {"tr": slice(30), "te": slice(30, None)}
    named = zip("ITL", miniature, strict=True)
    return {f"{letter}_{part}": X[rows].copy() for letter, X in named for part, rows in parts.items()}


@pytest.fixture
def shared_file(name, tmp_path, monkeypatch):
    """The path at which a set expects its .mat file."""
    card = DATASETS[name].card
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    (tmp_path / card.folder).mkdir()
    return tmp_path / card.folder / card.files[0]


@pytest.fixture
def written(shared_file, in_parts):
    """The miniature at this path."""
    scipy.io.savemat(shared_file, in_parts)
    return shared_file
