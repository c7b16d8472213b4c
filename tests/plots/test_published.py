"""Crosses and the diagonal, by the data in their traces."""

from smfh.plots import Published, agreement, method_look, score_curves, with_crosses
from smfh.types import Point

POINT = Point("smfh", "SMFH", "text → image", 32, (0.4, 0.6))


def test_crosses_have_the_colour_of_their_method_and_no_line():
    crosses = [Published("smfh", "SMFH", "text → image", bits, 0.6) for bits in (64, 32)]
    chart = with_crosses(score_curves([POINT]), crosses)
    trace = chart.figure().data[-1]
    assert trace.name == "SMFH, published"
    assert list(trace.x) == [32, 64]
    assert trace.mode == "markers"
    assert trace.marker.symbol == "x"
    assert trace.line.color == method_look("smfh").colour
    assert chart.x.ticks == (32, 64)
    assert [row["line"] for row in chart.rows()] == ["SMFH", "SMFH, published", "SMFH, published"]


def test_directions_differ_in_the_shape_of_their_crosses():
    crosses = [
        Published("smfh", "SMFH", direction, 32, 0.6) for direction in ("text → image", "image → text")
    ]
    lines = with_crosses(score_curves([]), crosses).lines
    assert len({line.symbol for line in lines}) == 2
    assert {line.name for line in lines} == {"SMFH text → image, published", "SMFH image → text, published"}


def test_the_title_counts_what_agrees_and_leaves_out_what_is_not_measured():
    cells = [
        Published("smfh", "SMFH", "text → image", 32, 0.60, 0.62, "mAP@100, 32 bits"),
        Published("smfh", "SMFH", "text → image", 64, 0.66, 0.60, "mAP@100, 64 bits"),
        Published("cvh", "CVH", "text → image", 32, 0.2, None, "mAP@100, 32 bits"),
    ]
    chart = agreement(cells, 0.03)
    assert chart.title == "1 of 2 measured cells lie within 0.03 of the published number"
    assert [(row["point"], row["measured"]) for row in chart.rows()] == [
        ("mAP@100, 32 bits", 0.62),
        ("mAP@100, 64 bits", 0.60),
    ]
    band, diagonal, cloud = chart.figure().data
    assert diagonal.name == "equal"
    assert list(diagonal.x) == list(diagonal.y)
    assert (list(cloud.x), list(cloud.y)) == ([0.60, 0.66], [0.62, 0.60])
    assert min(band.y) < 0 < max(band.y)


def test_methods_differ_by_symbol_and_directions_by_its_filling():
    ways = ("text → image", "image → text")
    cells = [Published(name, name, way, 32, 0.6, 0.6) for name in ("smfh", "cvh") for way in ways]
    symbols = [line.symbol for line in agreement(cells, 0.03).lines[1:]]
    smfh, cvh = (method_look(name).symbol for name in ("smfh", "cvh"))
    assert set(symbols) == {smfh, f"{smfh}-open", cvh, f"{cvh}-open"}
