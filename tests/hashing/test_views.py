"""Views: centring that never makes sparse data dense changes nothing but the memory it takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.hashing.cvh import CVH
from smfh.hashing.views import cross_covariance, view_modalities
from smfh.types import InputError, MultimodalDataset


def random_pairs(seed: int, sparse_text: bool = False, dtype=np.float64, modalities: int = 2):
    rng = np.random.default_rng(seed)
    X = {f"m{t}": rng.random((30, d)) * (rng.random((30, d)) < 0.6) for t, d in enumerate((7, 5, 4))}
    X = {name: x.astype(dtype) for name, x in list(X.items())[:modalities]}
    if sparse_text:
        X["m1"] = sparse.csr_array(X["m1"])
    labels = rng.random((30, 3)) < 0.5
    return MultimodalDataset("pairs", X, labels, ("a", "b", "c"))


def centred(x):
    x = x.toarray() if sparse.issparse(x) else x
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)  # a row of zeros stays one
    return x - x.mean(axis=0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), sparse_text=st.booleans())
def test_view_equals_the_centred_matrix(seed, sparse_text):
    data = random_pairs(seed, sparse_text)
    rng = np.random.default_rng(seed)
    x, y = view_modalities(data, 0, rng)
    X, Y = (centred(m) for m in data.modalities.values())
    W, Z = rng.standard_normal((Y.shape[1], 3)), rng.standard_normal((len(Y), 3))
    np.testing.assert_allclose(y.gram, Y.T @ Y, atol=1e-12)
    np.testing.assert_allclose(cross_covariance(x, y), X.T @ Y, atol=1e-12)
    np.testing.assert_allclose(y.project(W), Y @ W, atol=1e-12)
    np.testing.assert_allclose(y.correlate(Z), Y.T @ Z, atol=1e-12)
    thresholds = np.array([-0.1, 0.0, 0.2])
    margins = y.hash_function(W, thresholds).margins(data.modalities["m1"])
    np.testing.assert_allclose(margins, Y @ W - thresholds, atol=1e-12)
    np.testing.assert_allclose(y.uncentred().project(W), (Y + y.mean) @ W, atol=1e-12)


@pytest.mark.parametrize("sparse_text", [False, True])
def test_whitened_features_are_uncorrelated(sparse_text):
    data = random_pairs(1, sparse_text)
    for view, m in zip(view_modalities(data, 0, np.random.default_rng(0)), data.modalities.values(), strict=True):
        factor = view.factor(1e-9)
        X = centred(m) @ factor.directions(np.eye(len(view.mean)))
        np.testing.assert_allclose(X.T @ X, np.eye(len(view.mean)), atol=1e-6)
        np.testing.assert_allclose(factor.root @ factor.whiten(view.gram), view.gram, atol=1e-9)


def test_constant_features_are_accepted():
    data = random_pairs(1)
    constant = {**data.modalities, "m1": np.ones((30, 4))}
    train = MultimodalDataset("constant", constant, data.labels, data.class_names)
    codes = CVH(bits=8, ridge=1e-9).fit(train).database_codes["m1"]
    assert len(np.unique(codes)) == 1


def test_three_modalities_and_one_class_are_refused_together():
    data = random_pairs(0, modalities=3)
    labels = np.zeros_like(data.labels)
    labels[:, 0] = True
    with pytest.raises(InputError) as caught:
        CVH().fit(MultimodalDataset("three", data.modalities, labels, data.class_names))
    assert len(caught.value.problems) == 2
    assert "exactly two modalities; 'three' has 3 (m0, m1, m2)" in str(caught.value)
