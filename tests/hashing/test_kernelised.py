"""DCH, SCRATCH and BATCH: every step is the best there is, and the objective never rises; class codes."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.datasets.planted import Planted
from smfh.hamming import distances, unpack
from smfh.hashing import BATCH, DCH, METHODS, SCRATCH, ClassCodes, SMFHPlus
from smfh.hashing.batch import balance
from smfh.hashing.dch import choose_bits
from smfh.hashing.kernelised import SAME_FEATURES, KernelMethod, signs
from smfh.hashing.scratch import rotation
from smfh.types import MultimodalDataset

each_method = pytest.mark.parametrize("method", [DCH, SCRATCH, BATCH])


def planted(modalities: int = 2, labels_per_item: int = 1, seed: int = 0) -> MultimodalDataset:
    source = Planted(items=120, modalities=modalities, labels_per_item=labels_per_item, data_seed=seed)
    data = source.load()[0]
    double = {t: X.astype(np.float64) for t, X in data.modalities.items()}
    return MultimodalDataset(data.name, double, data.labels, data.class_names)


@each_method
@pytest.mark.parametrize("modalities", [2, 3])
@pytest.mark.parametrize("labels_per_item", [1, 2])
@pytest.mark.parametrize("features", [{"anchors": 0}, {"anchors": 50}, {"anchors": 50, "ridge": 0}])
def test_objective_never_rises(method, modalities, labels_per_item, features):
    train = planted(modalities, labels_per_item)
    trace = method(bits=12, iterations=20, **features).fit(train).trace
    assert all(b.objective <= a.objective * (1 + 1e-9) for a, b in pairwise(trace))
    assert trace[-1].objective < trace[0].objective
    assert all(value >= -1e-9 * step.objective for step in trace for value in step.terms.values())


@pytest.mark.parametrize("method", [DCH, BATCH, ClassCodes])
@pytest.mark.parametrize("ridge", [0.3, 0.0])
def test_hash_functions_are_ridge_regressions_on_the_codes(method, ridge):
    train = planted()
    hasher = method(bits=12, anchors=0, ridge=ridge).fit(train)
    for name, x in train.modalities.items():
        K = np.sqrt(x) / np.linalg.norm(np.sqrt(x), axis=1, keepdims=True)
        K -= K.mean(axis=0)
        B = 2.0 * unpack(hasher.database_codes[name], 12) - 1
        own = ridge or float(re.search(rf"([0-9.]+) for {name}s", hasher.trace[-1].note)[1])
        W = np.linalg.solve(K.T @ K + own * np.eye(K.shape[1]), K.T @ B)
        np.testing.assert_allclose(hasher.functions[name].margins(x), K @ W, atol=1e-8)


@pytest.mark.parametrize("method", [one for one in METHODS.values() if issubclass(one, KernelMethod)])
def test_same_features_are_those_of_smfh_plus(method):
    """The feature maps differ only in which items are drawn as anchors; with all items, not even in that."""
    train, values = planted(), method.preset_values(SAME_FEATURES)
    for name in ("anchors", "width", "ridge"):
        assert values[name] == getattr(SMFHPlus(), name)
    ours, theirs = (one.fit(train) for one in (SMFHPlus(bits=8), method(bits=8, **values)))
    assert ours.trace[-1].note == theirs.trace[-1].note  # both state the chosen ridges
    assert "chosen by ranking left-out training rows" in theirs.trace[-1].note
    for name, x in train.modalities.items():
        one, other = (np.sort(hasher.functions[name].feature_map(x), axis=1) for hasher in (ours, theirs))
        np.testing.assert_allclose(one, other, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), bits=st.integers(1, 8))
def test_no_flipped_bit_of_dch_is_better(seed, bits):
    rng = np.random.default_rng(seed)
    B, G, labels = signs(rng.standard_normal((6, bits))), rng.standard_normal((bits, 3)), rng.random((6, 3))
    chosen = B
    for _ in range(20):
        chosen = choose_bits(chosen, G, labels)
    least = np.sum((labels - chosen @ G) ** 2)
    assert least <= np.sum((labels - B @ G) ** 2) + 1e-12
    for cell in np.ndindex(B.shape):
        flipped = chosen.copy()
        flipped[cell] *= -1
        assert np.sum((labels - flipped @ G) ** 2) >= least - 1e-9


def test_rotation_is_recovered(rng):
    turn, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    B = signs(rng.standard_normal((40, 5)))
    np.testing.assert_allclose(rotation(B, B @ turn), turn, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rank=st.integers(0, 6))
def test_balanced_numbers_are_uncorrelated_and_nearest(seed, rank):
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 6)) + 5
    V, other = balance(S, rng), balance(rng.standard_normal((30, 6)), rng)
    np.testing.assert_allclose(V.T @ V, 30 * np.eye(6), atol=1e-9)
    np.testing.assert_allclose(V.sum(axis=0), 0, atol=1e-9)
    assert np.linalg.norm(S - V) <= np.linalg.norm(S - other) + 1e-9


def test_more_bits_than_items():
    few = planted().take(np.arange(9))
    V = balance(np.random.default_rng(0).standard_normal((9, 20)), np.random.default_rng(1))
    assert V.shape == (9, 20)
    assert np.linalg.matrix_rank(V) == 8
    assert BATCH(bits=20).fit(few).database_codes["image"].shape == (9, 1)


def test_codes_of_dch_depend_only_on_labels():
    train = planted()
    codes = DCH(bits=32).fit(train).database_codes["image"]
    classes = train.labels.argmax(axis=1)
    assert len(np.unique(codes)) == len(np.unique(np.column_stack([codes, classes]), axis=0))


def test_class_codes_are_those_of_most_classes():
    train = planted(labels_per_item=3)
    B = unpack(ClassCodes(bits=32).fit(train).database_codes["image"], 32).astype(int)
    sets, which = np.unique(train.labels, axis=0, return_inverse=True)
    first = np.array([np.argmax(which == k) for k in range(len(sets))])
    assert np.array_equal(B, B[first][which])  # one code for each set of classes
    own = {int(one.argmax()): B[i] for one, i in zip(sets, first, strict=True) if one.sum() == 1}
    apart = [np.sum(own[a] != own[b]) for a in own for b in own if a < b]
    assert min(apart) >= 32 / 4
    for classes, item in zip(sets, first, strict=True):
        votes = sum(2 * own[k] - 1 for k in np.flatnonzero(classes))
        assert np.array_equal(B[item][votes != 0], (votes > 0)[votes != 0])


def test_an_item_without_classes_has_a_random_code():
    train = planted()
    labels = train.labels.copy()
    labels[:40] = False
    blank = MultimodalDataset(train.name, train.modalities, labels, train.class_names)
    B = unpack(ClassCodes(bits=64).fit(blank).database_codes["image"], 64)
    assert 0.4 < B[:40].mean() < 0.6


@each_method
def test_rare_labels_decide_which_codes_of_rivals_are_near(method, rng):
    fine = np.repeat(np.arange(12), 20)
    labels = np.hstack([np.eye(2, dtype=bool)[fine // 6], np.eye(12, dtype=bool)[fine]])
    X = {t: np.eye(12)[fine] + rng.random((240, 12)) for t in ("image", "text")}
    pairs = (fine[:, None] != fine) & (fine[:, None] // 6 == fine // 6)  # only the frequent label in common
    apart = []
    for p in (0.0, 1.0):
        codes = method(bits=32, rarity=p).fit(X, labels).database_codes["text"]
        apart.append(distances(codes, codes)[pairs].mean())
    assert apart[0] + 1 < apart[1]


@each_method
def test_rarity_has_no_effect_on_rivals_with_one_label_per_item(method):
    equal, rare = (method(bits=16, rarity=p).fit(planted()) for p in (0.0, 2.0))
    np.testing.assert_array_equal(equal.database_codes["text"], rare.database_codes["text"])
