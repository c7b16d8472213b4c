"""Charts of bits and classes: balance, words, correlation, tiles, sizes, confusion. Bits count from 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from smfh.plots.chart import Axis, BarChart, Bars, HeatMap, Row, TraceChart, chart, highest, short
from smfh.plots.lines import OPAQUE
from smfh.plots.theme import BLUE, GREY, PALETTE, class_colour, cycle, number, plain
from smfh.types import FloatArray, IntArray

NO_CODES = "No codes yet. Train a method to see its bits."
MAX_BITS = 256  # in a heat map
MAX_BIT_CLASSES = 12  # in the chart of one bit
KIND_LOOKS = {  # kind → label, colour, pattern
    "live": ("active", BLUE, ""),
    "echo": ("near-duplicate bit", GREY, "/"),
    "dead": ("dead bit", GREY, "x"),
}
NOT_LIVE = {"near-duplicate (≈)": "echo", "dead": "dead"}
Named = Sequence[tuple[str, float]]


@chart
def bit_balance(on: FloatArray, kinds: NDArray[np.str_]) -> BarChart:
    """Show the share of items with each bit on; `kinds` are live, echo or dead; arrays (bits,)."""
    numbers = {kind: np.flatnonzero(kinds == kind) for kind in KIND_LOOKS}
    counts = {"dead": len(numbers["dead"]), "near-duplicate": len(numbers["echo"])}
    title = "Bit balance: nothing trained yet"
    if useless := sum(counts.values()):
        listed = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        title = f"{useless} of {len(on)} bits add little information: {listed}"
    elif len(on):
        shares = f"{number(on.min())} to {number(on.max())} of the items"
        title = f"No dead or near-duplicate bits: each of the {len(on)} bits is on for {shares}"
    series = tuple(
        Bars(name, numbers[kind], on[numbers[kind]], colour, pattern)
        for kind, (name, colour, pattern) in KIND_LOOKS.items()
        if len(numbers[kind])
    )
    about = f"Bar chart of the share of items with each of {len(on)} bits on. {title}."
    along, value = (
        Axis("bit", limits=(-0.5, max(len(on), 1) - 0.5)),
        Axis("items with the bit on (share)", limits=(0, 1)),
    )
    return BarChart("bit balance", title, about, along, value, series, level=0.5, note=NO_CODES)


@chart
def class_bits(shares: FloatArray, contrast: FloatArray, class_names: Sequence[str]) -> HeatMap:
    """Show P(on | class), a matrix (classes, bits); `contrast` is P(on | class) − P(on | others)."""
    title = "Classes and bits: nothing trained yet"
    if contrast.size:
        row, bit = highest(np.abs(contrast))
        way, by = "more" if contrast[row, bit] > 0 else "less", number(abs(contrast[row, bit]))
        name = short(class_names[row])
        title = f"Bit {bit} follows “{name}” most: on {by} {way} often than for other items"
    shown = shares[:, :MAX_BITS]
    size = f"{len(shown)} classes by {shown.shape[1]} bits"
    about = f"Heat map of {size}: the share of a class's items with the bit on. {title}."
    down, across = Axis("class", names=tuple(class_names)), Axis("bit", names=tuple(map(str, range(shown.shape[1]))))
    value = Axis("share of items with the bit on", limits=(0, 1))
    return HeatMap("classes and bits", title, about, down, across, value, shown, diverging=True, note=NO_CODES)


@chart
def bit_correlation(correlation: FloatArray, order: Sequence[int] | None = None) -> HeatMap:
    """Show the correlation of each pair of bits, (bits, bits), in this order; NaN for dead bits."""
    bits = list(range(len(correlation)) if order is None else order)[:MAX_BITS]
    shown = correlation[np.ix_(bits, bits)]
    pairs = np.abs(np.where(np.tri(len(shown), dtype=np.bool_), np.nan, shown))
    title = "Bit correlation: there are no two bits to compare"
    if not np.isnan(pairs).all():
        j, k = highest(pairs)
        title = f"Bits {bits[j]} and {bits[k]} are the most similar: correlation {number(shown[j, k])}"
    names = tuple(map(str, bits))
    about = f"Heat map of the correlation of {len(names)} bits with each other. {title}."
    axes = Axis("bit", names=names), Axis("other bit", names=names), Axis("correlation", limits=(-1, 1))
    return HeatMap("correlation of bits", title, about, *axes, shown, diverging=True, note=NO_CODES)


@chart
def bit_words(bit: int, modality: str, words: Named) -> BarChart:
    """Show the words of a modality that switch a bit on most strongly, the strongest first."""
    names, values = _split(words)
    title = f"“{short(names[0])}” switches bit {bit} on most" if words else f"Bit {bit}: no known word switches it on"
    about = f"Bar chart of the {len(words)} strongest words of bit {bit} in {modality}. {title}."
    series, note = (
        (Bars("words", np.arange(len(names)), values, BLUE),),
        "No word of the vocabulary switches this bit on.",
    )
    axes = Axis("word", names=names), Axis("effect of the word on the bit")
    return BarChart("words of a bit", title, about, *axes, series, horizontal=True, note=note)


@chart
def bit_classes(bit: int, classes: Named) -> BarChart:
    """Show P(on | class) − P(on | others) of a bit, highest first; of many classes, only the highest and lowest."""
    half = MAX_BIT_CLASSES // 2
    names, values = _split([*classes[:half], *classes[-half:]] if len(classes) > MAX_BIT_CLASSES else classes)
    on = values > 0
    title = f"Bit {bit} follows no class"
    if on.any():
        gap = f"{values[0] * 100:+.0f} percentage points compared with other items"
        title = f"Bit {bit} is on for “{short(names[0])}” most: {gap}"
    about = f"Bar chart of how much more often bit {bit} is on for {len(names)} classes. {title}."
    axes = Axis("class", names=names), Axis("share with the bit on, minus that of other items", limits=(-1, 1))
    more = Bars("more often on", np.flatnonzero(on), values[on], BLUE)
    less = Bars("less often on", np.flatnonzero(~on), values[~on], GREY, pattern="/")
    note = "There are no classes to compare."
    return BarChart("classes of a bit", title, about, *axes, (more, less), horizontal=True, note=note)


def _split(named: Named) -> tuple[tuple[str, ...], FloatArray]:
    return tuple(name for name, _ in named), np.array([value for _, value in named], dtype=np.float64)


COLUMNS, MAX_COLUMNS = 8, 32
TILE_PIXELS, MARGIN_PIXELS, LEGEND_PIXELS = 56, 70, 24  # heights of a row of tiles, margin, legend line
NAMES_PER_LINE = 4  # of the legend
SIDE, BAR = 0.92, 0.76  # widths of a tile and of the bars in it, in columns
TILE_COLOUR = "#4B5162"
FAINT, FULL = "rgba(255, 255, 255, 0.3)", "rgba(255, 255, 255, 0.95)"
OVERLAY = {"fillmode": "overlay", "fgcolor": FULL, "size": 6}
CLASS_PATTERNS = ("", "/", ".", "x", "|")  # when the colours of classes repeat


@dataclass(frozen=True)
class Tile:
    """A bit as a tile of `bit_tiles`."""

    number: int
    kind: str  # "live", "echo" or "dead"
    balance: float  # share of items with the bit on
    classes: tuple[int, ...]  # positions of the classes that the bit follows
    summary: str
    echoes: tuple[int, int] | None = None  # earlier bit that it nearly duplicates, and 1 or −1 (inverted)

    @property
    def echo_label(self) -> str:
        """The bit that it nearly duplicates, with a minus sign if inverted; empty if there is none."""
        return "" if self.echoes is None else f"{'−' if self.echoes[1] < 0 else ''}{self.echoes[0]}"


@chart
def bit_tiles(tiles: Sequence[Tile], class_names: Sequence[str], chosen: int | None = None) -> TraceChart:
    """Show a tile per bit with its classes and balance; custom data of a click is the bit number.

    The bit with the number `chosen` is framed.
    """
    counts = {what: sum(tile.kind == kind for tile in tiles) for what, kind in NOT_LIVE.items()}
    found = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
    title = f"{len(tiles)} bits: {found or 'no dead or near-duplicate bits'}" if tiles else "Bits: none"
    # few columns, for a phone; more if there are hundreds of bits
    columns = min(max(COLUMNS, math.isqrt(len(tiles))), MAX_COLUMNS)
    lines = max(1, -(-len(tiles) // columns))
    frames = []
    for k in (k for k, tile in enumerate(tiles) if tile.number == chosen):
        down, across = divmod(k, columns)
        corners = {"x0": across - 0.5, "x1": across + 0.5, "y0": -1.0 - down, "y1": -float(down)}
        frames.append({"type": "rect", "line": {"color": GREY, "width": 4}, **corners})
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "fixedrange": True}
    layout = {  # ranges slightly larger than the tiles, for the frame of the selected one
        "xaxis": bare | {"range": [-0.55, columns - 0.45]},
        "yaxis": bare | {"range": [-lines - 0.05, 0.05]},
        "shapes": frames,
        "barmode": "overlay",
        "dragmode": False,
        "showlegend": True,
        "clickmode": "event+select",
    }
    table: list[Row] = [
        {
            "bit": tile.number,
            "kind": tile.kind,
            "balance": tile.balance,
            "classes": "; ".join(class_names[position] for position in tile.classes),
            "near-duplicate of": tile.echo_label,
            "summary": tile.summary,
        }
        for tile in tiles
    ]
    about = f"{len(tiles)} tiles, one per bit, with the classes that it follows. {title}."
    traces = _tile_traces(tiles, class_names, columns) if tiles else []
    legend_lines = -(-len({position for tile in tiles for position in tile.classes}) // NAMES_PER_LINE)
    row = TILE_PIXELS if columns <= COLUMNS else TILE_PIXELS * 2 // 3
    pixels = MARGIN_PIXELS + lines * row + LEGEND_PIXELS * legend_lines
    return TraceChart("bits as tiles", title, about, layout, traces, table, pixels=pixels, note=NO_CODES)


def _tile_traces(tiles: Sequence[Tile], class_names: Sequence[str], columns: int) -> list[go.Bar]:
    """Return the tiles by kind, then the classes that bits follow, then a bar for each balance."""
    traces, passive = [], {"hoverinfo": "skip", "unselected": OPAQUE}

    def add(at: Sequence[int], height: float, foot: float, marker: dict[str, Any], **look: Any) -> None:
        down, across = np.divmod(np.asarray(at), columns)
        place = {"x": across, "y": np.full(len(at), height), "base": -1 - down + foot}
        traces.append(go.Bar(**place, marker={"line": {"width": 0}, **marker}, **{"width": SIDE} | look))

    for kind, (name, _, pattern) in KIND_LOOKS.items():
        if at := [k for k, tile in enumerate(tiles) if tile.kind == kind]:
            labels, hover = [], []
            for tile in (tiles[k] for k in at):
                names = ", ".join(class_names[position] for position in tile.classes) or "no class"
                use = "dead" if tile.kind == "dead" else f"follows {names}"
                similar = f" · near-duplicate of bit {tile.echo_label}" if tile.echoes else ""
                hover.append(plain(f"Bit {tile.number}: {tile.summary} · on for {tile.balance:.0%} · {use}{similar}"))
                echo = f" ≈ {tile.echo_label}" if tile.echoes and columns <= COLUMNS else ""
                labels.append(f"<b>{tile.number}</b>{echo}")
            shape = OVERLAY | {"shape": pattern, "fgcolor": FAINT}
            add(
                at,
                SIDE,
                0.04,
                {"color": TILE_COLOUR if kind == "live" else GREY, "pattern": shape, "cornerradius": 6},
                name=name,
                text=labels,
                customdata=[tiles[k].number for k in at],
                hovertext=hover,
                hovertemplate="%{hovertext}<extra></extra>",
                textposition="inside",
                insidetextanchor="end",
                textangle=0,
                textfont={"color": "white", "size": 13},
                selected={"textfont": {"color": "white"}},
                unselected=OPAQUE | {"textfont": {"color": "white"}},
                showlegend=kind != "live",
            )
    for position, name in enumerate(class_names):
        if at := [k for k, tile in enumerate(tiles) if position in tile.classes]:
            parts = [(tiles[k].classes.index(position), len(tiles[k].classes)) for k in at]
            shape = OVERLAY | {"shape": cycle(CLASS_PATTERNS, position // len(PALETTE))}
            widths = {
                "width": [BAR / count for _, count in parts],
                "offset": [BAR * (part / count - 0.5) for part, count in parts],
            }
            marker = {"color": class_colour(position), "pattern": shape}
            add(at, 0.26, 0.32, marker, name=f"{plain(short(name))} · {len(at)}", showlegend=True, **widths, **passive)
    for colour, shares in ((FAINT, [1.0] * len(tiles)), (FULL, [tile.balance for tile in tiles])):
        width = [BAR * share for share in shares]  # full width means a share of 1
        add(range(len(tiles)), 0.1, 0.14, {"color": colour}, width=width, offset=-BAR / 2, showlegend=False, **passive)
    return traces


MAX_CLASSES = 40


def _largest(sizes: FloatArray | IntArray) -> IntArray:
    """Return the positions of the MAX_CLASSES largest sizes, the largest first, without size 0."""
    order: IntArray = np.argsort(-sizes, kind="stable")[:MAX_CLASSES]
    return order[sizes[order] > 0]


@chart
def label_counts(sizes: IntArray, class_names: Sequence[str]) -> BarChart:
    """Show the number of items of each class, the largest first."""
    shown = _largest(sizes)
    names = tuple(class_names[k] for k in shown)
    title = "Classes: no labelled items"
    if names:
        rest = f" (showing {len(names)} of {len(sizes)} classes)" if len(names) < len(sizes) else ""
        title = f"“{short(names[0])}” is the largest class: {sizes[shown[0]]:,} items{rest}"
    about = f"Bar chart of the number of items in {len(shown)} of {len(sizes)} classes. {title}."
    series = (Bars("items", np.arange(len(shown)), sizes[shown], BLUE),)
    note = "No labelled items. Choose another filter or data set."
    axes = Axis("class", names=names), Axis("items")
    return BarChart("label counts", title, about, *axes, series, horizontal=True, note=note)


@chart
def label_pairs(pairs: FloatArray, class_names: Sequence[str]) -> HeatMap:
    """Show how many items have both classes of each pair, (classes, classes), without the diagonal."""
    others = pairs - np.diag(np.diag(pairs))
    shown = _largest(others.sum(axis=1))
    values = np.where(np.eye(len(shown), dtype=np.bool_), np.nan, others[np.ix_(shown, shown)])
    names = tuple(class_names[k] for k in shown)
    title = "No item has two classes"
    if names:
        row, column = highest(values)
        both = f"“{short(names[row])}” and “{short(names[column])}”"
        title = f"{both} occur together most often: {values[row, column]:,.0f} items"
    about = f"Heat map of the number of items that have both classes of a pair, {len(names)} classes. {title}."
    value = Axis("items", limits=(0, float(np.nanmax(values)) if names else 1.0))
    down, across = Axis("class", names=names), Axis("other class", names=names)
    return HeatMap("label pairs", title, about, down, across, value, values, note="No item has two classes.")


@chart
def confusion(shares: FloatArray, class_names: Sequence[str], top: int) -> HeatMap:
    """Show the share of each class among the first `top` results, for the queries of each class."""
    names = tuple(class_names)
    title = "Confusion: there are no two classes"
    if len(names) > 1:
        queried, found = highest(np.where(np.eye(len(names), dtype=np.bool_), np.nan, shares))
        pair = f"“{short(names[queried])}” queries find “{short(names[found])}”"
        title = f"Most confused: {pair}, {number(shares[queried, found])} of the first {top} results"
    size = f"{len(names)} queried and {len(names)} retrieved classes"
    about = f"Heat map of {size}: the share of the first {top} results. {title}."
    down, across = Axis("queried class", names=names), Axis("retrieved class", names=names)
    value, note = (
        Axis("share of results", limits=(0, 1)),
        "No search yet. Train a method to see which classes it confuses.",
    )
    return HeatMap("confusion", title, about, down, across, value, shares, note=note)
