"""Clusters within classes: where they are, how many there are, and what they find."""

import numpy as np
import pytest
from scipy import sparse

from smfh.features.clusters import cluster_labels, k_means


def clouds(rng, centres: int, items: int = 30, dimensions: int = 12):
    """Non-negative rows around random centres, and the number of each row's centre."""
    C = rng.random((centres, dimensions)) ** 4
    owner = np.repeat(np.arange(centres), items)
    return (C[owner] + 0.01 * rng.random((len(owner), dimensions))).astype(np.float32), owner


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_k_means_finds_separate_clouds(layout):
    X, owner = clouds(np.random.default_rng(3), 2)
    nearest = k_means(layout(X), 2, np.random.default_rng(0))
    assert len(set(zip(owner, nearest, strict=True))) == 2


def test_clusters_divide_large_classes_of_every_modality(rng):
    X, owner = clouds(rng, 4)
    labels = np.stack([owner < 3, owner == 3], axis=1)  # 90 and 30 items
    found = cluster_labels({"image": X, "text": X[:, ::-1].copy()}, labels, 4, rng)
    assert not found[owner == 3].any()  # its share is one cluster, which would be the class itself
    assert (found[owner < 3].sum(axis=1) == 2).all()  # one cluster in each modality
    assert found.any(axis=0).all()
    assert found.shape[1] <= 2 * 3


def test_items_are_divided_within_their_rarest_label(rng):
    X, owner = clouds(rng, 4)
    everything = np.ones(len(owner), dtype=bool)
    labels = np.stack([everything, owner < 2, np.zeros_like(everything)], axis=1)
    labels[0] = False
    found = cluster_labels({"text": X}, labels, 4, rng)
    first = found[owner < 2].any(axis=0)
    assert not (found[:, first] & ~labels[:, [1]]).any()
    assert not found[0].any()  # no label, no cluster


def test_small_sets_are_not_divided(rng):
    X, _ = clouds(rng, 2, items=1)
    assert cluster_labels({"text": X}, np.eye(2, dtype=bool), 1, rng).shape == (2, 0)
