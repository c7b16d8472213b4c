"""The contract of every method: a method that is registered is tested here."""

from dataclasses import FrozenInstanceError, fields, replace
from functools import cache
from itertools import pairwise
from time import sleep

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from smfh.datasets.planted import Planted
from smfh.hamming import distances, unpack
from smfh.hashing import METHODS, FittedHasher, SMFHPlus, load_hasher, make_method, save_hasher
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError, MultimodalDataset, Split, parameters

each_method = pytest.mark.parametrize("name", METHODS)


@cache
def data_and_split() -> tuple[MultimodalDataset, Split]:
    return Planted(items=240).load()


def training_items() -> MultimodalDataset:
    data, split = data_and_split()
    return data.take(split.train)


@cache
def fitted(name: str, bits: int = 16) -> FittedHasher:
    return make_method(name, bits=bits).fit(training_items())


@each_method
def test_method_is_a_frozen_value_that_describes_its_parameters(name):
    method = make_method(name)
    assert method == make_method(name)
    assert hash(method) == hash(make_method(name))
    assert method != replace(method, bits=8)
    with pytest.raises(FrozenInstanceError):
        method.bits = 8
    described = parameters(method)
    assert {field.name for field in fields(method)} == set(described)
    assert next(iter(described)) == "bits"
    for field, about in described.items():
        assert about.low <= about.typical[0] < about.typical[1] <= about.high
        assert about.help.endswith(".")
        assert f"{field} ({about.symbol}): {about.allowed_values}, by default" in type(method).__doc__
        assert about.help in type(method).__doc__


@each_method
def test_presets_list_what_differs_and_are_recognised(name):
    method = make_method(name, bits=16, seed=3)
    for choice, preset in method.presets.items():
        assert all(getattr(method, field) != value for field, value in preset.values.items())
        chosen = replace(method, **method.preset_values(choice))
        data = preset.dataset or "anything"
        assert choice in method.preset_names(data)
        assert chosen.current_preset(data) == choice
        assert (chosen.bits, chosen.seed) == (16, 3)
        assert replace(chosen, ridge=0.777).current_preset(data) is None
        if preset.dataset:
            assert choice not in method.preset_names("anything")
            assert chosen.current_preset("anything") is None
    assert method.best in ("", *method.preset_names("anything"))
    with pytest.raises(InputError, match="Unknown preset"):
        method.preset_values("nonsense")


@each_method
def test_parameters_can_be_read_and_changed_as_in_scikit_learn(name):
    from sklearn.base import clone

    method = make_method(name, bits=16)
    assert clone(method) == method
    assert method.get_params() == {field.name: getattr(method, field.name) for field in fields(method)}
    assert method.set_params(bits=8, seed=1) == make_method(name, bits=8, seed=1)
    assert method.bits == 16


@each_method
def test_all_invalid_parameters_are_listed(name):
    for make in (lambda **values: make_method(name, **values), make_method(name).set_params):
        with pytest.raises(InputError) as caught:
            make(bits=0, seed=-1, nonsense=3)
        assert len(caught.value.problems) == 3
    with pytest.raises(InputError, match="from 1 to 1,024; got 1025"):
        make_method(name, bits=1025)
    with pytest.raises(InputError, match="whole number"):
        make_method(name, bits=8.5)


def test_unknown_method_lists_the_known_ones():
    with pytest.raises(InputError, match="smfh-plus, smfh"):
        make_method("md5")


@each_method
def test_planted_classes_are_found_in_both_protocols(name):
    data, split = data_and_split()
    hasher = fitted(name, bits=32)
    for source, target in hasher.directions:
        for protocol in ("training", "unseen"):
            found = evaluate(hasher, data, split, source, target, protocol).average_precision["found"]
            assert found.mean > found.chance + 0.2


@each_method
def test_codes_have_the_requested_length(name):
    data, split = data_and_split()
    hasher = fitted(name, bits=70)
    for modality in data.modalities:
        assert hasher.database_codes[modality].shape == (len(split.train), 2)
        codes = hasher.encode(modality, data.modalities[modality][split.queries])
        assert codes.shape == (len(split.queries), 2)
        assert unpack(codes, 70).any()


@each_method
def test_same_seed_gives_the_same_codes_and_training_leaves_the_data_unchanged(name):
    train = training_items()
    first, second = fitted(name), make_method(name, bits=16).fit(train)
    for modality, X in train.modalities.items():
        assert np.array_equal(first.database_codes[modality], second.database_codes[modality])
        assert np.array_equal(first.functions[modality].margins(X), second.functions[modality].margins(X))
    assert train.take(np.arange(len(train))).fingerprint == second.trained_on == first.trained_on


