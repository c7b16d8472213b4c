"""Trials over each parameter alone, and over two of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row, chart
from smfh.plots.theme import HEIGHT, SEQUENTIAL, number, plain
from smfh.plots.trials import NOTE, DotChart, TrialDot, best_dot, has_place, in_words

PANELS, GAP = 4, 0.02  # slices beside each other at most, and the share of the width between them
FEWEST = 6  # dots before anything is drawn between them


@dataclass(frozen=True, eq=False, kw_only=True)
class ContourChart(DotChart):
    """The score over two parameters, guessed between the dots from those around."""

    label: str

    @property
    def height(self) -> int:
        return HEIGHT + 40

    def _draw(self, figure: go.Figure) -> None:
        finished = [k for k, dot in enumerate(self.dots) if not dot.pruned]
        if len(finished) >= FEWEST:
            x, y = self.at[finished].T
            figure.add_trace(
                go.Contour(
                    x=x,
                    y=y,
                    z=[self.dots[k].score for k in finished],
                    connectgaps=True,
                    colorscale=SEQUENTIAL,
                    contours={"coloring": "heatmap"},
                    line={"width": 0},
                    colorbar={"title": {"text": plain(self.label), "side": "right"}, "thickness": 14},
                    hoverinfo="skip",
                )
            )
        super()._draw(figure)


@chart
def trial_contour(
    dots: Sequence[TrialDot], across: Axis, up: Axis, label: str, chosen: int | None = None
) -> ContourChart:
    """The score over two parameters."""
    drawn = [dot for dot in dots if has_place(dot, across) and has_place(dot, up)]
    at = [(dot.settings[across.label], dot.settings[up.label]) for dot in drawn]
    best = best_dot(drawn)
    title = f"{across.label} and {up.label}: no trial is finished yet"
    if best is not None:
        where = in_words({axis.label: best.settings[axis.label] for axis in (across, up)})
        title = f"{label} is highest at {where}: {number(best.score)}"
    return ContourChart(
        kind="contour of trials",
        title=title,
        description=f"Contours of {label} over {across.label} and {up.label}. {title}.",
        x=across,
        y=up,
        dots=tuple(drawn),
        at=np.array(at, dtype=np.float64).reshape(-1, 2),
        chosen=chosen,
        label=label,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SliceChart(Chart):
    """Panels over the same scores, one for each parameter."""

    panels: tuple[DotChart, ...]
    note: str = NOTE

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(showlegend=True, hovermode="closest")
        width = (1 + GAP) / max(len(self.panels), 1)
        for k, panel in enumerate(self.panels):
            tag, left = "" if k == 0 else str(k + 1), k * width
            panel.draw_panel(figure, tag, domain=[left, left + width - GAP], anchor=f"y{tag}")
            if k:
                tied = {"matches": "y", "anchor": f"x{tag}", "showticklabels": False, "title": {"text": ""}}
                figure.update_layout({f"yaxis{tag}": tied})

    def rows(self) -> list[Row]:
        """A row for every trial; all its parameters are in it."""
        return self.panels[0].rows() if self.panels else []


@chart
def trial_slices(
    dots: Sequence[TrialDot], axes: Sequence[Axis], label: str, chosen: int | None = None
) -> SliceChart:
    """The score over each parameter alone, those that matter most first."""
    best = best_dot(dots)
    title = "Slices: no trial is finished yet"
    if best is not None:
        title = f"{label} over each parameter alone; the best trial has {in_words(best.settings)}"
    panels = []
    for axis in axes[:PANELS]:
        drawn = tuple(dot for dot in dots if has_place(dot, axis))
        at = np.array([(dot.settings[axis.label], dot.score) for dot in drawn], dtype=np.float64)
        panels.append(
            DotChart(
                kind=axis.label,
                title=axis.label,
                description=axis.label,
                x=axis,
                y=Axis(label),
                dots=drawn,
                at=at.reshape(-1, 2),
                chosen=chosen,
            )
        )
    return SliceChart(
        kind="slices of trials",
        title=title,
        description=f"{len(panels)} scatter plots of {label} over a parameter. {title}.",
        panels=tuple(panels),
    )
