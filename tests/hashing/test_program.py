"""The authors' program against its steps, written out one by one with dense matrices."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.hashing.program import SMFHProgram


def double(data):
    return replace(data, modalities={t: X.astype(np.float64) for t, X in data.modalities.items()})


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def steps(method, train):
    """Every iteration as it reads; two modalities."""
    rng = np.random.default_rng(method.seed)
    X = [unit(x) for x in train.modalities.values()]
    N, m, r = len(train), min(method.graph_sample, len(train)), method.bits
    S_all = unit(train.labels.astype(float))
    W, U = ([rng.random((x.shape[1], r)) for x in X] for _ in range(2))
    Y = rng.random((N, r))
    lengths = np.linalg.norm(Y, axis=0)
    Y, U[0] = Y / lengths, U[0] * lengths
    while True:
        rows = rng.choice(N, size=m, replace=False)
        pick = np.eye(N)[rows]
        A = S_all[rows] @ S_all[rows].T
        D = np.diag(A.sum(axis=1))
        above = 0.5 * (X[0] @ U[0] + X[1] @ U[1]) + method.projection_weight * (X[0] @ W[0] + X[1] @ W[1])
        above += method.graph_weight * m**-0.1 * pick.T @ A @ pick @ Y + 4 * method.orthogonality_weight * Y
        below = 0.5 * Y @ (U[0].T @ U[0] + U[1].T @ U[1]) + 2 * method.projection_weight * Y
        below += method.graph_weight * m**-0.1 * pick.T @ D @ pick @ Y
        below += 4 * method.orthogonality_weight * Y @ (Y.T @ Y)
        Y = Y * above / np.maximum(below, 1e-10)
        U = [u * (x.T @ Y) / np.maximum(u @ (Y.T @ Y), 1e-10) for x, u in zip(X, U, strict=True)]
        lengths = np.linalg.norm(Y, axis=0)
        Y, U[0] = Y / lengths, U[0] * lengths
        half = np.diag(1 / np.sqrt(np.diag(D)))
        L = half @ (D - A) @ half
        systems = [x.T @ x + method.smoothness * m**-0.1 * x[rows].T @ L @ x[rows] for x in X]
        W = [np.linalg.solve(s + method.ridge * np.eye(len(s)), x.T @ Y) for s, x in zip(systems, X, strict=True)]
        norm = np.linalg.norm
        tension = norm(Y[rows].T @ (D - A) @ Y[rows])
        fits = [norm(Y - x @ w) for x, w in zip(X, W, strict=True)]
        errors = [norm(x - Y @ u.T) for x, u in zip(X, U, strict=True)]
        objective = 0.5 * sum(errors) + method.graph_weight * tension
        objective += method.projection_weight * sum(fits) + method.ridge * sum(map(norm, W))
        yield Y, U, W, objective, tension


@pytest.mark.parametrize("sample", [15, 60, 10_000])
def test_training_equals_the_steps_of_the_program(sample):
    train = double(Planted(items=120, labels_per_item=2).load()[0])
    method = SMFHProgram(bits=8, graph_sample=sample, iterations=5, ridge=0.1)
    hasher = method.fit(train)
    *_, last = read = [state for state, _ in zip(steps(method, train), range(5), strict=False)]
    Y, U, W, *_ = last
    for t, u, w in zip(train.modalities, U, W, strict=True):
        np.testing.assert_allclose(hasher.bases[t], u, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(hasher.functions[t].projection, w, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(hasher.functions[t].thresholds, Y.mean(axis=0))
    objectives = [state[3] for state in read]
    np.testing.assert_allclose([step.objective for step in hasher.trace], objectives, rtol=1e-6)


def test_training_stops_by_the_rule_of_the_program():
    train = double(Planted(items=400, labels_per_item=2).load()[0])
    method = SMFHProgram(bits=8, graph_sample=300, projection_weight=1.0)
    hasher = method.fit(train)
    read, before = [], np.inf
    for state in steps(method, train):
        *_, objective, tension = state
        if len(read) >= 5 and (before - objective < 0.1 or tension < 100):
            break
        read.append(state)
        before = objective
    assert 5 <= len(hasher.trace) == len(read) < method.iterations
    np.testing.assert_allclose(hasher.functions["text"].projection, read[-1][2][1], rtol=1e-5, atol=1e-8)
