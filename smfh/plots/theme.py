"""How every figure looks: colours that the colour-blind can tell apart, on light and on dark ground.

Text and grids are a grey that reads on both, and backgrounds are transparent, so that the page shows through.
"""

import textwrap
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import plotly.graph_objects as go

# The hues of Okabe and Ito, moved until each stands out 3 : 1 from white and from Streamlit's dark ground.
BLUE, ORANGE, GREEN, PINK, RED, SKY = "#445CB0", "#CB8608", "#008E43", "#ED61AF", "#BD2505", "#0A97FC"
SPARE = ("#AA4499", "#8A8A2E", "#2F9383", "#8C6D5A")
GREY = "#767C88"
GRID = "rgba(118, 124, 136, 0.25)"
CLEAR = "rgba(0, 0, 0, 0)"
SEQUENTIAL, DIVERGING = "Cividis", "PuOr"

METHOD_COLOURS: Mapping[str, str] = MappingProxyType(
    {"smfh-plus": BLUE, "smfh": ORANGE, "cmfh": GREEN, "smh": PINK, "pdh": RED, "cvh": SKY}
)
TERM_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "objective": GREY,
        "reconstruction": BLUE,
        "graph": GREEN,
        "projection": ORANGE,
        "orthogonality": RED,
        "smoothness": SKY,
        "ridge": PINK,
    }
)
RELEVANT, NOT_RELEVANT = GREEN, GREY
DASHES = ("solid", "dash", "longdash")  # a direction each, in turn
PINNED_DASHES = ("dot", "dashdot", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")  # a modality each, in turn

WIDE = 64  # characters of a title's line
HEIGHT = 420
LINE = 24  # pixels that a line of a title takes

TEMPLATE = go.layout.Template(
    layout={
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"color": GREY},
        "colorway": list(METHOD_COLOURS.values()),
        "xaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True},
        "yaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True},
        "hoverlabel": {"font": {"size": 15}},
    }
)


def method_colour(name: str) -> str:
    """The colour of a method, the same in every figure; one that is not listed gets one by its name."""
    return METHOD_COLOURS.get(name) or _spare(name)


def term_colour(term: str) -> str:
    """The colour of a term of the objective, whichever modality stands in its brackets."""
    kind = term.split(" (")[0]
    return TERM_COLOURS.get(kind) or _spare(kind)


def _spare(name: str) -> str:
    return SPARE[zlib.crc32(name.encode()) % len(SPARE)]  # hash() would differ from one start to the next


def turn(choices: Sequence[str], position: int) -> str:
    """The choice for the first, second, … of its kind; they start again where there are too few."""
    return choices[position % len(choices)]


def plain(text: str) -> str:
    """Text that Plotly shows as it is: it would read tags in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(x: float) -> str:
    """Three decimals at most, and none that a large number does not need."""
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.3f}"


def blank(title: str, description: str, revision: str, height: int = HEIGHT) -> go.Figure:
    """A figure without data: title, alternative text and look.

    What Streamlit's own theme must not change stands in the layout rather than in the template. Zoom and
    hidden lines survive an update as long as `revision` stays the same.
    """
    lines = textwrap.wrap(title, WIDE)
    above = LINE * max(len(lines) - 1, 0)  # Plotly places the first line
    return go.Figure(
        layout={
            "template": TEMPLATE,
            "title": {
                "text": "<br>".join(map(plain, lines)),
                "font": {"size": 18},
                "x": 0,
                "xref": "container",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "pad": {"l": 8, "b": 12 + above},
            },
            "font": {"size": 15},
            "height": height,
            "margin": {"l": 8, "r": 8, "b": 8, "t": 24 + LINE * len(lines)},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 0,
                "yref": "container",  # under the axis, however many lines it takes on a phone
                "yanchor": "bottom",
                "font": {"size": 14},
            },
            "modebar": {"bgcolor": CLEAR, "color": GREY},
            "meta": {"description": description},
            "uirevision": revision,
        }
    )


def write_note(figure: go.Figure, note: str) -> None:
    """What to do about empty axes, in the middle of them."""
    figure.add_annotation(
        text="<br>".join(map(plain, textwrap.wrap(note, 48))),
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"size": 16},
    )
