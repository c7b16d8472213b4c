"""What one bit stands for: the words and the classes that it is on for."""

from collections.abc import Sequence

import numpy as np

from smfh.plots.bars import BarChart, Bars
from smfh.plots.chart import Axis, chart, short
from smfh.plots.heat import CELL
from smfh.plots.theme import BLUE, GREY
from smfh.types import FloatArray

MOST_CLASSES = 12
Named = Sequence[tuple[str, float]]


@chart
def bit_words(number: int, modality: str, words: Named) -> BarChart:
    """The words that alone lift the bit most, the strongest first."""
    names, values = _split(words)
    title = f"Bit {number}: no known word switches it on"
    if words:
        title = f"“{short(names[0])}” switches bit {number} on most"
    return BarChart(
        kind="words of a bit",
        title=title,
        description=f"Bar chart of the {len(words)} strongest words of bit {number} in {modality}. {title}.",
        along=Axis("word", ticks=tuple(range(len(names))), names=names),
        value=Axis("pull of the word"),
        series=(Bars("words", np.arange(len(names)), values, BLUE),),
        horizontal=True,
        pixels=110 + CELL * 2 * max(len(words), 4),
        note="No word of the vocabulary switches this bit on.",
    )


@chart
def bit_classes(number: int, classes: Named) -> BarChart:
    """P(on | class) − P(on | others), the highest first; of many classes those at both ends."""
    half = MOST_CLASSES // 2
    shown = [*classes[:half], *classes[-half:]] if len(classes) > MOST_CLASSES else list(classes)
    names, values = _split(shown)
    on = values > 0
    title = f"Bit {number} follows no class"
    if on.any():
        title = f"Bit {number} is on for “{short(names[0])}” most: {values[0]:+.0%} against the other items"
    return BarChart(
        kind="classes of a bit",
        title=title,
        description=f"Bar chart of how much more often bit {number} is on for {len(shown)} classes. {title}.",
        along=Axis("class", ticks=tuple(range(len(names))), names=names),
        value=Axis("more or less often on than for others", limits=(-1, 1)),
        series=(
            Bars("more often on", np.flatnonzero(on), values[on], BLUE),
            Bars("less often on", np.flatnonzero(~on), values[~on], GREY, pattern="/"),
        ),
        horizontal=True,
        pixels=150 + CELL * 2 * max(len(shown), 4),
        note="There are no classes to compare.",
    )


def _split(named: Named) -> tuple[tuple[str, ...], FloatArray]:
    return tuple(name for name, _ in named), np.array([value for _, value in named], dtype=np.float64)
