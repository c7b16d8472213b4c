"""Whatever ordinary data look like, every method gives finite codes or says what is wrong with them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.hashing import METHODS, SMFH, FittedHasher, load_hasher, make_method, preset, save_hasher
from smfh.hashing.solvers import Factor
from smfh.types import InputError, MultimodalDataset, Parameter, parameters

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
def test_any_data_give_finite_codes_or_an_input_error(name, choice, data):
    values = preset(name, choice) | {"bits": BITS}
    values |= {field: value for field, value in QUICK.items() if field in values}
    try:
        hasher = make_method(name, **values).fit(data)
    except InputError as error:
        assert "failed in iteration" not in str(error)  # noqa: PT017
    else:
        assert finite(hasher, data)


def odd_data(kind: str) -> MultimodalDataset:
    """Twenty-four items in three classes, with something odd about them."""
    rng = np.random.default_rng(0)
    image, text = rng.random((24, 6)), rng.random((24, 5))
    labels = np.eye(3, dtype=bool)[np.arange(24) % 3]
    if kind == "constant features":
        image[:], text[:] = 1, 0.5
    elif kind == "one constant modality":
        text[:] = 1
    elif kind == "rows of zeros":
        image[::3], text[::2] = 0, 0
    elif kind == "a modality of zeros":
        text[:] = 0
    elif kind == "duplicates":
        image, text = np.repeat(image[:3], 8, axis=0), np.repeat(text[:3], 8, axis=0)
    elif kind == "one item, again and again":
        image, text = np.repeat(image[:1], 24, axis=0), np.repeat(text[:1], 24, axis=0)
    elif kind == "one item in each class":
        labels = np.eye(24, dtype=bool)
    elif kind == "two items":
        image, text, labels = image[:2], text[:2], labels[:2]
    elif kind == "one dimension":
        image, text = image[:, :1], text[:, :1]
    elif kind == "signed":
        image, text = image - 0.5, text - 0.5
    elif kind == "large numbers":
        image, text = 1e30 * image, 1e30 * text
    elif kind == "small numbers":
        image, text = 1e-30 * image, 1e-30 * text
    modalities = {"image": image.astype(np.float32), "text": text.astype(np.float32)}
    return MultimodalDataset("odd", modalities, labels)


KINDS = ["usual", "constant features", "one constant modality", "rows of zeros", "a modality of zeros"]
KINDS += ["duplicates", "one item, again and again", "one item in each class", "two items", "one dimension"]
KINDS += ["signed", "large numbers", "small numbers"]
QUICKER = {"iterations": 3, "graph_sample": 20, "rounds": 1, "anchors": 10}


def weights_of(name: str) -> dict[str, Parameter]:
    """The numbers of a method that are no counts."""
    usual = METHODS[name]()
    return {key: about for key, about in parameters(usual).items() if type(getattr(usual, key)) is float}


def fit_or_refuse(name: str, data: MultimodalDataset, **values: object) -> None:
    """All is finite that the training leaves, or it says what is wrong, before anything breaks."""
    known = parameters(METHODS[name])
    given = {key: value for key, value in (QUICKER | values).items() if key in known}
    try:
        hasher = make_method(name, **given).fit(data)
    except InputError as error:
        assert data.modalities["image"].max() > 1e20, str(error)  # noqa: PT017, nothing else is refused
        return
    assert finite(hasher, data)
    assert all(np.isfinite([*step.terms.values(), step.seconds]).all() for step in hasher.trace)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_odd_data_give_finite_codes_and_terms(name, kind):
    data = odd_data(kind)
    for bits in (1, 40):  # more than there are items
        fit_or_refuse(name, data, bits=bits)
    for switch in ("square_root", "centred", "mixed", "sequential"):
        fit_or_refuse(name, data, bits=8, **{switch: not getattr(METHODS[name](), switch, True)})
    fit_or_refuse(name, data, bits=8, anchors=0)


@pytest.mark.parametrize("name", METHODS)
def test_extreme_weights_give_finite_codes_and_terms(name):
    weights = weights_of(name)
    low, high = ({key: getattr(about, end) for key, about in weights.items()} for end in ("low", "high"))
    ends = [{key: value} for each in (low, high) for key, value in each.items()]
    for kind in ("usual", "duplicates", "rows of zeros", "one constant modality"):
        data = odd_data(kind)
        for values in (low, high, *ends):
            fit_or_refuse(name, data, bits=8, **values)


WIDE = {
    "pixels": lambda rng: rng.integers(256, size=(60, 400)),
    "wide": lambda rng: 10 * rng.random((60, 400)),
    "repeated columns": lambda rng: np.tile(10 * rng.random((60, 40)), 2),
    "wide and sparse": lambda rng: np.maximum(rng.standard_normal((60, 1408)), 0),
}


@pytest.mark.parametrize("features", WIDE.values(), ids=WIDE)
@pytest.mark.parametrize("graph_sample", [20, 1000])
def test_graph_does_not_make_smfh_indefinite(features, graph_sample, rng):
    labels = rng.integers(3, size=60)
    data = {name: features(rng).astype(np.float32) for name in ("image", "text")}
    trace = SMFH(bits=8, iterations=5, graph_sample=graph_sample).fit(data, labels).trace
    assert {step.note for step in trace} == {""}


def test_ridge_grows_until_the_system_can_be_factored(rng):
    x = rng.random((5, 2))
    system = x @ x.T - 3e-9 * np.eye(5)  # of rank 2, and indefinite as by rounding
    factor = Factor.of(system, 1e-12)
    assert factor.ridge == pytest.approx(1e-8)
    assert "singular with 1e-12" in factor.note
    np.testing.assert_allclose(factor.root @ factor.root.T, system + factor.ridge * np.eye(5), atol=1e-15)
    assert Factor.of(system, 1.0).note == ""


def test_indefinite_systems_are_not_hidden():
    with pytest.raises(np.linalg.LinAlgError):
        Factor.of(-np.eye(3), 1e-3)


def test_trace_notes_a_ridge_that_had_to_grow(rng, tmp_path):
    items = np.repeat(rng.random((2, 30)), 20, axis=0) * 1e6  # two items, twenty times each
    hasher = SMFH(bits=8, iterations=3, ridge=1e-9).fit({"image": items, "text": items}, np.arange(40) // 20)
    assert all("singular with 1e-09" in step.note for step in hasher.trace)
    save_hasher(hasher, tmp_path / "model.npz")
    assert load_hasher(tmp_path / "model.npz").trace == hasher.trace
