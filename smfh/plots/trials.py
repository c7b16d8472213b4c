"""Charts of the trials of a study: goal along a parameter, history, Pareto front, slices, maps."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, HeatMap, Mark, TraceChart, chart, highest, short_number
from smfh.plots.lines import OPAQUE, selected_ring, widen
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
from smfh.types import FloatArray

NOTE = "No trial is finished yet. Each trial appears here as soon as it is finished."
START, BEST, NEAR = "start (trial 0)", "best trial", "within 1 SE of the best"
KINDS = {  # name → colour, symbol, size
    BEST: (GREEN, "star", 22),  # below the dot of the same trial
    "finished": (BLUE, "circle", 10),
    "stopped early": (GREY, "x", 12),
    START: (ORANGE, "diamond", 12),
}
MAX_PANELS, GAP = 4, 0.02  # slices side by side, and the share of the width between them
CELL_PIXELS, NAME_WIDTH = 30, 12  # of a map; characters in a line of an axis name of parallel coordinates
NO_HOVER = {"hoverinfo": "skip", "unselected": OPAQUE, "cliponaxis": False}


@dataclass(frozen=True)
class TrialDot:
    """A trial as a point in the charts of a study."""

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
        """The trial's kind in the charts, a key of KINDS."""
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


def _score_text(best: TrialDot, dots: Sequence[TrialDot], place: str = "") -> str:
    """Return the end of a title: the best score and, unless it is the best, that of the starting point."""
    start, text = start_dot(dots), f"{number(best.score)}{place}"
    return text if start is None or start is best else f"{text}; start: {number(start.score)}"


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of a chart: two axes with a dot for each trial."""

    x: Axis
    y: Axis
    dots: Sequence[TrialDot]
    at: FloatArray  # (dots, 2)

    def traces(self, selected: int | None, is_first: bool) -> Iterator[Any]:
        """Yield the dots by kind, and a ring around the selected trial; a click gives the trial's number."""
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
        for dot, (x, y) in zip(self.dots, self.at.tolist(), strict=True):
            if dot.number == selected:
                yield selected_ring([x], [y], selected, legendgroup="selected", showlegend=is_first)


def _chart_of(
    kind: str,
    title: str,
    about: str,
    panels: Sequence[Panel],
    selected: int | None,
    below: Sequence[Any] = (),
    above: Sequence[Any] = (),
) -> TraceChart:
    """Return a chart of panels side by side; the first also has the traces `below` and `above` its dots."""
    layout: dict[str, Any] = {"showlegend": True, "hovermode": "closest"}
    traces, width = list(below), (1 + GAP) / max(len(panels), 1)
    for k, panel in enumerate(panels):
        tag, loose = "" if k == 0 else str(k + 1), {"rangemode": "normal"}
        across, up = (
            axis if axis.limits is None else _widen(axis, values)
            for axis, values in zip((panel.x, panel.y), panel.at.T.tolist(), strict=True)
        )
        x = across.layout() | loose | {"domain": [k * width, (k + 1) * width - GAP], "anchor": f"y{tag}"}
        y = up.layout() | loose | ({} if up.limits else {"range": _score_range(panel.at[:, 1].tolist())})
        if len(panels) > 2:
            x |= narrow_ticks(across)
        if k:
            y = {"matches": "y", "anchor": f"x{tag}", "showticklabels": False, "title": {"text": ""}}
        layout |= {f"xaxis{tag}": x, f"yaxis{tag}": y}
        traces += [trace.update(xaxis=f"x{tag}", yaxis=f"y{tag}") for trace in panel.traces(selected, k == 0)]
    return TraceChart(
        kind=kind,
        title=title,
        description=f"{about}. {title}.",
        layout=layout,
        traces=[*traces, *above],
        table=[
            {"trial": dot.number, **dot.settings, panels[0].x.label: x, panels[0].y.label: y, "kind": dot.kind}
            for dot, (x, y) in zip(panels[0].dots, panels[0].at.tolist(), strict=True)
        ],
        note=NOTE,
    )


