"""Tiles of bits by the data in their traces."""

import itertools

import pytest

from smfh.plots import Tile, bit_tiles, csv_of
from smfh.plots.theme import PALETTE, class_colour, class_symbol

NAMES = ("cats", "dogs", "<b>none</b>")


def tile(number, kind="live", classes=(0,), balance=0.5, echoes=None):
    return Tile(number, kind, balance, classes, f"topic {number}", echoes)


def test_a_click_on_a_tile_tells_its_number():
    figure = bit_tiles([tile(5), tile(2, "echo", echoes=(5, -1)), tile(9)], NAMES, chosen=2).figure()
    assert {number for trace in figure.data for number in (trace.customdata or ())} == {2, 5, 9}
    assert "<b>2</b> ≈ −5" in [text for trace in figure.data for text in (trace.text or ())]


def test_every_class_is_in_the_legend_with_the_number_of_bits_that_follow_it():
    figure = bit_tiles([tile(0, classes=(0, 1)), tile(1, classes=(1,))], NAMES).figure()
    shown = {trace.name: trace for trace in figure.data if trace.showlegend}
    assert list(shown) == ["cats · 1", "dogs · 2", "&lt;b&gt;none&lt;/b&gt; · 0"]
    assert len({trace.marker.color for trace in shown.values()}) == 3


def test_more_classes_than_colours_differ_by_a_pattern():
    names = [f"class {k}" for k in range(2 * len(PALETTE))]
    figure = bit_tiles([tile(0)], names).figure()
    looks = [(t.marker.color, t.marker.pattern.shape) for t in figure.data if t.showlegend]
    assert len(set(looks)) == len(looks) == len(names)


def test_the_classes_of_a_bit_share_its_band():
    figure = bit_tiles([tile(0, classes=(0, 1)), tile(1, classes=(1,))], NAMES).figure()
    cats, dogs = (next(t for t in figure.data if t.name == name) for name in ("cats · 1", "dogs · 2"))
    assert cats.width[0] == dogs.width[0] == dogs.width[1] / 2
    assert cats.offset[0] + cats.width[0] == pytest.approx(dogs.offset[0])
    assert dogs.offset[1] == pytest.approx(cats.offset[0])


def test_tiles_stand_in_the_order_given_row_by_row():
    numbers = [3, 1, 2, *range(10, 20)]
    figure = bit_tiles([tile(number) for number in numbers], NAMES).figure()
    tiles = figure.data[0]
    places = sorted(zip(tiles.customdata, tiles.base, tiles.x, strict=True), key=lambda t: (-t[1], t[2]))
    assert [number for number, _, _ in places] == numbers
    assert len({x for _, _, x in places}) == 8


def test_the_bar_of_a_tile_is_as_long_as_its_balance():
    figure = bit_tiles([tile(0, balance=0.25), tile(1, balance=1.0)], NAMES).figure()
    track, bar = figure.data[-2:]
    assert [a / b for a, b in zip(bar.width, track.width, strict=True)] == pytest.approx([0.25, 1.0])


def test_bits_of_no_use_are_grey_and_patterned_and_counted():
    chart = bit_tiles([tile(0), tile(1, "dead"), tile(2, "echo", echoes=(0, 1))], NAMES)
    by_name = {trace.name: trace for trace in chart.figure().data}
    dead, echo, live = (by_name[name].marker for name in ("dead", "votes with another", "of use"))
    assert dead.color == echo.color != live.color
    assert dead.pattern.shape != echo.pattern.shape
    assert chart.title == "3 bits: 1 votes with another (≈) and 1 dead"
    assert bit_tiles([tile(0), tile(1)], NAMES).title == "2 bits: each votes for itself"


def test_the_chosen_tile_has_a_frame_and_the_others_none():
    tiles = [tile(number) for number in range(10)]
    (frame,) = bit_tiles(tiles, NAMES, chosen=9).figure().layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, -2, -1)
    assert not bit_tiles(tiles, NAMES, chosen=77).figure().layout.shapes


def test_tiles_come_as_a_table_in_their_order():
    rows = bit_tiles([tile(4), tile(1)], NAMES).rows()
    assert [row["bit"] for row in rows] == [4, 1]
    assert '"topic 4"' in csv_of(rows)


def test_classes_differ_by_colour_or_shape():
    looks = [(class_colour(k), class_symbol(k)) for k in range(4 * len(PALETTE))]
    assert all(a != b for a, b in itertools.combinations(looks, 2))
