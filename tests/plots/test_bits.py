"""Hand-made codes whose dead bits, twins and correlations are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.plots import bit_balance, bit_correlation, bit_kinds, class_bits
from smfh.plots.counts import BLOCK, cross_counts
from smfh.types import InputError

#                    live  twin  mirror dead  dead  live
CODES = np.array([[1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)
LABELS = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=bool)
NAMES = ("cat", "dog", "nobody")


def test_dead_bits_and_twins_are_found():
    assert bit_kinds(CODES).tolist() == ["live", "twin", "twin", "dead", "dead", "live"]


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_live_bits_are_as_many_as_there_are_different_ones(items, bits, seed):
    codes = np.random.default_rng(seed).random((items, bits)) < 0.5
    different = {tuple(bit ^ bit[0]) for bit in codes.T} - {(False,) * items}
    assert np.count_nonzero(bit_kinds(codes) == "live") == len(different)


def test_the_balance_of_every_bit_is_drawn_by_its_own_number():
    chart = bit_balance(CODES)
    drawn = {bars.name: (list(bars.x), list(bars.y)) for bars in chart.figure().data}
    assert drawn == {
        "of use": ([0, 5], [0.5, 0.25]),
        "twin of another": ([1, 2], [0.5, 0.5]),
        "dead": ([3, 4], [1, 0]),
    }
    colours = {bars.name: bars.marker.color for bars in chart.figure().data}
    assert colours["dead"] == colours["twin of another"] != colours["of use"]
    assert chart.title == "4 of 6 bits are of no use: 2 dead and 2 twins of others"
    assert chart.rows()[1] == {"bit": 1, "kind": "twin of another", "items with the bit on (share)": 0.5}
    assert [row["bit"] for row in chart.rows()] == list(range(6))


def test_bits_that_are_all_of_use_are_told_so():
    assert bit_balance(CODES[:, [0, 5]]).title == (
        "All 2 bits are of use, each on for 0.250 to 0.500 of the items"
    )


def test_the_share_of_a_class_that_has_a_bit_on():
    chart = class_bits(CODES, LABELS, NAMES)
    assert chart.row_names == ("cat", "dog")  # a class without items has no share
    np.testing.assert_array_equal(chart.values, [[1, 1, 0, 1, 0, 0.5], [0, 0, 1, 1, 0, 0]])
    (heat,) = chart.figure().data
    np.testing.assert_array_equal(heat.z, chart.values)
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert chart.title.startswith("Bit 0 follows “cat” most: on more often by 1.000")
    assert chart.rows()[5] == {"class": "cat", "bit": "5", "share on": 0.5}


def test_a_bit_may_follow_a_class_by_staying_off():
    codes = np.array([[1, 0], [0, 0], [0, 1], [0, 1], [0, 1]], dtype=bool)
    labels = np.array([[1], [1], [0], [0], [0]], dtype=bool)
    assert class_bits(codes, labels, ("cat",)).title.startswith(
        "Bit 1 follows “cat” most: on less often by 1.000"
    )


def test_correlations_are_those_of_numpy_and_dead_bits_have_none():
    chart = bit_correlation(CODES)
    live = [0, 1, 2, 5]
    np.testing.assert_allclose(chart.values[np.ix_(live, live)], np.corrcoef(CODES[:, live].T), atol=1e-12)
    assert np.isnan(chart.values[3]).all()
    assert np.isnan(chart.values[:, 4]).all()
    assert chart.title == "Bits 0 and 1 are the most alike: correlation 1.000"


def test_the_most_alike_may_be_opposite():
    assert bit_correlation(CODES[:, [0, 5, 2]]).title == (
        "Bits 0 and 2 are the most alike: correlation -1.000"
    )


@pytest.mark.parametrize("codes", [CODES[:, :1], CODES[:, 3:5]])
def test_where_no_two_bits_can_be_compared_it_says_so(codes):
    assert "no two bits" in bit_correlation(codes).title


def test_long_codes_show_their_first_bits(rng):
    codes = rng.random((20, 300)) < 0.5
    assert bit_correlation(codes).values.shape == (256, 256)
    assert class_bits(codes, np.ones((20, 1), dtype=bool), ("one",)).values.shape == (1, 256)


def test_counts_are_exact_over_several_blocks(rng):
    A, B = (rng.random((BLOCK + 100, 3)) < 0.5 for _ in range(2))
    np.testing.assert_array_equal(cross_counts(A, B), A.T.astype(int) @ B.astype(int))


def test_what_is_no_code_is_refused_with_all_reasons():
    with pytest.raises(InputError) as refused:
        class_bits(CODES.astype(float), LABELS[:, 0], NAMES)
    assert len(refused.value.problems) == 2
    with pytest.raises(InputError, match="4 rows of codes and 3 rows of labels"):
        class_bits(CODES, LABELS[:3], NAMES)
