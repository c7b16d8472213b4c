"""SMFH against its equations, written out one by one, and against the paper's table."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets.planted import Planted
from smfh.hashing import SMFH
from smfh.hashing.blocks import Items, gram
from smfh.hashing.reference import affinity, algorithm_1
from smfh.hashing.smfh import Problem
from smfh.hashing.solvers import LabelGraph, RidgeSolver, WideFeatures, WideSolver
from smfh.types import InputError, MultimodalDataset


def seeded() -> np.random.Generator:
    return np.random.default_rng(0)


def double(data: MultimodalDataset) -> MultimodalDataset:
    return replace(data, modalities={t: X.astype(np.float64) for t, X in data.modalities.items()})


@pytest.mark.parametrize("sample", [20, 50, 10_000])
@pytest.mark.parametrize("modalities", [2, 3])
@pytest.mark.parametrize("sparse_text", [False, True])
def test_training_equals_the_reference_equations(sample, modalities, sparse_text):
    source = Planted(items=120, modalities=modalities, labels_per_item=2, sparse_text=sparse_text)
    train = double(source.load()[0])
    method = SMFH(bits=12, graph_sample=sample, iterations=6, ridge=0.1)
    hasher = method.fit(train)
    slow = list(algorithm_1(method, train))
    for t in train.modalities:
        np.testing.assert_allclose(hasher.bases[t], slow[-1].U[t], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(hasher.functions[t].projection, slow[-1].W[t], rtol=1e-5, atol=1e-7)
    for step, iteration in zip(hasher.trace, slow, strict=True):
        assert step.terms.keys() == iteration.terms.keys()
        for name, value in iteration.terms.items():
            assert step.terms[name] == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("smoothness", [0.0, 1e-3, 10.0])
def test_wide_solver_equals_a_direct_solution(thin, smoothness, rng):
    X = rng.random((80, 300)) * (rng.random((80, 300)) < 0.2)
    X = sparse.csr_array(X) if thin else X
    Y, rows = rng.random((80, 5)), rng.choice(80, size=30, replace=False)
    graph = LabelGraph.of(rng.random((30, 4)) < 0.4, np.dtype(np.float64))
    direct = RidgeSolver(gram(X), 0.1, graph.scatter(X[rows]), smoothness)
    wide = WideSolver(WideFeatures(X, 0.1, smoothness), rows, graph, Y)
    W = direct.solve(X.T @ Y)
    np.testing.assert_allclose(wide.solve(X.T @ Y), W, rtol=1e-7, atol=1e-9)
    assert wide.error(W, X.T @ Y, Y.T @ Y) == pytest.approx(direct.error(W, X.T @ Y, Y.T @ Y))
    assert wide.roughness(W) == pytest.approx(direct.roughness(W))


def test_single_precision_stays_near_double(planted):
    train = planted[0].take(planted[1].train)
    single, twice = (SMFH(bits=16, iterations=10).fit(data) for data in (train, double(train)))
    assert single.bases["image"].dtype == np.float32
    for step, exact in zip(single.trace, twice.trace, strict=True):
        assert step.objective == pytest.approx(exact.objective, rel=0.02)


def test_graph_operations_equal_those_with_the_formed_matrix(rng):
    labels = rng.random((30, 4)) < 0.4
    labels[0] = False
    A, D = affinity(labels)
    L = D - A
    graph = LabelGraph.of(labels, np.dtype(np.float64))
    Y = rng.random((30, 5))
    np.testing.assert_allclose(graph.attract(Y), A @ Y)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1))
    assert graph.energy(Y) == pytest.approx(np.trace(Y.T @ L @ Y))
    np.testing.assert_allclose(graph.scatter(Y), Y.T @ L @ Y, atol=1e-9)
    np.testing.assert_allclose(graph.scatter(sparse.csr_array(Y)), Y.T @ L @ Y, atol=1e-9)


def test_normalised_degrees_are_one_and_zero_without_labels(rng):
    labels = rng.random((30, 4)) < 0.4
    labels[0] = False
    graph = LabelGraph.of(labels, np.dtype(np.float64)).normalised()
    A = graph.factors.toarray() @ graph.factors.toarray().T
    assert np.linalg.eigvalsh(A).max() == pytest.approx(1)
    assert graph.degrees[0] == 0
    assert graph.degrees[labels.any(axis=1)].tolist() == [1] * int(labels.any(axis=1).sum())


def test_each_sample_is_drawn_without_replacement(planted):
    data = planted[0]
    problem, rng = Problem(SMFH(graph_sample=40), Items(data.modalities, data.labels)), seeded()
    state = problem.start(rng)
    first, second = problem.draw(state, rng).rows, problem.draw(state, rng).rows
    assert len(np.unique(first)) == 40
    assert not np.array_equal(first, second)


def test_basis_steps_find_a_planted_factorisation(rng):
    Y, U = rng.random((80, 4)), rng.random((20, 4))
    items = Items({"image": Y @ U.T}, rng.random((80, 2)) < 0.5)
    problem = Problem(SMFH(bits=4), items)
    state = replace(problem.start(rng), XtY={"image": U @ Y.T @ Y}, YtY=Y.T @ Y)
    for _ in range(3000):
        state = problem.update_bases(state, rng)
    np.testing.assert_allclose(state.U["image"], U, atol=0.01)


def test_training_stops_at_the_tolerance(planted):
    train = planted[0].take(planted[1].train)
    full = SMFH(bits=8, graph_sample=10**6, iterations=200)
    assert len(full.fit(train).trace) == 200
    assert len(replace(full, tolerance=0.05).fit(train).trace) < 200


@settings(max_examples=20, deadline=None)
@given(weights=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)))
def test_modality_weights_must_sum_to_one(weights):
    if abs(sum(weights) - 1) > 1e-6:
        with pytest.raises(InputError, match="sum to 1"):
            SMFH(modality_weights=weights)
    else:
        SMFH(modality_weights=weights)


def test_modality_weights_must_match_the_modalities(planted):
    with pytest.raises(InputError, match=r"3 modality weights .* for 2 modalities"):
        SMFH(modality_weights=(0.5, 0.25, 0.25)).fit(planted[0])