@each_method
def test_labels_are_needed_or_have_no_effect(name):
    train, method = training_items(), make_method(name, bits=16)
    unlabelled = MultimodalDataset("pairs", train.modalities, None)
    assert not unlabelled.take(np.arange(8)).has_labels
    if method.uses_labels:
        with pytest.raises(InputError, match="learns from labels, and this data has none"):
            method.fit(unlabelled)
        return
    other = method.fit(dict(train.modalities))
    for modality, codes in fitted(name).database_codes.items():
        assert np.array_equal(other.database_codes[modality], codes)
    data, split = data_and_split()
    pairs = MultimodalDataset("pairs", data.modalities, None)
    scores = evaluate(other, pairs, split, "text", "image", "unseen")
    labelled = evaluate(fitted(name), data, split, "text", "image", "unseen")
    assert scores.pair_retrieval == labelled.pair_retrieval


@each_method
def test_every_step_is_reported_with_its_terms(name):
    steps = []
    method = make_method(name, bits=16)
    hasher = method.fit(training_items(), on_step=steps.append)
    assert tuple(steps) == hasher.trace
    stops_early = getattr(method, "tolerance", 0) > 0
    assert 1 < len(steps) <= method.steps if stops_early else len(steps) == method.steps
    assert [step.iteration for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert step.terms
        assert np.isfinite(list(step.terms.values())).all()
        assert step.objective == pytest.approx(sum(step.terms.values()))
    assert all(a.seconds <= b.seconds for a, b in pairwise(steps))


@each_method
def test_an_exception_in_on_step_ends_the_training(name):
    seen = []

    def stop(step):
        seen.append(step)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_method(name, bits=16).fit(training_items(), on_step=stop)
    assert len(seen) == 1


def test_time_in_on_step_is_not_training_time():
    method = make_method("smfh", bits=4, iterations=3)
    assert method.fit(training_items(), on_step=lambda step: sleep(2)).seconds < 4


@each_method
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_too_large_features_are_refused_with_advice(name, kind):
    train, largest = training_items(), np.finfo(kind).max
    huge = {t: X.astype(kind) / X.max() * largest for t, X in train.modalities.items()}
    with pytest.raises(InputError, match=rf"{largest:.3g}".replace("+", r"\+") + r"[\s\S]* Scale the features"):
        make_method(name, bits=8).fit(huge, train.labels)


def test_a_term_that_is_not_finite_is_named():
    train = training_items()
    image = train.modalities["image"]
    modalities = {**train.modalities, "image": image / image.max() * np.float32(1e19)}
    with pytest.raises(InputError, match=r"Training SMFH failed in iteration 1: .* 1e\+19 \(image\)"):
        make_method("smfh", bits=8).fit(modalities, train.labels)


@each_method
def test_a_fitted_hasher_is_read_only_and_prints_as_one_line(name):
    hasher = fitted(name)
    arrays = [*hasher.database_codes.values(), *hasher.bases.values()]
    for function in hasher.functions.values():
        arrays += [function.projection, function.thresholds, function.feature_map.anchors]
    assert all(array is None or not array.flags.writeable for array in arrays)
    with pytest.raises(TypeError):
        hasher.database_codes["image"] = None
    assert repr(hasher).startswith(f"{hasher.method.title} hasher: 16 bits, ")
    assert len(repr(hasher)) < 200
    assert hasher._repr_html_().startswith("<p>")


@each_method
def test_plain_arrays_train_the_same_and_can_be_searched(name):
    data, split = data_and_split()
    train, hasher = training_items(), fitted(name)
    classes = np.array(train.class_names)[train.labels.argmax(axis=1)]
    plain = make_method(name, bits=16).fit(dict(train.modalities), classes)
    queries = data.modalities["text"][split.queries]
    assert np.array_equal(plain.encode("text", queries), hasher.encode("text", queries))
    found = plain.search("text", queries, "image", k=3, distance="hamming")
    apart = distances(plain.encode("text", queries), plain.database_codes["image"])
    assert found.rows.shape == found.distances.shape == (len(queries), 3)
    assert np.array_equal(found.distances, np.sort(apart, axis=1)[:, :3])
    assert np.array_equal(found.distances, np.take_along_axis(apart, found.rows, axis=1))
    with pytest.raises(InputError, match="Unknown modality 'sound'; choose from image, text"):
        plain.search("text", queries, "sound")
    with pytest.raises(InputError, match="labels"):
        make_method(name).fit(train, classes)


@each_method
def test_a_saved_hasher_loads_as_the_same(name, tmp_path):
    data, _ = data_and_split()
    hasher = fitted(name)
    save_hasher(hasher, tmp_path / "model.npz")
    again = load_hasher(tmp_path / "model.npz")
    for field in ("method", "trace", "trained_on", "modalities"):
        assert getattr(again, field) == getattr(hasher, field)
    for modality, X in data.modalities.items():
        assert np.array_equal(again.database_codes[modality], hasher.database_codes[modality])
        assert np.array_equal(again.encode(modality, X), hasher.encode(modality, X))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.npz"]


@each_method
def test_three_modalities_work_in_all_directions_or_are_refused(name, three_modalities):
    data, split = three_modalities
    try:
        hasher = make_method(name, bits=32).fit(data.take(split.train))
    except InputError as error:
        assert "exactly two modalities; 'planted' has 3 (image, text, sound)" in str(error)  # noqa: PT017
        return
    assert len(hasher.directions) == 6
    for source, target in hasher.directions:
        found = evaluate(hasher, data, split, source, target).average_precision["found"]
        assert found.mean > found.chance + 0.1


@each_method
def test_sparse_features_score_like_dense_ones(name, three_modalities):
    data, split = three_modalities
    sparse = {m: data.modalities[m] for m in ("image", "text")}
    scores = []
    for modalities in (sparse, sparse | {"text": sparse["text"].toarray()}):
        pair = MultimodalDataset("pair", modalities, data.labels, data.class_names)
        hasher = make_method(name, bits=32).fit(pair.take(split.train))
        scores.append(evaluate(hasher, pair, split, "text", "image").mean_average_precision)
    assert scores[0] == pytest.approx(scores[1], abs=0.05)


@each_method
@pytest.mark.parametrize("kind", [np.asarray, csr_array, pd.DataFrame])
def test_signed_features_are_used_as_they_are_or_split_with_a_note(name, kind, tmp_path):
    data, split = data_and_split()
    modalities = {t: kind(X - X.mean(axis=0)) for t, X in data.modalities.items()}
    signed = replace(data, modalities=modalities)
    states = []
    hasher = make_method(name, bits=32).fit(signed.take(split.train), on_state=states.append)
    splits = hasher.method.needs_positive
    assert all(("image, text is split into max(x, 0)" in step.note) == splits for step in hasher.trace)
    assert all(function.feature_map.split_signs == splits for function in hasher.functions.values())
    for source, target in hasher.directions:
        for protocol in ("training", "unseen"):
            found = evaluate(hasher, signed, split, source, target, protocol).average_precision["found"]
            assert found.mean > found.chance + 0.1
    save_hasher(hasher, tmp_path / "model.npz")
    for other in (load_hasher(tmp_path / "model.npz"), *states[-1:]):
        for t, X in modalities.items():
            assert np.array_equal(other.encode(t, X), hasher.encode(t, X))


def by_column(X) -> pd.DataFrame:
    """A data frame as read from a file; its values are stored column by column."""
    return pd.DataFrame({f"column {j}": X[:, j] for j in range(X.shape[1])})


@each_method
@pytest.mark.parametrize("kind", [np.asfortranarray, by_column])
def test_codes_do_not_depend_on_how_a_matrix_is_stored(name, kind):
    train, expected = training_items(), fitted(name)
    assert not np.asarray(kind(train.modalities["image"])).flags.c_contiguous
    hasher = make_method(name, bits=16).fit({t: kind(X) for t, X in train.modalities.items()}, train.labels)
    assert [step.terms for step in hasher.trace] == [step.terms for step in expected.trace]
    for t, X in train.modalities.items():
        np.testing.assert_array_equal(hasher.database_codes[t], expected.database_codes[t])
        np.testing.assert_array_equal(hasher.functions[t].margins(kind(X)), expected.functions[t].margins(X))


@each_method
def test_invalid_training_data_and_queries_are_refused(name):
    train, encode = training_items(), fitted(name).functions["text"].encode
    with pytest.raises(InputError, match="at least two"):
        make_method(name).fit(train.take(np.flatnonzero(train.labels[:, 0])))
    with pytest.raises(InputError, match="two modalities"):
        make_method(name).fit(replace(train, modalities={"image": train.modalities["image"]}))
    with pytest.raises(InputError, match="trained with 40 dimensions; got 39"):
        encode(train.modalities["text"][:, :39])
    bad = train.modalities["text"][:2].copy()
    bad[1, 3] = np.nan
    with pytest.raises(InputError, match="NaN"):
        encode(bad)


def test_presets_are_redundant_where_the_default_meets_their_aim():
    labels = np.repeat(np.eye(4, dtype=bool), 25, axis=0)
    per_class, own = (np.arange(100, dtype=np.uint64)[:, None] // size for size in (25, 1))
    assert SMFHPlus.redundant_presets(per_class, labels) == {"whole ranking"}
    assert SMFHPlus.redundant_presets(own, labels) == {"fine"}
    assert SMFHPlus.redundant_presets(own // 5, labels) == frozenset()


def test_fewer_codes_are_not_offered_where_labels_overlap():
    own = np.arange(100, dtype=np.uint64)[:, None] // 3
    overlapping = Planted(items=100, classes=6, labels_per_item=2).load()[0].labels
    assert SMFHPlus.redundant_presets(own, overlapping) == {"whole ranking"}
    groups = np.repeat(np.eye(4, dtype=bool), 25, axis=0)
    nested = np.hstack([groups, np.repeat(np.eye(20, dtype=bool), 5, axis=0)])
    nested[:2, 1] = True  # a few exceptions
    assert SMFHPlus.redundant_presets(own, nested) == frozenset()
