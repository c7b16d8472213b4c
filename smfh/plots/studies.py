"""Whole studies: lines through all parameters, when trials were at work, what mattered, several studies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Row, chart
from smfh.plots.lines import Line, LineChart
from smfh.plots.theme import BLUE, GREY, PALETTE, PINK, number, plain, turn
from smfh.plots.trials import KINDS, NOTE, TrialChart, TrialDot, has_place, short_number
from smfh.types import FloatArray, IntArray

BEST = 4  # the best one in so many stands out


@dataclass(frozen=True, eq=False, kw_only=True)
class ParallelChart(TrialChart):
    """A line for each trial through a scale for each parameter and one for the score."""

    axes: tuple[Axis, ...]
    values: FloatArray  # (dots, axes)

    def _draw(self, figure: go.Figure) -> None:
        upright = {"tickvals": list(range(len(self.axes))), "ticktext": [plain(a.label) for a in self.axes]}
        # the name below says what the places are; the scales have their own ends
        figure.update_layout(
            xaxis=upright
            | {"title": {"text": "parameters and score"}, "range": [-0.2, len(self.axes) - 0.8]},
            yaxis={"title": {"text": "lowest to highest"}, "showticklabels": False, "range": [-0.12, 1.12]},
            showlegend=False,
            hovermode="closest",
        )
        if not self.dots:
            return
        placed = np.column_stack([np.log10(v) if a.log else v for a, v in self._columns()])
        low, high = placed.min(axis=0), placed.max(axis=0)
        heights = (placed - low) / np.where(high > low, high - low, 1)
        order = np.argsort(-self.values[:, -1], kind="stable")
        best = -(-len(order) // BEST)
        self._draw_lines(figure, order[best:], heights, GREY, 1)
        self._draw_lines(figure, order[:best], heights, BLUE, 2.5)
        chosen = [k for k, dot in enumerate(self.dots) if dot.number == self.chosen]
        self._draw_lines(figure, np.array(chosen, dtype=np.int64), heights, PINK, 5)
        for k, (_, column) in enumerate(self._columns()):
            for height, value in ((-0.08, column.min()), (1.08, column.max())):
                figure.add_annotation(
                    x=k, y=height, text=short_number(value.item()), showarrow=False, font={"size": 12}
                )

    def _columns(self) -> list[tuple[Axis, FloatArray]]:
        return list(zip(self.axes, self.values.T, strict=True))

    def _draw_lines(
        self, figure: go.Figure, which: IntArray, heights: FloatArray, colour: str, width: float
    ) -> None:
        """One trace for all lines of a colour, with a gap after each."""
        if len(which) == 0:
            return
        places, gap = [*range(len(self.axes)), None], len(self.axes) + 1
        dots = [self.dots[k] for k in which.tolist()]
        figure.add_trace(
            go.Scatter(
                x=places * len(which),
                y=[height for k in which.tolist() for height in (*heights[k].tolist(), None)],
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"color": colour, "size": 7},
                unselected={"marker": {"opacity": 1}},
                customdata=[dot.number for dot in dots for _ in range(gap)],
                text=[plain(f"{dot.words}: {number(dot.score)}") for dot in dots for _ in range(gap)],
                hovertemplate="%{text}<extra></extra>",
            )
        )

    def rows(self) -> list[Row]:
        """A row for every line."""
        return [
            {"trial": dot.number} | {axis.label: value for axis, value in zip(self.axes, line, strict=True)}
            for dot, line in zip(self.dots, self.values.tolist(), strict=True)
        ]


@chart
def trial_lines(
    dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, chosen: int | None = None
) -> ParallelChart:
    """Parallel coordinates: which values go together with a good score."""
    drawn = [dot for dot in dots if not dot.pruned and all(has_place(dot, axis) for axis in axes)]
    scales = (*axes, Axis(label))
    values = [[*(dot.settings[axis.label] for axis in axes), dot.score] for dot in drawn]
    title = "Lines: no trial is finished yet"
    if drawn:
        title = f"{len(drawn)} trials, each a line through its values; the best quarter in blue"
    return ParallelChart(
        kind="parallel trials",
        title=title,
        description=f"Parallel coordinates over {', '.join(axis.label for axis in scales)}. {title}.",
        dots=tuple(drawn),
        axes=scales,
        values=np.array(values, dtype=np.float64).reshape(-1, len(scales)),
        chosen=chosen,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class TimeChart(TrialChart):
    """When each trial was at work: a bar from its beginning to its end."""

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(
            xaxis=Axis("seconds since the study began").layout(),
            yaxis=Axis("trial").layout() | {"autorange": "reversed", "rangemode": "normal"},
            showlegend=len(self.dots) > 0,
            barmode="overlay",
            hovermode="closest",
        )
        for kind, (colour, _) in KINDS.items():
            if dots := [dot for dot in self.dots if dot.kind == kind]:
                figure.add_trace(self._bars(kind, dots, colour))

    def _bars(self, kind: str, dots: Sequence[TrialDot], colour: str) -> go.Bar:
        edge = [4 if dot.number == self.chosen else 0 for dot in dots]
        return go.Bar(
            name=kind,
            x=[dot.lasted for dot in dots],
            base=[dot.begun for dot in dots],
            y=[dot.number for dot in dots],
            orientation="h",
            marker={"color": colour, "line": {"width": edge, "color": PINK}},
            unselected={"marker": {"opacity": 1}},
            customdata=[dot.number for dot in dots],
            text=[plain(dot.words) for dot in dots],
            textposition="none",
            hovertemplate="%{text}: %{x:.2f} s<extra></extra>",
        )

    def rows(self) -> list[Row]:
        """A row for every bar."""
        return [
            {"trial": dot.number, "begun (s)": dot.begun, "lasted (s)": dot.lasted, "kind": dot.kind}
            for dot in self.dots
        ]


@chart
def trial_times(dots: Sequence[TrialDot], chosen: int | None = None) -> TimeChart:
    """When each trial was at work."""
    title = "Time line: no trial is finished yet"
    if dots:
        mean = float(np.mean([dot.lasted for dot in dots]))
        title = f"{len(dots)} trial{'s' * (len(dots) > 1)}, {number(mean)} s each on average"
    return TimeChart(
        kind="time line of trials",
        title=title,
        description=f"A bar for each trial from its beginning to its end. {title}.",
        dots=tuple(dots),
        chosen=chosen,
    )


@chart
def parameter_importance(shares: Mapping[str, float]) -> BarChart:
    """What each parameter explains of the differences between trials, by its symbol, the largest first."""
    title = "Importance: nothing can be said yet"
    if shares:
        first = max(shares, key=shares.__getitem__)
        title = f"{first} explains {shares[first]:.0%} of the differences between trials"
    return BarChart(
        kind="importance of parameters",
        title=title,
        description=f"Bar chart of {len(shares)} parameters. {title}.",
        along=Axis("parameter", names=tuple(shares)),
        value=Axis("share of the variance (fANOVA)", limits=(0, 1)),
        series=(Bars("share", np.arange(len(shares)), np.array(list(shares.values())), BLUE),),
        horizontal=True,
        note="It takes eight finished trials that differ to say what mattered.",
    )


@chart
def best_so_far(histories: Mapping[str, Sequence[float]], label: str) -> LineChart:
    """The best score of several studies after each of their trials."""
    lines = [
        Line(name, np.arange(len(values)), np.maximum.accumulate(values), turn(PALETTE, k), symbol="circle")
        for k, (name, values) in enumerate(histories.items())
        if len(values)
    ]
    title = "Nothing to compare yet"
    if lines:
        best = max(lines, key=lambda line: float(line.y[-1]))
        title = f"{best.name} has the highest {label}: {number(float(best.y[-1]))}"
    return LineChart(
        kind="best of studies",
        title=title,
        description=f"Line chart of the best {label} so far in {len(lines)} studies. {title}.",
        x=Axis("finished trials"),
        y=Axis(f"best {label} so far"),
        lines=tuple(lines),
        note=NOTE,
    )
