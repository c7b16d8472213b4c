"""Heat maps: a number for each pair of things."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row
from smfh.plots.theme import DIVERGING, SEQUENTIAL, plain
from smfh.types import FloatArray

CELL = 16  # pixels that a row takes
MOST_TICKS = 40


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(Chart):
    """A matrix with named rows and columns; what is not a number stays empty."""

    row_label: str
    column_label: str
    value_label: str
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    values: FloatArray  # (rows, columns)
    limits: tuple[float, float]
    diverging: bool = False  # the middle of the limits is neutral

    @property
    def height(self) -> int:
        return 240 + CELL * min(max(len(self.row_names), 10), 40)

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(
            xaxis=_named(self.column_label, self.column_names),
            yaxis=_named(self.row_label, self.row_names) | {"autorange": "reversed"},
        )
        if self.values.size == 0:
            return
        figure.add_trace(
            go.Heatmap(
                z=self.values,
                zmin=self.limits[0],
                zmax=self.limits[1],
                colorscale=DIVERGING if self.diverging else SEQUENTIAL,
                colorbar={"title": {"text": plain(self.value_label), "side": "right"}, "thickness": 14},
                hovertemplate=f"{plain(self.row_label)} %{{y}}, {plain(self.column_label)} %{{x}}: "
                "%{z:,.3~f}<extra></extra>",
                hoverongaps=False,
            )
        )

    def rows(self) -> list[Row]:
        """A row for every pair."""
        return [
            {self.row_label: row, self.column_label: column, self.value_label: value}
            for row, line in zip(self.row_names, self.values.tolist(), strict=True)
            for column, value in zip(self.column_names, line, strict=True)
        ]


def _named(label: str, names: tuple[str, ...]) -> dict[str, Any]:
    """An axis of names at 0, 1, …: numbered places, since a name may come twice or look like a number."""
    step = -(-max(len(names), 1) // MOST_TICKS)
    places = range(0, len(names), step)
    layout = Axis(label, ticks=tuple(places), names=tuple(names[k] for k in places)).layout()
    return layout | {"showgrid": False, "zeroline": False, "rangemode": "normal", "tickfont": {"size": 12}}


def highest(values: FloatArray) -> tuple[int, int]:
    """Row and column of the highest number, the first where there are several."""
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return int(row), int(column)
