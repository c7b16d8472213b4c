"""Miniatures of data sets whose files are too large to come with the tests."""

import numpy as np
import pytest
import scipy.io

from smfh.datasets import DATASETS

ITEMS = 40


@pytest.fixture
def miniature():
    """Pictures, texts and labels of forty items."""
    rng = np.random.default_rng(0)
    labels = rng.random((ITEMS, 5)) < 0.4
    labels[:, 0] |= ~labels.any(axis=1)
    return rng.random((ITEMS, 6)), (rng.random((ITEMS, 9)) < 0.3).astype(float), labels.astype(float)


@pytest.fixture
def in_parts(miniature):
    """The same as I_tr, I_te, T_tr, T_te, L_tr, L_te: thirty items train, ten ask."""
    parts = {"tr": slice(30), "te": slice(30, None)}
    named = zip("ITL", miniature, strict=True)
    return {f"{letter}_{part}": X[rows].copy() for letter, X in named for part, rows in parts.items()}


@pytest.fixture
def shared_file(name, tmp_path, monkeypatch):
    """Where a set that is one .mat file expects it."""
    card = DATASETS[name].card
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    (tmp_path / card.folder).mkdir()
    return tmp_path / card.folder / card.files[0]


@pytest.fixture
def written(shared_file, in_parts):
    """The miniature, where it is expected."""
    scipy.io.savemat(shared_file, in_parts)
    return shared_file
