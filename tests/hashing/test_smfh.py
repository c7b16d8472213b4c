"""SMFH against its equations, written out one by one, and against the paper's table."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets.planted import Planted
from smfh.datasets.wiki import Wiki
from smfh.evaluation import evaluate
from smfh.hashing import SMFH
from smfh.hashing.factorisation import LabelGraph, draw_rows, update_basis
from smfh.types import EPS, InputError, MultimodalDataset


def double(data: MultimodalDataset) -> MultimodalDataset:
    return replace(data, modalities={t: X.astype(np.float64) for t, X in data.modalities.items()})


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def laplacian(labels):
    A = labels.astype(float) @ labels.T.astype(float)
    return np.diag(A.sum(axis=1)) - A, A


def algorithm_1(method: SMFH, train: MultimodalDataset):
    """The paper's Algorithm 1, equation by equation, with every matrix formed; returns Y, U, W, terms."""
    rng = np.random.default_rng(method.seed)
    X = {t: dense(M) for t, M in train.modalities.items()}
    N, r, n_t = len(train), method.bits, len(X)
    alpha, mu, beta = method.graph_weight, method.projection_weight, method.orthogonality_weight
    lam = 1 / n_t
    Y = rng.random((N, r))
    U = {t: rng.random((X[t].shape[1], r)) for t in X}
    W = {t: np.zeros_like(U[t]) for t in X}
    history = []
    for _ in range(method.iterations):
        for t in X:
            U[t] = U[t] * (X[t].T @ Y) / np.maximum(U[t] @ Y.T @ Y, EPS)
        rows = rng.choice(N, method.graph_sample, replace=False) if method.graph_sample < N else np.arange(N)
        S = np.eye(N)[:, rows]
        L, A = laplacian(train.labels[rows])
        D = np.diag(A.sum(axis=1))
        B = sum(lam * X[t] @ U[t] for t in X) + alpha * S @ A @ S.T @ Y
        B = B + mu * sum(X[t] @ W[t] for t in X) + 2 * beta * Y
        below = sum(lam * Y @ U[t].T @ U[t] for t in X) + alpha * S @ D @ S.T @ Y
        below = below + n_t * mu * Y + 2 * beta * Y @ Y.T @ Y
        Y = Y * np.maximum(B, 0) / np.maximum(below + np.maximum(-B, 0), EPS)
        top = Y.max(axis=0)
        Y = Y / top
        for t in X:
            U[t] = U[t] * top
            rough = X[t][rows].T @ L @ X[t][rows]
            system = X[t].T @ X[t] + method.smoothness * rough + method.ridge * np.eye(X[t].shape[1])
            W[t] = np.linalg.solve(system, X[t].T @ Y)
        terms = {f"reconstruction ({t})": lam * np.sum((X[t] - Y @ U[t].T) ** 2) for t in X}
        terms["graph"] = alpha * np.trace(Y[rows].T @ L @ Y[rows])
        terms |= {f"projection ({t})": mu * np.sum((Y - X[t] @ W[t]) ** 2) for t in X}
        smooth = [np.trace(W[t].T @ X[t][rows].T @ L @ X[t][rows] @ W[t]) for t in X]
        terms["smoothness"] = mu * method.smoothness * sum(smooth)
        terms["ridge"] = mu * method.ridge * sum(np.sum(W[t] ** 2) for t in X)
        terms["orthogonality"] = beta * np.sum((Y.T @ Y - np.eye(r)) ** 2)
        history.append(terms)
    return Y, U, W, history


