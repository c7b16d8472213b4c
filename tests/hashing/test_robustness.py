"""Whatever ordinary data look like, every method gives finite codes or says what is wrong with them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.hashing import METHODS, SMFH, FittedHasher, load_hasher, make_method, preset, save_hasher
from smfh.hashing.positive import Factor
from smfh.hashing.products import column_means
from smfh.types import InputError, MultimodalDataset

VARIANTS = [(name, choice) for name in METHODS for choice in METHODS[name].presets]
BITS, QUICK = 8, {"iterations": 3, "graph_sample": 20}


@st.composite
def matrices(draw: st.DrawFn, items: int):
    """Features of many scales, with columns that repeat or never vary, few items or many dimensions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dimensions = draw(st.sampled_from([1, 2, 12, 150]))
    X = rng.random((items, dimensions))
    if draw(st.booleans()):
        X *= rng.random(X.shape) < draw(st.sampled_from([0.02, 0.3]))
    if draw(st.booleans()):
        X = X[:, rng.integers(dimensions, size=dimensions)]  # copies of columns
    if draw(st.booleans()):
        X[:, rng.random(dimensions) < 0.5] = draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        X = X[rng.integers(items, size=items)]  # copies of items
    if draw(st.booleans()):
        X = np.round(255 * X)
    X = X * 10.0 ** draw(st.floats(-6, 6))
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    return sparse.csr_array(X) if draw(st.booleans()) else X


@st.composite
def datasets(draw: st.DrawFn) -> MultimodalDataset:
    items = draw(st.sampled_from([3, 10, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.eye(4, dtype=bool)[rng.integers(3, size=items)]
    labels[0] = np.arange(4) == 3  # the only one of its class
    if draw(st.booleans()):
        labels |= rng.random(labels.shape) < 0.3
    if draw(st.booleans()):
        labels[-1] = False
    modalities = {name: draw(matrices(items)) for name in ("image", "text")}
    return MultimodalDataset("any", modalities, labels)


def finite(hasher: FittedHasher, data: MultimodalDataset) -> bool:
    """Whether everything that a search needs is a number."""
    functions = [hasher.functions[name].margins(X) for name, X in data.modalities.items()]
    return all(np.isfinite(values).all() for values in (*functions, *hasher.bases.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "choice"), VARIANTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets())
def test_any_data_give_finite_codes_or_an_answer(name, choice, data):
    values = preset(name, choice) | {"bits": BITS}
    values |= {field: value for field, value in QUICK.items() if field in values}
    try:
        hasher = make_method(name, **values).fit(data)
    except InputError as error:
        assert "broke down" not in str(error)  # noqa: PT017
    else:
        assert finite(hasher, data)


def pixels(rng):
    return rng.integers(256, size=(60, 400))


def wide(rng):
    return 10 * rng.random((60, 400))


def twice(rng):
    return np.tile(10 * rng.random((60, 40)), 2)


def wide_and_thin(rng):
    return np.maximum(rng.standard_normal((60, 1408)), 0)


@pytest.mark.parametrize("features", [pixels, wide, twice, wide_and_thin])
@pytest.mark.parametrize("graph_sample", [20, 1000])
def test_the_graph_does_not_make_smfh_indefinite(features, graph_sample, rng):
    labels = rng.integers(3, size=60)
    data = {name: features(rng).astype(np.float32) for name in ("image", "text")}
    trace = SMFH(bits=8, iterations=5, graph_sample=graph_sample).fit(data, labels).trace
    assert {step.note for step in trace} == {""}


def test_sparse_single_precision_features_are_centred_in_double(rng):
    X = sparse.csr_array(rng.random((40_000, 4), dtype=np.float32))
    np.testing.assert_allclose(column_means(X), X.toarray().astype(np.float64).mean(axis=0), rtol=1e-13)


def test_a_ridge_grows_until_the_system_can_be_factored_and_says_so(rng):
    x = rng.random((5, 2))
    system = x @ x.T - 3e-9 * np.eye(5)  # of rank 2, and indefinite as by rounding
    factor = Factor.of(system, 1e-12)
    assert factor.ridge == pytest.approx(1e-8)
    assert "instead of 1e-12" in factor.note
    np.testing.assert_allclose(factor.root @ factor.root.T, system + factor.ridge * np.eye(5), atol=1e-15)
    assert Factor.of(system, 1.0).note == ""


def test_what_is_no_rounding_is_not_covered_up():
    with pytest.raises(np.linalg.LinAlgError):
        Factor.of(-np.eye(3), 1e-3)


def test_the_trace_tells_of_a_ridge_that_had_to_grow(rng, tmp_path):
    items = np.repeat(rng.random((2, 30)), 20, axis=0) * 1e6  # two items, twenty times each
    hasher = SMFH(bits=8, iterations=3, ridge=1e-9).fit({"image": items, "text": items}, np.arange(40) // 20)
    assert all("instead of 1e-09" in step.note for step in hasher.trace)
    save_hasher(hasher, tmp_path / "model.npz")
    assert load_hasher(tmp_path / "model.npz").trace == hasher.trace
