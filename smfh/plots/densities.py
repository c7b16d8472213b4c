"""Charts of the tuned parameters: how much each matters, and the values of the best trials."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, BarChart, Bars, TraceChart, chart, short_number
from smfh.plots.theme import BLUE, GREEN, GREY, plain
from smfh.plots.trials import BEST, GAP, KINDS, MAX_PANELS, START, TrialDot, best_dot, narrow_ticks, start_dot
from smfh.types import FloatArray

BEST_SHARE, MIN_BEST = 0.1, 3  # share and least number of trials that count as the best
REST = "all others"
CURVE_POINTS = 101
MIN_WIDTH = 0.05  # of a kernel, as a share of the parameter's range
FILL = "rgba(0, 111, 95, 0.2)"  # GREEN


@chart
def trial_densities(dots: Sequence[TrialDot], axes: Sequence[Axis], label: str) -> TraceChart:
    """Show each parameter's density among the best 10 % of trials (at least 3) and among all others.

    The start and the best trial are marked. Trials that were stopped early are among the others. At most
    MAX_PANELS of `axes` are drawn.
    """
    ranked = sorted((dot for dot in dots if not dot.stopped_early), key=lambda dot: -dot.score)
    best = ranked[: max(MIN_BEST, round(BEST_SHARE * len(dots)))]
    numbers = {dot.number for dot in best}
    rest = [dot for dot in dots if dot.number not in numbers]
    title, traces, layout = "Densities: not enough trials yet", list[Any](), dict[str, Any]()
    is_drawn, width = len(best) >= MIN_BEST and len(rest) > 0, (1 + GAP) / max(len(axes[:MAX_PANELS]), 1)
    name, spreads = f"best {len(best)}", dict[str, float]()
    for k, axis in enumerate(axes[:MAX_PANELS]):
        tag, domain = "" if k == 0 else str(k + 1), [k * width, (k + 1) * width - GAP]
        layout[f"xaxis{tag}"] = axis.layout() | {"rangemode": "normal", "domain": domain}
        if len(axes) > 2:
            layout[f"xaxis{tag}"] |= narrow_ticks(axis)
        inner = [[dot for dot in group if dot.fits(axis)] for group in (rest, best)]
        if not is_drawn or not all(inner):
            continue
        places = [np.array([axis.place(dot.settings[axis.label]) for dot in group]) for group in inner]
        every = np.concatenate(places)
        size = float(np.ptp(every)) or 1.0
        spreads[axis.label] = float(np.ptp(places[1])) / size if np.ptp(every) else 1.0
        grid = np.linspace(every.min() - size / 20, every.max() + size / 20, CURVE_POINTS)
        own = {"xaxis": f"x{tag}", "showlegend": k == 0}
        looks = ((REST, GREY, "dash", None), (name, GREEN, "solid", "tozeroy"))
        for place, (group_name, colour, dash, fill) in zip(places, looks, strict=True):
            x, y = 10**grid if axis.log else grid, density(place, grid, size)
            line = {"color": colour, "width": 3, "dash": dash}
            look: dict[str, Any] = {"mode": "lines", "line": line, "fill": fill, "fillcolor": FILL, "hoverinfo": "skip"}
            traces.append(go.Scatter(x=x, y=y, name=group_name, legendgroup=group_name, **look, **own))
        ticks = {"symbol": "line-ns-open", "size": 14, "color": GREEN, "line": {"width": 2}}
        marked = [(inner[1], name, ticks, False)]
        for dot, kind in ((start_dot(dots), START), (best_dot(dots), BEST)):
            if dot is not None and dot.fits(axis):
                colour, symbol, pixels = KINDS[kind]
                marked.append(([dot], kind, {"color": colour, "symbol": symbol, "size": pixels * 0.8}, k == 0))
        for group, kind, marker, is_named in marked:
            at, texts = [dot.settings[axis.label] for dot in group], [plain(dot.label) for dot in group]
            look = {"mode": "markers", "marker": marker, "text": texts, "hovertemplate": "%{text}<extra></extra>"}
            dots_below = go.Scatter(x=at, y=[0.0] * len(at), name=kind, legendgroup=kind, **look)
            traces.append(dots_below.update(xaxis=f"x{tag}", showlegend=is_named))
    if spreads:
        narrow = min(spreads, key=spreads.__getitem__)
        values = [dot.settings[narrow] for dot in best if narrow in dot.settings]
        low, high = short_number(min(values)), short_number(max(values))
        where = f"at {low}" if low == high else f"from {low} to {high}"
        title = f"The {len(best)} best of {len(dots)} trials agree most on {narrow}: {where}"
    layout["yaxis"] = {"title": {"text": "density"}, "rangemode": "tozero", "showticklabels": False}
    names = ", ".join(axis.label for axis in axes[:MAX_PANELS])
    return TraceChart(
        kind="densities of trials",
        title=title,
        description=f"Densities of {names} among the trials with the best {label} and all others. {title}.",
        layout=layout | {"showlegend": bool(traces), "hovermode": "closest"},
        traces=traces,
        table=[
            {"trial": dot.number, **dot.settings, label: dot.score, "group": name if dot in best else REST}
            for dot in (dots if traces else ())
        ],
        note=f"Densities need at least {MIN_BEST + 1} finished trials.",
    )


@chart
def parameter_importance(shares: Mapping[str, float], dots: Sequence[TrialDot] = ()) -> BarChart:
    """Show the share of the variance that each parameter explains; `shares` is symbol → share.

    Labels show the value of each parameter at the starting point and in the best of `dots`.
    """
    ends = [dot for dot in (start_dot(dots), best_dot(dots)) if dot is not None]
    values = {name: " → ".join(short_number(dot.settings[name]) for dot in ends) for name in shares}
    names = [f"{name}: {text}" if text else name for name, text in values.items()]
    title = "Importance: not enough trials yet"
    if shares:
        first = max(shares, key=shares.__getitem__)
        title = f"{first} explains {shares[first]:.0%} of the differences between trials"
    return BarChart(
        kind="importance of parameters",
        title=title,
        description=f"Bar chart of {len(shares)} parameters. {title}.",
        along=Axis("parameter: start → best" if ends else "parameter", names=tuple(names)),
        value=Axis("share of the variance (fANOVA)", limits=(0, 1)),
        series=(Bars("share", np.arange(len(shares)), np.array(list(shares.values())), BLUE),),
        horizontal=True,
        note="Importance needs at least eight finished trials with different scores.",
    )


def density(values: FloatArray, at: FloatArray, size: float) -> FloatArray:
    """Return the kernel density p(x) = mean_i exp(−(x − x_i)² / 2h²) · size / (h √(2π)).

    h is Scott's width, sd · n^(−1/5), but at least MIN_WIDTH · size, so that a few equal values do not give a spike. A
    density of 1 means values spread evenly over the range, whose width is `size`.
    """
    h = max(float(values.std()) * len(values) ** -0.2, MIN_WIDTH * size)
    kernels = np.exp(-(((at[:, None] - values) / h) ** 2) / 2)
    result: FloatArray = kernels.mean(axis=1) * size / (h * np.sqrt(2 * np.pi))
    return result