@pytest.mark.parametrize("sample", [50, 10_000])
@pytest.mark.parametrize("modalities", [2, 3])
@pytest.mark.parametrize("sparse_text", [False, True])
def test_the_fused_training_equals_the_equations(sample, modalities, sparse_text):
    source = Planted(items=120, modalities=modalities, labels_per_item=2, sparse_text=sparse_text)
    train = double(source.load()[0])
    method = SMFH(bits=12, graph_sample=sample, iterations=6, ridge=0.1)
    hasher = method.fit(train)
    _, U, W, history = algorithm_1(method, train)
    for t in train.modalities:
        np.testing.assert_allclose(hasher.bases[t], U[t], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(hasher.functions[t].projection, W[t], rtol=1e-5, atol=1e-7)
    for step, terms in zip(hasher.trace, history, strict=True):
        assert step.terms.keys() == terms.keys()
        for name, value in terms.items():
            assert step.terms[name] == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_single_precision_stays_near_double(planted):
    train = planted[0].take(planted[1].train)
    single, twice = (SMFH(bits=16, iterations=10).fit(data) for data in (train, double(train)))
    assert single.bases["image"].dtype == np.float32
    for step, exact in zip(single.trace, twice.trace, strict=True):
        assert step.objective == pytest.approx(exact.objective, rel=0.02)


def test_the_graph_is_that_of_the_sample(rng):
    labels = rng.random((30, 4)) < 0.4
    labels[0] = False
    L, A = laplacian(labels)
    graph = LabelGraph.of(labels, np.dtype(np.float64))
    Y = rng.random((30, 5))
    np.testing.assert_allclose(graph.attract(Y), A @ Y)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1))
    assert graph.energy(Y) == pytest.approx(np.trace(Y.T @ L @ Y))
    np.testing.assert_allclose(graph.scatter(Y), Y.T @ L @ Y, atol=1e-9)
    np.testing.assert_allclose(graph.scatter(sparse.csr_array(Y)), Y.T @ L @ Y, atol=1e-9)


def test_normalised_degrees_are_one_and_those_without_labels_zero(rng):
    labels = rng.random((30, 4)) < 0.4
    labels[0] = False
    graph = LabelGraph.of(labels, np.dtype(np.float64)).normalised()
    A = graph.factors.toarray() @ graph.factors.toarray().T
    assert np.linalg.eigvalsh(A).max() == pytest.approx(1)
    assert graph.degrees[0] == 0
    assert graph.degrees[labels.any(axis=1)].tolist() == [1] * int(labels.any(axis=1).sum())


def test_a_sample_is_drawn_anew_without_replacement(rng):
    first, second = draw_rows(rng, 100, 40), draw_rows(rng, 100, 40)
    assert len(np.unique(first)) == 40
    assert not np.array_equal(np.sort(first), np.sort(second))


def test_a_planted_factorisation_is_found(rng):
    Y, U = rng.random((80, 4)), rng.random((20, 4))
    X, V = Y @ U.T, rng.random((20, 4))
    for _ in range(3000):
        V = update_basis(X.T @ Y, V, Y.T @ Y)
    np.testing.assert_allclose(V, U, atol=0.01)


def test_it_stops_when_the_objective_stands_still(planted):
    train = planted[0].take(planted[1].train)
    full = SMFH(bits=8, graph_sample=10**6, iterations=200)
    assert len(full.fit(train).trace) == 200
    assert len(replace(full, tolerance=0.05).fit(train).trace) < 200


@settings(max_examples=20, deadline=None)
@given(weights=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)))
def test_weights_of_modalities_must_sum_to_one(weights):
    if abs(sum(weights) - 1) > 1e-6:
        with pytest.raises(InputError, match="sum to 1"):
            SMFH(modality_weights=weights)
    else:
        SMFH(modality_weights=weights)


def test_one_weight_for_each_modality(planted):
    with pytest.raises(InputError, match=r"3 modality weights .* for 2 modalities"):
        SMFH(modality_weights=(0.5, 0.25, 0.25)).fit(planted[0])


@pytest.mark.usefixtures("wiki_folder")
@pytest.mark.parametrize(
    ("bits", "text_to_image", "image_to_text"), [(32, 0.58, 0.235), (64, 0.63, 0.25), (128, 0.65, 0.26)]
)
def test_wiki_reproduces_the_paper(bits, text_to_image, image_to_text):
    data, split = Wiki().load()
    train = data.take(split.train)
    hashers = [SMFH(bits=bits, seed=seed).fit(train) for seed in range(5)]
    for source, target, least in (("text", "image", text_to_image), ("image", "text", image_to_text)):
        scores = [evaluate(hasher, data, split, source, target).scores for hasher in hashers]
        assert np.mean([score.mean_average_precision for score in scores]) >= least
