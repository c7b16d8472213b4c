"""Charts of the trials of a study: the goal along a parameter, history, Pareto front, slices, maps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, BarChart, Bars, Chart, HeatMap, Mark, Row, TraceChart, chart, highest, short_number
from smfh.plots.lines import OPAQUE, Line, LineChart, selected_ring
from smfh.plots.theme import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    ORANGE,
    PALETTE,
    PINK,
    PURPLE,
    RED,
    SEQUENTIAL,
    SKY,
    TAN,
    cycle,
    number,
    plain,
)
from smfh.types import FloatArray, IntArray

NOTE = "No trial is finished yet. Each trial appears here as soon as it is finished."
START, BEST, NEAR = "start (trial 0)", "best trial", "within 1 SE of the best"
KNEE = "knee of the front"
KINDS = {  # name → colour, symbol, size
    BEST: (GREEN, "star", 22),  # below the dot of the same trial
    "finished": (BLUE, "circle", 10),
    "stopped early": (GREY, "x", 12),
    START: (ORANGE, "diamond", 12),
}
MAX_PANELS, GAP = 4, 0.02  # slices side by side, and the share of the width between them
MIN_CONTOUR_DOTS = 6
CONTOUR_CELLS = 60  # along each axis
CONTOUR_REACH = 0.9  # a trial colours 0.9 / √trials of the width and height around it
BEST_SHARE = 4  # the best 1/4 of the trials stands out in parallel coordinates
PART_LOOKS = ((SKY, "solid"), (RED, "dash"), (TAN, "dot"))
GOAL_PIXELS, GOAL_SHARE = 460, 0.36  # height of the goal chart, and the share of its lower panel
NEAR_COLOUR, BAND_COLOUR = "rgba(0, 111, 95, 0.13)", "rgba(99, 81, 212, 0.2)"  # GREEN and BLUE
MIN_SCORE_RANGE = 0.02  # of an axis of scores, so that a single trial has an axis, too
MAX_TICKS, MIN_TICK_GAP = 12, 0.05  # ticks at trials, and the share of the axis between two
CELL_PIXELS = 30  # of a map
BESIDE_NUMBER = 0.36  # cells between the number of a cell and the mark of the best trial or starting point
MAX_LABELLED_CELLS = 100  # a larger map has a colour scale instead of numbers


@dataclass(frozen=True)
class TrialDot:
    """Data of one trial for the charts of a study."""

    number: int
    settings: Mapping[str, float]  # tuned parameters by symbol
    score: float  # of the goal
    measures: Mapping[str, float]  # of which the goal is made, or which stand beside it
    seconds: float  # mean training time
    band: tuple[float, float] | None = None  # the goal on the lowest and highest fold
    stopped_early: bool = False
    is_start: bool = False

    @property
    def kind(self) -> str:
        """Kind of the trial, a key of KINDS."""
        return START if self.is_start else "stopped early" if self.stopped_early else "finished"

    @property
    def label(self) -> str:
        """Number and settings, such as "trial 3: α 2, μ 25"."""
        return f"trial {self.number}: {settings_text(self.settings)}"

    def fits(self, axis: Axis) -> bool:
        """Whether the axis can show the trial's value; a log axis cannot show 0."""
        value = self.settings.get(axis.label)
        return value is not None and (value > 0 or not axis.log)


def settings_text(settings: Mapping[str, float]) -> str:
    """Return settings as text, such as "α 2, μ 25"."""
    return ", ".join(f"{symbol} {short_number(value)}" for symbol, value in settings.items())


def best_dot(dots: Sequence[TrialDot]) -> TrialDot | None:
    """Return the finished trial with the highest score, the first if tied; None if there is none."""
    return max((dot for dot in dots if not dot.stopped_early), key=lambda dot: dot.score, default=None)


def start_dot(dots: Sequence[TrialDot]) -> TrialDot | None:
    """Return trial 0, or None if it is not among the trials."""
    return next((dot for dot in dots if dot.is_start), None)


