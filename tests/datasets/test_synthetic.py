"""The generator: shape of NUS-WIDE, structure that can be learnt, little memory, the same every time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import smfh
from smfh.datasets.splits import random_split
from smfh.datasets.synthetic import TRAIN_SHARE, Synthetic
from smfh.types import InputError


def class_means_accuracy(X, labels, train, queries):
    """How often the nearest class mean (by cosine) is a label of the query: chance is the best share."""
    X = X.toarray() if sparse.issparse(X) else X
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    alone = labels & (labels.sum(axis=1, keepdims=True) == 1)
    means = np.array([X[train][alone[train, k]].mean(axis=0) for k in range(labels.shape[1])])
    means -= means.mean(axis=0)
    guess = (X[queries] @ means.T).argmax(axis=1)
    return labels[queries, guess].mean()


def test_the_shape_of_nus_wide():
    data, split = Synthetic(items=3_000).load()
    image, text = data.modalities["image"], data.modalities["text"]
    assert image.shape == (3_000, 500)
    assert image.dtype == np.float32
    assert isinstance(text, sparse.csr_array)
    assert text.shape == (3_000, 1_000)
    assert text.dtype == np.float32
    assert set(np.unique(text.data)) == {1.0}
    text.check_format(full_check=True)
    assert (text.sum(axis=1) >= 1).all()
    assert 4 < text.sum(axis=1).mean() < 6
    assert data.labels.any(axis=1).all()
    assert 1.5 < data.labels.sum(axis=1).mean() < 2.2
    assert len(split.train) == round(3_000 * 180_000 / 186_577)
    assert data.captions[0] == ", ".join(np.array(data.class_names)[data.labels[0]])


def test_the_split_of_nus_wide_comes_out_exactly():
    split = random_split(186_577, TRAIN_SHARE, seed=0)
    assert (len(split.train), len(split.queries)) == (180_000, 6_577)


@pytest.mark.parametrize("modality", ["image", "text"])
def test_noise_decides_how_much_can_be_learnt(modality):
    reached = []
    for noise in (0.0, 0.5, 1.0):
        data, split = Synthetic(items=4_000, noise=noise).load()
        X = data.modalities[modality]
        reached.append(class_means_accuracy(X, data.labels, split.train, split.queries))
    clear, half, nothing = reached
    assert clear > 0.8
    assert clear > half > nothing + 0.2


def test_a_seed_makes_the_set():
    first, again, other = (Synthetic(items=200, data_seed=seed).load()[0] for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint


@settings(max_examples=20, deadline=None)
@given(items=st.integers(100, 2_000), noise=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_any_options_give_a_sound_set(items, noise, seed):
    data, split = Synthetic(items, noise, seed).load(seed=seed % 7)
    assert len(data) == items
    assert len(split.train) + len(split.queries) == items


def test_options_outside_their_range_are_all_told():
    with pytest.raises(InputError) as caught:
        Synthetic(items=1, noise=2.0, data_seed=-1)
    assert len(caught.value.problems) == 3


@pytest.mark.slow
def test_progress_reaches_the_end():
    seen = []
    Synthetic(items=40_000).load(on_progress=lambda share, words: seen.append(share))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


MEASURE = """
from pathlib import Path
from smfh.datasets.synthetic import Synthetic

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
Synthetic(items=40_000).load()
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_memory_is_the_result_and_little_more():
    command = [sys.executable, "-c", MEASURE]
    root = Path(smfh.__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    result = 40_000 * 500 * 4 / 1024  # kB
    assert int(done.stdout) < 3 * result
