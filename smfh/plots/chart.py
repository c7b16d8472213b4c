"""What all charts share: a title that tells the finding, axes, marks, rows for a table, and HTML."""

import csv
import html
import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from smfh.plots.theme import GREY, HEIGHT, blank, plain, write_note

Cell = str | float | int | None
Row = dict[str, Cell]

MOST_TICKS = 40
DANGEROUS = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet takes what begins so for a formula
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart(ABC):
    """Everything a page needs to show a figure, read it aloud, and hand out its data."""

    kind: str  # what stays the same while its data change
    title: str  # the finding
    description: str  # one sentence instead of the picture
    note: str = "There is nothing to draw yet."  # where there are no data

    @property
    def height(self) -> int:
        """Pixels."""
        return HEIGHT

    def figure(self, titled: bool = True) -> go.Figure:
        """Untitled where the page writes the title."""
        figure = blank(self.title if titled else "", self.description, self.kind, self.height)
        self._draw(figure)
        if not figure.data:
            write_note(figure, self.note)
        return figure

    @cached_property
    def drawn(self) -> go.Figure:
        """Untitled, once for all who look at it."""
        return self.figure(titled=False)

    @abstractmethod
    def _draw(self, figure: go.Figure) -> None:
        """Axes, and traces where there are data."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The data that are drawn, as a table."""


Make = TypeVar("Make", bound=Callable[..., Chart])
CHARTS: dict[str, Callable[..., Chart]] = {}


def chart(make: Make) -> Make:
    """Enter a function that makes a chart: every one that is entered is tested with data and without."""
    CHARTS[make.__name__] = make
    return make


@dataclass(frozen=True)
class Axis:
    """A label with its unit, and how numbers lie along it."""

    label: str
    log: bool = False
    limits: tuple[float, float] | None = None
    ticks: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None  # of the places 0, 1, …

    def layout(self) -> dict[str, Any]:
        """As Plotly wants it."""
        kind = {"type": "log"} if self.log else {"type": "linear", "rangemode": "tozero"}
        layout: dict[str, Any] = {"title": {"text": plain(self.label)}, **kind}
        if self.limits is not None:
            layout["range"] = [self.place(limit) for limit in self.limits]
        if self.names is not None:
            shown = range(0, len(self.names), max(1, -(-len(self.names) // MOST_TICKS)))
            layout |= {"tickvals": list(shown), "ticktext": [plain(short(self.names[k])) for k in shown]}
        elif self.ticks is not None:
            layout |= {"tickvals": list(self.ticks), "ticktext": [f"{tick:g}" for tick in self.ticks]}
        return layout

    def place(self, x: float) -> float:
        """Where Plotly puts a range or a note: on a log axis, at the exponent."""
        return math.log10(x) if self.log else x


@dataclass(frozen=True)
class Mark:
    """A vertical line with a label."""

    label: str
    at: float


def draw_marks(figure: go.Figure, marks: Iterable[Mark], x: Axis) -> None:
    """Lines over the whole height, their labels inwards, where there is room."""
    for mark in marks:
        figure.add_vline(mark.at, line={"color": GREY, "dash": "dot"})
        low, high = x.limits or (mark.at, math.inf)
        late = x.place(mark.at) > (x.place(low) + x.place(high)) / 2
        x_place = x.place(min(max(mark.at, low), high))  # Plotly hides what stands outside
        top = {"y": 1, "yref": "paper", "yanchor": "top", "xanchor": "right" if late else "left"}
        figure.add_annotation(text=plain(mark.label), x=x_place, showarrow=False, **top)


def short(name: str, length: int = 24) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= length else name[: length - 1] + "…"


def csv_of(rows: Iterable[Mapping[str, Cell]]) -> str:
    """The rows as CSV, a column for every key; no cell of it is a formula to a spreadsheet."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    # every text is quoted: a programme that splits at semicolons must not find a cell inside a cell
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([harmless(column) for column in columns])
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _cell(cell: Cell) -> Cell:
    """Text made harmless; numbers stay, NaN is left out."""
    if isinstance(cell, str):
        return harmless(cell)
    return "" if cell is None or not math.isfinite(cell) else cell


def harmless(text: str) -> str:
    """Text that a spreadsheet would run gets an apostrophe before it; for tables too, which Streamlit lets
    people download as they are."""
    return f"'{text}" if text.startswith(DANGEROUS) and not NUMBER.fullmatch(text) else text


def plotly_script() -> str:
    """The drawing program itself, to be written once before the first chart; nothing is fetched."""
    return f"<script>{get_plotlyjs()}</script>"


def chart_html(chart: Chart, name: str) -> str:
    """The chart with its finding above it, in words for who cannot see it; `name` is its id in the page."""
    figure = chart.figure(titled=False)
    size, config = figure.layout.height, {"displaylogo": False, "responsive": True}
    drawn = figure.to_html(config, include_plotlyjs=False, full_html=False, div_id=name, default_height=size)
    return (
        f'<figure role="img" aria-label="{html.escape(chart.description)}">'
        f"<figcaption>{html.escape(chart.title)}</figcaption>{drawn}</figure>"
    )
