"""Which classes answer for which."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.chart import short
from smfh.plots.counts import check_items
from smfh.plots.heat import HeatMap, highest
from smfh.plots.labels import largest_classes
from smfh.plots.theme import number
from smfh.types import BoolArray, FloatArray, IntArray


def confusion(
    indices: IntArray,
    query_labels: BoolArray,
    labels: BoolArray,
    class_names: Sequence[str],
    top: int = 100,
) -> HeatMap:
    """For the queries of each class, the share of their first answers that carry each class.

    `indices` (queries, depth) are rows of `labels`, nearest first; the largest classes of the queries.
    """
    check_items(query_labels=query_labels)
    check_items(labels=labels)
    top = min(top, indices.shape[1])
    shown = largest_classes(query_labels)
    asked = query_labels[:, shown]
    answered = np.zeros(asked.shape)
    for place in range(top):  # place by place: queries × places × classes would be large
        answered += labels[indices[:, place]][:, shown]
    shares: FloatArray = (asked.T.astype(np.float64) @ answered) / (asked.sum(axis=0)[:, None] * max(top, 1))
    names = tuple(class_names[k] for k in shown)
    title = _finding(shares, names, top)
    return HeatMap(
        kind="confusion",
        title=title,
        description=f"Heat map of {len(names)} queried by as many retrieved classes: the share of the first "
        f"{top} answers. {title}.",
        row_label="queried class",
        column_label="retrieved class",
        value_label="share of answers",
        row_names=names,
        column_names=names,
        values=shares,
        limits=(0, 1),
        note="Nothing searched yet. Train a method, and the classes that it mixes up appear here.",
    )


def _finding(shares: FloatArray, names: Sequence[str], top: int) -> str:
    if len(names) < 2:
        return "Confusion: there are no two classes to mix up"
    asked, answered = highest(np.where(np.eye(len(names), dtype=np.bool_), np.nan, shares))
    share = number(shares[asked, answered])
    return (
        f"“{short(names[asked])}” is answered by “{short(names[answered])}” most: {share} of the first {top}"
    )
