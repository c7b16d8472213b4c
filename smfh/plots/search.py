"""Charts of a search and of the code space: distances, two codes bit by bit, a map, identical codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, BarChart, Bars, Chart, Mark, Row, TraceChart, chart, short
from smfh.plots.lines import OPAQUE
from smfh.plots.theme import BLUE, GREEN, GREY, ORANGE, SYMBOLS, class_colour, cycle, number, plain
from smfh.types import EPS, BoolArray, DistanceCounts, FloatArray, IntArray

NOTE = "No codes yet. Train a method to see a map of its database."
BITS_PER_LINE, MAX_NAMED_BITS = 32, 8
QUERY, RESULT, ROWS = 0, 1, 3  # rows within a line of bits, and rows per line
LINE_PIXELS, MARGIN_PIXELS = 96, 96
SHAPES = {  # (codes agree, bit is on) → name, symbol, colour
    (True, True): ("on in both codes", "square", BLUE),
    (True, False): ("off in both codes", "square-open", GREY),
    (False, True): ("on in this code only", "diamond", ORANGE),
    (False, False): ("off in this code only", "diamond-open", ORANGE),
}


@chart
def distance_histogram(
    counts: DistanceCounts | None, radius: int | None = None, relevance_known: bool = True
) -> BarChart:
    """Show the number of items, relevant or not, at each Hamming distance; a mean if several queries."""
    items = relevant = np.zeros(0)
    title = "Distances: nothing searched yet"
    if counts is not None and counts.items.any():
        items, relevant = counts.items.mean(axis=0), counts.relevant.mean(axis=0)
        near = slice(None if radius is None else radius + 1)
        sums = (items[near].sum(), items.sum(), relevant[near].sum(), relevant.sum())
        found, every, hits, hittable = (f"{x:,.0f}" if x.is_integer() else number(x) for x in sums)
        title = f"The database has {found}" if radius is None else f"Within radius {radius}: {found}"
        if relevance_known:
            title += f" items, {hits} of the {hittable} relevant ones"
        else:
            title += " items" if radius is None else f" of {every} items"
    bits, at, single = max(len(items) - 1, 0), np.arange(len(items)), counts is None or len(counts.items) == 1
    of = "query" if single else "queries (mean)"
    about = f"Histogram of the database by Hamming distance from the {of}, 0 to {bits} bits. {title}."
    along = Axis("Hamming distance (bits)", limits=(-0.5, bits + 0.5))
    value = Axis("items" if single else "items per query (mean)")
    series: tuple[Bars, ...] = (Bars("items", at, items, BLUE),)
    if relevance_known:
        others = Bars("not relevant", at, items - relevant, GREY, pattern="/")
        series = Bars("relevant", at, relevant, GREEN), others
    marks = (Mark(f"radius {radius}", radius + 0.5),) if radius is not None and len(items) else ()
    note = "No search yet. Search for something to see its distances."
    return BarChart("distances", title, about, along, value, series, marks=marks, note=note)


@chart
def bit_strips(query: BoolArray | None, result: BoolArray | None, weights: FloatArray | None = None) -> TraceChart:
    """Show the codes of a query and a result, (bits,), in lines of bits; None if nothing is selected.

    With the weights of an asymmetric distance, heavier bits are larger.
    """
    none = np.zeros(0, dtype=np.bool_)
    query, result = none if query is None else query, none if result is None else result
    lines = -(-max(len(query), 1) // BITS_PER_LINE)
    title = "Two codes: nothing selected yet"
    if len(query):
        differ = np.flatnonzero(query != result)
        named, more = ", ".join(map(str, differ[:MAX_NAMED_BITS])), len(differ) - MAX_NAMED_BITS
        named += f" and {more} more" if more > 0 else ""
        where = {0: "", 1: f"; bit {named} differs"}.get(len(differ), f"; bits {named} differ")
        title = f"{len(query) - len(differ)} of {len(query)} bits agree{where}"
    traces, codes = [], np.stack([query, result])
    sizes, notes = np.full(len(query), 11.0), np.full(len(query), "")
    if weights is not None:
        sizes = 5 + 11 * np.sqrt(weights / max(weights.max(), EPS))
        notes = np.array([f", weight {weight:.2f}" for weight in weights])
    for (agree, on), (name, symbol, colour) in SHAPES.items():
        rows, bits = np.nonzero(((query == result) == agree) & (codes == on))
        if len(bits):
            look = {"symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}}
            hover = [bits.astype(str), np.where(rows == QUERY, "query", "result"), notes[bits]]
            traces.append(
                go.Scatter(
                    name=name,
                    x=bits % BITS_PER_LINE,
                    y=bits // BITS_PER_LINE * ROWS + rows,
                    mode="markers",
                    marker=look | {"size": sizes[bits]},
                    customdata=np.column_stack(hover),
                    hovertemplate=f"bit %{{customdata[0]}} of the %{{customdata[1]}}: {name}%{{customdata[2]}}"
                    "<extra></extra>",
                )
            )
    bare = {"zeroline": False, "showgrid": False, "rangemode": "normal"}
    along = Axis("bit (counted from the number at the left)", limits=(-0.7, BITS_PER_LINE - 0.3)).layout()
    ticks = {
        line * ROWS + row: f"{name} {line * BITS_PER_LINE}" if lines > 1 else name
        for line in range(lines)
        for row, name in ((QUERY, "query"), (RESULT, "result"))
    }
    down = {"tickvals": list(ticks), "ticktext": list(ticks.values()), "range": [lines * ROWS - 1, -1]}
    layout = {
        "xaxis": along | bare | {"tickvals": list(range(0, BITS_PER_LINE, 8))},
        "yaxis": Axis("code").layout() | bare | down,
    }
    table: list[Row] = [
        {"bit": bit, "query": int(q), "result": int(r), "agree": "yes" if q == r else "no"}
        | ({} if weights is None else {"weight": float(weights[bit])})
        for bit, (q, r) in enumerate(zip(query, result, strict=True))
    ]
    about = (
        f"The codes of query and result, {len(query)} bits in lines of {BITS_PER_LINE}: squares where they agree, "
        f"diamonds where they differ, filled where a bit is on. {title}."
    )
    pixels = MARGIN_PIXELS + LINE_PIXELS * lines
    note = "No result is selected. Select a result to compare its bits with the query."
    return TraceChart("two codes", title, about, layout, traces, table, pixels=pixels, note=note)


@dataclass(frozen=True, eq=False)
class MapChart(Chart):
    """Items as points, with a colour and a symbol per class; the custom data of a point is the item's row."""

    method: str  # of projection, such as t-SNE
    positions: FloatArray  # (points, 2)
    items: IntArray  # (points,), rows of the data set
    classes: IntArray  # (points,), decides colour and symbol
    class_names: Sequence[str]
    hover_texts: Sequence[str]  # of the points
    query: FloatArray | None  # (2,)
    results: IntArray | None  # positions of points

    @property
    def height(self) -> int:
        return 620

    def _draw(self, figure: go.Figure) -> None:
        hidden = {"showticklabels": False, "zeroline": False, "rangemode": "normal"}
        x = Axis(f"{self.method}, first direction").layout() | hidden
        y = Axis("second direction").layout() | hidden
        figure.update_layout(xaxis=x, yaxis=y, dragmode="select", showlegend=True)

        def add(at: FloatArray, name: str, marker: Mapping[str, Any], **look: Any) -> None:
            figure.add_scatter(x=at[:, 0], y=at[:, 1], mode="markers", name=name, marker=marker, **look)

        for k in np.unique(self.classes).tolist():
            chosen = np.flatnonzero(self.classes == k)
            marker = {"color": class_colour(k), "symbol": cycle(SYMBOLS, k), "size": 7, "opacity": 0.8}
            texts = [plain(self.hover_texts[point]) for point in chosen.tolist()]
            hover = {"text": texts, "hovertemplate": "%{text}", "customdata": self.items[chosen].tolist()}
            add(self.positions[chosen], plain(short(self.class_names[k])), marker, **hover)
        mark = {"hoverinfo": "name", "unselected": OPAQUE}
        if self.results is not None and len(self.results):
            ring = {"symbol": "circle-open", "size": 15, "color": GREY, "line": {"width": 2}}
            add(self.positions[self.results], "results", ring, **mark)
        if self.query is not None:
            star = {"symbol": "star", "size": 20, "color": ORANGE, "line": {"width": 2, "color": "#000000"}}
            add(self.query[None], "query", star, **mark)

    def rows(self) -> list[Row]:
        """Return a row per point."""
        results = set() if self.results is None else set(self.results.tolist())
        return [
            {
                "row": int(self.items[point]),
                "x": float(x),
                "y": float(y),
                "class": self.class_names[int(self.classes[point])],
                "item": self.hover_texts[point],
                "result": int(point in results),
            }
            for point, (x, y) in enumerate(self.positions)
        ]


