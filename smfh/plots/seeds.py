"""Curves of several methods, each the mean of its seeds with the range that they cover."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smfh.plots.chart import Axis, Mark
from smfh.plots.lines import Band, Line, findings
from smfh.plots.scores import FormulaChart
from smfh.plots.theme import method_colour
from smfh.types import FloatArray

NOTE = "No measurement at this number of bits yet. Run the comparison, or choose another number."


@dataclass(frozen=True, eq=False)
class MethodCurve:
    """The curve of one method with every seed."""

    method: str  # by which it is coloured
    title: str
    along: FloatArray  # (points,)
    values: FloatArray  # (seeds, points)

    @property
    def mean(self) -> FloatArray:
        mean: FloatArray = self.values.mean(axis=0)
        return mean


def curves_over_k(
    what: str,
    curves: Sequence[MethodCurve],
    formula: str,
    marked: int = 100,
    log: bool = False,
    chance: FloatArray | None = None,
) -> FormulaChart:
    """Precision or recall over the number of answers."""
    lines = tuple(_line(curve) for curve in curves)
    deepest = max((int(line.x[-1]) for line in lines), default=100)
    K = min(marked, deepest)
    title, description = findings(lines, K, what, f"among the first {K} answers")
    random = (
        ()
        if chance is None
        else (Line("chance", np.arange(1.0, len(chance) + 1), chance, dash="dot", width=2),)
    )
    return FormulaChart(
        kind=f"{what} at K, compared",
        title=title,
        description=description,
        x=Axis("K (answers looked at)", log=log, limits=(1, max(deepest, 2))),
        y=Axis(f"{what}@K", limits=(0, 1) if what == "precision" else None),
        lines=lines + random,
        marks=(Mark(f"K = {K}", K),) if lines else (),
        note=NOTE,
        formula=formula,
    )


def _line(curve: MethodCurve, name_points: str = "") -> Line:
    """The mean, and from the lowest seed to the highest where there are several."""
    low, high = curve.values.min(axis=0), curve.values.max(axis=0)
    return Line(
        name=curve.title,
        x=curve.along,
        y=curve.mean,
        colour=method_colour(curve.method),
        bands=(Band("seeds", low, high),) if len(curve.values) > 1 else (),
        points=tuple(f"{name_points} {k}" for k in range(len(curve.along))) if name_points else None,
    )


def radius_over_seeds(curves: Sequence[MethodCurve], formula: str) -> FormulaChart:
    """Precision against recall of the look-up within radius 0, 1, … bits; means over queries and seeds."""
    lines = tuple(_line(curve, name_points="radius") for curve in curves)
    title, description = findings(lines, 0.5, "precision", "at recall 0.5")
    return FormulaChart(
        kind="precision and recall by radius, compared",
        title=title,
        description=description,
        x=Axis("recall within the radius", limits=(0, 1)),
        y=Axis("precision within the radius", limits=(0, 1)),
        lines=lines,
        note=NOTE,
        compare_at_x=False,
        formula=formula,
    )
