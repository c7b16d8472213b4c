"""SMFH+: every step lowers the objective, and is the step that its equations say."""

import re
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets import make_source
from smfh.features.maps import SHARES
from smfh.features.ridge import RIDGES, USUAL_RIDGE
from smfh.hamming import distances
from smfh.hashing import SMFHPlus
from smfh.hashing.blocks import Items
from smfh.hashing.kernels import cubic_root
from smfh.hashing.labels import NormalisedGraph, class_codes, label_codes, rank_codes
from smfh.hashing.smfh_plus import Problem
from smfh.hashing.solvers import LabelGraph


def random_problem(rng, method: SMFHPlus, modalities: int = 2, sparse_too: bool = False, items: int = 40) -> Problem:
    sizes = (12, 9, 7)[:modalities]
    X = {f"m{t}": rng.random((items, d)) * (rng.random((items, d)) < 0.6) for t, d in enumerate(sizes)}
    if sparse_too:
        X["m1"] = sparse.csr_array(X["m1"])
    labels = rng.random((items, 5)) < 0.3
    labels[0] = False
    labels[1] = [True, False, True, False, False]
    return Problem(method, Items(X, labels))


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def graph_of(problem: Problem):
    """A = D^-½ Σ_k w_k a_k a_kᵀ D^-½ formed, and the diagonal of its Laplacian."""
    columns = problem.data.labels.T.astype(float)
    raw = sum(a.sum() ** -problem.method.rarity * np.outer(a, a) for a in columns)
    degrees = raw.sum(axis=1)
    scale = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    return scale[:, None] * raw * scale, np.diag((degrees > 0).astype(float))


def objective(problem: Problem, state) -> float:
    """O as the module's first lines have it, with every matrix formed."""
    method, Y = problem.method, state.Y
    A, D = graph_of(problem)
    N, r = Y.shape
    T = N / 4 * (np.ones((r, r)) + np.eye(r))
    total = method.graph_weight * np.trace(Y.T @ (D - A) @ Y)
    total += method.orthogonality_weight / (N * r) * np.sum((Y.T @ Y - T) ** 2)
    for t, X in problem.data.X.items():
        X, W = dense(X), state.W[t]
        H = X @ W + state.b[t]
        total += problem.weights[t] * np.sum((X - Y @ state.U[t].T) ** 2)
        smooth = np.trace(W.T @ X.T @ (D - A) @ X @ W)
        fit = np.sum((Y - H) ** 2) + method.smoothness * smooth + problem.ridges[t] * np.sum(W**2)
        total += method.projection_weight * 2 / len(problem.data.X) * fit
    return float(total)


weights = st.floats(-3, 4).map(lambda power: 10**power)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    beta=weights,
    alpha=weights,
    mu=weights,
    modalities=st.sampled_from([2, 3]),
    sparse_too=st.booleans(),
)
def test_objective_never_rises_in_200_iterations(seed, beta, alpha, mu, modalities, sparse_too):
    rng = np.random.default_rng(seed)
    method = SMFHPlus(bits=6, graph_weight=alpha, projection_weight=mu, orthogonality_weight=beta, ridge=0.1)
    problem = random_problem(rng, method, modalities, sparse_too)
    state = problem.start(rng)
    before = objective(problem, state)
    for _ in range(200):
        state = problem.descend(state, problem.graph)
        now = objective(problem, state)
        assert now <= before * (1 + 1e-12)
        before = now
    assert min(U.min() for U in state.U.values()) >= 0
    assert 0 <= state.Y.min() <= state.Y.max() <= 1


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), beta=weights, alpha=weights, modalities=st.sampled_from([2, 3]))
def test_bit_flips_never_raise_the_objective(seed, beta, alpha, modalities):
    rng = np.random.default_rng(seed)
    method = SMFHPlus(bits=6, graph_weight=alpha, orthogonality_weight=beta, ridge=0.1)
    problem = random_problem(rng, method, modalities)
    state = problem.binarise(problem.descend(problem.start(rng), problem.graph))
    for _ in range(4):
        before = objective(problem, state)
        flipped = problem.flip_bits(state, state.U, problem.graph)
        assert set(np.unique(flipped)) <= {0.0, 1.0}
        after = objective(problem, replace(state, Y=flipped))
        assert after < before or np.array_equal(flipped, state.Y)
        assert after <= before
        state = problem.refine(state, problem.graph)
        assert objective(problem, state) <= after * (1 + 1e-12)


