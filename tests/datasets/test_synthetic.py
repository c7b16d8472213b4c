"""The generator: the shape of NUS-WIDE, a structure that can be learnt, little memory, reproducible."""

import numpy as np
import pytest
from scipy import sparse

from smfh.datasets.synthetic import Synthetic


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


@pytest.mark.parametrize("modality", ["image", "text"])
def test_noise_limits_what_can_be_learnt(modality):
    reached = []
    for noise in (0.0, 0.5, 1.0):
        data, split = Synthetic(items=4_000, noise=noise).load()
        X = data.modalities[modality]
        reached.append(class_means_accuracy(X, data.labels, split.train, split.queries))
    clear, half, nothing = reached
    assert clear > 0.8
    assert clear > half > nothing + 0.2


def test_the_seed_determines_the_set():
    first, again, other = (Synthetic(items=200, data_seed=seed).load()[0] for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