def _beside_start(best: TrialDot, start: TrialDot | None) -> str:
    """Return the end of a title: the score of the starting point, unless it is the best."""
    return "" if start is None or start is best else f"; start: {number(start.score)}"


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of a TrialChart: axes with a dot for each trial."""

    x: Axis
    y: Axis
    dots: Sequence[TrialDot]
    at: FloatArray  # (dots, 2)
    line: FloatArray | None = None  # (points, 2), such as the best so far
    line_name: str = ""
    contour_label: str = ""  # if set, the score between the dots is drawn as a contour
    knee: int | None = None  # number of the trial that is labelled as the knee of the front

    def traces(self, selected: int | None, is_first: bool) -> Iterator[Any]:
        """Yield the contour, the line, the dots by kind, and a ring around the selected trial."""
        shown = (not dot.stopped_early and dot.fits(self.x) and dot.fits(self.y) for dot in self.dots)
        finished = [k for k, is_shown in enumerate(shown) if is_shown]
        if self.contour_label and len(finished) >= MIN_CONTOUR_DOTS:
            x, y, z = self._contour(finished)
            yield go.Contour(
                x=x,
                y=y,
                z=z,
                connectgaps=False,
                colorscale=SEQUENTIAL,
                contours={"coloring": "heatmap"},
                line={"width": 0},
                colorbar={"title": {"text": plain(self.contour_label), "side": "right"}, "thickness": 14},
                hoverinfo="skip",
            )
        if self.line is not None and len(self.line):
            x, y = self.line.T
            look = {"mode": "lines", "line": {"color": BLUE, "width": 2}, "hoverinfo": "skip"}
            yield go.Scatter(x=x, y=y, name=plain(self.line_name), **look)
        best = best_dot(self.dots)
        for kind, (colour, symbol, size) in KINDS.items():
            if places := [k for k, dot in enumerate(self.dots) if kind in (dot.kind, dot is best and BEST)]:
                x, y = self.at[places].T
                yield go.Scatter(
                    x=x,
                    y=y,
                    mode="markers",
                    name=kind,
                    legendgroup=kind,
                    showlegend=is_first,
                    marker={"color": colour, "symbol": symbol, "size": size},
                    unselected=OPAQUE,
                    customdata=[self.dots[k].number for k in places],
                    text=[plain(self.dots[k].label) for k in places],
                    hovertemplate="%{text}<br>%{y:,.3~f}<extra></extra>",
                )
        if at_knee := [k for k, dot in enumerate(self.dots) if dot.number == self.knee]:
            x, y = self.at[at_knee].T
            yield go.Scatter(
                x=x,
                y=y,
                mode="markers+text",
                name=KNEE,
                marker={"color": PURPLE, "symbol": "hexagon-open", "size": 20, "line": {"width": 3}},
                text=[f"knee: trial {self.knee}"],
                textposition="top center",
                textfont={"color": PURPLE, "size": 14},
                cliponaxis=False,
                unselected=OPAQUE,
                customdata=[self.knee],
                hoverinfo="skip",
            )
        if ringed := [k for k, dot in enumerate(self.dots) if dot.number == selected]:
            x, y = self.at[ringed].T
            yield selected_ring(x, y, selected, legendgroup="selected", showlegend=is_first)

    def _contour(self, finished: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a grid of means of the near trials' scores, by distance; NaN where no trial is near."""
        axes = (self.x, self.y)
        at = np.column_stack(
            [np.log10(values) if axis.log else values for axis, values in zip(axes, self.at[finished].T, strict=True)]
        )
        low, size = at.min(axis=0), np.ptp(at, axis=0)
        at = (at - low) / np.where(size > 0, size, 1)
        cells = np.linspace(0, 1, CONTOUR_CELLS)
        across = (cells[:, None] - at[:, 0]) ** 2  # (cells, trials)
        up = (cells[:, None] - at[:, 1]) ** 2
        reach = CONTOUR_REACH / np.sqrt(len(at))
        squares = (up[:, None, :] + across[None, :, :]) / (reach / 2) ** 2
        weights = np.exp(-squares / 2)
        z = weights @ [self.dots[k].score for k in finished] / np.maximum(weights.sum(axis=2), 1e-300)
        z[squares.min(axis=2) > 4] = np.nan
        x, y = low[:, None] + size[:, None] * cells
        return (10**x if self.x.log else x), (10**y if self.y.log else y), z


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialChart(Chart):
    """Panels side by side with the same trials; custom data of a click is the trial number."""

    panels: tuple[Panel, ...]
    selected: int | None = None
    note: str = NOTE

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(showlegend=True, hovermode="closest")
        width = (1 + GAP) / max(len(self.panels), 1)
        for k, panel in enumerate(self.panels):
            tag, loose = "" if k == 0 else str(k + 1), {"rangemode": "normal"}
            across, up = (
                axis if axis.limits is None else _widen(axis, values)
                for axis, values in zip((panel.x, panel.y), panel.at.T.tolist(), strict=True)
            )
            x = across.layout() | loose | {"domain": [k * width, (k + 1) * width - GAP], "anchor": f"y{tag}"}
            y = up.layout() | loose
            if up.limits is None:
                y |= {"range": _score_range(panel.at[:, 1].tolist())}
            if len(self.panels) > 2 and panel.x.ticks is not None:  # more would overlap in a narrow panel
                x |= {
                    "tickvals": (ends := panel.x.ticks[:: max(len(panel.x.ticks) - 1, 1)]),
                    "ticktext": list(map(short_number, ends)),
                }
            if k:
                y = {"matches": "y", "anchor": f"x{tag}", "showticklabels": False, "title": {"text": ""}}
            figure.update_layout({f"xaxis{tag}": x, f"yaxis{tag}": y})
            if panel.contour_label:
                figure.update_layout(plot_bgcolor=GRID)
            for trace in panel.traces(self.selected, k == 0):
                figure.add_trace(trace.update(xaxis=f"x{tag}", yaxis=f"y{tag}"))

    def rows(self) -> list[Row]:
        """Return a row for every trial."""
        panel = self.panels[0]
        return [
            {"trial": dot.number, **dot.settings, panel.x.label: x, panel.y.label: y, "kind": dot.kind}
            for dot, (x, y) in zip(panel.dots, panel.at.tolist(), strict=True)
        ]


