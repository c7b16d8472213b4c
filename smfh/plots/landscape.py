"""The space of codes: a flat map of the database, and how many items share a code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Chart, Row, chart, short
from smfh.plots.theme import BLUE, GREY, ORANGE, class_colour, class_symbol, plain
from smfh.types import FloatArray, IntArray

NOTE = "Nothing to map yet. Train a method, and its database appears here."


@dataclass(frozen=True, eq=False, kw_only=True)
class MapChart(Chart):
    """Points coloured and shaped by class; a brushed point carries its row as custom data."""

    method: str  # of laying out
    positions: FloatArray  # (points, 2)
    items: IntArray  # (points,), rows of the data set
    classes: IntArray  # (points,), the class that each is coloured by
    class_names: tuple[str, ...]
    words: tuple[str, ...]  # what each point says
    query: FloatArray | None = None  # (2,)
    answers: IntArray | None = None  # which points

    @property
    def height(self) -> int:
        return 620

    def _draw(self, figure: go.Figure) -> None:
        hidden = {"showticklabels": False, "zeroline": False, "rangemode": "normal"}
        figure.update_layout(
            xaxis=Axis(f"{self.method}, first direction").layout() | hidden,
            yaxis=Axis("second direction").layout() | hidden,
            dragmode="select",
            showlegend=True,
        )
        figure.add_traces([self._trace(k) for k in np.unique(self.classes).tolist()])
        if self.answers is not None and len(self.answers):
            ring = {"symbol": "circle-open", "size": 15, "color": GREY, "line": {"width": 2}}
            figure.add_trace(_mark(self.positions[self.answers], "answers", ring))
        if self.query is not None:
            star = {"symbol": "star", "size": 20, "color": ORANGE, "line": {"width": 2, "color": "#000000"}}
            figure.add_trace(_mark(self.query[None], "query", star))

    def _trace(self, k: int) -> go.Scatter:
        chosen = np.flatnonzero(self.classes == k)
        return go.Scatter(
            x=self.positions[chosen, 0],
            y=self.positions[chosen, 1],
            mode="markers",
            name=plain(short(self.class_names[k])),
            marker={"color": class_colour(k), "symbol": class_symbol(k), "size": 7, "opacity": 0.8},
            customdata=self.items[chosen].tolist(),
            text=[plain(self.words[point]) for point in chosen],
            hovertemplate="%{text}",
        )

    def rows(self) -> list[Row]:
        """A row for every point."""
        answers = set() if self.answers is None else set(self.answers.tolist())
        return [
            {
                "row": int(self.items[point]),
                "x": float(x),
                "y": float(y),
                "class": self.class_names[self.classes[point]],
                "item": self.words[point],
                "answer": int(point in answers),
            }
            for point, (x, y) in enumerate(self.positions)
        ]


def _mark(positions: FloatArray, name: str, marker: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=positions[:, 0],
        y=positions[:, 1],
        mode="markers",
        name=name,
        marker=marker,
        hoverinfo="name",
        unselected={"marker": {"opacity": 1}},  # brushing items does not fade it
    )


@chart
def code_map(
    method: str,
    positions: FloatArray,
    items: IntArray,
    classes: IntArray,
    class_names: Sequence[str],
    words: Sequence[str],
    of_items: int,
    query: FloatArray | None = None,
    answers: IntArray | None = None,
) -> MapChart:
    """The drawn items of the database on a plane, with a query and its answers where there is one."""
    title = "Map: nothing to draw"
    if len(items):
        drawn = f"{len(items):,}" if len(items) == of_items else f"{len(items):,} of {of_items:,}"
        title = f"{drawn} items of the database by {method} of their codes"
    marked = "" if query is None else " A star marks the query, rings mark its first answers."
    return MapChart(
        kind=f"map of codes, {method}",
        title=title,
        description=f"Scatter plot, coloured and shaped by {len(class_names)} classes. {title}.{marked}",
        method=method,
        positions=positions,
        items=items,
        classes=classes,
        class_names=tuple(class_names),
        words=tuple(words),
        query=query,
        answers=answers,
        note=NOTE,
    )


@chart
def bucket_sizes(sizes: IntArray) -> BarChart:
    """How many items lie in buckets of 1, 2, 3 to 4, 5 to 8, … items of one code."""
    steps = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    items = np.bincount(steps, weights=sizes)
    title = "Buckets: no codes yet"
    if len(sizes):
        total, largest = int(sizes.sum()), int(sizes.max())
        title = f"{total:,} items share {len(sizes):,} codes; the fullest bucket holds {largest:,}"
    return BarChart(
        kind="buckets",
        title=title,
        description=f"Bar chart of the items by how many share their code. {title}.",
        along=Axis("items that share a code", names=tuple(map(_range_name, range(len(items))))),
        value=Axis("items in such buckets"),
        series=(Bars("items", np.arange(len(items)), items, BLUE),),
        note=NOTE,
    )


def _range_name(step: int) -> str:
    """1, 2, 3–4, 5–8, …"""
    low, high = 2 ** (step - 1) + 1 if step else 1, 2**step
    return f"{high:,}" if high <= 2 else f"{low:,}–{high:,}"
