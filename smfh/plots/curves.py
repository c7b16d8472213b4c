"""How good the answers are: over the number of answers, and over the radius of a look-up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.plots.chart import Axis, Mark
from smfh.plots.lines import Line, LineChart, findings, line_name
from smfh.plots.theme import DASHES, PINNED_DASHES, method_colour, turn
from smfh.types import FloatArray, IntArray, RetrievalResult

Points = tuple[FloatArray | IntArray, FloatArray]
NOTE = "No answers yet. Train a method, and its curves appear here."


@dataclass(frozen=True, eq=False)
class Run:
    """One method's search in one direction."""

    method: str  # by which it is coloured
    title: str
    result: RetrievalResult
    pinned: bool = False

    @property
    def direction(self) -> str:
        return f"{self.result.source}→{self.result.target}"


def precision_at_k(runs: Sequence[Run], marked: int = 100, log: bool = False) -> LineChart:
    """P@K of every run, with the precision of a random order."""

    def chance(result: RetrievalResult) -> FloatArray:
        return np.full(len(result.precision_curve), result.scores.chance_precision)

    lines = _lines(runs, lambda result: _over_depth(result.precision_curve))
    random = _chance_lines(runs, lambda result: _over_depth(chance(result)))
    return _depth_chart("precision", lines, random, marked, log, Axis("precision@K", limits=(0, 1)))


def recall_at_k(runs: Sequence[Run], marked: int = 100, log: bool = False) -> LineChart:
    """R@K of every run, with the recall of a random order."""
    lines = _lines(runs, lambda result: _over_depth(result.recall_curve))
    random = _chance_lines(runs, lambda result: _over_depth(_chance_recall(result)))
    return _depth_chart("recall", lines, random, marked, log, Axis("recall@K"))


def _chance_recall(result: RetrievalResult) -> FloatArray:
    """K/N for a query that has something relevant among the N items, 0 for one that has not."""
    counts = result.ranking.counts
    K = np.arange(1, len(result.recall_curve) + 1)
    share: FloatArray = K / counts.items[0].sum() * np.mean(counts.total_relevant > 0)
    return share


def _over_depth(curve: FloatArray) -> Points:
    return np.arange(1, len(curve) + 1), curve


def _depth_chart(
    what: str, lines: tuple[Line, ...], random: tuple[Line, ...], marked: int, log: bool, y: Axis
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
    )


def hit_rate_by_radius(runs: Sequence[Run], marked: int = 2) -> LineChart:
    """The share of queries that find something relevant within radius 0, 1, … bits."""

    def points(result: RetrievalResult) -> Points:
        found = np.cumsum(result.ranking.counts.relevant, axis=1)
        return _over_radius(np.minimum(found, 1))

    y = Axis("queries with a hit (share)", limits=(0, 1))
    return _radius_chart("share of queries with a hit", _lines(runs, points), y, marked)


def size_by_radius(runs: Sequence[Run], marked: int = 2) -> LineChart:
    """The mean number of items that a query finds within radius 0, 1, … bits."""

    def points(result: RetrievalResult) -> Points:
        return _over_radius(np.cumsum(result.ranking.counts.items, axis=1))

    return _radius_chart("mean look-up size", _lines(runs, points), Axis("items found (mean)"), marked)


def _over_radius(by_query: IntArray) -> Points:
    """Means over queries."""
    return np.arange(by_query.shape[1]), by_query.mean(axis=0)


def _radius_chart(what: str, lines: tuple[Line, ...], y: Axis, marked: int) -> LineChart:
    title, description = findings(lines, marked, what, f"within radius {marked}")
    return LineChart(
        kind=what,
        title=title,
        description=description,
        x=Axis("Hamming radius (bits)", limits=(0, max((int(line.x[-1]) for line in lines), default=64))),
        y=y,
        lines=lines,
        marks=(Mark(f"radius {marked}", marked),) if lines else (),
        note=NOTE,
    )


def _lines(runs: Sequence[Run], points: Callable[[RetrievalResult], Points]) -> tuple[Line, ...]:
    """The colour tells the method, the dash the direction; what is pinned is thin and dotted."""
    directions = list(dict.fromkeys(run.direction for run in runs))
    lines = []
    for run in runs:
        x, y = points(run.result)
        name = line_name(run.title, run.direction, directions)
        lines.append(
            Line(
                name=f"{name} (pinned)" if run.pinned else name,
                x=x,
                y=y,
                colour=method_colour(run.method),
                dash=turn(PINNED_DASHES if run.pinned else DASHES, directions.index(run.direction)),
                width=2 if run.pinned else 3,
                faint=run.pinned,
            )
        )
    return tuple(lines)


def _chance_lines(runs: Sequence[Run], points: Callable[[RetrievalResult], Points]) -> tuple[Line, ...]:
    """One for all runs that have the same chance, to three decimals."""
    different: dict[tuple[float, ...], tuple[str, Points]] = {}
    for run in runs:
        x, y = points(run.result)
        different.setdefault((len(x), *np.round(y[[0, -1]], 3).tolist()), (run.direction, (x, y)))
    directions = [direction for direction, _ in different.values()]
    return tuple(
        Line(line_name("chance", direction, directions), x, y, dash="dot", width=2)
        for direction, (x, y) in different.values()
    )
