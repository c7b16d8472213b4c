"""Bar charts: a number for each of some things."""

from dataclasses import dataclass

import plotly.graph_objects as go

from smfh.plots.chart import Axis, Mark, Row, draw_marks
from smfh.plots.theme import GREY, HEIGHT, blank, plain, write_note
from smfh.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars of one kind, in one look: the pattern tells it where colours do not."""

    name: str
    places: IntArray
    values: FloatArray | IntArray
    colour: str
    pattern: str = ""


@dataclass(frozen=True, eq=False)
class BarChart:
    """Bars along an axis, those of the same place on top of each other."""

    kind: str
    title: str
    description: str
    along: Axis  # where names are given, the i-th belongs to place ticks[i]
    value: Axis
    series: tuple[Bars, ...]
    marks: tuple[Mark, ...] = ()
    level: float | None = None  # a line across
    horizontal: bool = False
    height: int = HEIGHT
    note: str = "There is nothing to draw yet."

    def figure(self, titled: bool = True) -> go.Figure:
        figure = blank(self.title if titled else "", self.description, self.kind, self.height)
        along, value = self.along.layout(), self.value.layout()
        if self.horizontal:
            along["autorange"] = "reversed"  # the first on top
            figure.update_layout(xaxis=value, yaxis=along)
        else:
            figure.update_layout(xaxis=along, yaxis=value)
        figure.update_layout(barmode="stack", bargap=0.15, showlegend=len(self.series) > 1)
        drawn = [self._trace(bars) for bars in self.series if len(bars.places)]
        figure.add_traces(drawn)
        draw_marks(figure, self.marks, self.along)
        if self.level is not None:
            figure.add_hline(y=self.level, line={"color": GREY, "dash": "dot"})
        if not drawn:
            write_note(figure, self.note)
        return figure

    def _trace(self, bars: Bars) -> go.Bar:
        x, y = (bars.values, bars.places) if self.horizontal else (bars.places, bars.values)
        names = [plain(self._name(place)) for place in bars.places]
        return go.Bar(
            x=x,
            y=y,
            name=plain(bars.name),
            orientation="h" if self.horizontal else "v",
            marker={"color": bars.colour, "pattern": {"shape": bars.pattern}, "line": {"width": 0}},
            customdata=names,
            hovertemplate="%{customdata}: %{" + ("x" if self.horizontal else "y") + ":,.3~f}",
        )

    def _name(self, place: int) -> str:
        if self.along.names is None or self.along.ticks is None:
            return f"{self.along.label} {place}"
        return self.along.names[self.along.ticks.index(place)]

    def rows(self) -> list[Row]:
        """A row for every bar, by place."""
        rows: list[tuple[int, Row]] = []
        for bars in self.series:
            for place, value in zip(bars.places.tolist(), bars.values.tolist(), strict=True):
                name = place if self.along.names is None else self._name(place)
                rows.append((place, {self.along.label: name, "kind": bars.name, self.value.label: value}))
        return [row for _, row in sorted(rows, key=lambda pair: pair[0])]
