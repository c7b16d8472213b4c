"""Line charts: values along an axis, with bands around them, and names where the lines end."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Mark, Row, draw_marks
from smfh.plots.theme import DIRECTION_DASHES, GREY, HEIGHT, method_look, number, plain, turn
from smfh.types import FloatArray, IntArray

FORMULA_SIZE = 12  # pixels, so that a formula fits a phone
LEGEND_ENTRY = 10  # pixels of height that an entry takes
MOST_END_NAMES = 10  # more lines than these have a legend
NAME_WIDTH, NAME_LINE, NAME_LETTER = 14, 15, 8  # letters, and pixels, of a name where its line ends
AROUND = 100  # pixels of height that axis and margins take of a figure


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
    listed: bool = True  # by its name, in the legend or where it ends
    bands: tuple[Band, ...] = ()
    points: tuple[str, ...] | None = None  # what each point is called
    carried: str | Sequence[int] | None = None  # what a click tells: the same of all points, or of each
    is_data: bool = True  # rather than something to compare with

    def at(self, x: float) -> float:
        """The value at a place, between two points on the straight line."""
        return float(np.interp(x, self.x, self.y))


@dataclass(frozen=True, eq=False, kw_only=True)
class LineChart(Chart):
    """Lines over common axes."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    format: str = ",.3~f"  # of the values that hovering tells
    compare_at_x: bool = True  # hovering tells all lines at one x
    part_at_end: bool = True  # lines are apart where they end, so that their names can stand there
    formula: str = ""  # how the values are defined, wherever the figure is shown or copied to

    @property
    def ends_named(self) -> bool:
        """Names at the ends of lines rather than in a legend."""
        return self.part_at_end and len(self._listed) <= MOST_END_NAMES

    @property
    def _listed(self) -> list[Line]:
        return [line for line in self.lines if line.listed]

    @property
    def height(self) -> int:
        return HEIGHT if self.ends_named else HEIGHT + LEGEND_ENTRY * len(self._listed)

    def _draw(self, figure: go.Figure) -> None:
        hover = "x unified" if self.compare_at_x else "closest"
        figure.update_layout(hovermode=hover, showlegend=not self.ends_named)
        self.draw_panel(figure)
        draw_marks(figure, self.marks, self.x)

    def draw_panel(self, figure: go.Figure, panel: str = "", **place: Any) -> None:
        """Axes, bands, lines and names; `panel` is "", "2", … and `place` says where its x axis lies."""
        refs = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
        figure.update_layout({f"xaxis{panel}": self.x.layout() | place, f"yaxis{panel}": self.y.layout()})
        if self.formula:
            small = f'<span style="font-size: {FORMULA_SIZE}px">{plain(self.formula)}</span>'
            figure.update_layout({f"xaxis{panel}_title_text": f"{plain(self.x.label)}<br>{small}"})
        drawn = (
            [*(_band(line, band, refs) for band in line.bands), self._trace(line, refs)]
            for line in self.lines
        )
        figure.add_traces([trace for traces in drawn for trace in traces])
        if self.ends_named and self._listed:
            self._name_ends(figure, {"xref": refs["xaxis"], "yref": refs["yaxis"]})

    def _trace(self, line: Line, refs: dict[str, str]) -> go.Scatter:
        what = "%{text}: " if line.points else "" if self.compare_at_x else "%{x:,.3~f}: "
        return go.Scatter(
            x=line.x,
            y=line.y,
            name=plain(line.name),
            text=None if line.points is None else [plain(point) for point in line.points],
            mode="lines" if line.symbol is None else "lines+markers" if line.width else "markers",
            line={"color": line.colour, "dash": line.dash, "width": line.width},
            marker={"symbol": line.symbol, "size": 9, "maxdisplayed": 12, "color": line.colour},
            opacity=0.5 if line.faint else 1,
            legendgroup=plain(line.name),
            showlegend=line.listed,
            customdata=[[line.carried]] * len(line.x) if isinstance(line.carried, str) else line.carried,
            hovertemplate=f"{what}%{{y:{self.format}}}",
            **refs,
        )

    def _name_ends(self, figure: go.Figure, refs: dict[str, str]) -> None:
        """Each name in the colour of its line, right of where it ends; shifted where two would overlap."""
        low, high = self._y_range()
        ends = {line: self.y.place(float(np.fmax(line.y[-1], low))) for line in self._listed}
        lines = sorted(ends, key=ends.__getitem__)
        names = [_wrapped(line.name) for line in lines]
        pixels = (self.height - AROUND) / (self.y.place(high) - self.y.place(low))
        wanted = np.array([(ends[line] - self.y.place(low)) * pixels for line in lines])
        heights = apart(wanted, 2 + NAME_LINE * max(map(len, names)), self.height - AROUND)
        notes = list(
            figure.layout.annotations
        )  # all at once: Plotly looks at every one whenever one is added
        for line, name, shift in zip(lines, names, heights - wanted, strict=True):
            end = {"x": self.x.place(line.x[-1].item()), "y": ends[line], "xanchor": "left"}
            look = {"showarrow": False, "align": "left", "font": {"color": line.colour, "size": 13}}
            shifted = {"text": "<br>".join(map(plain, name)), "xshift": 8, "yshift": round(shift)}
            notes.append(end | look | shifted | refs)
        figure.update_layout(annotations=notes)
        longest = max(len(part) for name in names for part in name)
        figure.update_layout(margin_r=max(figure.layout.margin.r, 20 + NAME_LETTER * longest))

    def _y_range(self) -> tuple[float, float]:
        """About what Plotly will choose."""
        if self.y.limits is not None:
            return self.y.limits
        values = np.concatenate([line.y for line in self.lines])
        values = values[values > 0] if self.y.log else np.append(values, 0)  # neither draws what is missing
        low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        if low < high:
            return float(low), float(high)
        return (1.0, 10.0) if self.y.log else (0.0, 1.0)

    def rows(self) -> list[Row]:
        """A row for every point of every line."""
        return [self._row(line, k) for line in self.lines if line.is_data for k in range(len(line.x))]

    def _row(self, line: Line, k: int) -> Row:
        row: Row = {"line": line.name, self.x.label: line.x[k].item(), self.y.label: line.y[k].item()}
        if line.points is not None:
            row["point"] = line.points[k]
        for band in line.bands:
            row |= {f"{band.name}, low": band.low[k].item(), f"{band.name}, high": band.high[k].item()}
        return row


