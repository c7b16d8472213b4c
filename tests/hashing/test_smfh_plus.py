"""SMFH+: every step lowers the objective, and is the step that its equations say."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.features.widths import SHARES
from smfh.hashing import SMFHPlus
from smfh.hashing.class_codes import class_codes, label_codes
from smfh.hashing.graph import Affinity, LabelGraph
from smfh.hashing.items import HeldItems
from smfh.hashing.kernels import cubic_root
from smfh.hashing.relaxation import Relaxation


def random_problem(
    rng, method: SMFHPlus, modalities: int = 2, sparse_too: bool = False, items: int = 40
) -> Relaxation:
    sizes = (12, 9, 7)[:modalities]
    X = {f"m{t}": rng.random((items, d)) * (rng.random((items, d)) < 0.6) for t, d in enumerate(sizes)}
    if sparse_too:
        X["m1"] = sparse.csr_array(X["m1"])
    labels = rng.random((items, 5)) < 0.3
    labels[0] = False
    labels[1] = [True, False, True, False, False]
    return Relaxation(method.weights, method.bits, HeldItems(X, labels), dict.fromkeys(X, 1 / modalities))


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def graph_of(problem: Relaxation):
    """A = D^-½ L_a L_aᵀ D^-½ formed, and the diagonal of its Laplacian."""
    raw = problem.data.labels.astype(float) @ problem.data.labels.T.astype(float)
    degrees = raw.sum(axis=1)
    scale = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    return scale[:, None] * raw * scale, np.diag((degrees > 0).astype(float))


def objective(problem: Relaxation, state) -> float:
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
        fit = np.sum((Y - H) ** 2) + method.smoothness * smooth + method.ridge * np.sum(W**2)
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
def test_the_objective_never_rises_in_200_iterations(seed, beta, alpha, mu, modalities, sparse_too):
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
def test_each_discrete_sweep_lowers_the_objective_by_what_it_says(seed, beta, alpha, modalities):
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


def test_a_sweep_is_the_same_as_trying_every_flip_on_the_whole_objective(rng):
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
def test_the_fused_step_of_the_codes_equals_its_equations(rng, modalities, sparse_too, beta):
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
def test_newton_finds_the_root_of_the_cubic(q, h, b):
    z = cubic_root(q, h, b)
    assert z > 0
    assert q * z**3 + h * z == pytest.approx(b, rel=1e-6)


@pytest.mark.parametrize("modalities", [2, 3])
def test_the_reported_terms_add_up_to_the_objective(rng, modalities):
    problem = random_problem(rng, SMFHPlus(bits=6), modalities, sparse_too=True)
    state = problem.start(rng)
    descend, refine = (
        lambda state, do=do: do(state, problem.graph) for do in (problem.descend, problem.refine)
    )
    for step in (descend, descend, problem.binarise, refine):
        state = step(state)
        assert sum(problem.terms(state).values()) == pytest.approx(objective(problem, state), rel=1e-9)


def test_the_hash_functions_are_the_best_there_are(rng):
    problem = random_problem(rng, SMFHPlus(bits=6))
    state = problem.descend(problem.start(rng), problem.graph)
    best = objective(problem, state)
    for t in state.W:
        for _ in range(5):
            nudge = 1e-3 * rng.standard_normal(state.W[t].shape)
            assert objective(problem, replace(state, W={**state.W, t: state.W[t] + nudge})) > best
            nudge = 1e-3 * rng.standard_normal(state.b[t].shape)
            assert objective(problem, replace(state, b={**state.b, t: state.b[t] + nudge})) > best


def test_training_goes_down_and_then_refines_downwards(planted):
    hasher = SMFHPlus(bits=16).fit(planted[0].take(planted[1].train))
    for phase, count in (("descent", 30), ("refinement", 3)):
        values = [step.objective for step in hasher.trace if step.phase == phase]
        assert len(values) == count
        assert all(b <= a * (1 + 1e-4) for a, b in pairwise(values))


def test_it_stops_when_the_objective_stands_still(planted):
    method = SMFHPlus(bits=8, iterations=500, tolerance=0.05)
    trace = method.fit(planted[0].take(planted[1].train)).trace
    assert sum(step.phase == "descent" for step in trace) < 500
    assert sum(step.phase == "refinement" for step in trace) == method.rounds


@pytest.mark.parametrize("classes", [2, 9, 10, 40])
@pytest.mark.parametrize("bits", [8, 16, 64])
def test_class_codes_are_balanced_and_apart(rng, classes, bits):
    codes = class_codes(np.full(classes, 10), bits, rng)
    assert np.abs(codes.mean(axis=0) - 0.5).max() <= 0.5 / classes + 1e-9
    apart = (codes[:, None] != codes[None]).sum(axis=2)[np.triu_indices(classes, 1)]
    assert apart.min() >= 1
    assert apart.mean() >= bits / 2


def test_items_start_at_the_mean_code_of_their_classes():
    labels = np.array([[True, False], [True, True], [False, False]])
    codes = label_codes(labels, np.stack([np.zeros(8), np.ones(8)]))
    assert codes[0].tolist() == [0.0] * 8
    assert codes[1].tolist() == codes[2].tolist() == [0.5] * 8


def test_a_sample_of_all_items_or_more_is_the_whole_graph(planted):
    train = planted[0].take(planted[1].train)
    exact, *others = (
        SMFHPlus(bits=12, iterations=4, graph_sample=m).fit(train) for m in (0, len(train), 10**6)
    )
    for hasher in others:
        assert [step.terms for step in hasher.trace] == [step.terms for step in exact.trace]
        for t, codes in exact.database_codes.items():
            np.testing.assert_array_equal(hasher.database_codes[t], codes)
            np.testing.assert_array_equal(hasher.functions[t].projection, exact.functions[t].projection)


def drawn_graph(labels, rows) -> LabelGraph:
    sizes, drawn = labels.sum(axis=0).astype(float), labels[rows].sum(axis=0)
    return Affinity(sizes, len(labels), np.dtype(np.float64), rows, drawn).among(labels, rows)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_the_mean_of_the_sampled_graphs_is_the_whole_one(rng, m):
    labels = rng.random((7, 4)) < 0.5
    labels[0] = False
    whole = LabelGraph.of(labels, np.dtype(np.float64))
    graphs = [drawn_graph(labels, np.array(rows)) for rows in combinations(range(7), m)]
    mean = np.mean([graph.spread(np.eye(7)) for graph in graphs], axis=0)
    np.testing.assert_allclose(mean, whole.normalised().spread(np.eye(7)), atol=1e-12)
    assert all(np.linalg.eigvalsh(graph.spread(np.eye(7)))[0] > -1e-9 for graph in graphs)


def test_the_step_of_the_codes_lowers_the_objective_of_the_graph_that_was_drawn(rng):
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


def test_one_item_has_no_neighbour_and_no_graph(rng):
    graph = drawn_graph(rng.random((7, 4)) < 0.5, np.array([3]))
    np.testing.assert_allclose(graph.spread(np.eye(7)), 0, atol=1e-12)


def test_each_modality_has_a_width_of_its_own_or_the_one_asked_for(planted):
    train = planted[0].take(planted[1].train)
    chosen, halved, whole = (
        {t: f.feature_map.width for t, f in SMFHPlus(iterations=1, width=width).fit(train).functions.items()}
        for width in (0.0, 0.5, 1.0)
    )
    for t in chosen:
        assert halved[t] == pytest.approx(whole[t] / 2, rel=1e-6)
        assert any(chosen[t] == pytest.approx(share * whole[t], rel=0.01) for share in SHARES)