def narrow_ticks(axis: Axis) -> dict[str, Any]:
    """Return two ticks away from the ends of an axis, so that labels of narrow panels do not overlap."""
    if axis.limits is None:
        return {}
    low, high = map(axis.place, axis.limits)
    places = [low + share * (high - low) for share in (0.15, 0.85)]
    values = [float(f"{10**place if axis.log else place:.1g}") for place in places]
    return {"tickvals": values, "ticktext": list(map(short_number, values))}


def _values(dots: Sequence[TrialDot], axis: Axis) -> dict[int, float]:
    """Return the trials' values on an axis; a starting point of 0 is drawn at the edge of a log axis."""
    values = {dot.number: dot.settings[axis.label] for dot in dots if dot.fits(axis)}
    edge = min(values.values(), default=1.0) / 2
    return values | {dot.number: edge for dot in dots if dot.is_start and dot.number not in values}


def _score_range(scores: Sequence[float]) -> list[float] | None:
    """Return a range for an axis of scores, at least 0.02 wide, so that a single trial has an axis, too."""
    if not scores:
        return None
    low, high = min(scores), max(scores)
    beside = max(0.12 * (high - low), (0.02 - (high - low)) / 2)
    return [low - beside, high + beside]


def _widen(axis: Axis, values: Sequence[float]) -> Axis:
    """Return the axis with limits that include these values and a margin."""
    ends = [*values, *(axis.limits or ())]
    return widen(axis, min(ends), max(ends), 0.03, 0.03)


def _places(points: Iterable[tuple[float, float]]) -> FloatArray:
    return np.array(list(points), dtype=np.float64).reshape(-1, 2)


def _line(at: FloatArray, name: str) -> list[go.Scatter]:
    """Return a line through these points, in a list; an empty list if there are none."""
    look = {"mode": "lines", "line": {"color": BLUE, "width": 2}, "hoverinfo": "skip"}
    return [go.Scatter(x=at[:, 0], y=at[:, 1], name=name, **look)] if len(at) else []


@chart
def trial_history(dots: Sequence[TrialDot], label: str, selected: int | None = None, planned: int = 0) -> TraceChart:
    """Show the score of each trial, and the best score so far; the axis has room for the `planned` trials."""
    finished = _places((dot.number, dot.score) for dot in dots if not dot.stopped_early)
    finished[:, 1] = np.maximum.accumulate(finished[:, 1])
    best, title = best_dot(dots), "History: no trial is finished yet"
    if best is not None:
        title = f"Best {label} so far: {_score_text(best, dots, f' in trial {best.number}')}"
    across, at = Axis("trial", limits=(0, max(planned - 1, 1))), _places((dot.number, dot.score) for dot in dots)
    about = f"Scatter plot of {len(dots)} trials by trial number, with the best score so far"
    line = _line(finished, "best so far")
    return _chart_of("history of trials", title, about, [Panel(across, Axis(label), dots, at)], selected, line)


@chart
def trial_front(
    dots: Sequence[TrialDot],
    across: str,
    up: str,
    places: Mapping[int, tuple[float, float]],
    front: Sequence[int],
    selected: int | None = None,
    knee: int | None = None,
) -> TraceChart:
    """Show two objectives of each trial, with the trials on the Pareto front; `places` maps numbers to x and y.

    The trial `knee` is labelled as the knee of the front.
    """
    drawn = [dot for dot in dots if dot.number in places]
    line = _places(sorted(places[number] for number in front))
    title = "Pareto front: no trial is finished yet"
    if len(front):
        count = "1 trial is" if len(front) == 1 else f"{len(front)} trials are"
        title = f"{count} on the Pareto front: no other trial is better in both {up} and {across}"
    about, labelled = f"Scatter plot of {len(drawn)} trials, {up} over {across}", []
    if knee is not None:
        about += f", with the knee of the front at trial {knee}"
        hexagon = {"symbol": "hexagon-open", "size": 20, "line": {"width": 3}}
        mark = _labelled(places[knee], f"knee: trial {knee}", PURPLE, "top center", hexagon)
        labelled.append(mark.update(name="knee of the front", customdata=[knee]))
    panel = Panel(Axis(across), Axis(up), drawn, _places(places[dot.number] for dot in drawn))
    return _chart_of("front of trials", title, about, [panel], selected, _line(line, "Pareto front"), labelled)


