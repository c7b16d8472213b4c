"""Bar charts: a number for each of some things."""

from dataclasses import dataclass

import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Mark, Row, draw_marks
from smfh.plots.theme import GREY, HEIGHT, plain
from smfh.types import FloatArray, IntArray

BAR = 20  # pixels that a bar takes where bars lie


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars of one kind, in one look: the pattern tells it where colours do not."""

    name: str
    at: IntArray  # where along the axis
    values: FloatArray | IntArray
    colour: str
    pattern: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class BarChart(Chart):
    """Bars along an axis, those of the same place on top of each other."""

    along: Axis
    value: Axis
    series: tuple[Bars, ...]
    marks: tuple[Mark, ...] = ()
    level: float | None = None  # a line across
    horizontal: bool = False

    @property
    def height(self) -> int:
        bars = sum(len(bars.at) for bars in self.series)
        return HEIGHT if not self.horizontal else 150 + BAR * max(bars, 6)

    def _draw(self, figure: go.Figure) -> None:
        x, y = self.along.layout(), self.value.layout()
        if self.horizontal:
            x, y = y, x | {"autorange": "reversed"}  # the first on top
        figure.update_layout(xaxis=x, yaxis=y, barmode="stack", bargap=0.15, showlegend=len(self.series) > 1)
        figure.add_traces([self._trace(bars) for bars in self.series if len(bars.at)])
        draw_marks(figure, self.marks, self.along)
        if self.level is not None:
            figure.add_hline(y=self.level, line={"color": GREY, "dash": "dot"})

    def _trace(self, bars: Bars) -> go.Bar:
        x, y = (bars.values, bars.at) if self.horizontal else (bars.at, bars.values)
        return go.Bar(
            x=x,
            y=y,
            name=plain(bars.name),
            orientation="h" if self.horizontal else "v",
            marker={"color": bars.colour, "pattern": {"shape": bars.pattern}, "line": {"width": 0}},
            customdata=[plain(self._name(place)) for place in bars.at],
            hovertemplate="%{customdata}: %{" + ("x" if self.horizontal else "y") + ":,.3~f}",
        )

    def _name(self, place: int) -> str:
        return f"{self.along.label} {place}" if self.along.names is None else self.along.names[place]

    def rows(self) -> list[Row]:
        """A row for every bar, along the axis."""
        names, along, value = self.along.names, self.along.label, self.value.label
        drawn = [(place, bars, k) for bars in self.series for k, place in enumerate(bars.at.tolist())]
        return [
            {along: place if names is None else names[place], "kind": bars.name, value: bars.values[k].item()}
            for place, bars, k in sorted(drawn, key=lambda bar: bar[0])
        ]
