"""The look of all figures: colours that colour-blind people can distinguish, on light and dark pages.

Text and grids have a grey that is readable on light and on dark; backgrounds are transparent.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Each colour of PALETTE has a contrast of 3 : 1 to white and to Streamlit's dark background. Any two differ
# by more than 16 in CIE L*a*b*, in normal vision and in protanopia, deuteranopia and tritanopia. In grey,
# dashes and symbols tell methods apart.
BLUE, ORANGE, GREEN, PINK, RED = "#6351D4", "#D77F0D", "#006F5F", "#FC5099", "#AA3C03"
SKY, PURPLE, TAN, OLIVE = "#0C9BE1", "#A73399", "#B4885A", "#506840"
BROWN = "#7B5A37"  # a tenth, which is rarely drawn
SLATE = "#609090"  # an eleventh, for a baseline
PALETTE = (BLUE, ORANGE, GREEN, PINK, RED, SKY, PURPLE, TAN, OLIVE)
SPARE = ("#AA4499", "#8A8A2E", "#2F9383", "#8C6D5A")
SPARE_SYMBOLS = ("pentagon", "x", "diamond-tall")
SPARE_DASHES = ("14px,6px", "3px,3px,8px,3px", "1px,4px", "24px,4px", "8px,8px,2px,8px")
GREY = "#767C88"
GRID = "rgba(118, 124, 136, 0.25)"
CLEAR = "rgba(0, 0, 0, 0)"
SEQUENTIAL, DIVERGING = "Cividis", "PuOr"


@dataclass(frozen=True)
class Look:
    """Colour, symbol and dash of a method; each of these alone identifies the method."""

    colour: str
    symbol: str
    dash: str  # not used in charts whose dashes show directions


METHOD_LOOKS: Mapping[str, Look] = {
    "smfh-plus": Look(BLUE, "circle", "solid"),
    "smfh": Look(ORANGE, "square", "dash"),
    "cmfh": Look(GREEN, "diamond", "longdash"),
    "smh": Look(PINK, "triangle-up", "dashdot"),
    "pdh": Look(RED, "triangle-down", "longdashdot"),
    "cvh": Look(SKY, "star", "4px,4px"),
    "dch": Look(PURPLE, "hexagon", "12px,3px,3px,3px,3px,3px"),
    "scratch": Look(TAN, "bowtie", "6px,2px"),
    "batch": Look(OLIVE, "hourglass", "20px,4px,8px,4px"),
    "class-codes": Look(SLATE, "cross", "10px,10px"),
    "smfh-program": Look(BROWN, "square-cross", "2px,6px"),
}
TERM_COLOURS: Mapping[str, str] = {
    "objective": GREY,
    "reconstruction": BLUE,
    "graph": GREEN,
    "projection": ORANGE,
    "orthogonality": RED,
    "smoothness": SKY,
    "ridge": PINK,
}
DIRECTION_COLOURS = (TAN, GREEN, SKY, RED)  # of the second direction and later ones of a single method
DIRECTION_DASHES = ("solid", "dash", "longdash", "dashdot", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")  # one per modality; with PALETTE 45 classes

HEIGHT = 420  # pixels

TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"color": GREY},
        "colorway": list(PALETTE),
        "xaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True},
        "yaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True},
        "hoverlabel": {"font": {"size": 15}},
    }
)


def method_look(name: str) -> Look:
    """Return the look of a method, the same in all figures; one not in METHOD_LOOKS gets one by its name."""
    k = zlib.crc32(name.encode())  # hash() differs between processes
    return METHOD_LOOKS.get(name) or Look(cycle(SPARE, k), cycle(SPARE_SYMBOLS, k >> 8), cycle(SPARE_DASHES, k >> 16))


def term_colour(term: str) -> str:
    """Return the colour of a term of the objective, the same for all modalities."""
    kind = term.split(" (")[0]
    return TERM_COLOURS.get(kind) or cycle(SPARE, zlib.crc32(kind.encode()))


def class_colour(position: int) -> str:
    """Return the colour of a class by its position, the same in every figure."""
    return cycle(PALETTE, position)


def cycle(choices: Sequence[str], position: int) -> str:
    """Return the choice at a position; after the last choice, start again at the first."""
    return choices[position % len(choices)]


def plain(text: str) -> str:
    """Escape text for Plotly, which interprets tags and %{…}."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "%&#123;")


def number(x: float) -> str:
    """Format a number with three decimals, or fewer if it is large."""
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.3f}"
