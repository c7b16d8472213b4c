"""Colours that stay, that stand out, and that the colour-blind tell apart."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from smfh.hashing import METHODS
from smfh.plots.theme import (
    GREY,
    HEIGHT,
    METHOD_LOOKS,
    PALETTE,
    SPARE,
    TERM_COLOURS,
    blank,
    method_look,
    number,
    plain,
    term_colour,
)

# severity 1.0 of Machado, Oliveira and Fernandes (2009), on linear RGB
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* under D65, in which distances are what an eye sees."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour, ground):
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (colour, ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["#FFFFFF", "#0E1117"])
@pytest.mark.parametrize("colour", sorted({*PALETTE, *TERM_COLOURS.values(), *SPARE, GREY}))
def test_every_colour_stands_out_on_light_and_on_dark(colour, ground):
    assert contrast(colour, ground) >= 3  # WCAG 2.2, 1.4.11, for graphics


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("pair", list(combinations(METHOD_LOOKS, 2)), ids=" and ".join)
def test_any_two_methods_can_be_told_apart(pair, vision):
    one, other = (lab(VISION[vision] @ linear(METHOD_LOOKS[name].colour)) for name in pair)
    least = 18 if "smfh-program" in pair else 23  # Okabe and Ito's own six come down to 16
    assert np.linalg.norm(one - other) > least


def test_any_of_colour_symbol_and_dash_tells_a_method():
    assert METHODS.keys() <= METHOD_LOOKS.keys()
    for what in ("colour", "symbol", "dash"):
        assert len({getattr(look, what) for look in METHOD_LOOKS.values()}) == len(METHOD_LOOKS)
    assert method_look("smfh-plus") == METHOD_LOOKS["smfh-plus"]


@pytest.mark.slow
def test_an_unlisted_name_keeps_its_colour_from_one_start_to_the_next():
    program = "from smfh.plots import method_look; print(method_look('brand-new').colour)"
    started = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert started.stdout.strip() == method_look("brand-new").colour
    assert method_look("brand-new").colour in SPARE


def test_a_term_has_one_colour_in_every_modality():
    assert term_colour("reconstruction (image)") == term_colour("reconstruction (text (ja))")
    assert term_colour("graph") != term_colour("ridge")
    assert term_colour("margin (text)") == term_colour("margin (image)")


@pytest.mark.parametrize(
    ("x", "text"), [(0.12345, "0.123"), (-0.5, "-0.500"), (45.67, "45.7"), (12345.6, "12,346"), (0, "0.000")]
)
def test_numbers_have_three_decimals_at_most(x, text):
    assert number(x) == text


def test_text_is_shown_as_it_is():
    assert plain('<b>a & "b"</b>') == '&lt;b&gt;a &amp; "b"&lt;/b&gt;'
    title = blank("<script>", "", "kind", HEIGHT).layout.title.text
    assert title == "&lt;script&gt;"


def test_a_long_title_is_broken_and_gets_room():
    one, three = blank("short", "", "kind", HEIGHT), blank("word " * 36, "", "kind", HEIGHT)
    assert three.layout.title.text.count("<br>") == 2
    assert (
        three.layout.margin.t - one.layout.margin.t == three.layout.title.pad.b - one.layout.title.pad.b > 0
    )
    assert blank("", "", "kind", HEIGHT).layout.margin.t < one.layout.margin.t
