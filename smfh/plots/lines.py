"""Line charts, with bands around the lines and names at the ends of the lines."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.optimize import isotonic_regression

from smfh.plots.chart import Axis, Chart, Mark, Row, draw_marks
from smfh.plots.theme import DIRECTION_DASHES, GREY, HEIGHT, PINK, cycle, method_look, number, plain
from smfh.types import FloatArray, IntArray

FORMULA_PIXELS = 12  # font size, so that a formula fits a phone
LEGEND_ENTRY_PIXELS = 10
MAX_END_NAMES = 10  # with more lines, a legend is shown instead
NAME_LENGTH = 14  # characters per line of a name
NAME_LINE_PIXELS, LETTER_PIXELS = 15, 8
X_SPACE, Y_SPACE = 0.015, 0.06  # shares of the range of values, added at the ends of an axis
MARGIN_PIXELS = 100  # height of axis and margins
OPAQUE = {"marker": {"opacity": 1}}  # other points do not fade when one is clicked


@dataclass(frozen=True, eq=False)
class Band:
    """A shaded range around a line, such as from the lowest to the highest seed."""

    name: str
    low: FloatArray  # as long as the line
    high: FloatArray
    opacity: float = 0.2


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a chart: its values along the x axis, and its look."""

    name: str
    x: FloatArray | IntArray
    y: FloatArray
    colour: str = GREY
    dash: str = "solid"
    symbol: str | None = None  # on some of the points
    width: float = 3
    faint: bool = False
    listed: bool = True  # whether its name is shown, in the legend or at its end
    bands: tuple[Band, ...] = ()
    points: tuple[str, ...] | None = None  # names of the points
    click_data: str | None = None  # custom data of a click on any of the points
    is_data: bool = True  # False for reference lines, which have no rows

    def at(self, x: float) -> float:
        """Return the value of the line at x, interpolated between its points."""
        return float(np.interp(x, self.x, self.y))


