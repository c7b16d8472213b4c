"""What is in a data set: how many items a class has, and which classes come together."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, chart, short
from smfh.plots.heat import CELL, HeatMap, highest
from smfh.plots.theme import BLUE
from smfh.types import FloatArray, IntArray

MOST_CLASSES = 40


def _largest(sizes: FloatArray | IntArray) -> IntArray:
    """Which are the largest, the largest first; stable: equal ones keep their order. None without size."""
    order: IntArray = np.argsort(-sizes, kind="stable")[:MOST_CLASSES]
    return order[sizes[order] > 0]


@chart
def label_counts(sizes: IntArray, class_names: Sequence[str]) -> BarChart:
    """The number of items of each class, the largest first."""
    shown = _largest(sizes)
    at, names = np.arange(len(shown)), tuple(class_names[k] for k in shown)
    title = "Classes: no labelled items"
    if names:
        rest = f" (drawn: {len(names)} of {len(sizes)} classes)" if len(names) < len(sizes) else ""
        title = f"“{short(names[0])}” is the largest class: {sizes[shown[0]]:,} items{rest}"
    return BarChart(
        kind="label counts",
        title=title,
        description=f"Bar chart of the items of {len(shown)} of {len(sizes)} classes. {title}.",
        along=Axis("class", ticks=tuple(at.tolist()), names=names),
        value=Axis("items"),
        series=(Bars("items", at, sizes[shown], BLUE),),
        horizontal=True,
        pixels=160 + CELL * max(len(shown), 10),
        note="No labelled items here. Choose another filter or data set.",
    )


@chart
def label_pairs(pairs: FloatArray, class_names: Sequence[str]) -> HeatMap:
    """The number of items that carry both of two classes, (classes, classes); the diagonal is left out."""
    others = pairs - np.diag(np.diag(pairs))
    shown = _largest(others.sum(axis=1))
    values = np.where(np.eye(len(shown), dtype=np.bool_), np.nan, others[np.ix_(shown, shown)])
    names = tuple(class_names[k] for k in shown)
    title = "No item carries two classes"
    if names:
        row, column = highest(values)
        both = f"“{short(names[row])}” and “{short(names[column])}”"
        title = f"{both} come together most: {values[row, column]:,.0f} items"
    return HeatMap(
        kind="label pairs",
        title=title,
        description=f"Heat map of how many items carry both of two classes, {len(names)} classes. {title}.",
        row_label="class",
        column_label="other class",
        value_label="items",
        row_names=names,
        column_names=names,
        values=values,
        limits=(0, float(np.nanmax(values)) if names else 1.0),
        note="No item carries two classes, so no two of them come together.",
    )
