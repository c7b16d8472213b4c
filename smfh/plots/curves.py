"""How good the answers are: over the number of answers, and over the radius of a look-up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfh.metrics import Scores
from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.lines import Band, Line, LineChart, chance_lines, findings, method_line
from smfh.types import FloatArray, InputError

NOTE = "Nothing measured yet. Train a method, and its curves appear here."
PRECISION = "P@K = Σ_(k≤K) rel(k) / K, mean over queries"
RECALL = "R@K = Σ_(k≤K) rel(k) / R, mean over queries"
HITS = "queries with a relevant item within the radius / all queries"
SIZE = "items within the radius, mean over queries"
WITHIN = "within radius ρ: relevant / items, and relevant / R; mean over queries"
Values = Callable[[Scores], FloatArray]
Lines = tuple[Line, ...]


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
    lines = _lines(curves, lambda scores: scores.precision, first=1)
    random = chance_lines(
        (curve.direction, line.x, np.full(len(line.x), curve.scores[0].chance_precision))
        for curve, line in zip(curves, lines, strict=True)
    )
    y = Axis("precision@K", limits=(0, 1))
    return _over_k("precision", lines, random, y, marked, log, formula=PRECISION)


@chart
def recall_at_k(curves: Sequence[Curve], marked: int = 100, log: bool = False) -> LineChart:
    """R@K of every curve, with the recall of a random order: K/N, and 0 where nothing is relevant."""
    lines = _lines(curves, lambda scores: scores.recall, first=1)
    random = chance_lines(
        (curve.direction, line.x, line.x / within.items[-1] * within.recall[-1])
        for curve, line in zip(curves, lines, strict=True)
        for within in (curve.scores[0].within,)
    )
    return _over_k("recall", lines, random, Axis("recall@K"), marked, log, formula=RECALL)


def _over_k(
    what: str, lines: Lines, random: Lines, y: Axis, marked: int, log: bool, formula: str
) -> LineChart:
    deepest = max((len(line.x) for line in lines), default=100)
    K = min(marked, deepest)
    title, description = findings(lines, K, what, f"among the first {K} answers")
    return LineChart(
        kind=f"{what} at K",
        title=title,
        description=description,
        x=Axis("K (answers looked at)", log=log, limits=(1, max(deepest, 2))),
        y=y,
        lines=lines + random,
        marks=(Mark(f"K = {K}", K),) if lines else (),
        note=NOTE,
        formula=formula,
    )


@chart
def hit_rate_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """The share of queries that find something relevant within radius 0, 1, … bits."""
    lines = _lines(curves, lambda scores: scores.within.hits)
    y = Axis("queries with a hit (share)", limits=(0, 1))
    return _over_radius("share of queries with a hit", lines, y, marked, formula=HITS)


@chart
def size_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """The mean number of items that a query finds within radius 0, 1, … bits."""
    lines = _lines(curves, lambda scores: scores.within.items)
    return _over_radius("mean look-up size", lines, Axis("items found (mean)"), marked, formula=SIZE)


def _over_radius(what: str, lines: Lines, y: Axis, marked: int, formula: str) -> LineChart:
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
    over_radius = _lines(curves, lambda scores: scores.within.precision)
    lines = tuple(
        replace(
            line,
            x=curve.seeds(lambda scores: scores.within.recall).mean(axis=0),
            points=tuple(f"radius {radius}" for radius in line.x),
        )
        for curve, line in zip(curves, over_radius, strict=True)
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


def _lines(curves: Sequence[Curve], values: Values, first: int = 0) -> Lines:
    """The mean, and from the lowest seed to the highest where there are several; what is pinned is faint."""
    directions = list(dict.fromkeys(curve.direction for curve in curves))
    lines = []
    for curve in curves:
        y = curve.seeds(values)
        bands = (Band("seeds", y.min(axis=0), y.max(axis=0)),) if len(y) > 1 else ()
        x, mean = np.arange(first, first + y.shape[1]), y.mean(axis=0)
        line = method_line(curve.method, curve.title, curve.direction, directions, x, mean, bands=bands)
        pinned = replace(line, name=f"{line.name} (pinned)", width=2, faint=True)
        lines.append(pinned if curve.pinned else line)
    return tuple(lines)
