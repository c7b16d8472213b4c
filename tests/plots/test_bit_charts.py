"""Bits by the data in their traces."""

import numpy as np
import pytest

from smfh.plots import bit_balance, bit_classes, bit_correlation, bit_words, class_bits

KINDS = np.array(["live", "twin", "twin", "dead", "dead", "live"])
ON = np.array([0.5, 0.5, 0.5, 1, 0, 0.25])
SHARES = np.array([[1, 1, 0, 1, 0, 0.5], [0, 0, 1, 1, 0, 0]])


def test_the_balance_of_every_bit_is_drawn_by_its_own_number():
    chart = bit_balance(ON, KINDS)
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
    live = [0, 5]
    assert bit_balance(ON[live], KINDS[live]).title == (
        "All 2 bits are of use, each on for 0.250 to 0.500 of the items"
    )


def test_the_share_of_a_class_that_has_a_bit_on_is_drawn_and_its_contrast_told():
    chart = class_bits(SHARES, np.array([[0, 0, 0, 0, 0, 0.5], [0, 0, 0.25, 0, 0, 0]]), ("cat", "dog"))
    (heat,) = chart.figure().data
    np.testing.assert_array_equal(heat.z, SHARES)
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert chart.title == "Bit 5 follows “cat” most: on more often by 0.500 than for the other items"
    assert chart.rows()[5] == {"class": "cat", "bit": "5", "share on": 0.5}


def test_a_bit_may_follow_a_class_by_staying_off():
    chart = class_bits(SHARES[:, :2], np.array([[0.5, -1], [0, 0]]), ("cat", "dog"))
    assert chart.title.startswith("Bit 1 follows “cat” most: on less often by 1.000")


def test_the_most_alike_may_be_opposite_and_dead_bits_are_left_out():
    nan = np.nan
    correlation = np.array([[1, 0.5, nan, -0.75], [0.5, 1, nan, 0], [nan] * 4, [-0.75, 0, nan, 1]])
    assert bit_correlation(correlation).title == "Bits 0 and 3 are the most alike: correlation -0.750"


@pytest.mark.parametrize("correlation", [np.ones((1, 1)), np.full((2, 2), np.nan)])
def test_where_no_two_bits_can_be_compared_it_says_so(correlation):
    assert "no two bits" in bit_correlation(correlation).title


def test_long_codes_show_their_first_bits():
    assert bit_correlation(np.eye(300)).values.shape == (256, 256)
    assert class_bits(np.ones((1, 300)), np.ones((1, 300)), ("one",)).values.shape == (1, 256)


def test_words_of_a_bit_are_bars_with_the_strongest_on_top():
    chart = bit_words(7, "text", [("cat", 2.0), ("<b>", 1.0)])
    bars = chart.figure().data[0]
    assert list(bars.x) == [2.0, 1.0]
    assert list(bars.customdata) == ["cat", "&lt;b&gt;"]
    assert chart.figure().layout.yaxis.autorange == "reversed"
    assert "“cat”" in chart.title


def test_classes_that_a_bit_is_off_for_look_different():
    chart = bit_classes(7, [("cats", 0.6), ("dogs", -0.4)])
    on, off = chart.figure().data
    assert list(on.x) == [0.6]
    assert list(off.x) == [-0.4]
    assert on.marker.pattern.shape != off.marker.pattern.shape
    assert "“cats”" in chart.title


def test_of_many_classes_both_ends_are_shown():
    chart = bit_classes(0, [(f"class {k}", 1 - k / 50) for k in range(100)])
    assert [row["class"] for row in chart.rows()] == [f"class {k}" for k in (*range(6), *range(94, 100))]


def test_a_bit_without_words_or_classes_says_so():
    assert "no known word" in bit_words(3, "text", ()).title
    assert "follows no class" in bit_classes(3, [("cats", -0.1)]).title
