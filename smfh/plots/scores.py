"""A score over code lengths, or over anything else that was varied, with what seeds and ties do to it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis
from smfh.plots.lines import Band, Line, LineChart, findings, line_name
from smfh.plots.theme import DASHES, method_colour, plain, turn
from smfh.types import FloatArray

BITS = Axis("code length (bits)", log=True)
SMALL = 12  # pixels, so that a formula fits a phone


@dataclass(frozen=True)
class Measured:
    """A score of one method, direction and place on the axis, over seeds."""

    method: str  # by which it is coloured
    title: str
    direction: str
    at: float  # such as the number of bits
    mean: float
    low: float  # over seeds
    high: float
    worst: float  # that ties allow; the mean where there are none
    best: float


@dataclass(frozen=True, eq=False)
class FormulaChart(LineChart):
    """Lines whose figure says how its values are defined, wherever it is shown or copied to."""

    formula: str = ""
    titles: tuple[str, ...] = ()  # of the first lines' methods: what a click on a point tells

    def figure(self, titled: bool = True) -> go.Figure:
        figure = super().figure(titled)
        if self.formula:
            label = (
                f'{plain(self.x.label)}<br><span style="font-size: {SMALL}px">{plain(self.formula)}</span>'
            )
            figure.update_layout(xaxis_title_text=label)
        place = -1
        for line, title in zip(self.lines, self.titles, strict=False):
            place += len(line.bands) + 1  # a line stands behind its bands
            figure.data[place].customdata = [[title]] * len(line.x)
        return figure


def score_curves(
    measured: Sequence[Measured],
    score: str = "mAP@100",
    axis: Axis = BITS,
    lowest: bool = False,
    chance: float | None = None,
    formula: str = "",
    log: bool = False,
) -> FormulaChart:
    """The mean with a band of seeds and a band of ties; `lowest` says that less is better, as for time."""
    directions = list(dict.fromkeys(point.direction for point in measured))
    by_line = _by_line(measured)
    lines = tuple(_line(points, directions) for points in by_line)
    places = tuple(sorted({point.at for point in measured}))
    last = places[-1] if places else 0
    title, description = findings(lines, last, score, f"at {last:g} {_unit(axis)}", lowest)
    return FormulaChart(
        kind=f"{score} by {axis.label}",
        title=title,
        description=description,
        x=Axis(axis.label, axis.log, axis.limits, ticks=places or None),
        y=Axis(score, log=log, ticks=_decades(measured) if log else None),
        lines=lines + _chance_line(chance, places),
        note="No measurement yet. Run the comparison, and each finished cell appears here.",
        compare_at_x=False,  # a click means one point
        formula=formula,
        titles=tuple(points[0].title for points in by_line),
    )


def _decades(measured: Sequence[Measured]) -> tuple[float, ...] | None:
    """1, 10, 100, … around what was measured: Plotly would write digits between them."""
    values = [value for point in measured for value in (point.low, point.high) if value > 0]
    if not values:
        return None
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return tuple(10.0**power for power in range(first, last + 1))


def _unit(axis: Axis) -> str:
    """What stands in the brackets of a label, or the label."""
    return axis.label.split("(")[-1].rstrip(")")


def _by_line(measured: Sequence[Measured]) -> list[list[Measured]]:
    """The points of each method and direction, along the axis; lines in the order in which they came."""

    def line(point: Measured) -> tuple[str, str, str]:
        return point.method, point.title, point.direction

    order = list(dict.fromkeys(map(line, measured)))
    ordered = sorted(measured, key=lambda point: (order.index(line(point)), point.at))
    return [list(points) for _, points in groupby(ordered, key=line)]


def _line(points: Sequence[Measured], directions: Sequence[str]) -> Line:
    first = points[0]

    def column(name: str) -> FloatArray:
        return np.array([getattr(point, name) for point in points], dtype=np.float64)

    ties = Band("ties", column("worst"), column("best"), opacity=0.12)
    seeds = Band("seeds", column("low"), column("high"), opacity=0.3)
    return Line(
        name=line_name(first.title, first.direction, directions),
        x=column("at"),
        y=column("mean"),
        colour=method_colour(first.method),
        dash=turn(DASHES, directions.index(first.direction)),
        symbol="circle",
        bands=tuple(band for band in (ties, seeds) if np.any(band.low < band.high)),
    )


def _chance_line(chance: float | None, places: Sequence[float]) -> tuple[Line, ...]:
    if chance is None or not places:
        return ()
    ends = np.array([places[0], places[-1]])
    return (Line("chance", ends, np.full(2, chance), dash="dot", width=2),)
