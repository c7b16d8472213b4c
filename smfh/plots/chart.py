"""Base class of all charts, axes and marks, bar charts, heat maps, and export as CSV and HTML."""

import csv
import html
import io
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from smfh.plots.theme import CLEAR, DIVERGING, GREY, HEIGHT, SEQUENTIAL, TEMPLATE, plain
from smfh.types import FloatArray, IntArray

Cell = str | float | int | None
Row = dict[str, Cell]

TITLE_WIDTH, TITLE_LINE = 64, 24  # characters per line, pixels per line
MAX_TICKS = 40
BAR_PIXELS, ROW_PIXELS = 20, 16  # heights of a horizontal bar and of a row of a heat map
DANGEROUS = tuple("=+-@\t\r\n＝＋－＠")  # first characters of spreadsheet formulas
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, eq=False)
class Chart(ABC):
    """A figure with its title, its description for screen readers, and its data."""

    kind: str  # identifies the chart while its data change; zoom and hidden lines survive such an update
    title: str  # the main result
    description: str  # alternative text
    _: KW_ONLY
    note: str = "No data yet."  # shown if there are no data

    @property
    def height(self) -> int:
        """The chart's height in pixels."""
        return HEIGHT

    def figure(self, titled: bool = True) -> go.Figure:
        """Return the chart as a Plotly figure; use `titled=False` if the page shows the title itself."""
        lines = textwrap.wrap(self.title, TITLE_WIDTH) if titled else []
        above = TITLE_LINE * max(len(lines) - 1, 0)  # Plotly places the first line
        heading = {"text": "<br>".join(map(plain, lines)), "font": {"size": 18}, "pad": {"l": 8, "b": 12 + above}}
        over_axes = {"x": 0, "xref": "container", "y": 1, "yref": "paper", "yanchor": "bottom"}
        # below the axis, because it may take many lines on a phone
        under_axis = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
        figure = go.Figure(
            layout={  # what Streamlit's theme must not change is here, not in the template
                "template": TEMPLATE,
                "title": heading | over_axes,
                "font": {"size": 15},
                "height": self.height,
                "margin": {"l": 8, "r": 8, "b": 8, "t": 24 + TITLE_LINE * len(lines)},
                "legend": under_axis | {"font": {"size": 14}},
                "modebar": {"bgcolor": CLEAR, "color": GREY},
                "meta": {"description": self.description},
                "uirevision": self.kind,
            }
        )
        self._draw(figure)
        if not figure.data:
            middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "font": {"size": 16}}
            text = "<br>".join(map(plain, textwrap.wrap(self.note, 48)))
            figure.add_annotation(text=text, showarrow=False, **middle)
        return figure

    @cached_property
    def drawn(self) -> go.Figure:
        """The figure without its title, drawn once and cached."""
        return self.figure(titled=False)

    @abstractmethod
    def _draw(self, figure: go.Figure) -> None:
        """Add axes to the figure, and traces if there are data."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """Return the chart's data as rows of a table."""

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Display the figure in a notebook, with the description as its text."""
        return {**self.figure()._repr_mimebundle_(*args, **options), "text/plain": self.description}


Make = TypeVar("Make", bound=Callable[..., Chart])
CHARTS: dict[str, Callable[..., Chart]] = {}


def chart(make: Make) -> Make:
    """Register a chart function in CHARTS; the tests call each one with and without data."""
    CHARTS[make.__name__] = make
    return make


@dataclass(frozen=True)
class Axis:
    """An axis of a chart: label with unit, scale, limits, and ticks or names."""

    label: str
    log: bool = False
    limits: tuple[float, float] | None = None
    ticks: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None  # of the positions 0, 1, …

    def layout(self) -> dict[str, Any]:
        """Return the axis as a Plotly layout."""
        kind = {"type": "log"} if self.log else {"type": "linear", "rangemode": "tozero"}
        layout: dict[str, Any] = {"title": {"text": plain(self.label)}, **kind}
        if self.limits is not None:
            layout["range"] = [self.place(limit) for limit in self.limits]
        if self.names is not None:
            shown = range(0, len(self.names), max(1, -(-len(self.names) // MAX_TICKS)))
            layout |= {"tickvals": list(shown), "ticktext": [plain(short(self.names[k])) for k in shown]}
        elif self.ticks is not None:
            layout |= {"tickvals": list(self.ticks), "ticktext": [short_number(tick) for tick in self.ticks]}
        return layout

    def place(self, x: float) -> float:
        """Return the position of x on the axis as Plotly needs it: log10(x) on a log axis, else x."""
        return math.log10(x) if self.log else x


@dataclass(frozen=True)
class Mark:
    """A vertical line in a chart, with a label."""

    label: str
    at: float


def draw_marks(figure: go.Figure, marks: Iterable[Mark], x: Axis) -> None:
    """Draw vertical lines with labels on the side that has more space."""
    for mark in marks:
        figure.add_vline(mark.at, line={"color": GREY, "dash": "dot"})
        low, high = x.limits or (mark.at, math.inf)
        late = x.place(mark.at) > (x.place(low) + x.place(high)) / 2
        x_place = x.place(min(max(mark.at, low), high))  # Plotly hides labels outside the range
        top = {"y": 1, "yref": "paper", "yanchor": "top", "xanchor": "right" if late else "left"}
        figure.add_annotation(text=plain(mark.label), x=x_place, showarrow=False, **top)


def short_number(x: float) -> str:
    """Format a number with three significant digits and no exponent, such as 0.00001, 0.0632 or 1000."""
    return np.format_float_positional(float(f"{x:.3g}"), trim="-")


def short(name: str, length: int = 24) -> str:
    """Shorten a name that is longer than `length` characters; an ellipsis marks the cut."""
    return name if len(name) <= length else name[: length - 1] + "…"


def csv_of(rows: Iterable[Mapping[str, Cell]]) -> str:
    """Return rows as CSV text with a column per key; no cell can run as a spreadsheet formula."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    # all text is quoted, so that programs that split at semicolons read the same cells
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([harmless(column) for column in columns])
    for row in rows:
        cells = [row.get(column) for column in columns]
        finite = ["" if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in cells]
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in finite])
    return text.getvalue()


