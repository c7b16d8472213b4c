"""How far the database lies from a query of which nobody knows what is right."""

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Mark
from smfh.plots.theme import BLUE
from smfh.types import IntArray


def reach_histogram(items: IntArray, radius: int) -> BarChart:
    """Items at each Hamming distance, 0 to the number of bits; relevance is not told."""
    bits = max(len(items) - 1, 0)
    searched = bool(np.any(items))
    title = "Distances: nothing searched yet"
    if searched:
        title = f"Within radius {radius} lie {items[: radius + 1].sum():,} of {items.sum():,} items"
    return BarChart(
        kind="reach",
        title=title,
        description=f"Histogram of the database by Hamming distance, 0 to {bits} bits. {title}.",
        along=Axis("Hamming distance (bits)", limits=(-0.5, bits + 0.5)),
        value=Axis("items"),
        series=(Bars("items", np.arange(len(items)), items, BLUE),) if searched else (),
        marks=(Mark(f"radius {radius}", radius + 0.5),) if searched else (),
        note="Nothing searched yet. Ask for something, and its distances appear here.",
    )
