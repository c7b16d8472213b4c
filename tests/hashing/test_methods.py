"""The contract of every method: being registered is being tested."""

from dataclasses import FrozenInstanceError, fields, replace
from itertools import pairwise
from time import sleep

import numpy as np
import pytest

from smfh.evaluation import evaluate
from smfh.hamming import distances, unpack
from smfh.hashing import METHODS, load_hasher, make_method, save_hasher
from smfh.types import InputError, MultimodalDataset, parameters

each_method = pytest.mark.parametrize("name", METHODS)


class StopError(Exception):
    pass


@each_method
def test_it_is_a_frozen_value_that_describes_itself(name):
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
        assert f"{field} ({about.symbol}): {about.wanted}, by default" in type(method).__doc__
        assert about.help in type(method).__doc__


@each_method
def test_a_preset_says_what_differs_and_is_lit_where_all_of_it_is_set(name):
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
    with pytest.raises(InputError, match="Unknown preset"):
        method.preset_values("nonsense")


@each_method
def test_it_can_be_cloned_and_changed_as_scikit_learn_does(name):
    from sklearn.base import clone

    method = make_method(name, bits=16)
    assert clone(method) == method
    assert clone(method) is not method
    assert method.get_params() == {field.name: getattr(method, field.name) for field in fields(method)}
    assert method.set_params(bits=8, seed=1) == make_method(name, bits=8, seed=1)
    assert method.bits == 16
    with pytest.raises(InputError) as caught:
        method.set_params(bits=0, nonsense=3)
    assert len(caught.value.problems) == 2


@each_method
def test_it_finds_what_was_planted(name, planted):
    data, split = planted
    hasher = make_method(name, bits=32).fit(data.take(split.train))
    for source, target in hasher.directions:
        for protocol in ("training", "unseen"):
            found = evaluate(hasher, data, split, source, target, protocol).average_precision["found"]
            assert found.mean > found.chance + 0.2


@each_method
def test_codes_have_the_shape_that_was_asked_for(name, planted):
    data, split = planted
    train = data.take(split.train)
    hasher = make_method(name, bits=70).fit(train)
    for modality in data.modalities:
        assert hasher.database_codes[modality].shape == (len(train), 2)
        codes = hasher.functions[modality].encode(data.modalities[modality][split.queries])
        assert codes.shape == (len(split.queries), 2)
        assert unpack(codes, 70).any()


@each_method
def test_the_same_seed_gives_the_same_codes(name, planted):
    train = planted[0].take(planted[1].train)
    first, second = (make_method(name, bits=16, seed=3).fit(train) for _ in range(2))
    for modality in train.modalities:
        assert np.array_equal(first.database_codes[modality], second.database_codes[modality])
        X = train.modalities[modality]
        assert np.array_equal(first.functions[modality].margins(X), second.functions[modality].margins(X))


@each_method
def test_it_leaves_its_arguments_alone(name, planted):
    train = planted[0].take(planted[1].train)
    copy = train.take(np.arange(len(train)))
    hasher = make_method(name, bits=16).fit(train)
    assert copy.fingerprint == train.take(np.arange(len(train))).fingerprint == hasher.trained_on


@each_method
def test_every_step_is_reported_with_its_terms(name, planted):
    steps = []
    method = make_method(name, bits=16)
    hasher = method.fit(planted[0].take(planted[1].train), on_step=steps.append)
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
def test_an_exception_in_on_step_stops_it_at_once(name, planted):
    seen = []

    def stop(step):
        seen.append(step)
        raise StopError

    with pytest.raises(StopError):
        make_method(name, bits=16).fit(planted[0].take(planted[1].train), on_step=stop)
    assert len(seen) == 1


@pytest.mark.slow
def test_time_in_on_step_is_not_training_time(planted):
    train = planted[0].take(planted[1].train)
    method = make_method("smfh", bits=4, iterations=3)
    method.fit(train)  # compiled
    assert method.fit(train, on_step=lambda step: sleep(0.5)).seconds < 0.5


@each_method
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_features_too_large_to_train_on_are_refused_with_the_way_out(name, kind, planted):
    train = planted[0].take(planted[1].train)
    largest = np.finfo(kind).max
    huge = {t: X.astype(kind) / X.max() * largest for t, X in train.modalities.items()}
    with pytest.raises(
        InputError, match=rf"{largest:.3g}".replace("+", r"\+") + r"[\s\S]* Scale the features"
    ):
        make_method(name, bits=8).fit(huge, train.labels)


def test_a_term_that_is_not_finite_is_named(planted):
    train = planted[0].take(planted[1].train)
    image = train.modalities["image"]
    modalities = {**train.modalities, "image": image / image.max() * np.float32(1e19)}
    with pytest.raises(InputError, match=r"SMFH broke down in iteration 1: .* 1e\+19 \(image\)"):
        make_method("smfh", bits=8).fit(modalities, train.labels)