def _values(dots: Sequence[TrialDot], axis: Axis) -> dict[int, float]:
    """Return the values on an axis by trial; a starting point that a log axis cannot show is at its edge."""
    values = {dot.number: dot.settings[axis.label] for dot in dots if dot.fits(axis)}
    edge = min(values.values(), default=1.0) / 2
    return values | {dot.number: edge for dot in dots if dot.is_start and dot.number not in values}


def _score_range(values: Iterable[float]) -> list[float] | None:
    """Return a range of scores for an axis, at least MIN_SCORE_RANGE wide; None without any score."""
    if not (known := list(values)):
        return None
    low, high = min(known), max(known)
    beside = max(0.12 * (high - low), (MIN_SCORE_RANGE - (high - low)) / 2)
    return [low - beside, high + beside]


def _widen(axis: Axis, values: Sequence[float]) -> Axis:
    """Return the axis with limits that include these values and a margin."""
    low, high = min([*values, *(axis.limits or ())]), max([*values, *(axis.limits or ())])
    beside = (high / low) ** 0.03 if axis.log else 0.03 * (high - low) or 1.0
    return replace(axis, limits=(low / beside, high * beside) if axis.log else (low - beside, high + beside))


def _places(points: Sequence[tuple[float, float]]) -> FloatArray:
    return np.array(points, dtype=np.float64).reshape(-1, 2)


@chart
def trial_history(dots: Sequence[TrialDot], label: str, selected: int | None = None, planned: int = 0) -> TrialChart:
    """Show the score of each trial, and the best score so far; the axis has room for the `planned` trials."""
    finished = _places([(dot.number, dot.score) for dot in dots if not dot.stopped_early])
    line = np.column_stack([finished[:, 0], np.maximum.accumulate(finished[:, 1])])
    best, start = best_dot(dots), start_dot(dots)
    title = "History: no trial is finished yet"
    if best is not None:
        title = f"Best {label} so far: {number(best.score)} in trial {best.number}{_beside_start(best, start)}"
    at = _places([(dot.number, dot.score) for dot in dots])
    return TrialChart(
        kind="history of trials",
        title=title,
        description=f"Scatter plot of {len(dots)} trials by number, with the best so far. {title}.",
        panels=(Panel(Axis("trial", limits=(0, max(planned - 1, 1))), Axis(label), dots, at, line, "best so far"),),
        selected=selected,
    )


