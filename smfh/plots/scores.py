"""A score over code lengths, or over anything else that was varied, with what seeds and ties do to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from smfh.plots.chart import Axis
from smfh.plots.lines import Band, Line, LineChart, findings, line_name
from smfh.plots.theme import DASHES, method_colour, turn
from smfh.types import FloatArray

BITS = Axis("code length (bits)", log=True)


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


def score_curves(
    measured: Sequence[Measured], score: str = "mAP@100", axis: Axis = BITS, lowest: bool = False
) -> LineChart:
    """The mean with a band of seeds and a band of ties; `lowest` says that less is better, as for time."""
    directions = list(dict.fromkeys(point.direction for point in measured))
    lines = tuple(_line(points, directions) for points in _by_line(measured))
    places = tuple(sorted({point.at for point in measured}))
    last = places[-1] if places else 0
    title, description = findings(lines, last, score, f"at {last:g} {_unit(axis)}", lowest)
    return LineChart(
        kind=f"{score} by {axis.label}",
        title=title,
        description=description,
        x=Axis(axis.label, axis.log, axis.limits, ticks=places or None),
        y=Axis(score),
        lines=lines,
        note="No measurement yet. Run the comparison, and each finished cell appears here.",
    )


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

    return Line(
        name=line_name(first.title, first.direction, directions),
        x=column("at"),
        y=column("mean"),
        colour=method_colour(first.method),
        dash=turn(DASHES, directions.index(first.direction)),
        symbol="circle",
        bands=(
            Band("ties", column("worst"), column("best"), opacity=0.12),
            Band("seeds", column("low"), column("high"), opacity=0.3),
        ),
    )
