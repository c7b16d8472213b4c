"""Charts of scores over results, radius or code length, also against published numbers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfh.metrics import Scores
from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.lines import Y_SPACE, Band, Line, LineChart, chance_lines, findings, method_line, widen
from smfh.plots.theme import DIRECTION_COLOURS, PALETTE, cycle, number
from smfh.types import FloatArray, Point

NOTE = "No measurement yet. Train a method to see its curves."
PRECISION = "P@K = Σ_(k≤K) rel(k) / K, mean over queries"
RECALL = "R@K = Σ_(k≤K) rel(k) / R, mean over queries"
HITS = "queries with a relevant item within the radius / all queries"
SIZE = "items within the radius, mean over queries"
WITHIN = "within radius ρ: relevant / items, and relevant / R; mean over queries"
Values = Callable[[Scores], FloatArray]
Lines = tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class Curve:
    """Scores of one method, direction and code length that form one line of a chart."""

    method: str  # name, which decides the colour
    title: str
    scores: tuple[Scores, ...]  # one per seed
    pinned: bool = False

    @property
    def direction(self) -> str:
        """Modalities of queries and results, such as "text → image"."""
        return self.scores[0].direction

    def by_seed(self, values: Values) -> FloatArray:
        """Apply `values` to the scores of each seed; return the results, (seeds, points)."""
        return np.stack([values(scores) for scores in self.scores])


@chart
def precision_at_k(curves: Sequence[Curve], marked: int = 100, log: bool = False) -> LineChart:
    """Show precision at K of every curve and of a random order; mark K = `marked`."""
    lines = _lines(curves, lambda scores: scores.precision, first=1)
    random = chance_lines(
        (curve.direction, line.x, np.full(len(line.x), curve.scores[0].chance_precision))
        for curve, line in zip(curves, lines, strict=True)
    )
    y = Axis("precision@K", limits=(0, min(1.0, 1.08 * max((line.y.max() for line in lines), default=1.0))))
    return _over_k("precision", lines, random, y, marked, log, formula=PRECISION)


@chart
def recall_at_k(curves: Sequence[Curve], marked: int = 100, log: bool = False) -> LineChart:
    """Show R@K of every curve and of a random order (K/N; 0 for queries without relevant items)."""
    lines = _lines(curves, lambda scores: scores.recall, first=1)
    random = chance_lines(
        (curve.direction, line.x, line.x / within.items[-1] * within.recall[-1])
        for curve, line in zip(curves, lines, strict=True)
        for within in (curve.scores[0].within,)
    )
    return _over_k("recall", lines, random, Axis("recall@K"), marked, log, formula=RECALL)


def _over_k(what: str, lines: Lines, random: Lines, y: Axis, K: int, log: bool, formula: str) -> LineChart:
    deepest = max((len(line.x) for line in lines), default=100)
    K = min(K, deepest)
    texts = findings(lines, K, what, f"among the first {K} results")
    x = Axis("K (number of results)", log=log, limits=(1, max(deepest, 2)))
    marks = (Mark(f"K = {K}", K),) if lines else ()
    return LineChart(f"{what} at K", *texts, x, y, lines + random, marks=marks, note=NOTE, formula=formula)


@chart
def hit_rate_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """Show the share of queries that find a relevant item within radius 0, 1, … bits."""
    lines = _lines(curves, lambda scores: scores.within.hits)
    y = Axis("queries with a relevant item (share)", limits=(0, 1))
    return _over_radius("share of queries with a relevant item", lines, y, marked, formula=HITS)


@chart
def size_by_radius(curves: Sequence[Curve], marked: int = 2) -> LineChart:
    """Show the mean number of items that a query finds within radius 0, 1, … bits."""
    lines = _lines(curves, lambda scores: scores.within.items)
    return _over_radius("mean look-up size", lines, Axis("items found (mean)"), marked, formula=SIZE)


def _over_radius(what: str, lines: Lines, y: Axis, marked: int, formula: str) -> LineChart:
    x = Axis("Hamming radius (bits)", limits=(0, max((len(line.x) - 1 for line in lines), default=64)))
    marks = (Mark(f"radius {marked}", marked),) if lines else ()
    texts = findings(lines, marked, what, f"within radius {marked}")
    chart = LineChart(what, *texts, x, y, lines, marks=marks, note=NOTE, formula=formula)
    return replace(chart, ends_differ=False)  # all lines end at the whole database


@chart
def precision_by_recall(curves: Sequence[Curve]) -> LineChart:
    """Show precision against recall of look-ups within 0, 1, … bits; means over queries and seeds."""
    over_radius = _lines(curves, lambda scores: scores.within.precision)
    lines = tuple(
        replace(
            line,
            x=curve.by_seed(lambda scores: scores.within.recall).mean(axis=0),
            points=tuple(f"radius {radius}" for radius in line.x),
        )
        for curve, line in zip(curves, over_radius, strict=True)
    )
    axes = Axis("recall within the radius", limits=(0, 1)), Axis("precision within the radius", limits=(0, 1))
    texts, kind = findings(lines, 0.5, "precision", "at recall 0.5"), "precision and recall by radius"
    chart = LineChart(kind, *texts, *axes, lines, note=NOTE, formula=WITHIN)
    return replace(chart, compare_at_x=False, ends_differ=False)


def _lines(curves: Sequence[Curve], values: Values, first: int = 0) -> Lines:
    """Return the mean of each curve, with a band from lowest to highest seed; pinned ones are faint.

    If there is a single method, lines are coloured and named by direction.
    """
    directions = list(dict.fromkeys(curve.direction for curve in curves))
    is_single = len(directions) > 1 and len({curve.title for curve in curves}) == 1
    lines = []
    for curve in curves:
        y = curve.by_seed(values)
        bands = (Band("seeds", y.min(axis=0), y.max(axis=0)),) if len(y) > 1 else ()
        x, mean = np.arange(first, first + y.shape[1]), y.mean(axis=0)
        line = method_line(curve.method, curve.title, curve.direction, directions, x, mean, bands=bands)
        if is_single:
            colour = cycle((line.colour, *DIRECTION_COLOURS), directions.index(curve.direction))
            line = replace(line, name=curve.direction, colour=colour, dash="solid")
        pinned = replace(line, name=f"{line.name} (pinned)", width=2, faint=True)
        lines.append(pinned if curve.pinned else line)
    return tuple(lines)


BITS = Axis("code length (bits)", log=True)


@chart
def score_curves(
    points: Sequence[Point], label: str = "mAP@100", axis: Axis = BITS, formula: str = "", time: bool = False
) -> LineChart:
    """Show scores over code length or another axis, with bands for seeds and (paler) ties.

    With `time`, the values are seconds: the axis is logarithmic, and lower is better."""
    directions = list(dict.fromkeys(point.direction for point in points))
    by_line: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        by_line.setdefault((point.method, point.title, point.direction), []).append(point)
    lines = tuple(_line(sorted(of_line, key=lambda point: point.at), directions) for of_line in by_line.values())
    chances = []
    for direction in directions:
        along = {p.at: p.chance for p in points if p.direction == direction and p.chance is not None}
        if along:
            chances.append((direction, *np.array(sorted(along.items())).T))
    drawn = lines + chance_lines(chances)
    if time:
        seconds = [value for point in points for value in point.values if value > 0]
        first, last = (
            (math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))) if seconds else (0, -1)
        )
        # a tick per power of ten: Plotly would also label ticks between them
        y = Axis(label, log=True, ticks=tuple(10.0**k for k in range(first, last + 1)) or None)
    else:
        ends = [end for line in drawn for end in (line.y, *(v for band in line.bands for v in (band.low, band.high)))]
        values = np.concatenate(ends) if ends else np.zeros(1)
        low, high = float(values.min()), float(values.max())
        y = widen(Axis(label), low, high, Y_SPACE, Y_SPACE) if low < high else Axis(label)
    ticks = tuple(sorted({point.at for point in points}))
    longest, unit = ticks[-1] if ticks else 0, axis.label.split("(")[-1].rstrip(")")
    texts = findings(lines, longest, label, f"at {longest:g} {unit}", lowest=time)
    note, x = (
        "No measurement yet. Run the comparison to see each finished run here.",
        replace(axis, ticks=ticks or None),
    )
    chart = LineChart(f"{label} by {axis.label}", *texts, x, y, drawn, note=note, formula=formula)
    return replace(chart, compare_at_x=False)  # a click selects one point


def _line(points: Sequence[Point], directions: Sequence[str]) -> Line:
    first, means = points[0], np.array([point.mean for point in points])
    worst, best = np.array([point.ties or (point.mean, point.mean) for point in points]).T
    low, high = np.array([(min(point.values), max(point.values)) for point in points]).T
    bands = Band("ties", worst, best, opacity=0.12), Band("seeds", low, high, opacity=0.3)
    drawn = tuple(band for band in bands if np.any(band.low < band.high))
    look, x = (first.method, first.title, first.direction, directions), np.array([p.at for p in points])
    return method_line(*look, x, means, bands=drawn, click_data=first.title)


NOT_MEASURED = "No measurement yet. Press Measure to start."
CROSSES = ("x", "cross", "x-open", "cross-open")  # one per direction
FILLS = ("", "-open", "-dot", "-open-dot")  # suffixes of the symbol, one per direction


@dataclass(frozen=True)
class Published:
    """A number printed in the paper, and the number measured here, if any."""

    method: str  # decides the colour
    title: str
    direction: str
    at: float  # such as the number of bits
    value: float
    measured: float | None = None
    where: str = ""  # name of the cell, such as mAP@100, 32 bits


def with_crosses(curves: LineChart, published: Sequence[Published]) -> LineChart:
    """Return the chart with the published numbers added, as crosses in the colours of the methods."""
    crosses = tuple(
        replace(line, name=f"{line.name}, published", symbol=cycle(CROSSES, direction), listed=False)
        for line, direction, _ in _scatter(published, lambda cross: (cross.at, cross.value))
    )
    ticks = tuple(sorted({*(curves.x.ticks or ()), *(cross.at for cross in published)}))
    x = replace(curves.x, ticks=ticks) if curves.x.ticks or not curves.lines else curves.x
    formula = " · ".join(filter(None, [curves.formula, "crosses: published values"]))
    return replace(curves, lines=curves.lines + crosses, x=x, formula=formula)


def _scatter(
    cells: Sequence[Published], place: Callable[[Published], tuple[float, float]]
) -> Iterator[tuple[Line, int, list[Published]]]:
    """Yield a line of points for each method and direction, with the direction's position and the cells."""
    directions = list(dict.fromkeys(cell.direction for cell in cells))
    lines: dict[tuple[str, str, str], list[Published]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.method, cell.title, cell.direction, cell.at)):
        lines.setdefault((cell.method, cell.title, cell.direction), []).append(cell)
    for look, of_line in lines.items():
        x, y = np.array([place(cell) for cell in of_line]).T
        line = method_line(*look, directions, x, y, dash="solid", width=0)  # no line between the points
        yield line, directions.index(of_line[0].direction), of_line


