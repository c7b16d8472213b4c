"""Costs are estimated before a run starts; too much is refused, with a setting that fits."""

import re
from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets import Planted, Synthetic
from smfh.hashing import METHODS, make_method
from smfh.runs.limits import (
    GB,
    Limits,
    check_cost,
    check_source_size,
    check_study_cost,
    check_upload_size,
    dataset_bytes,
    estimate,
)
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
def test_default_settings_are_allowed(name, loaded):
    check_cost(make_method(name), *loaded, Limits(1, 1))


@pytest.mark.parametrize("limits", [Limits(100, 0.05), Limits(0.006, 100)])
def test_a_costly_run_is_refused_and_the_named_setting_fits(limits, loaded):
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


def test_if_no_setting_fits_the_message_suggests_fewer_items(loaded):
    with pytest.raises(InputError, match="fewer items"):
        check_cost(make_method("cvh"), *loaded, Limits(1e-6, 1e-6))


@pytest.mark.parametrize(
    ("ranges", "bits"),
    [
        ({"iterations": (1, 10_000)}, ()),
        ({"bits": (8, 1024), "ridge": (1e-3, 1)}, ()),
        ({"graph_weight": (0.1, 10)}, (8, 1024)),
    ],
)
def test_a_study_costs_as_much_as_its_costliest_trial(loaded, ranges, bits):
    method, low, high = make_method("smfh", bits=16, iterations=400), Limits(100, 0.05), Limits(100, 100)
    with pytest.raises(InputError, match="would take about"):
        check_study_cost(method, ranges, *loaded, low, bits)
    check_study_cost(method, {"ridge": (1e-3, 1)}, *loaded, low)
    check_study_cost(method, ranges, *loaded, high, bits)
    check_study_cost(make_method("smfh", bits=1024, iterations=400), {}, *loaded, low, bits=(8, 16))


def test_a_large_upload_is_refused_with_its_size(loaded):
    data, _ = loaded
    with_looks = replace(data, captions=["a caption"] * len(data), thumbnails=[bytes(1000)] * len(data))
    size = dataset_bytes(with_looks)
    assert size > dataset_bytes(data) + 1000 * len(data)
    check_upload_size(with_looks, Limits(4.01 * size / GB, 60))
    with pytest.raises(InputError, match=r"Your data takes 0\.00 GB; .* Use at most 50% of the items"):
        check_upload_size(with_looks, Limits(2 * size / GB, 60))


def test_a_large_data_set_is_refused_before_it_is_loaded():
    million = Synthetic(items=1_000_000)
    assert million.bytes > 2 * GB
    with pytest.raises(InputError, match=r"at most \d+% of the items"):
        check_source_size(million, Limits(2, 60))
    check_source_size(Synthetic(), Limits(2, 60))
