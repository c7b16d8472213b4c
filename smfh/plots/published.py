"""Measured beside published: crosses on curves, and all cells against the diagonal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from smfh.plots.chart import Axis, Row
from smfh.plots.lines import Band, Line, LineChart, line_name
from smfh.plots.theme import SYMBOLS, method_colour, turn

NOTE = "Nothing is measured yet. Press Measure, and it appears here."
CROSSES = ("x", "cross", "star")  # a direction each, in turn


@dataclass(frozen=True)
class Published:
    """A number that the paper prints, and what was measured for it, where that has been done."""

    method: str  # by which it is coloured
    title: str
    direction: str
    at: float  # such as the number of bits
    value: float
    measured: float | None = None
    where: str = ""  # such as mAP@100, 32 bits


def with_crosses(chart: LineChart, published: Sequence[Published]) -> LineChart:
    """The chart with what the paper prints as crosses in the colours of the methods."""
    directions = list(dict.fromkeys(cross.direction for cross in published))

    def line(cross: Published) -> tuple[str, str, str]:
        return cross.method, cross.title, cross.direction

    crosses = []
    for (method, title, direction), points in groupby(sorted(published, key=line), key=line):
        ordered = sorted(points, key=lambda cross: cross.at)
        crosses.append(
            Line(
                name=f"{line_name(title, direction, directions)}, published",
                x=np.array([cross.at for cross in ordered]),
                y=np.array([cross.value for cross in ordered]),
                colour=method_colour(method),
                symbol=turn(CROSSES, directions.index(direction)),
                width=0,  # nothing is known between them
            )
        )
    places = tuple(sorted({*(chart.x.ticks or ()), *(cross.at for cross in published)}))
    x = replace(chart.x, ticks=places) if chart.x.ticks or not chart.lines else chart.x
    return replace(chart, lines=chart.lines + tuple(crosses), x=x)


@dataclass(frozen=True, eq=False)
class AgreementChart(LineChart):
    """Points around a diagonal; the diagonal itself is no data."""

    cells: tuple[Published, ...] = ()

    def rows(self) -> list[Row]:
        """A row for every cell that was measured."""
        return [
            {
                "method": cell.title,
                "direction": cell.direction,
                "cell": cell.where,
                "published": cell.value,
                "measured": cell.measured,
            }
            for cell in self.cells
        ]


def agreement(cells: Sequence[Published], tolerance: float) -> AgreementChart:
    """Measured over published; cells on the diagonal agree, and the band is what counts as agreement."""
    done = [cell for cell in cells if cell.measured is not None]
    directions = list(dict.fromkeys(cell.direction for cell in done))
    close = sum(abs((cell.measured or 0.0) - cell.value) <= tolerance for cell in done)
    title = f"{close} of {len(done)} measured cells lie within {tolerance:g} of the published number"
    if not done:
        title = "Nothing has been measured beside the published numbers yet"
    return AgreementChart(
        kind="measured over published",
        title=title,
        description=f"Scatter chart of {len(done)} cells, measured over published. {title}.",
        x=Axis("published"),
        y=Axis("measured"),
        lines=(*_diagonal(done, tolerance), *_clouds(done, directions)),
        note=NOTE,
        compare_at_x=False,
        cells=tuple(done),
    )


def _diagonal(cells: Sequence[Published], tolerance: float) -> tuple[Line, ...]:
    if not cells:
        return ()
    ends = np.array([0.0, max(max(cell.value, cell.measured or 0.0) for cell in cells) * 1.05])
    band = Band(f"within {tolerance:g}", ends - tolerance, ends + tolerance)
    return (Line("equal", ends, ends, dash="dot", width=2, bands=(band,)),)


def _clouds(cells: Sequence[Published], directions: Sequence[str]) -> list[Line]:
    def cloud(cell: Published) -> tuple[str, str, str]:
        return cell.method, cell.title, cell.direction

    clouds = []
    for (method, title, direction), points in groupby(sorted(cells, key=cloud), key=cloud):
        ordered = list(points)
        clouds.append(
            Line(
                name=line_name(title, direction, directions),
                x=np.array([cell.value for cell in ordered]),
                y=np.array([cell.measured for cell in ordered], dtype=np.float64),
                colour=method_colour(method),
                symbol=turn(SYMBOLS, directions.index(direction)),
                width=0,
                points=tuple(cell.where for cell in ordered),
            )
        )
    return clouds
