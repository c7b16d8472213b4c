"""How good the answers are: over the number of answers, and over the radius of a look-up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.metrics import Scores
from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.lines import Band, Line, LineChart, chance_lines, findings, line_dash, line_name
from smfh.plots.theme import method_look
from smfh.types import FloatArray, InputError, IntArray

NOTE = "Nothing measured yet. Train a method, and its curves appear here."
PRECISION = "P@K = Σ_(k≤K) rel(k) / K, mean over queries"
RECALL = "R@K = Σ_(k≤K) rel(k) / R, mean over queries"
HITS = "queries with a relevant item within the radius / all queries"
SIZE = "items within the radius, mean over queries"
WITHIN = "within radius ρ: relevant / items, and relevant / R; mean over queries"
Values = Callable[[Scores], FloatArray]


@dataclass(frozen=True, eq=False)
class Curve:
    """The runs of one method that make one line, a seed each."""

    method: str  # its name, by which it is coloured
    title: str
    scores: tuple[Scores, ...]
    pinned: bool = False

    def __post_init__(self) -> None:
        kinds = sorted({(scores.direction, scores.bits) for scores in self.scores})
        if len(kinds) != 1:
            came = ", ".join(f"{direction} with {bits} bits" for direction, bits in kinds) or "none"
            raise InputError(f"A curve is of one seed at least, in one direction and length; got {came}.")

    @property
    def direction(self) -> str:
        return self.scores[0].direction

    def seeds(self, values: Values) -> FloatArray:
        """(seeds, points)"""
        return np.stack([values(scores) for scores in self.scores])


@chart
def precision_at_k(curves: Sequence[Curve], marked: int = 100, log: bool = False) -> LineChart:
    """P@K of every curve, with the precision of a random order."""

    def chance(scores: Scores) -> FloatArray:
        return np.full(len(scores.precision), scores.chance_precision)

    y = Axis("precision@K", limits=(0, 1))
    return _over_k("precision", curves, lambda scores: scores.precision, chance, y, marked, log, PRECISION)


@chart
def recall_at_k(curves: Sequence[Curve], marked: int = 100, log: bool = False) -> LineChart:
    """R@K of every curve, with the recall of a random order."""

    def chance(scores: Scores) -> FloatArray:
        """K/N for a query that has something relevant among the N items, 0 for one that has not."""
        share: FloatArray = np.arange(1, len(scores.recall) + 1) / scores.within.items[-1]
        return share * scores.within.recall[-1]

    y = Axis("recall@K")
    return _over_k("recall", curves, lambda scores: scores.recall, chance, y, marked, log, RECALL)


def _over_k(
    what: str,
    curves: Sequence[Curve],
    values: Values,
    chance: Values,
    y: Axis,
    marked: int,
    log: bool,
    formula: str,
) -> LineChart:
    lines = _lines(curves, values, first=1)
    deepest = max((len(line.x) for line in lines), default=100)
    K = min(marked, deepest)
    title, description = findings(lines, K, what, f"among the first {K} answers")
    return LineChart(
        kind=f"{what} at K",
        title=title,
        description=description,
        x=Axis("K (answers looked at)", log=log, limits=(1, max(deepest, 2))),
        y=y,
        lines=lines + chance_lines(_random(curve, chance) for curve in curves),
        marks=(Mark(f"K = {K}", K),) if lines else (),
        note=NOTE,
        formula=formula,
    )


def _random(curve: Curve, chance: Values) -> tuple[str, IntArray, FloatArray]:
    y = chance(curve.scores[0])
    return curve.direction, np.arange(1, len(y) + 1), y


@chart
def hit_rate_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """The share of queries that find something relevant within radius 0, 1, … bits."""
    y = Axis("queries with a hit (share)", limits=(0, 1))
    what = "share of queries with a hit"
    return _over_radius(what, curves, lambda scores: scores.within.hits, y, marked, HITS)


@chart
def size_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """The mean number of items that a query finds within radius 0, 1, … bits."""
    y = Axis("items found (mean)")
    return _over_radius("mean look-up size", curves, lambda scores: scores.within.items, y, marked, SIZE)


def _over_radius(
    what: str, curves: Sequence[Curve], values: Values, y: Axis, marked: int, formula: str
) -> LineChart:
    lines = _lines(curves, values, first=0)
    title, description = findings(lines, marked, what, f"within radius {marked}")
    return LineChart(
        kind=what,
        title=title,
        description=description,
        x=Axis("Hamming radius (bits)", limits=(0, max((len(line.x) - 1 for line in lines), default=64))),
        y=y,
        lines=lines,
        marks=(Mark(f"radius {marked}", marked),) if lines else (),
        note=NOTE,
        part_at_end=False,  # within all bits lies everything
        formula=formula,
    )


@chart
def precision_by_recall(curves: Sequence[Curve]) -> LineChart:
    """Precision against recall of the look-up within radius 0, 1, … bits; means over queries and seeds."""
    lines = _lines(
        curves,
        lambda scores: scores.within.precision,
        along=lambda scores: scores.within.recall,
        point="radius {}",
    )
    title, description = findings(lines, 0.5, "precision", "at recall 0.5")
    return LineChart(
        kind="precision and recall by radius",
        title=title,
        description=description,
        x=Axis("recall within the radius", limits=(0, 1)),
        y=Axis("precision within the radius", limits=(0, 1)),
        lines=lines,
        note=NOTE,
        compare_at_x=False,
        part_at_end=False,
        formula=WITHIN,
    )


def _lines(
    curves: Sequence[Curve], values: Values, first: int = 0, along: Values | None = None, point: str = ""
) -> tuple[Line, ...]:
    """The mean, and from the lowest seed to the highest where there are several; what is pinned is faint.

    Colour and symbol tell the method, the dash the direction, or the method too where there is one direction.
    """
    directions = list(dict.fromkeys(curve.direction for curve in curves))
    lines = []
    for curve in curves:
        y, look = curve.seeds(values), method_look(curve.method)
        name = line_name(curve.title, curve.direction, directions)
        steps = np.arange(first, first + y.shape[1])
        lines.append(
            Line(
                name=f"{name} (pinned)" if curve.pinned else name,
                x=steps if along is None else curve.seeds(along).mean(axis=0),
                y=y.mean(axis=0),
                colour=look.colour,
                dash=line_dash(look, curve.direction, directions),
                symbol=look.symbol,
                width=2 if curve.pinned else 3,
                faint=curve.pinned,
                bands=(Band("seeds", y.min(axis=0), y.max(axis=0)),) if len(y) > 1 else (),
                points=tuple(point.format(step) for step in steps) if point else None,
            )
        )
    return tuple(lines)
