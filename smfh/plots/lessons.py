"""What a lesson's slider moves along: figures at each of its stops, with the chosen one marked."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.lines import Band, Line, LineChart
from smfh.plots.theme import GREY, HEIGHT, PALETTE, SYMBOLS, number, turn
from smfh.types import FloatArray, TrainingStep

ROOM = 0.08  # of the range, above and below


class ShortChart(LineChart):
    """One that leaves room for what moves with it."""

    @property
    def height(self) -> int:
        return HEIGHT * 2 // 3


@chart
def along_stops(
    axis: str,
    stops: Sequence[str],
    series: Sequence[tuple[str, Sequence[float], tuple[Sequence[float], Sequence[float]] | None]],
    unit: str,
    at: int = 0,
) -> ShortChart:
    """Each series, by its name, values and band, over the stops; the axis shows where they lie, not zero."""
    lines = tuple(
        Line(
            name,
            np.arange(len(stops)),
            np.array(values),
            turn(PALETTE, place),
            symbol=turn(SYMBOLS, place),
            bands=() if band is None else (Band("ties", np.array(band[0]), np.array(band[1])),),
            points=tuple(f"{axis} {stop}" for stop in stops),
        )
        for place, (name, values, band) in enumerate(series)
        if len(values)
    )
    values = np.concatenate([np.zeros(0), *(line.y for line in lines)])
    best = [f"{line.name} {_told(line.y.max())} at {axis} {stops[int(line.y.argmax())]}" for line in lines]
    return ShortChart(
        kind=f"{unit} along {axis}",
        title=f"Highest: {'; '.join(best)}" if best else f"No {unit} yet",
        description=f"Line chart of {unit} along {axis}. Highest: {'; '.join(best) or 'nothing'}.",
        x=Axis(axis, limits=(0, max(len(stops) - 1, 1)), names=tuple(stops)),
        y=Axis(unit, limits=_limits(values)),
        lines=lines,
        marks=(Mark(f"{axis} {stops[at]}", at),) if len(stops) > at else (),
    )


@chart
def objective_at(trace: Sequence[TrainingStep], scores: Sequence[float] = (), at: int = 1) -> ShortChart:
    """The objective over the iterations as shares of its first value, the scores beside it, one marked."""
    iterations = np.array([step.iteration for step in trace])
    objective = np.array([step.objective for step in trace])
    lines = []
    if len(trace):
        lines = [Line("objective", iterations, objective / objective[0], GREY)]
    if len(scores):
        lines.append(Line("mAP@100", iterations, np.array(scores), PALETTE[0], symbol=SYMBOLS[0]))
    title = "Nothing has been trained yet"
    if len(trace):
        title = (
            f"Iteration {at}: the objective is at {objective[at - 1] / objective[0]:.0%} of its first value"
        )
        title += f", mAP@100 at {scores[at - 1]:.3f}" if len(scores) else ""
    return ShortChart(
        kind="objective and score",
        title=title,
        description=f"Line chart over iterations. {title}.",
        x=Axis("iteration", limits=(1, max(len(trace), 2))),
        y=Axis("share of the first value; mAP"),
        lines=tuple(lines),
        marks=(Mark(f"iteration {at}", at),) if len(trace) else (),
    )


def _told(value: float) -> str:
    return f"{value:,.0f}" if value > 1 and value == round(value) else number(value)


def _limits(values: FloatArray) -> tuple[float, float] | None:
    if not values.size:
        return None
    room = ROOM * (np.ptp(values) or 1.0)
    return float(values.min() - room), float(values.max() + room)
