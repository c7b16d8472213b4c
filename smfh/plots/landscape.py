"""The space of codes: a flat map of the database, and how many items share a code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Row, short
from smfh.plots.theme import BLUE, GREY, blank, plain, write_note
from smfh.plots.tiles import class_colour, class_symbol
from smfh.types import FloatArray, IntArray

MAP_HEIGHT = 620
NO_MAP = "Nothing to map yet. Train a method, and its database appears here."


@dataclass(frozen=True, eq=False)
class MapChart:
    """Points coloured and shaped by class; a brushed point carries its row as custom data."""

    kind: str
    title: str
    description: str
    method: str  # of laying out
    places: FloatArray  # (points, 2)
    rows_drawn: IntArray  # (points,), rows of the data set
    classes: IntArray  # (points,), the class that each is coloured by
    class_names: tuple[str, ...]
    words: tuple[str, ...]  # what each point says
    query: FloatArray | None = None  # (2,)
    answers: IntArray | None = None  # which points
    note: str = NO_MAP

    def figure(self, titled: bool = True) -> go.Figure:
        figure = blank(self.title if titled else "", self.description, self.kind, MAP_HEIGHT)
        hidden = {"showticklabels": False, "zeroline": False, "rangemode": "normal"}
        figure.update_layout(
            xaxis=Axis(f"{self.method}, first direction").layout() | hidden,
            yaxis=Axis("second direction").layout() | hidden,
            dragmode="select",
            showlegend=True,
        )
        if not len(self.places):
            write_note(figure, self.note)
            return figure
        figure.add_traces([self._trace(k) for k in np.unique(self.classes).tolist()])
        figure.add_traces(self._marks())
        return figure

    def _trace(self, k: int) -> go.Scatter:
        chosen = np.flatnonzero(self.classes == k)
        return go.Scatter(
            x=self.places[chosen, 0],
            y=self.places[chosen, 1],
            mode="markers",
            name=plain(short(self.class_names[k])),
            marker={"color": class_colour(k), "symbol": class_symbol(k), "size": 7, "opacity": 0.8},
            customdata=self.rows_drawn[chosen].tolist(),
            text=[plain(self.words[position]) for position in chosen],
            hovertemplate="%{text}",
        )

    def _marks(self) -> list[go.Scatter]:
        """The query as a star, rings round its answers."""
        marks = []
        if self.answers is not None and len(self.answers):
            ring = {"symbol": "circle-open", "size": 15, "color": GREY, "line": {"width": 2}}
            marks.append(_mark(self.places[self.answers], "answers", ring))
        if self.query is not None:
            edge = {"width": 2, "color": "#000000"}
            star = {"symbol": "star", "size": 20, "color": "#E69F00", "line": edge}
            marks.append(_mark(self.query[None], "query", star))
        return marks

    def rows(self) -> list[Row]:
        """A row for every point."""
        answers = set() if self.answers is None else set(self.answers.tolist())
        return [
            {
                "row": int(self.rows_drawn[position]),
                "x": float(x),
                "y": float(y),
                "class": self.class_names[self.classes[position]],
                "item": self.words[position],
                "answer": int(position in answers),
            }
            for position, (x, y) in enumerate(self.places)
        ]


def _mark(places: FloatArray, name: str, marker: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers",
        name=name,
        marker=marker,
        hoverinfo="name",
        unselected={"marker": {"opacity": 1}},  # brushing items does not fade it
    )


def code_map(
    method: str,
    places: FloatArray,
    rows: IntArray,
    classes: IntArray,
    class_names: Sequence[str],
    words: Sequence[str],
    of_items: int,
    query: FloatArray | None = None,
    answers: IntArray | None = None,
) -> MapChart:
    """The drawn items of the database on a plane, with a query and its answers where there is one."""
    drawn = f"{len(rows):,}" if len(rows) == of_items else f"{len(rows):,} of {of_items:,}"
    title = (
        f"{drawn} items of the database by {method} of their codes" if len(rows) else "Map: nothing to draw"
    )
    marked = "" if query is None else " A star marks the query, rings mark its first answers."
    return MapChart(
        kind=f"map of codes, {method}",
        title=title,
        description=f"Scatter plot, coloured and shaped by {len(class_names)} classes. {title}.{marked}",
        method=method,
        places=places,
        rows_drawn=rows,
        classes=classes,
        class_names=tuple(class_names),
        words=tuple(words),
        query=query,
        answers=answers,
    )


def bucket_sizes(sizes: IntArray) -> BarChart:
    """How many items lie in buckets of 1, 2, 3 to 4, 5 to 8, … items of one code."""
    steps = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    last = int(steps.max(initial=0))
    items = np.bincount(steps, weights=sizes, minlength=last + 1) if len(sizes) else np.zeros(0)
    names = tuple(_range_name(step) for step in range(len(items)))
    title = "Buckets: no codes yet"
    if len(sizes):
        total, largest = int(sizes.sum()), int(sizes.max())
        title = f"{total:,} items share {len(sizes):,} codes; the fullest bucket holds {largest:,}"
    return BarChart(
        kind="buckets",
        title=title,
        description=f"Bar chart of the items by how many share their code. {title}.",
        along=Axis("items that share a code", ticks=tuple(range(len(items))), names=names),
        value=Axis("items in such buckets"),
        series=(Bars("items", np.arange(len(items)), items, BLUE),),
        note=NO_MAP,
    )


def _range_name(step: int) -> str:
    """1, 2, 3–4, 5–8, …"""
    low, high = 2 ** (step - 1) + 1 if step else 1, 2**step
    return f"{high:,}" if high <= 2 else f"{low:,}–{high:,}"
