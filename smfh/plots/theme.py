"""How every figure looks: colours that the colour-blind can tell apart, on light and on dark ground.

Text and grids are a grey that reads on both, and backgrounds are transparent, so that the page shows through.
"""

import textwrap
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Searched for: each stands out 3 : 1 from white and from Streamlit's dark ground, and any two differ by more
# than 23 in CIE L*a*b*, seen normally and in protanopia, deuteranopia and tritanopia.
BLUE, ORANGE, GREEN, PINK, RED = "#6351D4", "#D77F0D", "#006F5F", "#FC5099", "#AA3C03"
SKY, PURPLE, TAN, VIOLET = "#0C9BE1", "#A73399", "#B4885A", "#8600FF"
BROWN = "#7B5A37"  # differs from each by more than 18: no tenth does by more, and it is seldom drawn
PALETTE = (BLUE, ORANGE, GREEN, PINK, RED, SKY, PURPLE, TAN, VIOLET)
SPARE = ("#AA4499", "#8A8A2E", "#2F9383", "#8C6D5A")
GREY = "#767C88"
GRID = "rgba(118, 124, 136, 0.25)"
CLEAR = "rgba(0, 0, 0, 0)"
SEQUENTIAL, DIVERGING = "Cividis", "PuOr"


@dataclass(frozen=True)
class Look:
    """How the line of a method is told from others: by any of the three alone."""

    colour: str
    symbol: str
    dash: str  # where dashes do not tell directions


METHOD_LOOKS: Mapping[str, Look] = {
    "smfh-plus": Look(BLUE, "circle", "solid"),
    "smfh": Look(ORANGE, "square", "dash"),
    "cmfh": Look(GREEN, "diamond", "longdash"),
    "smh": Look(PINK, "triangle-up", "dashdot"),
    "pdh": Look(RED, "triangle-down", "longdashdot"),
    "cvh": Look(SKY, "star", "4px,4px"),
    "dch": Look(PURPLE, "hexagon", "12px,3px,3px,3px,3px,3px"),
    "scratch": Look(TAN, "bowtie", "6px,2px"),
    "batch": Look(VIOLET, "hourglass", "20px,4px,8px,4px"),
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
DIRECTION_DASHES = ("solid", "dash", "longdash", "dashdot", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")  # a modality or a class each, in turn

HEIGHT = 420
TITLE_WIDTH = 64  # characters of a line
TITLE_LINE = 24  # pixels of height that a line takes

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
    """The look of a method, the same in every figure; one that is not listed gets a colour by its name."""
    return METHOD_LOOKS.get(name) or Look(_spare(name), "pentagon", "solid")


def term_colour(term: str) -> str:
    """The colour of a term of the objective, whichever modality stands in its brackets."""
    kind = term.split(" (")[0]
    return TERM_COLOURS.get(kind) or _spare(kind)


def _spare(name: str) -> str:
    return SPARE[zlib.crc32(name.encode()) % len(SPARE)]  # hash() would differ from one start to the next


def class_colour(position: int) -> str:
    """The colour of the first, second, … class of a data set, the same in every figure."""
    return turn(PALETTE, position)


def class_symbol(position: int) -> str:
    """A shape to go with the colour; nine colours and five shapes make 45 pairs."""
    return turn(SYMBOLS, position)


def turn(choices: Sequence[str], position: int) -> str:
    """The choice for the first, second, … of its kind; they start again where there are too few."""
    return choices[position % len(choices)]


def plain(text: str) -> str:
    """Text that Plotly shows as it is: it would read tags in it, and put values in the place of %{…}."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "%&#123;")


def number(x: float) -> str:
    """Three decimals at most, and none that a large number does not need."""
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.3f}"


def blank(title: str, description: str, revision: str, height: int) -> go.Figure:
    """A figure without data: title, alternative text and look.

    What Streamlit's own theme must not change stands in the layout rather than in the template. Zoom and
    hidden lines survive an update as long as `revision` stays the same.
    """
    lines = textwrap.wrap(title, TITLE_WIDTH)
    above = TITLE_LINE * max(len(lines) - 1, 0)  # Plotly places the first line
    heading = {"text": "<br>".join(map(plain, lines)), "font": {"size": 18}, "pad": {"l": 8, "b": 12 + above}}
    over_axes = {"x": 0, "xref": "container", "y": 1, "yref": "paper", "yanchor": "bottom"}
    # under the axis, however many lines it takes on a phone
    under_axis = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    return go.Figure(
        layout={
            "template": TEMPLATE,
            "title": heading | over_axes,
            "font": {"size": 15},
            "height": height,
            "margin": {"l": 8, "r": 8, "b": 8, "t": 24 + TITLE_LINE * len(lines)},
            "legend": under_axis | {"font": {"size": 14}},
            "modebar": {"bgcolor": CLEAR, "color": GREY},
            "meta": {"description": description},
            "uirevision": revision,
        }
    )


def write_note(figure: go.Figure, note: str) -> None:
    """What to do about empty axes, in the middle of them."""
    middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 16}}
    figure.add_annotation(text="<br>".join(map(plain, textwrap.wrap(note, 48))), **middle)
