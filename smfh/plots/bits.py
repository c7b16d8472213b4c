"""What the bits of a code do: how often they are on, for which words and classes, and which say the same.

Bits carry the model's own numbers, from 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, chart, short
from smfh.plots.heat import HeatMap, highest
from smfh.plots.theme import BLUE, GREY, number
from smfh.types import FloatArray

NO_CODES = "No codes yet. Train a method, and its bits appear here."
MOST_BITS = 256  # that a matrix shows
MOST_CLASSES = 12  # that are shown of one bit
KIND_LOOKS = {  # what it is called, its colour and its pattern
    "live": ("of use", BLUE, ""),
    "echo": ("votes with another", GREY, "/"),
    "twin": ("twin of another", GREY, "/"),
    "dead": ("dead", GREY, "x"),
}
Named = Sequence[tuple[str, float]]


@chart
def bit_balance(on: FloatArray, kinds: NDArray[np.str_]) -> BarChart:
    """The share of items that have each bit on; kinds are live, twin or dead; each (bits,)."""
    title = _balance_finding(on, kinds) if len(on) else "Balance of bits: nothing trained yet"
    numbers = {kind: np.flatnonzero(kinds == kind) for kind in KIND_LOOKS}
    return BarChart(
        kind="balance of bits",
        title=title,
        description=f"Bar chart of the share of items with each of {len(on)} bits on. {title}.",
        along=Axis("bit", limits=(-0.5, max(len(on), 1) - 0.5)),
        value=Axis("items with the bit on (share)", limits=(0, 1)),
        series=tuple(
            Bars(name, numbers[kind], on[numbers[kind]], colour, pattern)
            for kind, (name, colour, pattern) in KIND_LOOKS.items()
            if len(numbers[kind])
        ),
        level=0.5,
        note=NO_CODES,
    )


def _balance_finding(on: FloatArray, kinds: NDArray[np.str_]) -> str:
    dead, twins = (int(np.count_nonzero(kinds == kind)) for kind in ("dead", "twin"))
    if not dead + twins:
        low, high = number(on.min()), number(on.max())
        return f"All {len(on)} bits are of use, each on for {low} to {high} of the items"
    counts = {"dead": dead, "twins of others": twins}
    told = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{dead + twins} of {len(on)} bits are of no use: {told}"


@chart
def class_bits(shares: FloatArray, contrast: FloatArray, class_names: Sequence[str]) -> HeatMap:
    """P(on | class), told by P(on | class) − P(on | others); each (classes, bits)."""
    title = "Classes and bits: nothing trained yet"
    if contrast.size:
        row, bit = highest(np.abs(contrast))
        way, by = "more" if contrast[row, bit] > 0 else "less", number(abs(contrast[row, bit]))
        name = short(class_names[row])
        title = f"Bit {bit} follows “{name}” most: on {way} often by {by} than for the other items"
    shown = shares[:, :MOST_BITS]
    return HeatMap(
        kind="classes and bits",
        title=title,
        description=f"Heat map of {len(shown)} classes by {shown.shape[1]} bits: the share of a class's "
        f"items with the bit on. {title}.",
        down=Axis("class", names=tuple(class_names)),
        across=Axis("bit", names=tuple(map(str, range(shown.shape[1])))),
        value=Axis("share on", limits=(0, 1)),
        values=shown,
        diverging=True,
        note=NO_CODES,
    )


@chart
def bit_correlation(correlation: FloatArray, order: Sequence[int] | None = None) -> HeatMap:
    """The correlation of every two bits, (bits, bits), drawn in this order; not a number for a dead bit."""
    bits = list(range(len(correlation)) if order is None else order)[:MOST_BITS]
    shown = correlation[np.ix_(bits, bits)]
    pairs = np.abs(np.where(np.tri(len(shown), dtype=np.bool_), np.nan, shown))
    title = "Correlation of bits: there are no two bits to compare"
    if not np.isnan(pairs).all():
        j, k = highest(pairs)
        title = f"Bits {bits[j]} and {bits[k]} are the most alike: correlation {number(shown[j, k])}"
    names = tuple(map(str, bits))
    return HeatMap(
        kind="correlation of bits",
        title=title,
        description=f"Heat map of the correlation of {len(names)} bits with each other. {title}.",
        down=Axis("bit", names=names),
        across=Axis("other bit", names=names),
        value=Axis("correlation", limits=(-1, 1)),
        values=shown,
        diverging=True,
        note=NO_CODES,
    )


@chart
def bit_words(bit: int, modality: str, words: Named) -> BarChart:
    """The words that alone lift the bit most, the strongest first."""
    names, values = _split(words)
    title = f"Bit {bit}: no known word switches it on"
    if words:
        title = f"“{short(names[0])}” switches bit {bit} on most"
    return BarChart(
        kind="words of a bit",
        title=title,
        description=f"Bar chart of the {len(words)} strongest words of bit {bit} in {modality}. {title}.",
        along=Axis("word", names=names),
        value=Axis("pull of the word"),
        series=(Bars("words", np.arange(len(names)), values, BLUE),),
        horizontal=True,
        note="No word of the vocabulary switches this bit on.",
    )


@chart
def bit_classes(bit: int, classes: Named) -> BarChart:
    """P(on | class) − P(on | others), the highest first; of many classes those at both ends."""
    half = MOST_CLASSES // 2
    shown = [*classes[:half], *classes[-half:]] if len(classes) > MOST_CLASSES else list(classes)
    names, values = _split(shown)
    on = values > 0
    title = f"Bit {bit} follows no class"
    if on.any():
        title = (
            f"Bit {bit} is on for “{short(names[0])}” most: {values[0] * 100:+.0f} points against the others"
        )
    return BarChart(
        kind="classes of a bit",
        title=title,
        description=f"Bar chart of how much more often bit {bit} is on for {len(shown)} classes. {title}.",
        along=Axis("class", names=names),
        value=Axis("more or less often on than for others", limits=(-1, 1)),
        series=(
            Bars("more often on", np.flatnonzero(on), values[on], BLUE),
            Bars("less often on", np.flatnonzero(~on), values[~on], GREY, pattern="/"),
        ),
        horizontal=True,
        note="There are no classes to compare.",
    )


def _split(named: Named) -> tuple[tuple[str, ...], FloatArray]:
    return tuple(name for name, _ in named), np.array([value for _, value in named], dtype=np.float64)
