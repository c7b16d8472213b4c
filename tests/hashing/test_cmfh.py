"""CMFH: the objective never rises, and each step is the best there is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.hamming import unpack
from smfh.hashing.blocks import Items
from smfh.hashing.cmfh import CMFH, Problem
from smfh.hashing.views import UNIT_ROWS
from smfh.types import MultimodalDataset


def random_data(seed: int, modalities: int = 2, sparse_too: bool = False) -> MultimodalDataset:
    rng = np.random.default_rng(seed)
    X = {f"m{t}": rng.random((40, d)) * (rng.random((40, d)) < 0.6) for t, d in enumerate((12, 9, 7))}
    X = dict(list(X.items())[:modalities])
    if sparse_too:
        X["m1"] = sparse.csr_array(X["m1"])
    return MultimodalDataset("random", X, np.eye(2, dtype=bool)[rng.integers(2, size=40)], ("a", "b"))


def centred(x):
    x = x.toarray() if sparse.issparse(x) else x
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x - x.mean(axis=0)


def start(method: CMFH, data: MultimodalDataset, seed: int):
    rng = np.random.default_rng(seed)
    items = Items(data.modalities, data.labels).with_features(dict.fromkeys(data.modalities, UNIT_ROWS))
    problem = Problem(method, items)
    return problem, problem.start(rng)


def objective(problem: Problem, data: MultimodalDataset, state) -> float:
    """O as the module's first lines have it, with every matrix formed."""
    method, V = problem.method, state.Y
    total = method.ridge * np.sum(V**2)
    for t, x in data.modalities.items():
        X, U, W = centred(x), state.U[t], state.W[t]
        total += problem.weights[t] * np.sum((X - V @ U.T) ** 2)
        total += method.projection_weight * np.sum((V - X @ W) ** 2)
        total += method.ridge * (np.sum(U**2) + np.sum(W**2))
    return float(total)


powers = st.floats(-3, 3).map(lambda power: 10**power)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), mu=powers, gamma=powers, modalities=st.sampled_from([2, 3]), thin=st.booleans())
def test_objective_never_rises(seed, mu, gamma, modalities, thin):
    data = random_data(seed, modalities, thin)
    problem, state = start(CMFH(bits=6, projection_weight=mu, ridge=gamma), data, seed)
    state = problem.descend(state)
    before = objective(problem, data, state)
    for _ in range(30):
        state = problem.descend(state)
        now = objective(problem, data, state)
        assert now <= before * (1 + 1e-9)
        assert sum(problem.terms(state).values()) == pytest.approx(now, rel=1e-7)
        before = now


@pytest.mark.parametrize("part", ["U", "Y", "W"])
def test_every_step_is_a_minimum(part):
    data = random_data(0, modalities=3, sparse_too=True)
    problem, state = start(CMFH(bits=5, ridge=0.1, projection_weight=3.0), data, 0)
    state = problem.descend(problem.descend(state))
    if part == "U":
        state = replace(state, U={t: problem.basis(t, state) for t in state.U})
    if part == "Y":
        state = replace(state, Y=problem.codes(state.Y, state.U, state.W)[0])
    best, rng = objective(problem, data, state), np.random.default_rng(1)
    for _ in range(10):
        if part == "Y":
            moved = replace(state, Y=state.Y + 1e-3 * rng.standard_normal(state.Y.shape))
        else:
            factors = getattr(state, part)
            moved = {t: f + 1e-3 * rng.standard_normal(f.shape) for t, f in factors.items()}
            moved = replace(state, **{part: moved})
        assert objective(problem, data, moved) > best


def test_a_modality_without_weight_can_still_be_encoded(planted):
    train = planted[0].take(planted[1].train)
    hasher = CMFH(bits=8, modality_weights=(1.0, 0.0)).fit(train)
    assert hasher.trace[-1].terms["reconstruction (text)"] == 0
    assert unpack(hasher.functions["text"].encode(train.modalities["text"]), 8).any()


def test_modalities_share_one_code_and_predict_it(planted):
    train = planted[0].take(planted[1].train)
    hasher = CMFH(bits=16).fit(train)
    assert hasher.database_codes["image"] is hasher.database_codes["text"]
    bits = unpack(hasher.database_codes["image"], 16)
    for name, x in train.modalities.items():
        assert np.mean(unpack(hasher.functions[name].encode(x), 16) == bits) > 0.9
