"""A score over code lengths, or over anything else that was varied, with what seeds and ties do to it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from smfh.plots.chart import Axis, chart
from smfh.plots.lines import Band, Line, LineChart, chance_lines, findings, method_line
from smfh.types import FloatArray, Point

BITS = Axis("code length (bits)", log=True)


@chart
def score_curves(
    points: Sequence[Point],
    label: str = "mAP@100",
    axis: Axis = BITS,
    lowest: bool = False,
    chance: float | None = None,
    formula: str = "",
    log: bool = False,
) -> LineChart:
    """The mean with a band of seeds and a paler one of ties; `lowest` says that less is better, as for time.

    `chance` stands for that of every point.
    """
    if chance is not None:
        points = [replace(point, chance=chance) for point in points]
    directions = list(dict.fromkeys(point.direction for point in points))
    lines = tuple(_line(of_line, directions) for of_line in _by_line(points))
    places = tuple(sorted({point.at for point in points}))
    last = places[-1] if places else 0
    title, description = findings(lines, last, label, f"at {last:g} {_unit(axis)}", lowest)
    return LineChart(
        kind=f"{label} by {axis.label}",
        title=title,
        description=description,
        x=replace(axis, ticks=places or None),
        y=Axis(label, log=log, ticks=_decades(points) if log else None),
        lines=lines + chance_lines(_chances(points)),
        note="No measurement yet. Run the comparison, and each finished cell appears here.",
        compare_at_x=False,  # a click means one point
        formula=formula,
    )


def _decades(points: Sequence[Point]) -> tuple[float, ...] | None:
    """1, 10, 100, … around what was measured: Plotly would write digits between them."""
    values = [value for point in points for value in point.values if value > 0]
    if not values:
        return None
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return tuple(10.0**power for power in range(first, last + 1))


def _unit(axis: Axis) -> str:
    """What stands in the brackets of a label, or the label."""
    return axis.label.split("(")[-1].rstrip(")")


def _by_line(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each method and direction, along the axis; lines in the order in which they came."""
    by_line: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        by_line.setdefault((point.method, point.title, point.direction), []).append(point)
    return [sorted(line, key=lambda point: point.at) for line in by_line.values()]


def _line(points: Sequence[Point], directions: Sequence[str]) -> Line:
    first, means = points[0], np.array([point.mean for point in points])
    worst, best = np.array([point.ties or (point.mean, point.mean) for point in points]).T
    low, high = np.array([(min(point.values), max(point.values)) for point in points]).T
    bands = Band("ties", worst, best, opacity=0.12), Band("seeds", low, high, opacity=0.3)
    drawn = tuple(band for band in bands if np.any(band.low < band.high))
    look, places = (first.method, first.title, first.direction, directions), np.array([p.at for p in points])
    return method_line(*look, places, means, bands=drawn, carried=first.title)


def _chances(points: Sequence[Point]) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Of each direction along the axis."""
    for direction in dict.fromkeys(point.direction for point in points):
        along = {p.at: p.chance for p in points if p.direction == direction and p.chance is not None}
        if along:
            places = sorted(along)
            yield direction, np.array(places), np.array([along[at] for at in places])