@chart
def trial_front(
    dots: Sequence[TrialDot],
    across: str,
    label: str,
    others: Mapping[int, float],
    front: Sequence[int],
    selected: int | None = None,
    knee: int | None = None,
    firsts: Mapping[int, float] = MappingProxyType({}),
) -> TrialChart:
    """Show the score over a second objective, `others` (trial number → value), with the Pareto front.

    If the first objective is not the score, `firsts` has its values. The trial `knee` is labelled as the knee
    of the front.
    """
    drawn = [dot for dot in dots if dot.number in others]
    at = _places([(others[dot.number], firsts.get(dot.number, dot.score)) for dot in drawn])
    on_front = at[np.isin([dot.number for dot in drawn], front)]
    line = on_front[np.argsort(on_front[:, 0], kind="stable")]
    title = "Pareto front: no trial is finished yet"
    if len(front):
        count = "1 trial is" if len(front) == 1 else f"{len(front)} trials are"
        title = f"{count} on the Pareto front: no other trial is better in both {label} and {across}"
    return TrialChart(
        kind="front of trials",
        title=title,
        description=f"Scatter plot of {len(drawn)} trials, {label} over {across}. {title}."
        + ("" if knee is None else f" The knee is trial {knee}."),
        panels=(Panel(Axis(across), Axis(label), drawn, at, line, "Pareto front", knee=knee),),
        selected=selected,
    )


@chart
def trial_contour(
    dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, selected: int | None = None
) -> TrialChart:
    """Show the score over two parameters as a contour, interpolated between the trials."""
    x, y = _values(dots, across), _values(dots, up)
    drawn = [dot for dot in dots if dot.number in x and dot.number in y]
    best = best_dot(drawn)
    title = f"{across.label} and {up.label}: no trial is finished yet"
    if best is not None:
        where = settings_text({axis.label: best.settings[axis.label] for axis in (across, up)})
        title = f"{label} is highest at {where}: {number(best.score)}"
    at = _places([(x[dot.number], y[dot.number]) for dot in drawn])
    return TrialChart(
        kind="contour of trials",
        title=title,
        description=f"Contours of {label} over {across.label} and {up.label}. {title}.",
        panels=(Panel(across, up, drawn, at, contour_label=label),),
        selected=selected,
    )


@chart
def trial_slices(dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, selected: int | None = None) -> TrialChart:
    """Show the score over each parameter in its own panel, for the first MAX_PANELS of `axes`."""
    best, panels = best_dot(dots), []
    title = "Slices: no trial is finished yet"
    if best is not None:
        title = f"{label} over each parameter; the best trial has {settings_text(best.settings)}"
    for axis in axes[:MAX_PANELS]:
        values = _values(dots, axis)
        drawn = [dot for dot in dots if dot.number in values]
        at = _places([(values[dot.number], dot.score) for dot in drawn])
        panels.append(Panel(axis, Axis(label), drawn, at))
    return TrialChart(
        kind="slices of trials",
        title=title,
        description=f"{len(panels)} scatter plots of {label} over a parameter. {title}.",
        panels=tuple(panels),
        selected=selected,
    )


