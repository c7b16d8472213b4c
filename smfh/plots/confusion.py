"""Which classes answer for which."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.chart import chart, short
from smfh.plots.heat import HeatMap, highest
from smfh.plots.theme import number
from smfh.types import FloatArray


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
        row_label="queried class",
        column_label="retrieved class",
        value_label="share of answers",
        row_names=names,
        column_names=names,
        values=shares,
        limits=(0, 1),
        note="Nothing searched yet. Train a method, and the classes that it mixes up appear here.",
    )
