"""How far from the queries the database lies."""

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, Mark
from smfh.plots.theme import NOT_RELEVANT, RELEVANT, number
from smfh.types import DistanceCounts, FloatArray, InputError


def distance_histogram(
    counts: DistanceCounts | None, radius: int | None = None, query: int | None = None
) -> BarChart:
    """Items at each Hamming distance, relevant or not: of one query, or the mean over all."""
    if counts is None:
        counts = DistanceCounts(np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.int64))
    if query is not None and not 0 <= query < len(counts.items):
        raise InputError(f"The query must be one of 0 to {len(counts.items) - 1}; got {query}.")
    chosen = slice(None) if query is None else slice(query, query + 1)
    items, relevant = (x[chosen].mean(axis=0) for x in (counts.items, counts.relevant))
    bits = len(items) - 1
    searched = items.any()
    places = np.arange(bits + 1) if searched else np.arange(0)
    title = _finding(items, relevant, radius) if searched else "Distances: nothing searched yet"
    who = "the queries (mean)" if query is None else "the query"
    return BarChart(
        kind="distances",
        title=title,
        description=f"Histogram of the database by Hamming distance from {who}, 0 to {bits} bits. {title}.",
        along=Axis("Hamming distance (bits)", limits=(-0.5, bits + 0.5)),
        value=Axis("items" if query is not None else "items a query (mean)"),
        series=(
            Bars("relevant", places, relevant[places], RELEVANT),
            Bars("not relevant", places, (items - relevant)[places], NOT_RELEVANT, pattern="/"),
        ),
        marks=() if radius is None or not searched else (Mark(f"radius {radius}", radius + 0.5),),
        note="Nothing searched yet. Ask for something, and its distances appear here.",
    )


def _finding(items: FloatArray, relevant: FloatArray, radius: int | None) -> str:
    near = len(items) if radius is None else radius + 1
    where = "The database has" if radius is None else f"Within radius {radius} lie"
    found, hits, all_hits = items[:near].sum(), relevant[:near].sum(), relevant.sum()
    return f"{where} {_count(found)} items, {_count(hits)} of the {_count(all_hits)} relevant ones"


def _count(x: float) -> str:
    return f"{x:,.0f}" if float(x).is_integer() else number(x)
