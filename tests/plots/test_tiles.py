"""Tiles of bits by the data in their traces."""

import itertools

import pytest

from smfh.plots import Tile, bit_tiles, csv_of
from smfh.plots.theme import PALETTE, class_colour, class_symbol


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


def test_tiles_come_as_a_table_in_their_order():
    rows = bit_tiles([tile(4), tile(1)]).rows()
    assert [row["bit"] for row in rows] == [4, 1]
    assert '"topic 4"' in csv_of(rows)


def test_classes_differ_by_colour_or_shape():
    looks = [(class_colour(k), class_symbol(k)) for k in range(4 * len(PALETTE))]
    assert all(a != b for a, b in itertools.combinations(looks, 2))
