"""What all charts share: axes, marks, a title that tells the finding, rows for a table."""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import plotly.graph_objects as go

from smfh.plots.theme import GREY, GRID, plain

Cell = str | float | int | None
Row = dict[str, Cell]

DANGEROUS = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet takes what begins so for a formula
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class Chart(Protocol):
    """Everything a page needs to show a figure, read it aloud, and hand out its data."""

    @property
    def title(self) -> str: ...  # the finding
    @property
    def description(self) -> str: ...  # one sentence instead of the picture
    def figure(self, titled: bool = True) -> go.Figure: ...  # untitled, the page writes the title
    def rows(self) -> list[Row]: ...


@dataclass(frozen=True)
class Axis:
    """A label with its unit, and how numbers lie along it."""

    label: str
    log: bool = False
    limits: tuple[float, float] | None = None
    ticks: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None  # of the ticks

    def layout(self) -> dict[str, Any]:
        """As Plotly wants it."""
        layout: dict[str, Any] = {
            "title": {"text": plain(self.label)},
            "type": "log" if self.log else "linear",
        }
        if not self.log:
            layout["rangemode"] = "tozero"
        if self.limits is not None:
            layout["range"] = [self.place(limit) for limit in self.limits]
        if self.ticks is not None:
            names = self.names or tuple(f"{tick:g}" for tick in self.ticks)
            layout |= {"tickvals": list(self.ticks), "ticktext": [plain(short(name)) for name in names]}
        return layout

    def place(self, x: float) -> float:
        """Where Plotly puts a range or a note: on a log axis, at the exponent."""
        return math.log10(x) if self.log else x


@dataclass(frozen=True)
class Mark:
    """A vertical line, or a shaded span where it has an end."""

    label: str
    start: float
    end: float | None = None


def draw_marks(figure: go.Figure, marks: Iterable[Mark], x: Axis) -> None:
    """Lines and spans over the whole height, their labels inwards, where there is room."""
    for mark in marks:
        across = {"x0": mark.start, "y0": 0, "y1": 1, "yref": "paper"}
        if mark.end is None:
            figure.add_shape(type="line", x1=mark.start, line={"color": GREY, "dash": "dot"}, **across)
        else:
            look = {"fillcolor": GRID, "line": {"width": 0}, "layer": "below"}
            figure.add_shape(type="rect", x1=mark.end, **look, **across)
        low, high = x.limits or (mark.start, math.inf)
        late = x.place(mark.start) > (x.place(low) + x.place(high)) / 2
        edge = mark.end if late and mark.end is not None else mark.start
        figure.add_annotation(
            text=plain(mark.label),
            x=x.place(min(max(edge, low), high)),  # Plotly hides what stands outside
            y=1,
            yref="paper",
            xanchor="right" if late else "left",
            yanchor="top",
            showarrow=False,
        )


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
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_harmless(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    """Text that a spreadsheet would run gets an apostrophe before it; numbers stay, NaN is left out."""
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(DANGEROUS) and not NUMBER.fullmatch(cell) else cell
    return "" if cell is None or not math.isfinite(cell) else cell