def _band(line: Line, band: Band, refs: dict[str, str]) -> go.Scatter:
    """There along the upper edge and back along the lower one."""
    red, green, blue = (int(line.colour[k : k + 2], 16) for k in (1, 3, 5))
    return go.Scatter(
        x=np.concatenate([line.x, line.x[::-1]]),
        y=np.concatenate([band.high, band.low[::-1]]),
        name=plain(f"{line.name}: {band.name}"),
        mode="lines",
        line={"width": 0, "color": line.colour},
        fill="toself",
        fillcolor=f"rgba({red}, {green}, {blue}, {band.opacity})",
        hoverinfo="skip",
        legendgroup=plain(line.name),
        showlegend=False,
        **refs,
    )


def _wrapped(name: str) -> list[str]:
    """A name in short lines; a direction stays in one."""
    return textwrap.wrap(name.replace(" → ", "\u00a0→\u00a0"), NAME_WIDTH, break_long_words=False) or [""]


def apart(wanted: FloatArray, gap: float, top: float) -> FloatArray:
    """Heights from 0 to `top` in the same order, at least `gap` apart, else as near as can be to the wanted.

    Less k·gap of the k-th, they must not fall: neighbours that do are pooled until their means rise.
    """
    steps = gap * np.arange(len(wanted))
    pools: list[FloatArray] = []
    for free in wanted - steps:
        pools.append(np.array([free]))
        while len(pools) > 1 and pools[-2].mean() > pools[-1].mean():
            pools[-2:] = [np.concatenate(pools[-2:])]
    level = np.concatenate([np.full(len(pool), pool.mean()) for pool in pools])
    heights: FloatArray = np.clip(level, 0, max(top - steps[-1], 0)) + steps
    return heights


def line_name(title: str, direction: str, directions: Sequence[str]) -> str:
    """With its direction where there are several."""
    return f"{title} {direction}" if len(directions) > 1 else title


def method_line(
    method: str,
    title: str,
    direction: str,
    directions: Sequence[str],
    x: FloatArray | IntArray,
    y: FloatArray,
    **changed: Any,
) -> Line:
    """A line in its method's look; the dash tells the direction where there are several, else the method."""
    look = method_look(method)
    dash = turn(DIRECTION_DASHES, directions.index(direction)) if len(directions) > 1 else look.dash
    line = Line(line_name(title, direction, directions), x, y, look.colour, dash, look.symbol)
    return replace(line, **changed)


def chance_lines(chances: Iterable[tuple[str, FloatArray | IntArray, FloatArray]]) -> tuple[Line, ...]:
    """By direction, x and y; one for all directions that have the same chance, to three decimals."""
    different: dict[object, tuple[str, FloatArray | IntArray, FloatArray]] = {}
    for direction, x, y in chances:
        different.setdefault((tuple(x.tolist()), tuple(np.round(y, 3).tolist())), (direction, x, y))
    directions = [direction for direction, _, _ in different.values()]
    return tuple(
        Line(line_name("chance", direction, directions), x, y, dash="dot", width=2)
        for direction, x, y in different.values()
    )


def with_level(chart: LineChart, name: str, level: float) -> LineChart:
    """The chart with a level to compare with, from the first of its values to the last."""
    if not chart.lines:
        return chart
    x = np.unique(np.concatenate([line.x for line in chart.lines]))
    line = Line(name, x, np.full(len(x), level), dash="dash", width=2)
    return replace(chart, lines=(*chart.lines, line))


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
