"""Colours that stand out on light and dark pages; each method has a colour, a symbol and a dash."""

import re
from itertools import combinations

import numpy as np
import pytest

from smfh.hashing import METHODS
from smfh.plots import draw_figure, score_curves
from smfh.plots.paper_figure import figure_parts
from smfh.plots.theme import GREY, METHOD_LOOKS, PALETTE, SPARE, SPARE_SYMBOLS, TERM_COLOURS, method_look
from smfh.types import Point


def linear(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(colour, ground):
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (colour, ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["#FFFFFF", "#0E1117"])
@pytest.mark.parametrize("colour", sorted({*PALETTE, *TERM_COLOURS.values(), *SPARE, GREY}))
def test_every_colour_has_contrast_on_light_and_dark(colour, ground):
    assert contrast(colour, ground) >= 3  # WCAG 2.2, 1.4.11, for graphics


def lab(light):
    XYZ = np.clip(light, 0, 1) @ [[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]]
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in XYZ / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


VISION = {  # Machado, Oliveira and Fernandes (2009), on linear RGB
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("kind", VISION)
def test_any_two_colours_differ_in_every_kind_of_vision(kind):
    seen = [lab(np.array(VISION[kind]) @ linear(colour)) for colour in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 16


def test_at_most_two_methods_are_violet():
    hues = [np.degrees(np.arctan2(*lab(linear(look.colour))[:0:-1])) % 360 for look in METHOD_LOOKS.values()]
    assert sum(270 < hue < 345 for hue in hues) <= 2


def test_colour_symbol_and_dash_each_identify_a_method():
    assert METHODS.keys() <= METHOD_LOOKS.keys()
    for what in ("colour", "symbol", "dash"):
        assert len({getattr(look, what) for look in METHOD_LOOKS.values()}) == len(METHOD_LOOKS)
    assert method_look("smfh-plus") == METHOD_LOOKS["smfh-plus"]
    looks = [method_look(f"method-{number}") for number in range(20)]  # as of plug-ins
    assert len({(look.symbol, look.dash) for look in looks}) > 10
    assert not {look.dash for look in looks} & {look.dash for look in METHOD_LOOKS.values()}


def test_methods_can_be_told_apart_in_grey_in_figures_for_papers(tmp_path):
    """Matplotlib draws each symbol and dash of a method, none of them like another's."""
    looks = {name: (look.symbol, look.dash) for name, look in METHOD_LOOKS.items()}
    looks |= {symbol: (symbol, "solid") for symbol in SPARE_SYMBOLS}
    markers = [draw_figure.SYMBOLS[symbol] for symbol, _ in looks.values()]
    assert len(set(markers)) == len(markers)
    points = [Point(name, name, "", at, (at / 100,)) for name in METHOD_LOOKS for at in (16, 32)]
    draw_figure.save(draw_figure.draw(*figure_parts(score_curves(points))), tmp_path / "figure.svg")
    drawn = re.findall(r"stroke-dasharray: ([\d., ]+)", (tmp_path / "figure.svg").read_text(encoding="utf-8"))
    gaps = {dash for dash in drawn if drawn.count(dash) == 2}  # of a line and of its entry in the legend
    assert len(gaps) == len(METHOD_LOOKS) - 1  # one is solid
