"""What a training takes is told before it begins; too much is refused, with what would fit."""

import re
from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets import Planted, Synthetic
from smfh.hashing import METHODS, make_method
from smfh.runs import check_cost, check_size, current_limits
from smfh.runs.limits import GB, Limits, bytes_of, check_costs, check_own, check_plan, estimate
from smfh.tuning import Range
from smfh.types import InputError, MultimodalDataset, parameters


@pytest.fixture(scope="module")
def loaded():
    return Planted().load()


@pytest.mark.parametrize("name", METHODS)
def test_more_of_anything_costs_more(name, loaded):
    data, split = loaded
    method = make_method(name, bits=16)
    cost = estimate(method, data, split)
    for what in ("bits", "iterations", "rounds"):
        if what in parameters(method):
            more = replace(method, **{what: getattr(method, what) + 8})
            assert estimate(more, data, split).seconds > cost.seconds
    wide = {name: np.tile(X, 3) for name, X in data.modalities.items()}
    assert estimate(method, MultimodalDataset("wide", wide, data.labels), split).bytes > cost.bytes


@pytest.mark.parametrize("name", METHODS)
def test_what_everybody_trains_is_taken_on(name, loaded):
    check_cost(make_method(name), *loaded, Limits(1, 1))


@pytest.mark.parametrize("limits", [Limits(100, 0.05), Limits(0.006, 100)])
def test_too_much_is_refused_and_the_setting_that_is_named_fits(limits, loaded):
    method = make_method("smfh-plus", bits=1024, iterations=10_000)
    with pytest.raises(InputError, match="would take about") as refused:
        check_cost(method, *loaded, limits)
    found = re.search(r"It fits with (.+) = ([\d,]+) instead of ([\d,]+)", str(refused.value))
    assert found is not None, refused.value
    symbol, value, asked = found.groups()
    name = next(n for n, about in parameters(method).items() if about.symbol == symbol)
    assert getattr(method, name) == int(asked.replace(",", ""))
    fits = int(value.replace(",", ""))
    check_cost(replace(method, **{name: fits}), *loaded, limits)
    with pytest.raises(InputError):
        check_cost(replace(method, **{name: fits + 1}), *loaded, limits)


def test_where_nothing_fits_fewer_items_are_asked_for(loaded):
    with pytest.raises(InputError, match="fewer items"):
        check_cost(make_method("cvh"), *loaded, Limits(1e-6, 1e-6))


def test_of_several_the_costliest_is_named(loaded):
    few, many = make_method("smfh", bits=16), make_method("smfh-plus", bits=1024, iterations=10_000)
    limits = Limits(100, 0.05)
    with pytest.raises(InputError, match=rf"{re.escape(many.title)} with 1,024 bits would take about"):
        check_costs([few, many, few], *loaded, limits)
    check_costs([few], *loaded, limits)
    check_costs([], *loaded, limits)


@pytest.mark.parametrize(
    ("spans", "lengths"),
    [
        ([Range("iterations", 1, 10_000, whole=True)], ()),
        ([Range("bits", 8, 1024, "log", whole=True), Range("ridge", 1e-3, 1)], ()),
        ([Range("graph_weight", 0.1, 10)], (8, 1024)),
    ],
)
def test_a_study_is_as_costly_as_its_costliest_trial(loaded, spans, lengths):
    method = make_method("smfh", bits=16, iterations=400)
    with pytest.raises(InputError, match="would take about"):
        check_plan(method, spans, *loaded, Limits(100, 0.05), lengths)
    check_plan(method, [Range("ridge", 1e-3, 1)], *loaded, Limits(100, 0.05))
    check_plan(method, spans, *loaded, Limits(100, 100), lengths)


def test_a_study_over_code_lengths_trains_those_alone(loaded):
    method = make_method("smfh", bits=1024, iterations=400)
    with pytest.raises(InputError, match="1,024 bits"):
        check_plan(method, [], *loaded, Limits(100, 0.05))
    check_plan(method, [], *loaded, Limits(100, 0.05), lengths=(8, 16))


def test_no_anchors_may_cost_more_than_many(loaded):
    data, split = loaded
    wide = {name: np.tile(X, 200) for name, X in data.modalities.items()}
    wide_data = MultimodalDataset("wide", wide, data.labels)
    method = make_method("smfh-plus", bits=16, anchors=20)
    limits = Limits(estimate(replace(method, anchors=50), wide_data, split).bytes / GB, 100)
    check_plan(method, [Range("anchors", 20, 50, whole=True)], wide_data, split, limits)
    with pytest.raises(InputError, match="would take about"):
        check_plan(method, [Range("anchors", 0, 50, whole=True)], wide_data, split, limits)


def test_own_data_that_is_too_large_is_refused_with_the_figure(loaded):
    data, _ = loaded
    with_looks = replace(data, captions=["a caption"] * len(data), thumbnails=[bytes(1000)] * len(data))
    size = bytes_of(with_looks)
    assert size > bytes_of(data) + 1000 * len(data)
    check_own(with_looks, Limits(4.01 * size / GB, 60))
    with pytest.raises(InputError, match=r"Your data takes 0\.00 GB; .* take at most 50% of the items"):
        check_own(with_looks, Limits(2 * size / GB, 60))


def test_a_set_that_is_too_large_is_refused_before_it_is_made():
    million = Synthetic(items=1_000_000)
    assert million.bytes > 2 * GB
    with pytest.raises(InputError, match=r"at most \d+% of the items"):
        check_size(million, Limits(2, 60))
    check_size(Synthetic(), Limits(2, 60))


def test_a_set_takes_about_as_much_as_it_says():
    source = Synthetic(items=2_000)
    data, _ = source.load()
    X = data.modalities["text"]
    held = data.modalities["image"].nbytes + X.data.nbytes + X.indices.nbytes + data.labels.nbytes
    assert held < source.bytes < 2 * held


def test_settings_decide_and_nonsense_is_named(monkeypatch):
    monkeypatch.setenv("SMFH_MOST_GB", "3")
    monkeypatch.setenv("SMFH_MOST_MINUTES", "0.5")
    assert current_limits() == Limits(3, 0.5)
    for nonsense in ("many", "-1", "nan", "inf", "0"):
        monkeypatch.setenv("SMFH_MOST_GB", nonsense)
        with pytest.raises(InputError, match="SMFH_MOST_GB should be a number above 0"):
            current_limits()
    monkeypatch.delenv("SMFH_MOST_GB")
    assert current_limits().gigabytes > 0
