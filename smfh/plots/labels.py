"""Classes: how many items they have, which come together, and which answer for which."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, chart, short
from smfh.plots.heat import HeatMap, highest
from smfh.plots.theme import BLUE, number
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
        along=Axis("class", names=names),
        value=Axis("items"),
        series=(Bars("items", at, sizes[shown], BLUE),),
        horizontal=True,
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
        down=Axis("class", names=names),
        across=Axis("other class", names=names),
        value=Axis("items", limits=(0, float(np.nanmax(values)) if names else 1.0)),
        values=values,
        note="No item carries two classes, so no two of them come together.",
    )


@chart
def confusion(shares: FloatArray, class_names: Sequence[str], top: int) -> HeatMap:
    """For the queries of each class, the share of their first `top` answers that carry each class."""
    names = tuple(class_names)
    title = "Confusion: there are no two classes to mix up"
    if len(names) > 1:
        asked, answered = highest(np.where(np.eye(len(names), dtype=np.bool_), np.nan, shares))
        by, share = f"by “{short(names[answered])}” most", number(shares[asked, answered])
        title = f"“{short(names[asked])}” is answered {by}: {share} of the first {top}"
    return HeatMap(
        kind="confusion",
        title=title,
        description=f"Heat map of {len(names)} queried by as many retrieved classes: the share of the first "
        f"{top} answers. {title}.",
        down=Axis("queried class", names=names),
        across=Axis("retrieved class", names=names),
        value=Axis("share of answers", limits=(0, 1)),
        values=shares,
        note="Nothing searched yet. Train a method, and the classes that it mixes up appear here.",
    )
