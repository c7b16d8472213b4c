"""Trials of a study as dots: over their number, and with two scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row, chart
from smfh.plots.theme import BLUE, GREY, ORANGE, PINK, number, plain
from smfh.types import FloatArray, IntArray

NOTE = "No trial is finished yet. Each appears here as soon as it is."
KINDS = {  # name → colour, symbol
    "finished": (BLUE, "circle"),
    "given up early": (GREY, "x"),
    "the start": (ORANGE, "diamond"),
}


@dataclass(frozen=True)
class TrialDot:
    """A trial as a chart sees it."""

    number: int
    settings: Mapping[str, float]  # the tuned parameters, by their symbols
    score: float
    parts: Mapping[str, tuple[float, ...]]  # other measures: a value for each validation part
    seconds: tuple[float, ...]  # of the training, for each part
    begun: float = 0.0  # seconds since the study began
    lasted: float = 0.0
    pruned: bool = False
    start: bool = False

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return "the start" if self.start else "given up early" if self.pruned else "finished"

    @property
    def words(self) -> str:
        return f"trial {self.number}: {in_words(self.settings)}"

    @property
    def mean_seconds(self) -> float:
        return float(np.mean(self.seconds)) if self.seconds else 0.0


def in_words(settings: Mapping[str, float]) -> str:
    """Such as α 2, μ 25."""
    return ", ".join(f"{symbol} {short_number(value)}" for symbol, value in settings.items())


def short_number(x: float) -> str:
    """Three digits that count, such as 0.0632, 25 or 1000."""
    return f"{float(f'{x:.3g}'):g}"


def best_dot(dots: Sequence[TrialDot]) -> TrialDot | None:
    """The highest of those that are finished, the first of equals."""
    return max((dot for dot in dots if not dot.pruned), key=lambda dot: dot.score, default=None)


def has_place(dot: TrialDot, axis: Axis) -> bool:
    """Whether the axis can show it: one by factors has no 0, such as m for all."""
    value = dot.settings.get(axis.label)
    return value is not None and (value > 0 or not axis.log)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialChart(Chart):
    """What shows trials: one tells its number when it is clicked, and the chosen one is marked."""

    dots: tuple[TrialDot, ...]
    chosen: int | None = None
    note: str = NOTE


@dataclass(frozen=True, eq=False, kw_only=True)
class DotChart(TrialChart):
    """A dot for each trial; the chosen one has a ring."""

    x: Axis
    y: Axis
    at: FloatArray  # (dots, 2)
    path: FloatArray | None = None  # (points, 2): a line, such as the best so far
    path_name: str = ""

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(showlegend=True, hovermode="closest")
        self.draw_panel(figure)

    def draw_panel(self, figure: go.Figure, panel: str = "", **place: Any) -> None:
        """Axes, line and dots; `panel` is "", "2", … and `place` says where its x axis lies."""
        refs = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
        loose = {"rangemode": "normal"}
        figure.update_layout(
            {f"xaxis{panel}": self.x.layout() | loose | place, f"yaxis{panel}": self.y.layout() | loose}
        )
        if self.path is not None and len(self.path):
            x, y = self.path.T
            look: dict[str, Any] = {"mode": "lines", "line": {"color": BLUE, "width": 2}, "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(x=x, y=y, name=plain(self.path_name), **look, **refs))
        for kind, (colour, symbol) in KINDS.items():
            of_kind = [k for k, dot in enumerate(self.dots) if dot.kind == kind]
            if of_kind:
                marker = {"color": colour, "symbol": symbol, "size": 10 if kind == "finished" else 12}
                figure.add_trace(self._trace(of_kind, kind, marker, not panel, refs))
        ringed = [k for k, dot in enumerate(self.dots) if dot.number == self.chosen]
        if ringed:
            x, y = self.at[ringed].T
            figure.add_trace(chosen_ring(x, y, self.chosen, not panel, refs))

    def _trace(
        self, places: Sequence[int], kind: str, marker: Mapping[str, Any], listed: bool, refs: dict[str, str]
    ) -> go.Scatter:
        x, y = self.at[places].T
        return go.Scatter(
            x=x,
            y=y,
            mode="markers",
            name=kind,
            legendgroup=kind,
            showlegend=listed,
            marker=marker,
            unselected={"marker": {"opacity": 1}},  # what is chosen has a ring; the others stay as they are
            customdata=[self.dots[k].number for k in places],
            text=[plain(self.dots[k].words) for k in places],
            hovertemplate="%{text}<br>%{y:,.3~f}<extra></extra>",
            **refs,
        )

    def rows(self) -> list[Row]:
        """A row for every dot."""
        return [
            {"trial": dot.number, **dot.settings, self.x.label: x, self.y.label: y, "kind": dot.kind}
            for dot, (x, y) in zip(self.dots, self.at.tolist(), strict=True)
        ]


def chosen_ring(
    x: FloatArray | IntArray,
    y: FloatArray | IntArray,
    chosen: int | None,
    listed: bool,
    refs: Mapping[str, str],
    symbol: str = "circle-open",
    size: int = 20,
) -> go.Scatter:
    """Around the chosen trial, in one colour in every chart."""
    marker = {"symbol": symbol, "size": size, "color": PINK, "line": {"width": 4, "color": PINK}}
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        name=f"trial {chosen}, chosen",
        legendgroup="chosen",
        showlegend=listed,
        marker=marker,
        unselected={"marker": {"opacity": 1}},
        hoverinfo="skip",
        **refs,
    )


@chart
def trial_history(dots: Sequence[TrialDot], label: str, chosen: int | None = None) -> DotChart:
    """The score of each trial, and the best so far."""
    at = np.array([(dot.number, dot.score) for dot in dots], dtype=np.float64).reshape(-1, 2)
    finished = np.array([(dot.number, dot.score) for dot in dots if not dot.pruned]).reshape(-1, 2)
    path = np.column_stack([finished[:, 0], np.maximum.accumulate(finished[:, 1])])
    best, start = best_dot(dots), next((dot for dot in dots if dot.start), None)
    title = "History: no trial is finished yet"
    if best is not None:
        told = f", {number(start.score)} at the start" if start is not None and start is not best else ""
        title = f"Best {label} so far {number(best.score)} by trial {best.number}{told}"
    return DotChart(
        kind="history of trials",
        title=title,
        description=f"Scatter plot of {len(dots)} trials by number, with the best so far. {title}.",
        x=Axis("trial"),
        y=Axis(label),
        dots=tuple(dots),
        at=at,
        chosen=chosen,
        path=path,
        path_name="best so far",
    )


@chart
def trial_front(
    dots: Sequence[TrialDot],
    across: str,
    label: str,
    others: Mapping[int, float],
    front: Sequence[int],
    chosen: int | None = None,
) -> DotChart:
    """Two objectives of each trial: `label` is its score, `others` tells the other one by the number."""
    drawn = [dot for dot in dots if dot.number in others]
    at = np.array([(others[dot.number], dot.score) for dot in drawn], dtype=np.float64).reshape(-1, 2)
    on_front = np.isin([dot.number for dot in drawn], front)
    title = "Front: no trial is finished yet"
    if len(front):
        many = "One trial is" if len(front) == 1 else f"{len(front)} trials are"
        title = f"{many} on the front: nothing beats them in {label} and {across} at once"
    return DotChart(
        kind="front of trials",
        title=title,
        description=f"Scatter plot of {len(drawn)} trials, {label} over {across}. {title}.",
        x=Axis(across),
        y=Axis(label),
        dots=tuple(drawn),
        at=at,
        chosen=chosen,
        path=at[on_front][np.argsort(at[on_front][:, 0], kind="stable")],
        path_name="front",
    )
