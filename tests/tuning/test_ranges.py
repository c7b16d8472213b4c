"""Ranges: what they take, what they refuse, and which values a sweep of them has."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.hashing import CVH, METHODS, SMFH, SMFHPlus, make_method
from smfh.tuning import SWEEPS, Range, find_parameter, tunable, usual_range, usual_ranges
from smfh.tuning.ranges import problems_of
from smfh.types import InputError, parameters


def test_the_values_of_a_sweep_are_even_on_their_scale_and_easy_to_read():
    assert Range("graph_weight", 0.1, 1000, "log", points=9).values == (
        *(0.1, 0.316, 1.0, 3.16, 10.0, 31.6, 100.0, 316.0, 1000.0),
    )
    assert Range("bits", 8, 128, "log", True, 5).values == (8, 16, 32, 64, 128)
    assert Range("rounds", 0, 2, "linear", True, 9).values == (0, 1, 2)  # there are no more whole numbers
    assert all(type(value) is int for value in Range("bits", 8, 128, "log", True, 5).values)


@given(
    low=st.floats(1e-6, 1e3),
    factor=st.floats(1.001, 1e6),
    scale=st.sampled_from(["linear", "log"]),
    points=st.integers(2, 64),
)
def test_both_ends_are_in_a_sweep_and_nothing_lies_outside(low, factor, scale, points):
    one = Range("ridge", low, low * factor, scale, points=points)
    values = one.values
    assert values[0] == one.low
    assert values[-1] == one.high
    assert list(values) == sorted(set(values))
    assert all(value in one for value in values)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((2, 1), "needs a range from low to high; got 2 to 1"),
        ((1, 1), "needs a range from low to high; got 1 to 1"),
        ((math.nan, 1), "needs a range from low to high; got nan to 1"),
        ((1, math.inf), "needs a range from low to high; got 1 to inf"),
        ((0, 1, "log"), "begins above 0; got 0"),
        ((-1, 1, "log"), "begins above 0; got -1"),
        ((1, 2, "cubic"), "linear or log; got 'cubic'"),
        ((1, 2.5, "linear", True), "takes whole numbers; got 1 to 2.5"),
        ((1, 2, "linear", False, 1), "from 2 to 64 values; got 1"),
        ((1, 2, "linear", False, 10**9), "from 2 to 64 values"),
    ],
)
def test_what_is_no_range_is_refused(ends, message):
    with pytest.raises(InputError, match=message):
        Range("ridge", *ends)


def test_a_range_must_fit_its_method_and_all_problems_are_told_at_once():
    ranges = [
        Range("graph_weight", -1, 2),
        Range("anchors", 1, 5, whole=True),
        Range("seed", 0, 3, whole=True),
        Range("bits", 8, 16),
        Range("ridge", 0.1, 1),
        Range("ridge", 0.1, 2),
    ]
    told = problems_of(SMFH(), ranges)
    assert any("ridge stands twice" in line for line in told)
    assert any("graph_weight (α) must be a number from 0 to 1e+06; its range has -1" in line for line in told)
    assert any("SMFH has no parameter 'anchors' to tune; there are bits, " in line for line in told)
    assert any("no parameter 'seed'" in line for line in told)
    assert any("bits (r) takes whole numbers" in line for line in told)
    assert len(told) == 5
    assert "Something must be tuned" in problems_of(SMFH(), [])[0]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_tuned_over_what_it_declares(name):
    method = make_method(name)
    assert problems_of(method, [usual_range(method, one) for one in tunable(method)]) == []
    assert usual_ranges(method)
    assert set(tunable(method)) <= set(parameters(method)) - {"seed"}


@pytest.mark.parametrize("names", SWEEPS.values())
def test_the_ready_made_sweeps_suit_the_methods_of_the_paper(names):
    for method in (SMFH(), SMFHPlus()):
        assert problems_of(method, [usual_range(method, name) for name in names]) == []


def test_a_parameter_is_found_by_its_symbol():
    assert find_parameter(SMFH(), "α") == find_parameter(SMFH(), "graph_weight") == "graph_weight"
    with pytest.raises(InputError, match="CVH has no parameter 'α' to tune; there are bits"):
        find_parameter(CVH(), "α")
