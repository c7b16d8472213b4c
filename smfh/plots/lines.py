"""Line charts: values along an axis, with bands around them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Mark, Row, draw_marks
from smfh.plots.theme import GREY, HEIGHT, blank, number, plain, write_note
from smfh.types import FloatArray, IntArray

LEGEND_ENTRY = 10  # pixels of height that an entry takes


@dataclass(frozen=True, eq=False)
class Band:
    """A range around a line."""

    name: str
    low: FloatArray  # as long as the line
    high: FloatArray
    opacity: float = 0.2


@dataclass(frozen=True, eq=False)
class Line:
    """Values along the x axis, and how they are drawn."""

    name: str
    x: FloatArray | IntArray
    y: FloatArray
    colour: str = GREY
    dash: str = "solid"
    symbol: str | None = None  # on some of the points
    width: float = 3
    faint: bool = False
    group: str = ""  # lines of a group are hidden together
    listed: bool = True  # in the legend
    bands: tuple[Band, ...] = ()
    points: tuple[str, ...] | None = None  # what each point is called

    def at(self, x: float) -> float:
        """The value at a place, between two points on the straight line."""
        return float(np.interp(x, self.x, self.y))


@dataclass(frozen=True, eq=False)
class LineChart:
    """Lines over common axes."""

    kind: str
    title: str
    description: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    note: str = "There is nothing to draw yet."  # where there are no lines
    format: str = ",.3~f"  # of the values that hovering tells
    compare_at_x: bool = True  # hovering tells all lines at one x

    def figure(self, titled: bool = True) -> go.Figure:
        listed = sum(line.listed for line in self.lines)
        title, height = self.title if titled else "", HEIGHT + LEGEND_ENTRY * listed
        figure = blank(title, self.description, self.kind, height)
        figure.update_layout(
            xaxis=self.x.layout(),
            yaxis=self.y.layout(),
            hovermode="x unified" if self.compare_at_x else "closest",
            showlegend=True,
        )
        for line in self.lines:
            figure.add_traces([_band(line, band) for band in line.bands])
            figure.add_trace(self._trace(line))
        draw_marks(figure, self.marks, self.x)
        if not self.lines:
            write_note(figure, self.note)
        return figure

    def _trace(self, line: Line) -> go.Scatter:
        what = "%{text}: " if line.points else "" if self.compare_at_x else "%{x:,.3~f}: "
        return go.Scatter(
            x=line.x,
            y=line.y,
            name=plain(line.name),
            text=None if line.points is None else [plain(point) for point in line.points],
            mode="lines" if line.symbol is None else "lines+markers",
            line={"color": line.colour, "dash": line.dash, "width": line.width},
            marker=None if line.symbol is None else {"symbol": line.symbol, "size": 8, "maxdisplayed": 12},
            opacity=0.6 if line.faint else 1,
            legendgroup=plain(line.group or line.name),
            showlegend=line.listed,
            hovertemplate=f"{what}%{{y:{self.format}}}",
        )

    def rows(self) -> list[Row]:
        """A row for every point of every line."""
        return [_row(self, line, k) for line in self.lines for k in range(len(line.x))]


def _band(line: Line, band: Band) -> go.Scatter:
    """There along the upper edge and back along the lower one."""
    return go.Scatter(
        x=np.concatenate([line.x, line.x[::-1]]),
        y=np.concatenate([band.high, band.low[::-1]]),
        name=plain(f"{line.name}: {band.name}"),
        mode="lines",
        line={"width": 0, "color": line.colour},
        fill="toself",
        fillcolor=_transparent(line.colour, band.opacity),
        hoverinfo="skip",
        legendgroup=plain(line.group or line.name),
        showlegend=False,
    )


def _transparent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def _row(chart: LineChart, line: Line, k: int) -> Row:
    row: Row = {"line": line.name, chart.x.label: line.x[k].item(), chart.y.label: line.y[k].item()}
    if line.points is not None:
        row["point"] = line.points[k]
    for band in line.bands:
        row |= {f"{band.name}, low": band.low[k].item(), f"{band.name}, high": band.high[k].item()}
    return row


def line_name(title: str, direction: str, directions: Sequence[str]) -> str:
    """With its direction where there are several."""
    return f"{title} {direction}" if len(directions) > 1 else title


def findings(lines: Sequence[Line], x: float, what: str, where: str, lowest: bool = False) -> tuple[str, str]:
    """The title and the description of a comparison at one place of the axis."""
    if not lines:
        return f"Nothing to compare yet by {what}", f"Empty axes for the {what}: nothing measured yet."
    best = (min if lowest else max)(lines, key=lambda line: line.at(x))
    title = f"{best.name}: {what} {number(best.at(x))} {where}"
    if len(lines) > 1:
        most = "lowest" if lowest else "highest"
        title = f"{best.name} has the {most} {what} {where}: {number(best.at(x))}"
    values = "; ".join(f"{line.name} {number(line.at(x))}" for line in lines)
    return title, f"Line chart, {len(lines)} lines; {what} {where}: {values}."