def _labelled(at: tuple[float, float], text: str, colour: str, place: str, marker: Mapping[str, Any]) -> go.Scatter:
    """Return one marker with a text beside it, in the same colour."""
    return go.Scatter(
        x=[at[0]],
        y=[at[1]],
        mode="markers+text",
        marker={"color": colour, **marker},
        text=text,
        textposition=place,
        textfont={"color": colour, "size": 14},
        **NO_HOVER,
    )


@chart
def trial_contour(
    dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, selected: int | None = None
) -> TraceChart:
    """Show the score over two parameters as a contour, interpolated between the trials."""
    x, y = _values(dots, across), _values(dots, up)
    drawn = [dot for dot in dots if dot.number in x and dot.number in y]
    best, title = best_dot(drawn), f"{across.label} and {up.label}: no trial is finished yet"
    if best is not None:
        where = settings_text({axis.label: best.settings[axis.label] for axis in (across, up)})
        title = f"Highest {label} at {where}: {number(best.score)}"
    panel = Panel(across, up, drawn, _places((x[dot.number], y[dot.number]) for dot in drawn))
    axes, below = (across, up), []
    finished = [not dot.stopped_early and all(map(dot.fits, axes)) for dot in drawn]
    if sum(finished) >= 6:  # the mean score of the near trials, weighted by distance; none where no trial is near
        at, low, size = _scaled(axes, panel.at[finished])
        cells = np.linspace(0, 1, 60)
        columns, rows = ((cells[:, None] - places) ** 2 for places in at.T)  # (cells, trials)
        reach = 0.9 / np.sqrt(len(at))  # a trial colours this share of the width and height around it
        squares = (rows[:, None, :] + columns[None, :, :]) / (reach / 2) ** 2
        weights = np.exp(-squares / 2)
        scores = np.array([dot.score for dot in drawn])[finished]
        z = weights @ scores / np.maximum(weights.sum(axis=2), 1e-300)
        z[squares.min(axis=2) > 4] = np.nan
        lines = zip(axes, low[:, None] + size[:, None] * cells, strict=True)
        ends = [10**line if axis.log else line for axis, line in lines]
        look = {"contours": {"coloring": "heatmap"}, "line": {"width": 0}, "colorscale": SEQUENTIAL}
        small = {"size": 12}
        scale = {"title": {"text": plain(label), "side": "right", "font": small}, "tickfont": small, "thickness": 14}
        below.append(go.Contour(x=ends[0], y=ends[1], z=z, connectgaps=False, hoverinfo="skip", colorbar=scale, **look))
    about = f"Contours of {label} over {across.label} and {up.label}"
    drawing = _chart_of("contour of trials", title, about, [panel], selected, below)
    return replace(drawing, layout={**drawing.layout, "plot_bgcolor": GRID})


