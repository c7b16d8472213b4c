"""How far from the queries the database lies."""

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Mark, chart
from smfh.plots.theme import BLUE, GREEN, GREY, number
from smfh.types import DistanceCounts, FloatArray


@chart
def distance_histogram(
    counts: DistanceCounts | None, radius: int | None = None, relevance_known: bool = True
) -> BarChart:
    """Items at each Hamming distance, relevant or not: of one query, or the mean over several."""
    items = relevant = np.zeros(0)
    if counts is not None and counts.items.any():
        items, relevant = counts.items.mean(axis=0), counts.relevant.mean(axis=0)
    bits, at, single = max(len(items) - 1, 0), np.arange(len(items)), counts is None or len(counts.items) == 1
    title = "Distances: nothing searched yet"
    if len(items):
        title = _finding(items, relevant if relevance_known else None, radius)
    return BarChart(
        kind="distances",
        title=title,
        description=f"Histogram of the database by Hamming distance from the "
        f"{'query' if single else 'queries (mean)'}, 0 to {bits} bits. {title}.",
        along=Axis("Hamming distance (bits)", limits=(-0.5, bits + 0.5)),
        value=Axis("items" if single else "items a query (mean)"),
        series=(
            Bars("relevant", at, relevant, GREEN),
            Bars("not relevant", at, items - relevant, GREY, pattern="/"),
        )
        if relevance_known
        else (Bars("items", at, items, BLUE),),
        marks=(Mark(f"radius {radius}", radius + 0.5),) if radius is not None and len(items) else (),
        note="Nothing searched yet. Ask for something, and its distances appear here.",
    )


def _finding(items: FloatArray, relevant: FloatArray | None, radius: int | None) -> str:
    near = slice(None if radius is None else radius + 1)
    where = "The database has" if radius is None else f"Within radius {radius} lie"
    found = f"{where} {_count(items[near].sum())}"
    if relevant is None:
        return f"{found} items" if radius is None else f"{found} of {_count(items.sum())} items"
    return f"{found} items, {_count(relevant[near].sum())} of the {_count(relevant.sum())} relevant ones"


def _count(x: float) -> str:
    return f"{x:,.0f}" if float(x).is_integer() else number(x)
