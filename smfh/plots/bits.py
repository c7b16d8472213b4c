"""What the bits of a code do: how often they are on, for which classes, and which of them say the same.

Bits carry the model's own numbers, from 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, short
from smfh.plots.counts import check_items, cross_counts
from smfh.plots.heat import HeatMap, highest
from smfh.plots.labels import largest_classes
from smfh.plots.theme import BLUE, GREY, number
from smfh.types import BoolArray, FloatArray

NOTE = "No codes yet. Train a method, and its bits appear here."
MOST_BITS = 256  # that a matrix shows
LOOKS = {"live": ("of use", BLUE, ""), "twin": ("twin of another", GREY, "/"), "dead": ("dead", GREY, "x")}


def bit_kinds(codes: BoolArray) -> NDArray[np.str_]:
    """`dead` for a bit that is the same in all items, `twin` for one that equals or mirrors an earlier
    one, `live` for the rest; (bits,)."""
    check_items(codes=codes)
    kinds, seen = [], set()
    for bit in codes.T:
        if len(bit) == 0 or bit.all() or not bit.any():
            kinds.append("dead")
            continue
        content = np.packbits(bit ^ bit[0]).tobytes()  # the same for a bit and its mirror image
        kinds.append("twin" if content in seen else "live")
        seen.add(content)
    return np.array(kinds, dtype=np.str_)


def bit_balance(codes: BoolArray) -> BarChart:
    """The share of items that have each bit on."""
    kinds = bit_kinds(codes)
    on = codes.sum(axis=0) / max(len(codes), 1)
    shown = tuple(_bars(on, kinds == kind, *look) for kind, look in LOOKS.items() if np.any(kinds == kind))
    title = _balance_finding(kinds, on) if len(codes) else "Balance of bits: nothing trained yet"
    return BarChart(
        kind="balance of bits",
        title=title,
        description=f"Bar chart of the share of items with each of {len(on)} bits on. {title}.",
        along=Axis("bit", limits=(-0.5, max(len(on), 1) - 0.5)),
        value=Axis("items with the bit on (share)", limits=(0, 1)),
        series=shown if len(codes) else (),
        level=0.5,
        note=NOTE,
    )


def _bars(on: FloatArray, chosen: BoolArray, name: str, colour: str, pattern: str) -> Bars:
    bits = np.flatnonzero(chosen)
    return Bars(name, bits, on[bits], colour, pattern)


def _balance_finding(kinds: NDArray[np.str_], on: FloatArray) -> str:
    live = on[kinds == "live"]
    spread = f"each on for {number(live.min())} to {number(live.max())} of the items" if len(live) else ""
    dead, twins = (int(np.count_nonzero(kinds == kind)) for kind in ("dead", "twin"))
    if not dead + twins:
        return f"All {len(on)} bits are of use, {spread}"
    parts = [f"{dead} dead" if dead else "", f"{twins} twins of others" if twins else ""]
    return f"{dead + twins} of {len(on)} bits are of no use: {' and '.join(filter(None, parts))}"


def class_bits(codes: BoolArray, labels: BoolArray, class_names: Sequence[str]) -> HeatMap:
    """The share of each class's items that have each bit on; the largest classes, the first bits."""
    check_items(codes=codes, labels=labels)
    codes, rows = codes[:, :MOST_BITS], largest_classes(labels)
    names = tuple(class_names[k] for k in rows)
    sizes = labels[:, rows].sum(axis=0)[:, None]
    on = cross_counts(labels[:, rows], codes)
    rest = np.maximum(len(codes) - sizes, 1)
    contrast = on / np.maximum(sizes, 1) - (codes.sum(axis=0) - on) / rest  # P(on | class) − P(on | others)
    title = _class_finding(contrast, names)
    return HeatMap(
        kind="classes and bits",
        title=title,
        description=f"Heat map of {len(names)} classes by {codes.shape[1]} bits: the share of a class's "
        f"items with the bit on. {title}.",
        row_label="class",
        column_label="bit",
        value_label="share on",
        row_names=names,
        column_names=tuple(map(str, range(codes.shape[1]))),
        values=on / np.maximum(sizes, 1),
        limits=(0, 1),
        diverging=True,
        note=NOTE,
    )


def _class_finding(contrast: FloatArray, names: Sequence[str]) -> str:
    if contrast.size == 0:
        return "Classes and bits: nothing trained yet"
    row, bit = highest(np.abs(contrast))
    way = "more" if contrast[row, bit] > 0 else "less"
    share = number(abs(contrast[row, bit]))
    return f"Bit {bit} follows “{short(names[row])}” most: on {way} often by {share} than for the other items"


def correlate(codes: BoolArray) -> FloatArray:
    """ρ_jk = (n_jk/N − p_j p_k) / √(p_j (1 − p_j) p_k (1 − p_k)); not a number for a dead bit."""
    p = codes.sum(axis=0) / max(len(codes), 1)
    deviation = np.sqrt(p * (1 - p))
    scale = np.outer(deviation, deviation)
    covariance = cross_counts(codes, codes) / max(len(codes), 1) - np.outer(p, p)
    correlation: FloatArray = np.divide(covariance, scale, where=scale > 0, out=np.full(scale.shape, np.nan))
    return correlation


def bit_correlation(codes: BoolArray) -> HeatMap:
    """The correlation of every two bits; a dead bit has none."""
    check_items(codes=codes)
    correlation = correlate(codes[:, : MOST_BITS if len(codes) else 0])
    title = _correlation_finding(correlation)
    names = tuple(map(str, range(len(correlation))))
    return HeatMap(
        kind="correlation of bits",
        title=title,
        description=f"Heat map of the correlation of {len(names)} bits with each other. {title}.",
        row_label="bit",
        column_label="other bit",
        value_label="correlation",
        row_names=names,
        column_names=names,
        values=correlation,
        limits=(-1, 1),
        diverging=True,
        note=NOTE,
    )


def _correlation_finding(correlation: FloatArray) -> str:
    pairs = np.abs(np.where(np.tri(len(correlation), dtype=np.bool_), np.nan, correlation))
    if np.isnan(pairs).all():
        return "Correlation of bits: there are no two bits to compare"
    j, k = highest(pairs)
    return f"Bits {j} and {k} are the most alike: correlation {number(correlation[j, k])}"