def _scaled(axes: Sequence[Axis], values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values (trials, axes) from 0 to 1 on each axis, the lowest place on each axis, and the range."""
    columns = zip(axes, values.T, strict=True)
    places = np.column_stack([np.log10(column) if axis.log else column for axis, column in columns])
    low, size = places.min(axis=0), np.ptp(places, axis=0)
    return (places - low) / np.where(size > 0, size, 1), low, size


@chart
def trial_slices(dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, selected: int | None = None) -> TraceChart:
    """Show the score over each parameter in its own panel, for the first MAX_PANELS of `axes`."""
    best, panels = best_dot(dots), []
    found = "no trial is finished yet" if best is None else f"the best trial has {settings_text(best.settings)}"
    title = f"{label} over each parameter: {found}"
    for axis in axes[:MAX_PANELS]:
        values = _values(dots, axis)
        drawn = [dot for dot in dots if dot.number in values]
        panels.append(Panel(axis, Axis(label), drawn, _places((values[dot.number], dot.score) for dot in drawn)))
    about = f"{len(panels)} scatter plots of {label} over a parameter"
    return _chart_of("slices of trials", title, about, panels, selected)


@chart
def trial_lines(dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, selected: int | None = None) -> TraceChart:
    """Show finished trials in parallel coordinates: a line per trial across a scale per parameter."""
    along = [_values(dots, axis) for axis in axes]
    drawn = [dot for dot in dots if not dot.stopped_early and all(dot.number in values for values in along)]
    scales, traces, ends = (*axes, Axis(label)), list[Any](), list[Any]()
    values = np.array([[*(values[dot.number] for values in along), dot.score] for dot in drawn])
    if drawn:
        heights, _, _ = _scaled(scales, values)
        order = np.argsort(-values[:, -1], kind="stable").tolist()
        best = -(-len(order) // 4)
        looks = {
            "other trials": (order[best:], GREY, 1),
            "best quarter": (order[:best], BLUE, 2.5),
            "selected": ([k for k, dot in enumerate(drawn) if dot.number == selected], PINK, 7),
            START: ([k for k, dot in enumerate(drawn) if dot.is_start], ORANGE, 3),
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
        look = {"showarrow": False, "font": {"size": 12}}
        for k, column in enumerate(values.T.tolist()):
            ends += [{"x": k, "y": -0.08, "text": short_number(min(column)), **look}]
            ends += [{"x": k, "y": 1.08, "text": short_number(max(column)), **look}]
    # Plotly hides names that overlap
    wrapped = ["<br>".join(map(plain, textwrap.wrap(axis.label, NAME_WIDTH))) for axis in scales]
    names = {"tickvals": list(range(len(scales))), "ticktext": wrapped, "tickangle": 0}
    across = {"title": {"text": "parameters and score"}, "range": [-0.3, len(scales) - 0.7]}
    up = {"title": {"text": "lowest to highest"}, "showticklabels": False, "range": [-0.12, 1.12]}
    layout = {"xaxis": names | across, "yaxis": up, "showlegend": bool(drawn), "hovermode": "closest"}
    title = f"{len(drawn)} trials, one line each" if drawn else "Parallel coordinates: no trial is finished yet"
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

    Values within one standard error of the best, `near`, are shaded; `marks` are vertical lines. `others` are
    trials of other studies by name, drawn over the goal; they cannot be clicked.
    """
    drawn, best, start = _along(dots, axis), best_dot(dots), start_dot(dots)
    title, traces, heights = f"{axis.label}: no trial is finished yet", list[Any](), None
    if drawn and best is not None:
        title = f"Highest {label} at {settings_text(best.settings)}: {_score_text(best, dots)}"
        overlaid = {name: _along(some, axis) for name, some in others.items()}
        every = [*drawn, *(dot for some in overlaid.values() for dot in some)]
        axis = _fit_axis(axis, every, start)
        heights = _score_range([y for dot in every for y in (dot.score, *(dot.band or ()))])
        for k, (name, some) in enumerate(overlaid.items(), start=PALETTE.index(PURPLE)):
            look = {"color": cycle(PALETTE, k), "width": 3}
            traces.append(_curve(name, some, axis, [dot.score for dot in some], look).update(customdata=None))
        traces += _goal_traces(drawn, axis, label, best, start)
        ringed = [dot for dot in drawn if dot.number == selected]
        traces += [selected_ring([dot.settings[axis.label]], [dot.score], selected) for dot in ringed]
        names = [name for name in drawn[0].measures if name != label]
        for name, colour, dash in zip(names, (SKY, RED, TAN), ("solid", "dash", "dot"), strict=False):
            values, look = [dot.measures[name] for dot in drawn], {"color": colour, "dash": dash, "width": 1.5}
            traces.append(_curve(name, drawn, axis, values, look).update(yaxis="y2", marker={"size": 5}))
    tall = {"y0": 0, "y1": 1, "yref": "y domain", "showlegend": True}
    dotted = {"type": "line", "line": {"color": GREY, "dash": "dot"}, **tall}
    shapes = [{"x0": mark.at, "x1": mark.at, "name": plain(mark.label), **dotted} for mark in marks]
    if near is not None:
        shade = {"type": "rect", "fillcolor": "rgba(0, 111, 95, 0.13)", "line": {"width": 0}, "layer": "below", **tall}
        shapes.append({"x0": near[0], "x1": near[1], "name": NEAR, **shade})
    loose = {"type": "linear", "rangemode": "normal"}
    return TraceChart(
        kind="goal along a parameter",
        title=title,
        description=f"The {label} by {axis.label}, with its range over the folds, and the measures that it combines. "
        f"{title}.",
        layout={
            "xaxis": axis.layout() | {"anchor": "y2"},
            "yaxis": {"title": {"text": plain(label)}, "domain": [0.42, 1], "range": heights, **loose},
            "yaxis2": {"title": {"text": "measures"}, "domain": [0, 0.32], **loose},
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
                **dict(zip(("lowest fold", "highest fold"), dot.band or (None, None), strict=True)),
                **dot.measures,
                "kind": dot.kind,
            }
            for dot in drawn
        ],
        pixels=460,
        note=NOTE,
    )


