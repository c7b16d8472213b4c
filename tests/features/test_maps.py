"""Feature maps against their formula, dense and sparse, and the choice of their width."""

import numpy as np
import pytest
from scipy import sparse

from smfh.features.maps import RIDGES, SHARES, FeatureMap, choose_width, fit_rbf, left_out_error


@pytest.fixture
def X(rng):
    X = rng.random((30, 6)) * (rng.random((30, 6)) < 0.7)
    X[4] = 0
    return X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_scaling_is_a_power_then_unit_rows(X, kind):
    scaled = FeatureMap(power=0.5, unit_rows=True)(kind(X))
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    norms = np.sqrt(X.sum(axis=1))  # of the square roots
    np.testing.assert_allclose(scaled, np.sqrt(X) / np.where(norms > 0, norms, 1)[:, None])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rbf_features_equal_the_formula(X, kind, rng):
    scaling = FeatureMap(power=0.5, unit_rows=True)
    fitted = fit_rbf(kind(X), scaling, anchors=7, rng=rng)
    assert fitted.anchors.shape == (7, 6)
    scaled = scaling(X)
    distances = np.linalg.norm(scaled[:, None] - fitted.anchors[None], axis=2)
    assert fitted.width == pytest.approx(distances.mean())
    np.testing.assert_allclose(fitted(kind(X)), np.exp(-(distances**2) / (2 * fitted.width**2)), atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_powers_keep_signs_and_signs_can_be_split(X, kind, rng):
    signed = X * rng.choice([-1, 1], X.shape)
    roots, parts = (FeatureMap(0.5, split_signs=split)(kind(signed)) for split in (False, True))
    roots, parts = (x.toarray() if sparse.issparse(x) else x for x in (roots, parts))
    np.testing.assert_allclose(roots, np.sign(signed) * np.sqrt(X))
    positive, negative = np.split(parts, 2, axis=1)
    np.testing.assert_allclose(positive - negative, roots)
    assert (parts >= 0).all()
    assert not (positive * negative).any()


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_power_of_signed_features_is_chosen_with_the_width(rng, power):
    """The classes are balls around centres, either of the unit rows or of their signed square roots."""
    classes = rng.integers(8, size=500)
    centres = rng.standard_normal((8, 12)) * rng.choice([0.1, 1], 12)
    rows = centres[classes] + 0.4 * rng.standard_normal((500, 12))
    X = np.sign(rows) * np.abs(rows) ** (1 / power)
    features = fit_rbf(X, FeatureMap(0.5, unit_rows=True), 300, rng)
    chosen = choose_width(features, X, np.eye(8, dtype=bool)[classes], rng)
    assert chosen.power == power
    scaled = FeatureMap(chosen.power, unit_rows=True)(X)
    assert all(np.isclose(scaled, anchor).all(axis=1).any() for anchor in chosen.anchors)


def test_width_is_a_fraction_of_the_mean_distance(X):
    whole, half = (fit_rbf(X, FeatureMap(), 7, np.random.default_rng(0), width) for width in (1.0, 0.5))
    np.testing.assert_array_equal(half.anchors, whole.anchors)
    assert half.width == pytest.approx(whole.width / 2)


def errors_one_by_one(K, L, ridge):
    """Each row left out in turn, the regression done anew."""
    total = 0.0
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        mean, usual = K[rest].mean(axis=0), L[rest].mean(axis=0)
        C = K[rest] - mean
        W = np.linalg.solve(C.T @ C + ridge * np.eye(K.shape[1]), C.T @ (L[rest] - usual))
        total += np.sum((L[i] - usual - (K[i] - mean) @ W) ** 2)
    return total


@pytest.mark.parametrize("dimensions", [4, 40])
def test_left_out_error_equals_separate_regressions(rng, dimensions):
    K, L = rng.random((25, dimensions)), rng.random((25, 3))
    expected = min(errors_one_by_one(K, L, ridge) for ridge in RIDGES)
    assert left_out_error(K, L) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_small_patches_of_labels_need_a_narrow_width(rng, kind):
    X = rng.random((600, 4))
    features = fit_rbf(kind(X), FeatureMap(), 200, rng)
    patches, halves = np.floor(2 * X[:, :2]).sum(axis=1) % 2 == 0, X.sum(axis=1) + rng.normal(size=600) > 2
    narrow, wide = (choose_width(features, kind(X), np.stack([on, ~on], axis=1), rng).width for on in (patches, halves))
    assert narrow == pytest.approx(min(SHARES) * features.width)
    assert wide > narrow
