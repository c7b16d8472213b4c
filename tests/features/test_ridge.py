"""The choice of the ridge: left-out predictions and rankings against readable versions, and the guard."""

import numpy as np
import pytest
from scipy import sparse

from smfh.features.maps import FeatureMap
from smfh.features.ridge import (
    RIDGES,
    SEARCH_WEIGHTS,
    USUAL_RIDGE,
    choose_ridges,
    clearly_best,
    gains_of,
    left_out_predictor,
    rank,
)
from smfh.metrics import AP_DEFINITIONS, average_precision


def predict_one_by_one(K, T, ridge):
    """Each row is left out in turn, and predicted by a regression on the others, with an intercept."""
    predicted = np.empty_like(T)
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        mean, usual = K[rest].mean(axis=0), T[rest].mean(axis=0)
        C = K[rest] - mean
        W = np.linalg.solve(C.T @ C + ridge * np.eye(K.shape[1]), C.T @ (T[rest] - usual))
        predicted[i] = usual + (K[i] - mean) @ W
    return predicted


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dimensions", [4, 40])
def test_left_out_predictions_equal_separate_regressions(rng, dimensions, kind):
    K = rng.random((25, dimensions)) * (rng.random((25, dimensions)) < 0.7)
    T = rng.random((25, 3))
    predict = left_out_predictor(kind(K), T)
    for ridge in RIDGES:
        np.testing.assert_allclose(predict(ridge), predict_one_by_one(K, T, ridge), atol=1e-4)


def test_fast_ranking_equals_sorting_and_the_metrics(rng):
    P, Q, labels = rng.standard_normal((150, 4)), rng.standard_normal((150, 4)), rng.random((150, 6)) < 0.3
    queries = np.arange(0, 150, 7)
    relevant = labels[queries].astype(int) @ labels.T.astype(int) > 0
    ranked = []
    for row, i in enumerate(queries):
        order = [j for j in np.argsort(-(Q @ P[i])) if j != i]
        ranked.append(relevant[row, order])
    ranked = np.array(ranked)
    figures = rank(P[queries].astype(np.float32), Q.astype(np.float32), queries, relevant.astype(np.int32))
    for own, name in zip(figures, ("found", "full", "precision"), strict=True):
        expected = average_precision(ranked, ranked.sum(axis=1), AP_DEFINITIONS[name])
        np.testing.assert_allclose(own, expected, atol=1e-4)


@pytest.mark.parametrize(("gain", "chosen"), [(0.02, 1.0), (0.0002, USUAL_RIDGE), (-0.02, USUAL_RIDGE)])
def test_only_a_clear_gain_changes_the_ridge(rng, gain, chosen):
    usual = np.full((len(SEARCH_WEIGHTS), 3, 400), 0.5)
    better = usual + gain + 0.01 * rng.standard_normal(400)
    gains = {ridge: gains_of(usual - 0.01, usual) for ridge in RIDGES if ridge != USUAL_RIDGE}
    assert clearly_best(gains | {1.0: gains_of(better, usual)}) == chosen


def test_faint_signals_need_less_ridge_and_noise_needs_more(rng):
    classes = rng.integers(5, size=400)
    labels, signal = np.eye(5, dtype=bool)[classes], rng.standard_normal((5, 4))[classes]
    noise = rng.standard_normal((400, 100))
    X = {
        "faint": np.hstack([0.01 * signal, noise[:, :3]]),  # γ = 1 would leave the noise alone
        "noisy": 0.06 * np.hstack([signal + noise[:, :4], noise[:, 4:]]),
    }
    ridges = choose_ridges(dict.fromkeys(X, FeatureMap()), X, labels, rng)
    assert ridges["faint"] < USUAL_RIDGE < ridges["noisy"]


@pytest.mark.parametrize("items", [2, 3, 10])
def test_too_few_rows_keep_the_usual_ridge(rng, items):
    labels = np.eye(2, dtype=bool)[np.arange(items) % 2]
    X = {"image": rng.random((items, 3)), "text": np.ones((items, 2))}
    ridges = choose_ridges(dict.fromkeys(X, FeatureMap()), X, labels, rng)
    assert ridges == dict.fromkeys(X, USUAL_RIDGE)