def _goal_traces(
    dots: Sequence[TrialDot], axis: Axis, label: str, best: TrialDot, start: TrialDot | None
) -> Iterator[Any]:
    """Yield the band over folds, a line at the starting score, the best and starting points, and the goal's curve."""
    low, high = axis.limits or (0.0, 1.0)
    bands = [dot.band for dot in dots if dot.band is not None]
    if len(bands) == len(dots) > 1 and len(best.settings) == 1:
        x = [dot.settings[axis.label] for dot in dots]
        y = [top for _, top in bands] + [bottom for bottom, _ in reversed(bands)]
        look = {"fill": "toself", "fillcolor": "rgba(99, 81, 212, 0.2)", "line": {"width": 0}, "mode": "lines"}
        yield go.Scatter(x=x + x[::-1], y=y, name="lowest to highest fold", hoverinfo="skip", **look)
    below = "bottom right"
    if start is not None:
        line = {"color": ORANGE, "dash": "dot", "width": 2}
        level = go.Scatter(x=[low, high], y=[start.score] * 2, name=START, mode="lines", line=line)
        yield level.update(showlegend=False, hoverinfo="skip")
        at = start.settings[axis.label] if start.fits(axis) else low
        later = [dot.score for dot in dots if dot.settings[axis.label] > at]
        if later and later[0] < start.score and at > low:  # the label lies where the line does not
            below = "bottom left"
    for dot, kind, place in ((best, BEST, "top center"), (start, START, below)):
        if dot is not None:
            colour, symbol, size = KINDS[kind]
            at = dot.settings[axis.label] if dot.fits(axis) else low
            text, marker = f"{kind.split()[0]} {number(dot.score)}", {"symbol": symbol, "size": size}
            yield _labelled((at, dot.score), text, colour, place, marker).update(showlegend=False)
    yield _curve(label, dots, axis, [dot.score for dot in dots], {"color": BLUE, "width": 4})


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
    """Return the finished trials that an axis can show, sorted by the axis's parameter."""
    placed = [dot for dot in dots if not dot.stopped_early and dot.fits(axis)]
    return sorted(placed, key=lambda dot: dot.settings[axis.label])


