"""Heat maps: a number for each pair of things."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row
from smfh.plots.theme import DIVERGING, SEQUENTIAL, plain
from smfh.types import FloatArray

CELL = 16  # pixels that a row takes


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(Chart):
    """A matrix with named rows and columns; what is not a number stays empty."""

    down: Axis  # with names, and so the others
    across: Axis
    value: Axis  # with limits
    values: FloatArray  # (rows, columns)
    diverging: bool = False  # the middle of the limits is neutral

    @property
    def height(self) -> int:
        return 240 + CELL * min(max(len(self.values), 10), 40)

    def _draw(self, figure: go.Figure) -> None:
        bare = {"showgrid": False, "zeroline": False, "rangemode": "normal", "tickfont": {"size": 12}}
        down = self.down.layout() | bare | {"autorange": "reversed"}
        figure.update_layout(xaxis=self.across.layout() | bare, yaxis=down)
        if self.values.size == 0:
            return
        low, high = self.value.limits or (None, None)
        figure.add_trace(
            go.Heatmap(
                z=self.values,
                zmin=low,
                zmax=high,
                colorscale=DIVERGING if self.diverging else SEQUENTIAL,
                colorbar={"title": {"text": plain(self.value.label), "side": "right"}, "thickness": 14},
                hovertemplate=f"{plain(self.down.label)} %{{y}}, {plain(self.across.label)} %{{x}}: "
                "%{z:,.3~f}<extra></extra>",
                hoverongaps=False,
            )
        )

    def rows(self) -> list[Row]:
        """A row for every pair."""
        return [
            {self.down.label: row, self.across.label: column, self.value.label: value}
            for row, line in zip(self.down.names or (), self.values.tolist(), strict=True)
            for column, value in zip(self.across.names or (), line, strict=True)
        ]


def highest(values: FloatArray) -> tuple[int, int]:
    """Row and column of the highest number, the first where there are several."""
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return int(row), int(column)
