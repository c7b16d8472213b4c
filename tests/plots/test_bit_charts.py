"""Charts of bits and classes, by the data in their traces."""

import numpy as np

from smfh.plots import Tile, bit_balance, bit_tiles, bit_words, class_bits, label_counts, label_pairs

KINDS = np.array(["live", "echo", "echo", "dead", "dead", "live"])
ON = np.array([0.5, 0.5, 0.5, 1, 0, 0.25])
SHARES = np.array([[1, 1, 0, 1, 0, 0.5], [0, 0, 1, 1, 0, 0]])


def test_bit_balance_by_kind():
    chart = bit_balance(ON, KINDS)
    drawn = {bars.name: (list(bars.x), list(bars.y)) for bars in chart.figure().data}
    assert drawn == {
        "active": ([0, 5], [0.5, 0.25]),
        "near-duplicate bit": ([1, 2], [0.5, 0.5]),
        "dead bit": ([3, 4], [1, 0]),
    }
    assert chart.title == "4 of 6 bits add little information: 2 dead and 2 near-duplicate"
    assert chart.rows()[1] == {"bit": 1, "kind": "near-duplicate bit", "items with the bit on (share)": 0.5}
    assert [row["bit"] for row in chart.rows()] == list(range(6))


def test_class_bits_show_shares_and_name_the_largest_contrast():
    chart = class_bits(SHARES, np.array([[0, 0, 0, 0, 0, 0.5], [0, 0, 0.25, 0, 0, 0]]), ("cat", "dog"))
    (heat,) = chart.figure().data
    np.testing.assert_array_equal(heat.z, SHARES)
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert chart.title == "Bit 5 follows “cat” most: on 0.500 more often than for other items"
    assert chart.rows()[5] == {"class": "cat", "bit": "5", "share of items with the bit on": 0.5}


def test_the_strongest_word_is_at_the_top():
    chart = bit_words(7, "text", [("cat", 2.0), ("<b>", 1.0)])
    bars = chart.figure().data[0]
    assert list(bars.x) == [2.0, 1.0]
    assert list(bars.customdata) == ["cat", "&lt;b&gt;"]
    assert chart.figure().layout.yaxis.autorange == "reversed"
    assert "“cat”" in chart.title


CLASSES = ("1", "2", "3", "empty")  # names that look like numbers stay names
SIZES = np.array([1, 4, 3, 0])
PAIRS = np.array([[1, 1, 0, 0], [1, 4, 2, 0], [0, 2, 3, 0], [0, 0, 0, 0]])


def test_the_largest_class_comes_first_and_empty_ones_are_omitted():
    chart = label_counts(SIZES, CLASSES)
    (bars,) = chart.figure().data
    assert (list(bars.y), list(bars.x)) == ([0, 1, 2], [4, 3, 1])
    assert list(bars.customdata) == ["2", "3", "1"]
    assert chart.title == "“2” is the largest class: 4 items (showing 3 of 4 classes)"
    assert chart.rows()[0] == {"class": "2", "kind": "items", "items": 4}


def test_pairs_of_classes_without_the_diagonal():
    chart = label_pairs(PAIRS, CLASSES)
    assert chart.down.names == ("2", "3", "1")
    np.testing.assert_array_equal(chart.values, [[np.nan, 2, 1], [2, np.nan, 0], [1, 0, np.nan]])
    assert chart.title == "“2” and “3” occur together most often: 2 items"
    assert chart.figure().data[0].zmax == 2


NAMES = ("cats", "dogs", "<b>none</b>")


def tile(number, kind="live", classes=(0,), balance=0.5, echoes=None):
    return Tile(number, kind, balance, classes, f"topic {number}", echoes)


def test_custom_data_of_a_tile_is_its_number():
    figure = bit_tiles([tile(5), tile(2, "echo", echoes=(5, -1)), tile(9)], NAMES, chosen=2).figure()
    assert {number for trace in figure.data for number in (trace.customdata or ())} == {2, 5, 9}


def test_dead_and_near_duplicate_bits_are_counted():
    chart = bit_tiles([tile(0), tile(1, "dead"), tile(2, "echo", echoes=(0, 1))], NAMES)
    assert chart.title == "3 bits: 1 near-duplicate (≈) and 1 dead"