def _fit_axis(axis: Axis, dots: Sequence[TrialDot], start: TrialDot | None) -> Axis:
    """Return the axis, widened to all trials; if these have at most 12 values, they are the ticks."""
    values = sorted({float(short_number(dot.settings[axis.label])) for dot in dots})
    limits = _widen(axis, values).limits or (0.0, 1.0)
    if len(values) > 12:
        return replace(axis, limits=limits)
    if start is not None and start.fits(axis):  # it has a tick in any case
        values.insert(0, float(short_number(start.settings[axis.label])))
    gap, ticks = 0.05 * (axis.place(limits[1]) - axis.place(limits[0])), list[float]()
    for value in values:
        if all(abs(axis.place(value) - axis.place(tick)) >= gap for tick in ticks):
            ticks.append(value)
    return replace(axis, limits=limits, ticks=tuple(sorted(ticks)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SweepMap(HeatMap):
    """A heat map with a cell for each pair of values; other traces are drawn over it."""

    over: Sequence[Any]
    has_scale: bool  # a colour scale, if the cells have no numbers
    note: str = NOTE

    @property
    def height(self) -> int:
        return 160 + CELL_PIXELS * max(len(self.values), 6)

    def _draw(self, figure: go.Figure) -> None:
        super()._draw(figure)
        figure.update_layout(yaxis_autorange=True, showlegend=True)  # values grow upwards
        figure.update_traces(showscale=self.has_scale)
        figure.add_traces(list(self.over))


@chart
def sweep_map(dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, selected: int | None = None) -> SweepMap:
    """Show the score of each pair of values; mark the starting point (trial 0), also between cells."""
    finished = [dot for dot in dots if not dot.stopped_early]
    swept = [dot.settings for dot in finished if not dot.is_start]
    columns, rows = (sorted({own[axis.label] for own in swept}) for axis in (across, up))
    values = np.full((len(rows), len(columns)), np.nan)
    cells, over = dict[tuple[int, int], TrialDot](), list[Any]()  # by row and column
    for dot in finished:
        column, row = dot.settings[across.label], dot.settings[up.label]
        if column in columns and row in rows:
            cells[rows.index(row), columns.index(column)] = dot
            values[rows.index(row), columns.index(column)] = dot.score
    has_scale = len(cells) > 100  # a larger map has a colour scale instead of numbers
    title = f"{across.label} × {up.label}: no trial is finished yet"
    if cells:
        start, best = start_dot(dots), cells[highest(values)]
        title = f"Highest {label} at {settings_text(best.settings)}: {_score_text(best, dots)}"
        scores = [dot.score for dot in cells.values()]
        middle = (min(scores) + max(scores)) / 2
        over.append(  # a point in each cell, with its score; a click gives the number of the trial
            go.Scatter(
                x=[column for _, column in cells],
                y=[row for row, _ in cells],
                mode="markers" if has_scale else "markers+text",
                text=[f"{score:.2f}".lstrip("0") for score in scores],
                textfont={"size": 12, "color": ["#000000" if score > middle else "#FFFFFF" for score in scores]},
                marker={"size": 24, "opacity": 0.01, "color": GREY, "symbol": "square"},
                unselected={"marker": {"opacity": 0.01}},
                customdata=[dot.number for dot in cells.values()],
                hoverinfo="skip",
                showlegend=False,
            )
        )
        marked = {BEST: best} if start is None else {BEST: best, START: start}
        places = {kind: (_cell(dot, across, columns), _cell(dot, up, rows)) for kind, dot in marked.items()}
        for kind, (x, y) in places.items():
            colour, symbol, _ = KINDS[kind]
            marker = {"symbol": symbol, "size": 13, "color": colour, "line": {"width": 1.5, "color": "#FFFFFF"}}
            beside = 0 if x % 1 or y % 1 else -0.36 if kind == BEST else 0.36  # cells, beside the number
            over.append(go.Scatter(x=[x + beside], y=[y], mode="markers", name=kind, marker=marker, **NO_HOVER))
        square = {"symbol": "square-open", "size": CELL_PIXELS}
        ringed = [cell for cell, dot in cells.items() if dot.number == selected]
        over += [selected_ring([column], [row], selected, marker=square) for row, column in ringed]
    return SweepMap(
        kind="map of two parameters",
        title=title,
        description=f"Heat map of {label} over {across.label} and {up.label}. {title}.",
        down=Axis(up.label, names=tuple(map(short_number, rows))),
        across=Axis(across.label, names=tuple(map(short_number, columns))),
        value=Axis(label),
        values=values,
        over=over,
        has_scale=has_scale,
    )


def _cell(dot: TrialDot, axis: Axis, values: Sequence[float]) -> float:
    """Return the place of a trial among the values of a map, between two cells or at the edge."""
    places = [axis.place(value) for value in values]
    return float(np.interp(axis.place(dot.settings[axis.label]), places, range(len(values)))) if dot.fits(axis) else 0.0
