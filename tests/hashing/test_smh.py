"""SMH: its bits reproduce the similarity of labels, the better the more of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets.planted import Planted
from smfh.hamming import unpack
from smfh.hashing.smh import SMH, Similarity, top_pair
from smfh.types import MultimodalDataset


def double(data: MultimodalDataset) -> MultimodalDataset:
    modalities = {t: X.astype(np.float64) for t, X in data.modalities.items()}
    return MultimodalDataset(data.name, modalities, data.labels, data.class_names)


def similarity(labels):
    """S = 2 L̃L̃ᵀ − 11ᵀ, formed."""
    unit = labels / np.maximum(np.linalg.norm(labels, axis=1, keepdims=True), 1)
    return 2 * unit @ unit.T - 1


def residual(hasher, labels, bits: int) -> float:
    """‖Σ_(k<bits) h_k g_kᵀ − r S‖² / (r N)², with every matrix formed."""
    H, G = (2.0 * unpack(codes, hasher.bits)[:, :bits] - 1 for codes in hasher.database_codes.values())
    r = hasher.bits
    return float(np.sum((H @ G.T - r * similarity(labels)) ** 2) / (r * len(H)) ** 2)


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize("thin", [False, True])
def test_trace_is_the_residual_of_the_bits_so_far(sequential, thin):
    train = double(Planted(items=150, labels_per_item=2, sparse_text=thin).load()[0])
    hasher = SMH(bits=12, sequential=sequential).fit(train)
    assert [step.iteration for step in hasher.trace] == list(range(1, 13))
    for step in hasher.trace:
        expected = residual(hasher, train.labels, step.iteration)
        assert step.terms == {"similarity residual": pytest.approx(expected, rel=1e-9)}


@pytest.mark.parametrize("labels_per_item", [1, 3])
def test_more_bits_lower_the_residual(labels_per_item):
    train = Planted(items=300, labels_per_item=labels_per_item).load()[0]
    within = [step.objective for step in SMH(bits=32).fit(train).trace]
    assert all(b < a for a, b in pairwise(within[3::4]))
    lengths = [SMH(bits=bits).fit(train).trace[-1].objective for bits in (2, 8, 64)]
    assert all(b < 0.95 * a for a, b in pairwise(lengths))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("labels_per_item", [1, 3])
@pytest.mark.parametrize("bits", [16, 48])
def test_sequential_is_no_worse_than_orthogonal(seed, labels_per_item, bits):
    train = Planted(items=200, labels_per_item=labels_per_item, noise=0.3, data_seed=seed).load()[0]
    sequential, orthogonal = (SMH(bits=bits, sequential=each).fit(train).trace[-1].objective for each in (True, False))
    assert sequential <= orthogonal


def test_orthogonal_pairs_are_repeated_in_longer_codes():
    train = Planted(items=100).load()[0]  # 60 and 40 dimensions: forty pairs
    hasher = SMH(bits=50, sequential=False).fit(train)
    for codes in hasher.database_codes.values():
        bits = unpack(codes, 50)
        np.testing.assert_array_equal(bits[:, 40:], bits[:, :10])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), items=st.integers(2, 30))
def test_similarity_sums_equal_those_of_the_formed_matrix(seed, items):
    rng = np.random.default_rng(seed)
    labels = rng.random((items, 4)) < 0.4  # some items have none
    S = similarity(labels)
    lean = Similarity.of(labels, np.float64)
    h, g = np.sign(rng.standard_normal((2, items)))
    assert lean.agreement(h, g) == pytest.approx(h @ S @ g, abs=1e-9)
    assert lean.squared == pytest.approx(np.sum(S**2))


@pytest.mark.parametrize("shape", [(5, 1), (1, 5), (60, 70), (70, 90), (120, 80)])
def test_top_pair_equals_the_full_decomposition(rng, shape):
    R = rng.standard_normal(shape)
    u, v = top_pair(R)
    assert u @ R @ v == pytest.approx(np.linalg.svd(R, compute_uv=False)[0])
    assert np.linalg.norm(u) == pytest.approx(1)
    assert np.linalg.norm(v) == pytest.approx(1)
    again = top_pair(R)
    assert np.array_equal(again[0], u)
    assert np.array_equal(again[1], v)


def test_features_that_are_all_zero_do_not_stop_it(planted):
    train = planted[0].take(planted[1].train)
    blank = {"image": train.modalities["image"], "text": np.zeros((len(train), 70), dtype=np.float32)}
    wide = {**blank, "image": np.tile(train.modalities["image"], 2)}  # beyond what one decomposition serves
    hasher = SMH(bits=8).fit(MultimodalDataset("blank", wide, train.labels, train.class_names))
    assert not unpack(hasher.database_codes["text"], 8).any()


def test_sparse_features_give_the_same_codes(planted):
    train = double(planted[0].take(planted[1].train))
    thin = {name: sparse.csr_array(x) for name, x in train.modalities.items()}
    first, second = (
        SMH(bits=24).fit(data) for data in (train, MultimodalDataset("sparse", thin, train.labels, train.class_names))
    )
    a, b = (np.hstack([unpack(codes, 24).T for codes in hasher.database_codes.values()]) for hasher in (first, second))
    same = np.mean(a == b, axis=1)  # a pair of directions may be turned round in both views at once
    assert np.all(np.maximum(same, 1 - same) > 0.99)
