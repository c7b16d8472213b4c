"""What is in a data set: how many items a class has, and which classes come together."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, short
from smfh.plots.counts import check_items, cross_counts
from smfh.plots.heat import CELL, HeatMap, highest
from smfh.plots.theme import BLUE
from smfh.types import BoolArray, IntArray

MOST_CLASSES = 40
NOTE = "No labelled items here. Choose another filter or data set."


def largest_classes(labels: BoolArray, most: int = MOST_CLASSES) -> IntArray:
    """The columns of the classes with the most items, the largest first; none without any item."""
    sizes: IntArray = labels.sum(axis=0)
    order: IntArray = np.argsort(-sizes, kind="stable")[:most]  # stable: equal classes keep their order
    return order[sizes[order] > 0]


def label_counts(labels: BoolArray, class_names: Sequence[str]) -> BarChart:
    """The number of items of each class, the largest first."""
    check_items(labels=labels)
    shown = largest_classes(labels)
    sizes = labels.sum(axis=0)[shown]
    places, names = np.arange(len(shown)), tuple(class_names[k] for k in shown)
    title = _count_finding(labels, names, sizes)
    return BarChart(
        kind="label counts",
        title=title,
        description=f"Bar chart of the items of {len(shown)} of {labels.shape[1]} classes. {title}.",
        along=Axis("class", ticks=tuple(places.tolist()), names=names),
        value=Axis("items"),
        series=(Bars("items", places, sizes, BLUE),),
        horizontal=True,
        height=160 + CELL * max(len(shown), 10),
        note=NOTE,
    )


def _count_finding(labels: BoolArray, names: Sequence[str], sizes: IntArray) -> str:
    if not names:
        return "Classes: no labelled items"
    which = f" (the largest {len(names)} of {labels.shape[1]})" if len(names) < labels.shape[1] else ""
    return f"“{short(names[0])}” is the largest class: {sizes[0]:,} of {len(labels):,} items{which}"


def label_pairs(labels: BoolArray, class_names: Sequence[str]) -> HeatMap:
    """The number of items that carry both of two classes; the diagonal is left to the counts."""
    check_items(labels=labels)
    several = labels[labels.sum(axis=1) > 1]
    shown = largest_classes(several)
    pairs = cross_counts(several[:, shown], several[:, shown])
    np.fill_diagonal(pairs, np.nan)
    names = tuple(class_names[k] for k in shown)
    title = "No item carries two classes"
    if names:
        row, column = highest(pairs)
        both = f"“{short(names[row])}” and “{short(names[column])}”"
        title = f"{both} come together most: {pairs[row, column]:,.0f} items"
    return HeatMap(
        kind="label pairs",
        title=title,
        description=f"Heat map of how many items carry both of two classes, {len(names)} classes. {title}.",
        row_label="class",
        column_label="other class",
        value_label="items",
        row_names=names,
        column_names=names,
        values=pairs,
        limits=(0, float(np.nanmax(pairs)) if names else 1.0),
        note="No item carries two classes, so no two of them come together.",
    )
