"""Feature maps against their formula, dense and sparse."""

import numpy as np
import pytest
from scipy import sparse

from smfh.features.maps import FeatureMap, fit_rbf


@pytest.fixture
def X(rng):
    X = rng.random((30, 6)) * (rng.random((30, 6)) < 0.7)
    X[4] = 0
    return X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_scaling_is_a_power_and_then_unit_rows(X, kind):
    scaled = FeatureMap(power=0.5, unit_rows=True)(kind(X))
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    norms = np.sqrt(X.sum(axis=1))  # of the square roots
    np.testing.assert_allclose(scaled, np.sqrt(X) / np.where(norms > 0, norms, 1)[:, None])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rbf_features_are_the_formula(X, kind, rng):
    scaling = FeatureMap(power=0.5, unit_rows=True)
    fitted = fit_rbf(kind(X), scaling, anchors=7, rng=rng)
    assert fitted.anchors.shape == (7, 6)
    scaled = scaling(X)
    distances = np.linalg.norm(scaled[:, None] - fitted.anchors[None], axis=2)
    assert fitted.width == pytest.approx(distances.mean())
    np.testing.assert_allclose(fitted(kind(X)), np.exp(-(distances**2) / (2 * fitted.width**2)), atol=1e-12)


def test_a_width_is_a_share_of_the_mean_distance(X):
    whole, half = (fit_rbf(X, FeatureMap(), 7, np.random.default_rng(0), width) for width in (1.0, 0.5))
    np.testing.assert_array_equal(half.anchors, whole.anchors)
    assert half.width == pytest.approx(whole.width / 2)


def test_anchors_are_training_rows_and_no_more_than_there_are(X, rng):
    fitted = fit_rbf(X, FeatureMap(), anchors=500, rng=rng)
    assert fitted.anchors.shape == X.shape
    np.testing.assert_array_equal(fitted.anchors, X)


def test_the_plain_map_hands_features_on(X):
    assert FeatureMap()(X) is X