@dataclass(frozen=True, eq=False)
class LineChart(Chart):
    """A chart of lines on common axes."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    _: KW_ONLY
    marks: tuple[Mark, ...] = ()
    format: str = ",.3~f"  # of the values shown on hovering
    compare_at_x: bool = True  # hovering shows all lines at one x
    ends_differ: bool = True  # lines end at different heights, so names fit there
    formula: str = ""  # definition of the values, shown below the axis
    is_short: bool = False  # two thirds of the default height

    @property
    def ends_named(self) -> bool:
        """Whether names are at the ends of the lines instead of in a legend."""
        return self.ends_differ and len(self._listed) <= MAX_END_NAMES

    @property
    def _listed(self) -> list[Line]:
        return [line for line in self.lines if line.listed]

    @property
    def height(self) -> int:
        height = HEIGHT * 2 // 3 if self.is_short else HEIGHT
        return height if self.ends_named else height + LEGEND_ENTRY_PIXELS * len(self._listed)

    def _draw(self, figure: go.Figure) -> None:
        hover = "x unified" if self.compare_at_x else "closest"
        figure.update_layout(hovermode=hover, showlegend=not self.ends_named)
        self.draw_panel(figure)
        draw_marks(figure, self.marks, self.x)

    def draw_panel(self, figure: go.Figure, panel: str = "", **place: Any) -> None:
        """Draw the chart as panel "", "2", … of a figure; `place` is added to the layout of the x axis."""
        refs = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
        figure.update_layout({f"xaxis{panel}": self._x.layout() | place, f"yaxis{panel}": self._y.layout()})
        if self.formula:
            small = f'<span style="font-size: {FORMULA_PIXELS}px">{typeset_html(self.formula)}</span>'
            figure.update_layout({f"xaxis{panel}_title_text": f"{plain(self.x.label)}<br>{small}"})
        traces = []  # added all at once, which is faster
        for line in self.lines:
            name = plain(line.name)
            look = {"legendgroup": name, **refs}
            red, green, blue = (int(line.colour[k : k + 2], 16) for k in (1, 3, 5)) if line.bands else (0, 0, 0)
            for band in line.bands:  # one polygon: forward along the upper edge, back along the lower edge
                traces.append(
                    go.Scatter(
                        x=np.concatenate([line.x, line.x[::-1]]),
                        y=np.concatenate([band.high, band.low[::-1]]),
                        name=plain(f"{line.name}: {band.name}"),
                        mode="lines",
                        line={"width": 0, "color": line.colour},
                        fill="toself",
                        fillcolor=f"rgba({red}, {green}, {blue}, {band.opacity})",
                        hoverinfo="skip",
                        showlegend=False,
                        **look,
                    )
                )
            what = "%{text}: " if line.points else "" if self.compare_at_x else "%{x:,.3~f}: "
            traces.append(
                go.Scatter(
                    x=line.x,
                    y=line.y,
                    name=name,
                    text=None if line.points is None else [plain(point) for point in line.points],
                    mode="lines" if line.symbol is None else "lines+markers" if line.width else "markers",
                    line={"color": line.colour, "dash": line.dash, "width": line.width},
                    marker={"symbol": line.symbol, "size": 9, "maxdisplayed": 12, "color": line.colour},
                    opacity=0.5 if line.faint else 1,
                    showlegend=line.listed,
                    customdata=None if line.click_data is None else [[line.click_data]] * len(line.x),
                    hovertemplate=f"{what}%{{y:{self.format}}}",
                    **look,
                )
            )
        figure.add_traces(traces)
        if self.ends_named and self._listed:
            self._name_ends(figure, {"xref": refs["xaxis"], "yref": refs["yaxis"]})

    def _name_ends(self, figure: go.Figure, refs: dict[str, str]) -> None:
        """Write the name of each line at its right end, in its colour; shift names that would overlap."""
        low, high = self._y.limits or ((1.0, 10.0) if self.y.log else (0.0, 1.0))
        ends = {line: self.y.place(float(np.fmax(line.y[-1], low))) for line in self._listed}
        lines = sorted(ends, key=ends.__getitem__)
        names = [  # in short lines, but not split within a direction such as "text → image"
            textwrap.wrap(line.name.replace(" → ", "\u00a0→\u00a0"), NAME_LENGTH, break_long_words=False) or [""]
            for line in lines
        ]
        pixels = (self.height - MARGIN_PIXELS) / (self.y.place(high) - self.y.place(low))
        at = np.array([(ends[line] - self.y.place(low)) * pixels for line in lines])
        tall = np.array([2.0 + NAME_LINE_PIXELS * len(name) for name in names])
        heights = space_out(at, (tall[1:] + tall[:-1]) / 2, self.height - MARGIN_PIXELS)
        notes = list(figure.layout.annotations)  # added all at once, which is faster
        for line, name, shift in zip(lines, names, heights - at, strict=True):
            end = {"x": self.x.place(line.x[-1].item()), "y": ends[line], "xanchor": "left"}
            look = {"align": "left", "font": {"color": line.colour, "size": 13}, "text": "<br>".join(map(plain, name))}
            shifted: dict[str, Any] = {"showarrow": False, "xshift": 8, "yshift": round(shift)}
            if abs(shift) > NAME_LINE_PIXELS / 2:  # a thin line leads to it
                shifted = {"ax": 14, "ay": -round(shift), "arrowhead": 0, "arrowwidth": 1, "arrowcolor": line.colour}
            notes.append(end | look | shifted | refs)
        figure.update_layout(annotations=notes)
        longest = max(len(part) for name in names for part in name)
        figure.update_layout(margin_r=max(figure.layout.margin.r, 20 + LETTER_PIXELS * longest))

    @property
    def _x(self) -> Axis:
        """The x axis, a little wider than its limits, so that no marker is cut off."""
        low, high = self.x.limits or (0, 0)
        return widen(self.x, low, high, X_SPACE, X_SPACE) if low < high and self.x.names is None else self.x

    @property
    def _y(self) -> Axis:
        """The y axis with explicit limits, so that names stand at the ends of their lines."""
        values = np.concatenate([line.y for line in self.lines] or [np.zeros(0)])
        values = values[values > 0] if self.y.log else np.append(values, 0)  # NaN is not drawn
        low, high = float(np.nanmin(values, initial=np.inf)), float(np.nanmax(values, initial=-np.inf))
        if self.y.limits is None and self.y.log and low == high:
            return replace(self.y, limits=(low / 2, high * 2))
        if self.y.limits is not None or not low < high:
            return self.y
        return widen(self.y, low, high, Y_SPACE * (self.y.log or low < 0), Y_SPACE)

    def rows(self) -> list[Row]:
        """Return a row per point of every line that is not a reference line."""
        rows = []
        for line in (line for line in self.lines if line.is_data):
            for k, (x, y) in enumerate(zip(line.x.tolist(), line.y.tolist(), strict=True)):
                row: Row = {"line": line.name, self.x.label: x, self.y.label: y}
                if line.points is not None:
                    row["point"] = line.points[k]
                for band in line.bands:
                    row |= {f"{band.name}, low": band.low[k].item(), f"{band.name}, high": band.high[k].item()}
                rows.append(row)
        return rows


def widen(axis: Axis, low: float, high: float, before: float, after: float) -> Axis:
    """Return the axis with limits `low` and `high`, widened at both ends by these shares of its length."""
    first, last = axis.place(low), axis.place(high)
    ends = first - before * (last - first), last + after * (last - first)
    low, high = (float(f"{10**end if axis.log else end:.4g}") for end in ends)
    return replace(axis, limits=(low, high))


def typeset_html(formula: str) -> str:
    """Return a plain-text formula for Plotly, with the limits of sums as subscripts."""
    return re.sub(r"Σ_(?:\(([^)]*)\)|(\w))", r"Σ<sub>\1\2</sub>", plain(formula))


def selected_ring(x: Any, y: Any, selected: int | None, **look: Any) -> go.Scatter:
    """Return a ring that marks the selected trial, in the same colour in every chart."""
    marker = {"symbol": "circle-open", "size": 20, "color": PINK, "line": {"width": 4, "color": PINK}}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=f"trial {selected}, selected",
        marker=marker | look.pop("marker", {}),
        unselected=OPAQUE,
        hoverinfo="skip",
        **{"showlegend": False} | look,
    )


def space_out(heights: FloatArray, gaps: float | FloatArray, top: float) -> FloatArray:
    """Return numbers near `heights` in the same order, between 0 and `top`, at least `gaps` apart.

    `gaps` is one number or one for each pair of neighbours. The result is an isotonic regression of each height
    minus the gaps before it.
    """
    steps = np.append(0.0, np.cumsum(np.broadcast_to(gaps, len(heights) - 1)))
    level = isotonic_regression(heights - steps).x
    spaced: FloatArray = np.clip(level, 0, max(top - steps[-1], 0)) + steps
    return spaced


def line_name(title: str, direction: str, directions: Sequence[str]) -> str:
    """Return the name of a line: its title, and its direction if there are several."""
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
    """Return a line in the look of its method; the dash shows the direction if there are several."""
    look = method_look(method)
    dash = cycle(DIRECTION_DASHES, directions.index(direction)) if len(directions) > 1 else look.dash
    line = Line(line_name(title, direction, directions), x, y, look.colour, dash, look.symbol)
    return replace(line, **changed)


def chance_lines(chances: Iterable[tuple[str, FloatArray | IntArray, FloatArray]]) -> tuple[Line, ...]:
    """Return the lines of scores by chance, from (direction, x, y); directions with equal levels share one."""
    different: dict[object, tuple[str, FloatArray | IntArray, FloatArray]] = {}
    for direction, x, y in chances:
        different.setdefault((tuple(x.tolist()), tuple(np.round(y, 3).tolist())), (direction, x, y))
    directions = [direction for direction, _, _ in different.values()]
    return tuple(
        Line(line_name("chance", direction, directions), x, y, dash="dot", width=2)
        for direction, x, y in different.values()
    )


def findings(lines: Sequence[Line], x: float, what: str, where: str, lowest: bool = False) -> tuple[str, str]:
    """Return a chart's title and description, which compare its lines at x; `lowest` if lower is better."""
    if not lines:
        return f"No {what} measured yet", f"Empty axes for the {what}: nothing measured yet."
    best = (min if lowest else max)(lines, key=lambda line: line.at(x))
    title = f"{best.name}: {what} {number(best.at(x))} {where}"
    if len(lines) > 1:
        most = "lowest" if lowest else "highest"
        title = f"{best.name} has the {most} {what} {where}: {number(best.at(x))}"
    values = "; ".join(f"{line.name} {number(line.at(x))}" for line in lines)
    return title, f"Line chart, {len(lines)} lines; {what} {where}: {values}."
