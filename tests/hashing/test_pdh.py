"""PDH: real support vector machines, and bits that either view predicts better the longer it trains."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import hadamard

from smfh.hamming import unpack
from smfh.hashing.pdh import PDH, MaxMargin, decorrelate
from smfh.hashing.views import view_modalities
from smfh.types import MultimodalDataset


def noisy_pairs(seed: int, items: int = 600, thin: bool = False) -> MultimodalDataset:
    """Two views of the same eight hidden numbers, with as many of its own that disturb each."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((items, 8))
    modalities = {}
    for name, dimensions in (("image", 30), ("text", 24)):
        own = rng.standard_normal((items, 8))
        X = np.hstack([hidden, own]) @ rng.standard_normal((16, dimensions))
        X += 0.5 * rng.standard_normal(X.shape)
        modalities[name] = np.maximum(X, 0) if thin else X - X.min()
    if thin:
        modalities["text"] = sparse.csr_array(modalities["text"])
    labels = np.stack([hidden[:, 0] > 0, hidden[:, 0] <= 0], axis=1)
    return MultimodalDataset("noisy", modalities, labels, ("up", "down"))


def agreement(hasher, data: MultimodalDataset) -> float:
    first, second = (hasher.functions[name].encode(x) for name, x in data.modalities.items())
    return float(np.mean(unpack(first, hasher.bits) == unpack(second, hasher.bits)))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("margin_weight", [0.1, 1.0, 100.0])
def test_classifiers_equal_those_of_liblinear(rng, centred, thin, margin_weight):
    from sklearn.svm import LinearSVC

    view = view_modalities(noisy_pairs(0, thin=thin), 0, rng)[1]
    view = view if centred else view.uncentred()
    X = view.project(np.eye(len(view.mean)))
    bits = (X - X.mean(axis=0)) @ rng.standard_normal((X.shape[1], 6)) + 0.1 * rng.standard_normal((len(X), 6)) > 0
    solver = MaxMargin(view, margin_weight)
    W = solver.train(bits, solver.untrained(6))
    for k in range(6):
        exact = LinearSVC(C=margin_weight, fit_intercept=False, dual=False, tol=1e-8, max_iter=10_000)
        exact.fit(X, bits[:, k])
        assert np.mean((X @ W[:, k] > 0) == exact.predict(X)) >= 0.999
        answers, exact_answers = X @ W[:, k], X @ exact.coef_[0]
        assert np.linalg.norm(answers - exact_answers) <= 0.02 * np.linalg.norm(exact_answers)


@pytest.mark.parametrize("seed", range(3))
def test_views_of_unseen_items_agree_more_with_more_rounds(seed):
    data = noisy_pairs(seed)
    train, fresh = data.take(np.arange(300)), data.take(np.arange(300, 600))
    method = PDH(bits=32, centred=True)
    grown = [agreement(replace(method, rounds=rounds).fit(train), fresh) for rounds in (1, 3, 10)]
    assert grown[0] > 0.6  # chance is a half
    assert grown[0] + 0.02 < grown[1] < grown[2]


def test_trace_is_the_agreement_on_the_training_items():
    train = noisy_pairs(1, items=300)
    hasher = PDH(bits=16).fit(train)
    assert len(hasher.trace) == 3
    assert hasher.trace[-1].terms == {"agreement": pytest.approx(agreement(hasher, train), abs=1e-3)}
    assert hasher.trace[-1].objective > hasher.trace[0].objective


def test_decorrelating_separates_copies_and_keeps_uncorrelated_bits():
    apart = hadamard(16)[:, 1:9] > 0
    np.testing.assert_array_equal(decorrelate(apart), apart)
    rng = np.random.default_rng(0)
    alike = rng.standard_normal((2000, 5)) @ rng.standard_normal((5, 64)) > 0  # many bits of few numbers

    def dependence(bits):
        return np.abs(np.corrcoef(bits.T) - np.eye(64)).sum()

    assert dependence(decorrelate(alike)) < 0.5 * dependence(alike)
    assert np.mean(decorrelate(alike) == alike, axis=0).min() > 0.6  # the same bits in the same order