@chart
def trial_lines(dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, selected: int | None = None) -> TraceChart:
    """Show finished trials in parallel coordinates: a line per trial across a scale per parameter."""
    along = [_values(dots, axis) for axis in axes]
    drawn = [dot for dot in dots if not dot.stopped_early and all(dot.number in values for values in along)]
    scales, traces, ends = (*axes, Axis(label)), [], []
    title = "Parallel coordinates: no trial is finished yet"
    values = np.array([[*(values[dot.number] for values in along), dot.score] for dot in drawn])
    if drawn:
        title = f"{len(drawn)} trials, one line each"
        columns = zip(scales, values.T, strict=True)
        placed = np.column_stack([np.log10(column) if axis.log else column for axis, column in columns])
        low, high = placed.min(axis=0), placed.max(axis=0)
        heights = (placed - low) / np.where(high > low, high - low, 1)
        order = np.argsort(-values[:, -1], kind="stable").tolist()
        best = -(-len(order) // BEST_SHARE)
        start = [k for k, dot in enumerate(drawn) if dot.is_start]
        chosen = [k for k, dot in enumerate(drawn) if dot.number == selected]
        looks = {
            "other trials": (order[best:], GREY, 1),
            "best quarter": (order[:best], BLUE, 2.5),
            "selected": (chosen, PINK, 7),
            START: (start, ORANGE, 3),
            BEST: (order[:1], GREEN, 3),
        }
        for name, (which, colour, width) in looks.items():
            if which:  # all lines of a colour are one trace, with a gap after each line
                repeated = [drawn[k] for k in which for _ in range(len(scales) + 1)]
                traces.append(
                    go.Scatter(
                        x=[*range(len(scales)), None] * len(which),
                        y=[height for k in which for height in (*heights[k].tolist(), None)],
                        mode="lines+markers",
                        name=name,
                        line={"color": colour, "width": width},
                        marker={"color": colour, "size": 7},
                        unselected=OPAQUE,
                        customdata=[dot.number for dot in repeated],
                        text=[plain(f"{dot.label}: {number(dot.score)}") for dot in repeated],
                        hovertemplate="%{text}<extra></extra>",
                    )
                )
        for k, column in enumerate(values.T):
            for height, value in ((-0.08, column.min()), (1.08, column.max())):
                text = {"text": short_number(value.item()), "showarrow": False, "font": {"size": 12}}
                ends.append({"x": k, "y": height, **text})
    wrapped = [plain(axis.label).replace(" ", "<br>") for axis in scales]  # Plotly hides names that overlap
    names = {"tickvals": list(range(len(scales))), "ticktext": wrapped, "tickangle": 0}
    across = {"title": {"text": "parameters and score"}, "range": [-0.3, len(scales) - 0.7]}
    up = {"title": {"text": "lowest to highest"}, "showticklabels": False, "range": [-0.12, 1.12]}
    layout = {"xaxis": names | across, "yaxis": up, "showlegend": bool(drawn), "hovermode": "closest"}
    return TraceChart(
        kind="parallel trials",
        title=title,
        description=f"Parallel coordinates over {', '.join(axis.label for axis in scales)}. {title}.",
        layout={**layout, "annotations": ends},
        traces=traces,
        table=[
            {"trial": dot.number} | {axis.label: value for axis, value in zip(scales, line, strict=True)}
            for dot, line in zip(drawn, values.tolist(), strict=True)
        ],
        note=NOTE,
    )


@chart
def parameter_importance(shares: Mapping[str, float], dots: Sequence[TrialDot] = ()) -> BarChart:
    """Show the share of the variance that each parameter explains; `shares` is symbol → share.

    The names say the value of each parameter at the starting point and in the best of `dots`.
    """
    ends = [("start", start_dot(dots)), ("best", best_dot(dots))]
    names = [
        ", ".join([name, *(f"{what} {short_number(dot.settings[name])}" for what, dot in ends if dot is not None)])
        for name in shares
    ]
    title = "Importance: too few trials yet"
    if shares:
        first = max(shares, key=shares.__getitem__)
        title = f"{first} explains {shares[first]:.0%} of the differences between trials"
    return BarChart(
        kind="importance of parameters",
        title=title,
        description=f"Bar chart of {len(shares)} parameters. {title}.",
        along=Axis("parameter", names=tuple(names)),
        value=Axis("share of the variance (fANOVA)", limits=(0, 1)),
        series=(Bars("share", np.arange(len(shares)), np.array(list(shares.values())), BLUE),),
        horizontal=True,
        note="Importance needs at least eight finished trials with different scores.",
    )


@chart
def trial_precision(curves: Mapping[str, Sequence[float]], places: Sequence[int]) -> LineChart:
    """Show precision at K of several trials; `curves` maps each to its values at the first of `places`."""
    lines = tuple(
        Line(name, np.array(places[: len(y)]), np.array(y), cycle(PALETTE, k), symbol="circle")
        for k, (name, y) in enumerate(curves.items())
    )
    title = "Precision at K: no trial is marked"
    if lines:
        deepest = min(line.x[-1] for line in lines)
        best = max(lines, key=lambda line: line.at(deepest))
        title = f"P@{deepest:g} is highest in {best.name}: {number(best.at(deepest))}"
    return LineChart(
        kind="precision of trials",
        title=title,
        description=f"Precision at K of {len(lines)} trials, means over folds and directions. {title}.",
        x=Axis("K (number of results)", log=True, ticks=tuple(places)),
        y=Axis("precision@K, validation folds"),
        lines=lines,
        note="Mark trials in the table to compare their precision at K.",
        ends_differ=False,
    )


@chart
def sweep_curve(
    dots: Sequence[TrialDot],
    axis: Axis,
    label: str,
    near: tuple[float, float] | None = None,
    marks: Sequence[Mark] = (),
    selected: int | None = None,
    others: Mapping[str, Sequence[TrialDot]] = MappingProxyType({}),
) -> TraceChart:
    """Show the goal along a parameter with its fold band, and below it the measures it is made of.

    Parameters
    ----------
    label
        Name of the goal.
    near
        The values within one standard error of the best, which are shaded.
    marks
        Values with a vertical line, such as the paper's.
    others
        Trials of other studies by name, drawn over the goal.
    """
    drawn, best, start = _along(dots, axis), best_dot(dots), start_dot(dots)
    title, traces, shapes, heights = f"{axis.label}: no trial is finished yet", [], [], None
    if drawn and best is not None:
        title = f"Highest {label} at {settings_text(best.settings)}: {number(best.score)}"
        title += _beside_start(best, start)
        axis = _fit_axis(axis, [*drawn, *(dot for some in others.values() for dot in _along(some, axis))], start)
        traces = [*_other_traces(others, axis), *_goal_traces(drawn, axis, label, best, start)]
        every = [dot for dots in (drawn, *others.values()) for dot in dots]
        heights = _score_range(y for dot in every for y in (dot.score, *(dot.band or ())))
        if ringed := [dot for dot in drawn if dot.number == selected]:
            at = [dot.settings[axis.label] for dot in ringed]
            traces.append(selected_ring(at, [dot.score for dot in ringed], selected))
        names = [name for name in drawn[0].measures if name != label]
        for name, (colour, dash) in zip(names, PART_LOOKS, strict=False):
            values, line = ([dot.measures[name] for dot in drawn], {"color": colour, "dash": dash, "width": 1.5})
            traces.append(_curve(name, drawn, axis, values, line).update(yaxis="y2", marker={"size": 5}))
        tall = {"y0": 0, "y1": 1, "yref": "y domain", "showlegend": True}
        for mark in marks:
            look = {"name": plain(mark.label), "line": {"color": GREY, "dash": "dot"}}
            shapes.append({"type": "line", "x0": mark.at, "x1": mark.at, **tall, **look})
        if near is not None:
            look = {"name": NEAR, "fillcolor": NEAR_COLOUR, "line": {"width": 0}, "layer": "below"}
            shapes.append({"type": "rect", "x0": near[0], "x1": near[1], **tall, **look})
    loose = {"type": "linear", "rangemode": "normal"}
    return TraceChart(
        kind="goal along a parameter",
        title=title,
        description=f"The {label} along {axis.label} with its fold band, and its parts. {title}.",
        layout={
            "xaxis": axis.layout() | {"anchor": "y2"},
            "yaxis": {"title": {"text": plain(label)}, "domain": [GOAL_SHARE + 0.06, 1], "range": heights, **loose},
            "yaxis2": {"title": {"text": "measures"}, "domain": [0, GOAL_SHARE - 0.04], **loose},
            "hovermode": "closest",
            "showlegend": bool(traces),
            "shapes": shapes,
        },
        traces=traces,
        table=[
            {
                "trial": dot.number,
                axis.label: dot.settings[axis.label],
                label: dot.score,
                "lowest fold": None if dot.band is None else dot.band[0],
                "highest fold": None if dot.band is None else dot.band[1],
                **dot.measures,
                "kind": dot.kind,
            }
            for dot in drawn
        ],
        pixels=GOAL_PIXELS,
        note=NOTE,
    )


def _goal_traces(
    dots: Sequence[TrialDot], axis: Axis, label: str, best: TrialDot, start: TrialDot | None
) -> Iterator[Any]:
    """Yield the band over folds, a line at the starting score, the best and starting points, and a goal."""
    low, high = axis.limits or (0.0, 1.0)
    bands = [dot.band for dot in dots if dot.band is not None]
    if len(bands) == len(dots) > 1 and len(best.settings) == 1:
        x = [dot.settings[axis.label] for dot in dots]
        y = [top for _, top in bands] + [bottom for bottom, _ in reversed(bands)]
        look = {"fill": "toself", "fillcolor": BAND_COLOUR, "line": {"width": 0}, "mode": "lines"}
        yield go.Scatter(x=x + x[::-1], y=y, name="lowest to highest fold", hoverinfo="skip", **look)
    quiet = {"showlegend": False, "hoverinfo": "skip"}
    if start is not None:
        line = {"color": ORANGE, "dash": "dot", "width": 2}
        yield go.Scatter(x=[low, high], y=[start.score] * 2, name=START, mode="lines", line=line, **quiet)
    at = start.settings[axis.label] if start is not None and start.fits(axis) else low
    later = [dot.score for dot in dots if dot.settings[axis.label] > at]
    falls = start is not None and later and later[0] < start.score  # its label lies where the line does not
    below = "bottom left" if falls and at > low else "bottom right"
    for dot, kind, place in ((best, BEST, "top center"), (start, START, below)):
        if dot is not None:
            colour, symbol, size = KINDS[kind]
            yield go.Scatter(
                x=[dot.settings[axis.label] if dot.fits(axis) else low],
                y=[dot.score],
                mode="markers+text",
                marker={"color": colour, "symbol": symbol, "size": size},
                text=f"{kind.split()[0]} {number(dot.score)}",
                textposition=place,
                textfont={"color": colour, "size": 14},
                cliponaxis=False,
                **quiet,
            )
    yield _curve(label, dots, axis, [dot.score for dot in dots], {"color": BLUE, "width": 4})


def _other_traces(others: Mapping[str, Sequence[TrialDot]], axis: Axis) -> Iterator[Any]:
    """Yield the goal of other studies; their trials cannot be clicked."""
    for k, (name, dots) in enumerate(others.items(), start=PALETTE.index(PURPLE)):
        placed, line = _along(dots, axis), {"color": cycle(PALETTE, k), "width": 3}
        yield _curve(name, placed, axis, [dot.score for dot in placed], line).update(customdata=None)


def _curve(
    name: str, dots: Sequence[TrialDot], axis: Axis, values: Sequence[float], line: Mapping[str, Any]
) -> go.Scatter:
    """Return a point for each trial, joined if no other parameter varies; a click gives its number."""
    return go.Scatter(
        x=[dot.settings[axis.label] for dot in dots],
        y=values,
        name=plain(name),
        mode="lines+markers" if all(len(dot.settings) == 1 for dot in dots) else "markers",
        line=line,
        marker={"size": 9},
        unselected=OPAQUE,
        customdata=[dot.number for dot in dots],
        text=[plain(dot.label) for dot in dots],
        hovertemplate="%{text}: %{y:.3f}",
    )


def _along(dots: Sequence[TrialDot], axis: Axis) -> list[TrialDot]:
    """Return the finished trials that the axis can show, sorted by the parameter of the axis."""
    placed = [dot for dot in dots if not dot.stopped_early and dot.fits(axis)]
    return sorted(placed, key=lambda dot: dot.settings[axis.label])


def _fit_axis(axis: Axis, dots: Sequence[TrialDot], start: TrialDot | None) -> Axis:
    """Return the axis, widened to all trials; if there are few, their values are the ticks."""
    values = sorted({float(short_number(dot.settings[axis.label])) for dot in dots})
    limits = _widen(axis, values).limits or (0.0, 1.0)
    if len(values) > MAX_TICKS:
        return replace(axis, limits=limits)
    first = [float(short_number(start.settings[axis.label]))] if start is not None and start.fits(axis) else []
    gap, ticks = MIN_TICK_GAP * (axis.place(limits[1]) - axis.place(limits[0])), list[float]()
    for value in [*first, *values]:  # the starting point has a tick in any case
        if all(abs(axis.place(value) - axis.place(tick)) >= gap for tick in ticks):
            ticks.append(value)
    return replace(axis, limits=limits, ticks=tuple(sorted(ticks)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepMap(HeatMap):
    """A heat map with a cell for each pair of values; custom data of a click is the trial number."""

    numbers: IntArray  # (rows, columns); −1 where there is no trial
    start: tuple[float, float] | None = None  # column and row of the starting point, also between cells
    selected: int | None = None
    note: str = NOTE

    @property
    def height(self) -> int:
        return 160 + CELL_PIXELS * max(len(self.values), 6)

    def _draw(self, figure: go.Figure) -> None:
        super()._draw(figure)
        figure.update_layout(yaxis_autorange=True)  # values grow upwards
        down, across = np.nonzero(self.numbers >= 0)
        if len(down) == 0:
            return
        has_labels = len(down) <= MAX_LABELLED_CELLS
        figure.update_traces(showscale=not has_labels, selector={"type": "heatmap"})
        values = self.values[down, across]
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        figure.add_scatter(
            x=across,
            y=down,
            mode="markers+text" if has_labels else "markers",
            text=[f"{value:.2f}".lstrip("0") for value in values],
            textfont={"size": 12, "color": ["#000000" if v > middle else "#FFFFFF" for v in values]},
            marker={"size": 24, "opacity": 0.01, "color": GREY, "symbol": "square"},
            unselected={"marker": {"opacity": 0.01}},
            customdata=self.numbers[down, across].tolist(),
            hoverinfo="skip",
            showlegend=False,
        )
        row, column = highest(self.values)
        places = {BEST: (column, row)} | ({START: self.start} if self.start is not None else {})
        for kind, (at, height) in places.items():
            colour, symbol, _ = KINDS[kind]
            marker = {"symbol": symbol, "size": 13, "color": colour, "line": {"width": 1.5, "color": "#FFFFFF"}}
            look = {"mode": "markers", "name": kind, "marker": marker, "hoverinfo": "skip"}
            beside = 0 if at % 1 or height % 1 else -BESIDE_NUMBER if kind == BEST else BESIDE_NUMBER
            figure.add_scatter(x=[at + beside], y=[height], unselected=OPAQUE, **look)
        figure.update_layout(showlegend=True)
        y, x = np.nonzero(self.numbers == (-2 if self.selected is None else self.selected))
        if len(x):
            square = {"symbol": "square-open", "size": CELL_PIXELS}
            figure.add_trace(selected_ring(x, y, self.selected, marker=square))


@chart
def sweep_map(dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, selected: int | None = None) -> SweepMap:
    """Show the score of each pair of values; mark the starting point (trial 0), also between cells."""
    swept = [dot for dot in dots if not dot.stopped_early and not dot.is_start]
    columns, rows = (sorted({dot.settings[axis.label] for dot in swept}) for axis in (across, up))
    values = np.full((len(rows), len(columns)), np.nan)
    numbers = np.full(values.shape, -1)
    for dot in dots:
        column, row = dot.settings[across.label], dot.settings[up.label]
        if not dot.stopped_early and column in columns and row in rows:
            values[rows.index(row), columns.index(column)] = dot.score
            numbers[rows.index(row), columns.index(column)] = dot.number
    title, start = f"{across.label} × {up.label}: no trial is finished yet", start_dot(dots)
    if values.size:
        row, column = highest(values)
        where = settings_text({across.label: columns[column], up.label: rows[row]})
        title = f"{label} is highest at {where}: {number(values[row, column])}"
        title += "" if start is None else f"; start: {number(start.score)}"
    return SweepMap(
        kind="map of two parameters",
        title=title,
        description=f"Heat map of {label} over {across.label} and {up.label}. {title}.",
        down=Axis(up.label, names=tuple(map(short_number, rows))),
        across=Axis(across.label, names=tuple(map(short_number, columns))),
        value=Axis(label),
        values=values,
        numbers=numbers,
        start=None if start is None or not values.size else (_cell(start, across, columns), _cell(start, up, rows)),
        selected=selected,
    )


def _cell(dot: TrialDot, axis: Axis, values: Sequence[float]) -> float:
    """Return the place of a trial among the values of a map, between two cells or at the edge."""
    value = dot.settings[axis.label]
    if not dot.fits(axis):
        return 0.0
    return float(np.interp(axis.place(value), [axis.place(one) for one in values], np.arange(len(values))))