@chart
def code_map(
    method: str,
    positions: FloatArray,
    items: IntArray,
    classes: IntArray,
    class_names: Sequence[str],
    hover_texts: Sequence[str],
    of_items: int,
    query: FloatArray | None = None,
    results: IntArray | None = None,
) -> MapChart:
    """Show items of the database as points on a map, with a query and its results if given."""
    title = "Map: nothing to draw"
    if len(items):
        drawn = f"{len(items):,}" if len(items) == of_items else f"{len(items):,} of {of_items:,}"
        title = f"{drawn} items of the database, placed by {method} of their codes"
    marked = "" if query is None else " A star marks the query, rings mark its first results."
    about = f"Scatter plot, coloured and shaped by {len(class_names)} classes. {title}.{marked}"
    points = (method, positions, items, classes, class_names, hover_texts, query, results)
    return MapChart(f"map of codes, {method}", title, about, *points, note=NOTE)


@chart
def bucket_sizes(sizes: IntArray) -> BarChart:
    """Show how many items are in groups of 1, 2, 3–4, 5–8, … items with identical codes."""
    steps = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    items = np.bincount(steps, weights=sizes)
    larger = [f"{2 ** (step - 1) + 1:,}–{2**step:,}" for step in range(2, len(items))]
    title = "Identical codes: no codes yet"
    if len(sizes):
        total, largest = int(sizes.sum()), int(sizes.max())
        title = f"{total:,} items have {len(sizes):,} different codes; at most {largest:,} have the same code"
    about = f"Bar chart of the items by how many have the same code. {title}."
    axes = Axis("items with the same code", names=("1", "2", *larger)[: len(items)]), Axis("items")
    return BarChart("buckets", title, about, *axes, (Bars("items", np.arange(len(items)), items, BLUE),), note=NOTE)
