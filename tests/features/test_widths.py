"""The choice of a width: left-out errors by their formula, and a width that suits the data."""

import numpy as np
import pytest
from scipy import sparse

from smfh.features.maps import FeatureMap, fit_rbf
from smfh.features.widths import RIDGES, SHARES, choose_width, left_out_error


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
def test_the_error_is_that_of_regressions_done_anew_for_every_row(rng, dimensions):
    K, L = rng.random((25, dimensions)), rng.random((25, 3))
    expected = min(errors_one_by_one(K, L, ridge) for ridge in RIDGES)
    assert left_out_error(K, L) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_labels_in_small_patches_want_a_narrow_width_and_halves_a_wide_one(rng, kind):
    X = rng.random((600, 4))
    features = fit_rbf(kind(X), FeatureMap(), 200, rng)
    patches, halves = np.floor(2 * X[:, :2]).sum(axis=1) % 2 == 0, X.sum(axis=1) + rng.normal(size=600) > 2
    narrow, wide = (
        choose_width(features, kind(X), np.stack([on, ~on], axis=1), rng).width for on in (patches, halves)
    )
    assert narrow == pytest.approx(min(SHARES) * features.width)
    assert wide > narrow


def test_the_width_stays_where_nothing_is_to_be_told(rng):
    X, labels = rng.random((30, 3)), np.ones((30, 1), dtype=np.bool_)
    features = fit_rbf(X, FeatureMap(), 10, rng)
    assert choose_width(features, X, labels, rng).width == features.width
