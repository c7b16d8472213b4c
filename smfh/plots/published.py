"""Measured beside published: crosses on curves, and all cells against the diagonal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfh.plots.chart import Axis, chart
from smfh.plots.lines import Band, Line, LineChart, method_line
from smfh.plots.theme import turn

NOTE = "Nothing is measured yet. Press Measure, and it appears here."
CROSSES = ("x", "cross", "x-open", "cross-open")  # a direction each, in turn
FILLS = ("", "-open", "-dot", "-open-dot")  # of the symbol of a method, a direction each, in turn


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


def with_crosses(curves: LineChart, published: Sequence[Published]) -> LineChart:
    """The curves with what the paper prints as crosses in the colours of the methods."""
    crosses = tuple(
        replace(line, name=f"{line.name}, published", symbol=turn(CROSSES, direction), listed=False)
        for line, direction, _ in _scatter(published, lambda cross: (cross.at, cross.value))
    )
    ticks = tuple(sorted({*(curves.x.ticks or ()), *(cross.at for cross in published)}))
    x = replace(curves.x, ticks=ticks) if curves.x.ticks or not curves.lines else curves.x
    formula = " · ".join(filter(None, [curves.formula, "crosses: published"]))
    return replace(curves, lines=curves.lines + crosses, x=x, formula=formula)


def _scatter(
    cells: Sequence[Published], place: Callable[[Published], tuple[float, float]]
) -> Iterator[tuple[Line, int, list[Published]]]:
    """The points of each method and direction along the axis, with which direction it is and its cells."""
    directions = list(dict.fromkeys(cell.direction for cell in cells))
    lines: dict[tuple[str, str, str], list[Published]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.method, cell.title, cell.direction, cell.at)):
        lines.setdefault((cell.method, cell.title, cell.direction), []).append(cell)
    for look, of_line in lines.items():
        x, y = np.array([place(cell) for cell in of_line]).T
        line = method_line(*look, directions, x, y, dash="solid", width=0)  # nothing is known between them
        yield line, directions.index(of_line[0].direction), of_line


@chart
def agreement(cells: Sequence[Published], tolerance: float) -> LineChart:
    """Measured over published; cells on the diagonal agree, and the band is what counts as agreement."""
    measured = [cell for cell in cells if cell.measured is not None]
    close = sum(abs((cell.measured or 0.0) - cell.value) <= tolerance for cell in measured)
    title = f"{close} of {len(measured)} measured cells lie within {tolerance:g} of the published number"
    if not measured:
        title = "Nothing has been measured beside the published numbers yet"
    return LineChart(
        kind="measured over published",
        title=title,
        description=f"Scatter chart of {len(measured)} cells, measured over published. {title}.",
        x=Axis("published"),
        y=Axis("measured"),
        lines=(*_diagonal(measured, tolerance), *_clouds(measured)),
        note=NOTE,
        compare_at_x=False,
        part_at_end=False,
    )


def _diagonal(cells: Sequence[Published], tolerance: float) -> tuple[Line, ...]:
    if not cells:
        return ()
    ends = np.array([0.0, max(max(cell.value, cell.measured or 0.0) for cell in cells) * 1.05])
    band = Band(f"within {tolerance:g}", ends - tolerance, ends + tolerance)
    return (Line("equal", ends, ends, dash="dot", width=2, bands=(band,), is_data=False),)


def _clouds(cells: Sequence[Published]) -> Iterator[Line]:
    for line, direction, of_line in _scatter(cells, lambda cell: (cell.value, cell.measured or 0.0)):
        points = tuple(cell.where for cell in of_line)
        yield replace(line, symbol=f"{line.symbol}{turn(FILLS, direction)}", points=points)