@each_method
def test_what_it_learnt_cannot_be_written_to(name, planted):
    train = planted[0].take(planted[1].train)
    hasher = make_method(name, bits=16).fit(train)
    arrays = [*hasher.database_codes.values(), *hasher.bases.values()]
    for function in hasher.functions.values():
        arrays += [function.projection, function.thresholds, function.feature_map.anchors]
    for array in arrays:
        assert array is None or not array.flags.writeable
    with pytest.raises(TypeError):
        hasher.database_codes["image"] = None


@each_method
def test_plain_arrays_train_the_same_and_can_be_searched(name, planted):
    data, split = planted
    train = data.take(split.train)
    hasher = make_method(name, bits=16).fit(train)
    classes = np.array(train.class_names)[train.labels.argmax(axis=1)]
    plain = make_method(name, bits=16).fit(dict(train.modalities), classes)
    queries = data.modalities["text"][split.queries]
    assert np.array_equal(plain.encode("text", queries), hasher.encode("text", queries))
    found = plain.search("text", queries, "image", k=3)
    apart = distances(plain.encode("text", queries), plain.database_codes["image"])
    assert found.rows.shape == found.distances.shape == (len(queries), 3)
    assert np.array_equal(found.distances, np.sort(apart, axis=1)[:, :3])
    assert np.array_equal(found.distances, np.take_along_axis(apart, found.rows, axis=1))
    with pytest.raises(InputError, match="Unknown modality 'sound'; there are image, text"):
        plain.search("text", queries, "sound")
    with pytest.raises(InputError, match="labels"):
        make_method(name).fit(train, classes)


@each_method
def test_saved_and_loaded_it_is_the_same(name, planted, tmp_path):
    data, split = planted
    hasher = make_method(name, bits=16, seed=5).fit(data.take(split.train))
    save_hasher(hasher, tmp_path / "model.npz")
    again = load_hasher(tmp_path / "model.npz")
    assert again.method == hasher.method
    assert again.trace == hasher.trace
    assert again.trained_on == hasher.trained_on
    assert again.modalities == hasher.modalities
    for modality, X in data.modalities.items():
        assert np.array_equal(again.database_codes[modality], hasher.database_codes[modality])
        assert np.array_equal(again.functions[modality].encode(X), hasher.functions[modality].encode(X))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.npz"]


@each_method
def test_three_modalities_work_in_all_six_directions_or_are_refused(name, three_modalities):
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
def test_sparse_features_do_as_well_as_dense_ones(name, planted, three_modalities):
    sparse, split = three_modalities
    pair = MultimodalDataset(
        "pair", {m: sparse.modalities[m] for m in ("image", "text")}, sparse.labels, sparse.class_names
    )
    dense = replace(
        pair, modalities={"image": pair.modalities["image"], "text": pair.modalities["text"].toarray()}
    )
    maps = []
    for data in (pair, dense):
        hasher = make_method(name, bits=32).fit(data.take(split.train))
        maps.append(evaluate(hasher, data, split, "text", "image").mean_average_precision)
    assert maps[0] == pytest.approx(maps[1], abs=0.05)


@each_method
def test_what_cannot_be_learnt_from_is_refused(name, planted):
    data, split = planted
    train = data.take(split.train)
    one_class = train.take(np.flatnonzero(train.labels[:, 0]))
    with pytest.raises(InputError, match="at least two"):
        make_method(name).fit(one_class)
    alone = replace(train, modalities={"image": train.modalities["image"]})
    with pytest.raises(InputError, match="two modalities"):
        make_method(name).fit(alone)


@each_method
def test_features_of_the_wrong_kind_are_refused_by_encode(name, planted):
    data, split = planted
    function = make_method(name, bits=8).fit(data.take(split.train)).functions["text"]
    with pytest.raises(InputError, match="learnt on 40 dimensions; got 39"):
        function.encode(data.modalities["text"][:, :39])
    bad = data.modalities["text"][:2].copy()
    bad[1, 3] = np.nan
    with pytest.raises(InputError, match="NaN"):
        function.encode(bad)


@each_method
def test_parameters_out_of_range_are_all_listed(name):
    with pytest.raises(InputError) as caught:
        make_method(name, bits=0, seed=-1, nonsense=3)
    assert len(caught.value.problems) == 3
    with pytest.raises(InputError, match="from 1 to 1,024; got 1025"):
        make_method(name, bits=1025)
    with pytest.raises(InputError, match="whole number"):
        make_method(name, bits=8.5)


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(InputError, match="smfh-plus, smfh"):
        make_method("md5")
