"""Tiles of bits, and what one bit stands for, by the data in their traces."""

import itertools

import pytest

from smfh.plots import Tile, bit_classes, bit_tiles, bit_words, csv_of
from smfh.plots.tiles import PALETTE, class_colour, class_symbol


def tile(number, kind="live", position=0, name="cats", balance=0.5):
    return Tile(number, kind, balance, position, name, f"topic {number}")


def test_a_click_on_a_tile_tells_its_number():
    figure = bit_tiles([tile(5), tile(2, position=1, name="dogs"), tile(9)], chosen=2).figure()
    carried = {number for trace in figure.data for number in (trace.customdata or ())}
    assert carried == {2, 5, 9}
    assert [trace.name for trace in figure.data[:2]] == ["cats", "dogs"]
    assert figure.data[0].marker.color != figure.data[1].marker.color


def test_tiles_stand_in_the_order_given_row_by_row():
    numbers = [3, 1, 2, *range(10, 20)]
    figure = bit_tiles([tile(number) for number in numbers]).figure()
    tiles = figure.data[0]
    places = sorted(zip(tiles.customdata, tiles.base, tiles.x, strict=True), key=lambda t: (-t[1], t[2]))
    assert [number for number, _, _ in places] == numbers
    assert len({x for _, _, x in places}) == 8


def test_the_bar_of_a_tile_is_as_long_as_its_balance():
    figure = bit_tiles([tile(0, balance=0.25), tile(1, balance=1.0)]).figure()
    track, bar = figure.data[-2:]
    assert [a / b for a, b in zip(bar.width, track.width, strict=True)] == pytest.approx([0.25, 1.0])


def test_bits_of_no_use_are_grey_and_patterned_and_counted():
    chart = bit_tiles([tile(0), tile(1, "dead", 1, "dogs"), tile(2, "twin", 1, "dogs")])
    by_name = {trace.name: trace for trace in chart.figure().data}
    assert set(by_name) >= {"cats", "dead", "twin of another"}
    assert by_name["dead"].marker.color == by_name["twin of another"].marker.color != class_colour(1)
    assert by_name["dead"].marker.pattern.shape != by_name["twin of another"].marker.pattern.shape
    assert "2 of no use" in chart.title


def test_the_chosen_tile_has_a_frame_and_the_others_none():
    tiles = [tile(number) for number in range(10)]
    (frame,) = bit_tiles(tiles, chosen=9).figure().layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, -2, -1)
    assert not bit_tiles(tiles, chosen=77).figure().layout.shapes


def test_names_of_the_data_are_no_markup():
    figure = bit_tiles([tile(0, name="<a href='x'>")]).figure()
    assert "<a" not in figure.data[0].name
    assert "<a" not in figure.data[0].hovertext[0]


def test_without_tiles_a_note_says_what_to_do():
    chart = bit_tiles([])
    assert not chart.figure().data
    assert chart.figure().layout.annotations[0].text.replace("<br>", " ") == chart.note
    assert chart.rows() == []


def test_tiles_come_as_a_table_in_their_order():
    rows = bit_tiles([tile(4), tile(1)]).rows()
    assert [row["bit"] for row in rows] == [4, 1]
    assert '"topic 4"' in csv_of(rows)


def test_classes_differ_by_colour_or_shape():
    looks = [(class_colour(k), class_symbol(k)) for k in range(4 * len(PALETTE))]
    assert all(a != b for a, b in itertools.combinations(looks, 2))


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