def harmless(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(DANGEROUS) and not NUMBER.fullmatch(text) else text


def plotly_script() -> str:
    """Return an HTML element with Plotly's script, to be included once before the first chart."""
    return f"<script>{get_plotlyjs()}</script>"


def chart_html(chart: Chart, name: str) -> str:
    """Return the chart as HTML with its title and alternative text; `name` is its id in the page."""
    figure = chart.figure(titled=False)
    size, config = figure.layout.height, {"displaylogo": False, "responsive": True}
    drawn = figure.to_html(config, include_plotlyjs=False, full_html=False, div_id=name, default_height=size)
    return (
        f'<figure role="img" aria-label="{html.escape(chart.description)}">'
        f"<figcaption>{html.escape(chart.title)}</figcaption>{drawn}</figure>"
    )


@dataclass(frozen=True, eq=False)
class Bars:
    """One series of bars, with a colour, and a pattern that tells it apart without colours."""

    name: str
    at: IntArray  # positions along the axis
    values: FloatArray | IntArray
    colour: str
    pattern: str = ""


@dataclass(frozen=True, eq=False)
class BarChart(Chart):
    """Bars along an axis, stacked at each position."""

    along: Axis
    value: Axis
    series: tuple[Bars, ...]
    _: KW_ONLY
    marks: tuple[Mark, ...] = ()
    level: float | None = None  # height of a dotted reference line
    horizontal: bool = False

    @property
    def height(self) -> int:
        bars = sum(len(bars.at) for bars in self.series)
        return HEIGHT if not self.horizontal else 150 + BAR_PIXELS * max(bars, 6)

    def _draw(self, figure: go.Figure) -> None:
        x, y = self.along.layout(), self.value.layout()
        if self.horizontal:
            x, y = y, x | {"autorange": "reversed"}  # the first bar at the top
        figure.update_layout(xaxis=x, yaxis=y, barmode="stack", bargap=0.15, showlegend=len(self.series) > 1)
        names = self.along.names
        for bars in self.series:
            if len(bars.at):
                hover = [f"{self.along.label} {k}" if names is None else names[k] for k in bars.at]
                figure.add_bar(
                    x=bars.values if self.horizontal else bars.at,
                    y=bars.at if self.horizontal else bars.values,
                    name=plain(bars.name),
                    orientation="h" if self.horizontal else "v",
                    marker={"color": bars.colour, "pattern": {"shape": bars.pattern}, "line": {"width": 0}},
                    customdata=[plain(name) for name in hover],
                    hovertemplate="%{customdata}: %{" + ("x" if self.horizontal else "y") + ":,.3~f}",
                )
        draw_marks(figure, self.marks, self.along)
        if self.level is not None:
            figure.add_hline(y=self.level, line={"color": GREY, "dash": "dot"})

    def rows(self) -> list[Row]:
        """Return a row per bar, sorted by position along the axis."""
        names, along, value = self.along.names, self.along.label, self.value.label
        drawn = [(place, bars, k) for bars in self.series for k, place in enumerate(bars.at.tolist())]
        return [
            {along: place if names is None else names[place], "kind": bars.name, value: bars.values[k].item()}
            for place, bars, k in sorted(drawn, key=lambda bar: bar[0])
        ]


@dataclass(frozen=True, eq=False)
class HeatMap(Chart):
    """A matrix with named rows and columns; NaN cells stay empty."""

    down: Axis  # with names
    across: Axis
    value: Axis  # with limits
    values: FloatArray  # (rows, columns)
    _: KW_ONLY
    diverging: bool = False  # colours with a neutral middle of the limits

    @property
    def height(self) -> int:
        return 240 + ROW_PIXELS * min(max(len(self.values), 10), 40)

    def _draw(self, figure: go.Figure) -> None:
        bare = {"showgrid": False, "zeroline": False, "rangemode": "normal", "tickfont": {"size": 12}}
        down = self.down.layout() | bare | {"autorange": "reversed"}
        figure.update_layout(xaxis=self.across.layout() | bare, yaxis=down)
        if self.values.size == 0:
            return
        low, high = self.value.limits or (None, None)
        figure.add_trace(
            go.Heatmap(
                z=self.values,
                zmin=low,
                zmax=high,
                colorscale=DIVERGING if self.diverging else SEQUENTIAL,
                colorbar={"title": {"text": plain(self.value.label), "side": "right"}, "thickness": 14},
                hovertemplate=f"{plain(self.down.label)} %{{y}}, {plain(self.across.label)} %{{x}}: "
                "%{z:,.3~f}<extra></extra>",
                hoverongaps=False,
            )
        )

    def rows(self) -> list[Row]:
        """Return a row per cell."""
        return [
            {self.down.label: row, self.across.label: column, self.value.label: value}
            for row, line in zip(self.down.names or (), self.values.tolist(), strict=True)
            for column, value in zip(self.across.names or (), line, strict=True)
        ]


def highest(values: FloatArray) -> tuple[int, int]:
    """Return row and column of the highest value, of the first if tied; NaN is ignored."""
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return int(row), int(column)


@dataclass(frozen=True, eq=False)
class TraceChart(Chart):
    """A chart with its own traces, for kinds of charts that occur only once."""

    layout: Mapping[str, Any]
    traces: Sequence[Any]
    table: list[Row]
    _: KW_ONLY
    pixels: int = HEIGHT

    @property
    def height(self) -> int:
        return self.pixels

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(**self.layout)
        figure.add_traces(list(self.traces))

    def rows(self) -> list[Row]:
        """Return the table."""
        return self.table
