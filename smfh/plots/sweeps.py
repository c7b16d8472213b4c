"""Sweeps: scores and times along a parameter, and a map of two."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.heat import HeatMap, highest
from smfh.plots.lines import Band, Line, LineChart
from smfh.plots.theme import BLUE, GREEN, GREY, ORANGE, number
from smfh.plots.trials import NOTE, TrialDot, chosen_ring, has_place, in_words, short_number
from smfh.types import IntArray

MEASURE_LOOKS = ((BLUE, "circle", "solid"), (ORANGE, "square", "dash"), (GREEN, "diamond", "longdash"))
MOST_TICKS = 12
SQUARE = 30  # pixels of a cell of a map
MOST_WRITTEN = 100  # cells of a map that have room for their numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepChart(LineChart):
    """Lines whose points tell their trial when they are clicked; rings mark the chosen one."""

    chosen: int | None
    compare_at_x: bool = False  # a click means one point
    note: str = NOTE

    def _draw(self, figure: go.Figure) -> None:
        super()._draw(figure)
        for line in self.lines:
            ringed = np.flatnonzero(np.array(line.carried) == self.chosen)
            if len(ringed):
                figure.add_trace(chosen_ring(line.x[ringed], line.y[ringed], self.chosen, False, {}))


@chart
def sweep_curve(
    dots: Sequence[TrialDot], axis: Axis, marks: Sequence[Mark] = (), chosen: int | None = None
) -> SweepChart:
    """Every measure along the parameter: means over the parts, with a band from the lowest to the highest."""
    drawn = _along(dots, axis)
    measures = list(drawn[0].parts) if drawn else []
    lines = [
        _line(name, drawn, axis, [dot.parts[name] for dot in drawn], MEASURE_LOOKS[k % len(MEASURE_LOOKS)])
        for k, name in enumerate(measures)
    ]
    tops: dict[str, list[str]] = {}
    for line in lines:
        place = short_number(line.x[line.y.argmax()].item())
        tops.setdefault(place, []).append(f"{line.name} ({number(line.y.max())})")
    title = f"{axis.label}: no trial is finished yet"
    if lines:
        places = "; ".join(f"at {axis.label} {at}: {', '.join(told)}" for at, told in tops.items())
        title = f"Highest {places}"
    return SweepChart(
        kind="scores along a parameter",
        title=title,
        description=f"Line chart of {len(lines)} measures along {axis.label}. {title}.",
        x=_limited(axis, drawn),
        y=Axis("score on validation parts"),
        lines=tuple(lines),
        marks=_merged(marks),
        chosen=chosen,
    )


@chart
def sweep_seconds(dots: Sequence[TrialDot], axis: Axis, chosen: int | None = None) -> SweepChart:
    """The time of a training along the parameter."""
    drawn = _along(dots, axis)
    lines = (_line("training", drawn, axis, [dot.seconds for dot in drawn], (GREY, "circle", "solid")),)
    title = "Time: no trial is finished yet"
    if drawn:
        low, high = lines[0].y.min(), lines[0].y.max()
        title = f"A training takes from {number(low)} to {number(high)} s along {axis.label}"
    return SweepChart(
        kind="seconds along a parameter",
        title=title,
        description=f"Line chart of training seconds along {axis.label}. {title}.",
        x=_limited(axis, drawn),
        y=Axis("seconds of a training"),
        lines=lines if drawn else (),
        chosen=chosen,
    )


def _along(dots: Sequence[TrialDot], axis: Axis) -> list[TrialDot]:
    """What is finished and has a place on the axis, along it."""
    placed = [dot for dot in dots if not dot.pruned and has_place(dot, axis)]
    return sorted(placed, key=lambda dot: dot.settings[axis.label])


def _line(
    name: str,
    dots: Sequence[TrialDot],
    axis: Axis,
    values: Sequence[Sequence[float]],
    look: tuple[str, str, str],
) -> Line:
    colour, symbol, dash = look
    band = Band("parts", np.array([min(one) for one in values]), np.array([max(one) for one in values]))
    return Line(
        name,
        np.array([dot.settings[axis.label] for dot in dots]),
        np.array([np.mean(one) for one in values]),
        colour,
        dash,
        symbol,
        bands=(band,) if np.any(band.low < band.high) else (),
        points=tuple(dot.words for dot in dots),
        carried=[dot.number for dot in dots],
    )


def _limited(axis: Axis, dots: Sequence[TrialDot]) -> Axis:
    """As far as there are trials, and with their values below it where these have room."""
    if not dots:
        return axis
    low, high = (dots[k].settings[axis.label] for k in (0, -1))
    values = tuple(float(short_number(dot.settings[axis.label])) for dot in dots if not dot.start)
    beside = 1.2 if axis.log else 0.03 * (high - low)
    limits = (low / beside, high * beside) if axis.log else (low - beside, high + beside)
    return replace(axis, limits=limits, ticks=values if 0 < len(values) <= MOST_TICKS else axis.ticks)


def _merged(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """One mark for each place, with all that is there."""
    by_place: dict[float, list[str]] = {}
    for mark in marks:
        by_place.setdefault(mark.at, []).append(mark.label)
    return tuple(Mark(", ".join(labels), at) for at, labels in by_place.items())


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepMap(HeatMap):
    """A cell for each pair of values, which tells its trial when it is clicked."""

    numbers: IntArray  # (rows, columns); −1 where there is no trial
    chosen: int | None = None
    note: str = NOTE

    @property
    def height(self) -> int:
        return 160 + SQUARE * max(len(self.values), 6)

    def _draw(self, figure: go.Figure) -> None:
        super()._draw(figure)
        figure.update_layout(yaxis_autorange=True)  # values grow upwards
        down, across = np.nonzero(self.numbers >= 0)
        if len(down) == 0:
            return
        written = len(down) <= MOST_WRITTEN  # and then no scale of colours is needed
        figure.update_traces(showscale=not written, selector={"type": "heatmap"})
        values = self.values[down, across]
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        figure.add_trace(
            go.Scatter(
                x=across,
                y=down,
                mode="markers+text" if written else "markers",
                text=[f"{value:.2f}".lstrip("0") for value in values],
                textfont={"size": 12, "color": ["#000000" if v > middle else "#FFFFFF" for v in values]},
                marker={"size": 24, "opacity": 0.01, "color": GREY, "symbol": "square"},
                unselected={"marker": {"opacity": 0.01}},
                customdata=self.numbers[down, across].tolist(),
                hoverinfo="skip",
                showlegend=False,
            )
        )
        y, x = np.nonzero(self.numbers == (-2 if self.chosen is None else self.chosen))
        if len(x):
            figure.add_trace(chosen_ring(x, y, self.chosen, False, {}, symbol="square-open", size=SQUARE))


@chart
def sweep_map(
    dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, chosen: int | None = None
) -> SweepMap:
    """The score of each pair of values; a start that is not one of them has no cell."""
    swept = [dot for dot in dots if not dot.pruned and not dot.start]
    columns, rows = (sorted({dot.settings[axis.label] for dot in swept}) for axis in (across, up))
    values = np.full((len(rows), len(columns)), np.nan)
    numbers = np.full(values.shape, -1)
    for dot in dots:
        column, row = dot.settings[across.label], dot.settings[up.label]
        if not dot.pruned and column in columns and row in rows:
            values[rows.index(row), columns.index(column)] = dot.score
            numbers[rows.index(row), columns.index(column)] = dot.number
    title = f"{across.label} × {up.label}: no trial is finished yet"
    if values.size:
        row, column = highest(values)
        where = in_words({across.label: columns[column], up.label: rows[row]})
        title = f"{label} is highest at {where}: {number(values[row, column])}"
    return SweepMap(
        kind="map of two parameters",
        title=title,
        description=f"Heat map of {label} over {across.label} and {up.label}. {title}.",
        down=Axis(up.label, names=tuple(map(short_number, rows))),
        across=Axis(across.label, names=tuple(map(short_number, columns))),
        value=Axis(label),
        values=values,
        numbers=numbers,
        chosen=chosen,
    )