@chart
def agreement(cells: Sequence[Published], tolerance: float) -> LineChart:
    """Show measured against published numbers; the band around the diagonal is the tolerance."""
    measured = [cell for cell in cells if cell.measured is not None]
    close = sum(abs((cell.measured or 0.0) - cell.value) <= tolerance for cell in measured)
    title = f"{close} of {len(measured)} measured cells lie within {tolerance:g} of the published number"
    lines = []
    if measured:
        ends = np.array([0.0, max(max(cell.value, cell.measured or 0.0) for cell in measured) * 1.05])
        band = Band(f"within {tolerance:g}", ends - tolerance, ends + tolerance)
        lines.append(Line("equal", ends, ends, dash="dot", width=2, bands=(band,), is_data=False))
    else:
        title = "No published number has been measured yet"
    for line, direction, of_line in _scatter(measured, lambda cell: (cell.value, cell.measured or 0.0)):
        points = tuple(cell.where for cell in of_line)
        lines.append(replace(line, symbol=f"{line.symbol}{cycle(FILLS, direction)}", points=points))
    about = f"Scatter chart of {len(measured)} scores, measured against published. {title}."
    axes = Axis("published"), Axis("measured")
    chart = LineChart("measured over published", title, about, *axes, tuple(lines), note=NOT_MEASURED)
    return replace(chart, compare_at_x=False, ends_differ=False)


@chart
def trial_precision(curves: Mapping[str, Sequence[float]], places: Sequence[int]) -> LineChart:
    """Show precision at K of several trials; `curves` maps their names to values at the first K in `places`."""
    lines = tuple(
        Line(name, np.array(places[: len(y)]), np.array(y), cycle(PALETTE, k), symbol="circle")
        for k, (name, y) in enumerate(curves.items())
    )
    title = "Precision at K: no trial is marked"
    if lines:
        deepest = min(line.x[-1] for line in lines)
        best = max(lines, key=lambda line: line.at(deepest))
        title = f"P@{deepest:g} is highest in {best.name}: {number(best.at(deepest))}"
    about = f"Precision at K of {len(lines)} trials, means over folds and directions. {title}."
    axes = Axis("K (number of results)", log=True, ticks=tuple(places)), Axis("precision@K, validation folds")
    note = "Mark trials in the table to compare their precision at K."
    return LineChart("precision of trials", title, about, *axes, lines, ends_differ=False, note=note)