def test_sweep_equals_trying_every_flip_on_the_objective(rng):
    problem = random_problem(rng, SMFHPlus(bits=5, ridge=0.1), items=25)
    state = problem.binarise(problem.descend(problem.start(rng), problem.graph))
    Y = state.Y.copy()
    for i, k in np.ndindex(Y.shape):
        other = Y.copy()
        other[i, k] = 1 - other[i, k]
        if objective(problem, replace(state, Y=other)) < objective(problem, replace(state, Y=Y)):
            Y = other
    assert not np.array_equal(Y, state.Y)
    np.testing.assert_array_equal(problem.flip_bits(state, state.U, problem.graph), Y)


@pytest.mark.parametrize("modalities", [2, 3])
@pytest.mark.parametrize("sparse_too", [False, True])
@pytest.mark.parametrize("beta", [0.0, 200.0, 1e5])
def test_code_step_equals_its_equations(rng, modalities, sparse_too, beta):
    problem = random_problem(rng, SMFHPlus(bits=6, orthogonality_weight=beta), modalities, sparse_too)
    state = problem.descend(problem.start(rng), problem.graph)
    U, method, Y = problem.update_bases(state), problem.method, state.Y
    A, D = graph_of(problem)
    N, r = Y.shape
    c, T = 2 * beta / (N * r), N / 4 * (np.ones((r, r)) + np.eye(r))
    mu, alpha, lam = method.projection_weight * 2 / len(problem.data.X), method.graph_weight, problem.weights
    X = {t: dense(x) for t, x in problem.data.X.items()}
    B = sum(X[t] @ (lam[t] * U[t] + mu * state.W[t]) + mu * state.b[t] for t in X) + alpha * A @ Y + c * Y @ T
    h = sum(lam[t] * Y @ U[t].T @ U[t] for t in X) + len(X) * mu * Y + alpha * D @ Y + np.maximum(-B, 0)
    q = c * Y @ Y.T @ Y
    expected = np.zeros_like(Y)
    for cell in np.ndindex(Y.shape):
        roots = np.roots([q[cell], 0, h[cell], -max(B[cell], 0)])
        z = max(root.real for root in roots if abs(root.imag) < 1e-7)
        expected[cell] = min(Y[cell] * max(z, 0), 1)
    Y, _ = problem.update_codes(state, U, problem.graph)
    np.testing.assert_allclose(Y, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(q=st.floats(0, 1e6), h=st.floats(1e-6, 1e6), b=st.floats(1e-6, 1e6))
def test_newton_finds_the_cubic_root(q, h, b):
    z = cubic_root(q, h, b)
    assert z > 0
    assert q * z**3 + h * z == pytest.approx(b, rel=1e-6)


@pytest.mark.parametrize("modalities", [2, 3])
def test_reported_terms_add_up_to_the_objective(rng, modalities):
    problem = random_problem(rng, SMFHPlus(bits=6), modalities, sparse_too=True)
    state = problem.start(rng)
    descend, refine = (lambda state, do=do: do(state, problem.graph) for do in (problem.descend, problem.refine))
    for step in (descend, descend, problem.binarise, refine):
        state = step(state)
        assert sum(problem.terms(state).values()) == pytest.approx(objective(problem, state), rel=1e-9)


def test_hash_functions_are_optimal(rng):
    problem = random_problem(rng, SMFHPlus(bits=6))
    state = problem.descend(problem.start(rng), problem.graph)
    best = objective(problem, state)
    for t in state.W:
        for _ in range(5):
            nudge = 1e-3 * rng.standard_normal(state.W[t].shape)
            assert objective(problem, replace(state, W={**state.W, t: state.W[t] + nudge})) > best
            nudge = 1e-3 * rng.standard_normal(state.b[t].shape)
            assert objective(problem, replace(state, b={**state.b, t: state.b[t] + nudge})) > best


def test_objective_falls_in_descent_and_in_refinement(planted):
    hasher = SMFHPlus(bits=16).fit(planted[0].take(planted[1].train))
    for phase, count in (("descent", 30), ("refinement", 3)):
        values = [step.objective for step in hasher.trace if step.phase == phase]
        assert len(values) == count
        assert all(b <= a * (1 + 1e-4) for a, b in pairwise(values))


@pytest.mark.parametrize("classes", [2, 9, 10, 40])
@pytest.mark.parametrize("bits", [8, 16, 64])
def test_class_codes_are_balanced_and_distinct(rng, classes, bits):
    codes = class_codes(np.full(classes, 10), bits, rng)
    assert np.abs(codes.mean(axis=0) - 0.5).max() <= 0.5 / classes + 1e-9
    apart = (codes[:, None] != codes[None]).sum(axis=2)[np.triu_indices(classes, 1)]
    assert apart.min() >= 1
    assert apart.mean() >= bits / 2


def test_initial_codes_agree_by_the_weight_of_common_labels(rng):
    labels = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
    weights, codes = np.array([1.0, 3.0, 2.0, 5.0]), rng.integers(2, size=(4, 20_000))
    Y = label_codes(labels, rank_codes(codes, weights, rng))
    assert np.array_equal(Y[0], Y[2])
    assert np.array_equal(Y[3], codes[3])  # its only class
    assert np.all(Y[4] == 0.5)
    common = 1 / (1 + 3 + 2)  # the weight of the common label 0, divided by that of labels 0, 1 and 2
    assert np.mean(Y[0] == Y[1]) == pytest.approx((1 + common) / 2, abs=0.02)
    assert np.mean(Y[0] == Y[3]) == pytest.approx(1 / 2, abs=0.02)


def test_rarity_has_no_effect_with_one_label_per_item(planted):
    train = planted[0].take(planted[1].train)
    equal, rare = (SMFHPlus(bits=16, rarity=p).fit(train) for p in (0.0, 2.0))
    np.testing.assert_array_equal(equal.database_codes["text"], rare.database_codes["text"])


def test_rare_labels_decide_which_codes_are_near(rng):
    fine = np.repeat(np.arange(12), 20)
    labels = np.hstack([np.eye(2, dtype=bool)[fine // 6], np.eye(12, dtype=bool)[fine]])
    X = {t: np.eye(12)[fine] + rng.random((240, 12)) for t in ("image", "text")}
    pairs = (fine[:, None] != fine) & (fine[:, None] // 6 == fine // 6)  # only the frequent label in common
    apart = []
    for p in (0.0, 1.0):
        codes = SMFHPlus(bits=32, rarity=p).fit(X, labels).database_codes["text"]
        apart.append(distances(codes, codes)[pairs].mean())
    assert apart[0] + 1 < apart[1]


def test_sample_of_all_items_equals_the_whole_graph(planted):
    train = planted[0].take(planted[1].train)
    exact, *others = (SMFHPlus(bits=12, iterations=4, graph_sample=m).fit(train) for m in (0, len(train), 10**6))
    for hasher in others:
        assert [step.terms for step in hasher.trace] == [step.terms for step in exact.trace]
        for t, codes in exact.database_codes.items():
            np.testing.assert_array_equal(hasher.database_codes[t], codes)
            np.testing.assert_array_equal(hasher.functions[t].projection, exact.functions[t].projection)


WEIGHTS = np.array([1.0, 0.5, 2.0, 0.1])


def drawn_graph(labels, rows) -> LabelGraph:
    sizes, drawn = labels.sum(axis=0).astype(float), labels[rows].sum(axis=0)
    return NormalisedGraph(sizes, WEIGHTS, len(labels), np.dtype(np.float64), rows, drawn).among(labels, rows)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_mean_of_sampled_graphs_is_the_whole_graph(rng, m):
    labels = rng.random((7, 4)) < 0.5
    labels[0] = False
    whole = LabelGraph.of(labels, np.dtype(np.float64), weights=WEIGHTS)
    graphs = [drawn_graph(labels, np.array(rows)) for rows in combinations(range(7), m)]
    mean = np.mean([graph.spread(np.eye(7)) for graph in graphs], axis=0)
    np.testing.assert_allclose(mean, whole.normalised().spread(np.eye(7)), atol=1e-12)
    assert all(np.linalg.eigvalsh(graph.spread(np.eye(7)))[0] > -1e-9 for graph in graphs)


def test_code_step_lowers_the_objective_of_the_sampled_graph(rng):
    problem = random_problem(rng, SMFHPlus(bits=6, graph_sample=15, ridge=0.1))
    state = problem.start(rng)
    for _ in range(50):
        graph, U = problem.draw_graph(rng), problem.update_bases(state)
        (block,) = problem.data.blocks
        drawn, whole = graph.of(block), problem.graph.of(block)
        assert np.count_nonzero(drawn.degrees) <= 15
        new, _ = problem.update_codes(state, U, graph)
        before, after = (
            objective(problem, replace(state, U=U, Y=Y))
            + problem.method.graph_weight * (drawn.energy(Y) - whole.energy(Y))
            for Y in (state.Y, new)
        )
        assert after <= before * (1 + 1e-12)
        state = problem.with_hash_functions(U, new)


def test_width_is_chosen_per_modality_or_as_given(planted):
    train = planted[0].take(planted[1].train)
    chosen, halved, whole = (
        {t: f.feature_map.width for t, f in SMFHPlus(iterations=1, width=width).fit(train).functions.items()}
        for width in (0.0, 0.5, 1.0)
    )
    for t in chosen:
        assert halved[t] == pytest.approx(whole[t] / 2, rel=1e-6)
        assert any(chosen[t] == pytest.approx(share * whole[t], rel=0.01) for share in SHARES)


def test_ridge_is_chosen_per_modality_or_as_given(planted):
    train = planted[0].take(planted[1].train)
    chosen, usual = (SMFHPlus(bits=8, iterations=2, ridge=ridge).fit(train) for ridge in (0.0, USUAL_RIDGE))
    assert {step.note for step in usual.trace} == {""}
    (note,) = {step.note for step in chosen.trace}
    found = re.fullmatch(r"ridge (\S+) for images and (\S+) for texts, chosen by ranking left-out training rows", note)
    assert {float(value) for value in found.groups()} <= set(RIDGES)


def test_each_modality_has_its_own_ridge(rng):
    problem = random_problem(rng, SMFHPlus(bits=6))
    own = Problem(problem.method, problem.data, {"m0": 0.01, "m1": 1.0})
    state = own.descend(own.start(rng), own.graph)
    assert sum(own.terms(state).values()) == pytest.approx(objective(own, state), rel=1e-9)
    for t, X in own.data.X.items():
        C, A, D = X - X.mean(axis=0), *graph_of(own)
        system = C.T @ C + own.method.smoothness * X.T @ (D - A) @ X + own.ridges[t] * np.eye(X.shape[1])
        np.testing.assert_allclose(state.W[t], np.linalg.solve(system, C.T @ state.Y), atol=1e-8)


def test_clusters_tell_items_of_a_class_apart():
    data, split = make_source("emoji", labels="group").load()
    train = data.take(split.train[:500])
    subgroups = make_source("emoji").load()[0].labels[split.train[:500], 9:]
    codes = {
        c: SMFHPlus(bits=32, anchors=200, ridge=0.1, clusters=c).fit(train).database_codes["text"] for c in (0, 40)
    }
    assert len(np.unique(codes[40], axis=0)) > 2 * len(np.unique(codes[0], axis=0))
    near = {c: distances(B, B).argsort(axis=1, kind="stable")[:, :5] for c, B in codes.items()}
    same = {c: (subgroups[rows] & subgroups[:, None]).any(axis=2).mean() for c, rows in near.items()}
    assert same[40] > same[0] + 0.1


def test_clusters_need_items_in_memory():
    assert SMFHPlus(clusters=10).needs_memory
    assert not SMFHPlus().needs_memory
