"""One query beside one of its answers: their codes bit by bit."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Row
from smfh.plots.theme import BLUE, GREY, ORANGE, blank, write_note
from smfh.types import BoolArray, InputError, IntArray

LINE = 32  # bits side by side
QUERY, RESULT, ROWS = 0, 1, 3  # heights within a line of bits, and the height of a line
LINE_PIXELS, REST_PIXELS = 96, 96
LOOKS = {  # shape and colour
    "both on": ("square", BLUE),
    "both off": ("square-open", GREY),
    "on here alone": ("diamond", ORANGE),
    "off here alone": ("diamond-open", ORANGE),
}


@dataclass(frozen=True, eq=False)
class Strips:
    """Two codes of the same length, the query's above the result's, wrapped into lines."""

    query: BoolArray  # (bits,)
    result: BoolArray  # (bits,)
    kind: str = "two codes"
    note: str = "No answer is chosen. Ask why something was found, and its bits appear here."

    def __post_init__(self) -> None:
        if self.query.ndim != 1 or self.query.shape != self.result.shape:
            raise InputError(
                f"Two codes must be rows of as many bits; got {self.query.shape} and {self.result.shape}."
            )

    @property
    def title(self) -> str:
        bits = len(self.query)
        if not bits:
            return "Two codes: nothing chosen yet"
        differ = np.flatnonzero(self.query != self.result)
        where = {0: "", 1: "; bit {} differs"}.get(len(differ), "; bits {} differ").format(_list(differ))
        return f"{bits - len(differ)} of {bits} bits agree{where}"

    @property
    def description(self) -> str:
        return (
            f"The codes of the query and of the result, {len(self.query)} bits in lines of {LINE}: squares "
            f"where they agree, diamonds where they differ, filled where a bit is on. {self.title}."
        )

    def figure(self, titled: bool = True) -> go.Figure:
        lines = -(-max(len(self.query), 1) // LINE)
        figure = blank(
            self.title if titled else "", self.description, self.kind, REST_PIXELS + LINE_PIXELS * lines
        )
        figure.update_layout(xaxis=_along(), yaxis=_down(lines, len(self.query)))
        if not len(self.query):
            write_note(figure, self.note)
            return figure
        for name, (symbol, colour) in LOOKS.items():
            bits, rows = self._places(name)
            if len(bits):
                figure.add_trace(_markers(name, symbol, colour, bits, rows))
        return figure

    def _places(self, look: str) -> tuple[IntArray, IntArray]:
        """The bits of this look, and whether it is the query's or the result's."""
        same, q, r = self.query == self.result, self.query, self.result
        chosen = {
            "both on": (same & q, same & r),
            "both off": (same & ~q, same & ~r),
            "on here alone": (~same & q, ~same & r),
            "off here alone": (~same & ~q, ~same & ~r),
        }[look]
        bits = [np.flatnonzero(bits) for bits in chosen]
        rows = [np.full(len(places), row) for places, row in zip(bits, (QUERY, RESULT), strict=True)]
        return np.concatenate(bits), np.concatenate(rows)

    def rows(self) -> list[Row]:
        """A row for every bit."""
        return [
            {"bit": bit, "query": int(q), "result": int(r), "agree": "yes" if q == r else "no"}
            for bit, (q, r) in enumerate(zip(self.query, self.result, strict=True))
        ]


def bit_strips(query: BoolArray | None, result: BoolArray | None) -> Strips:
    """The two codes; None where nothing is chosen."""
    none = np.zeros(0, dtype=np.bool_)
    return Strips(none if query is None else query, none if result is None else result)


def _markers(name: str, symbol: str, colour: str, bits: IntArray, rows: IntArray) -> go.Scatter:
    who = np.where(rows == QUERY, "query", "result")
    return go.Scatter(
        name=name,
        x=bits % LINE,
        y=bits // LINE * ROWS + rows,
        mode="markers",
        marker={"symbol": symbol, "color": colour, "size": 11, "line": {"width": 2, "color": colour}},
        customdata=np.column_stack([bits.astype(str), who]),
        hovertemplate=f"bit %{{customdata[0]}} of the %{{customdata[1]}}: {name}<extra></extra>",
    )


def _along() -> dict[str, object]:
    layout = Axis("bit, counted from the number on the left", limits=(-0.7, LINE - 0.3)).layout()
    return layout | {"tickvals": list(range(0, LINE, 8)), "zeroline": False, "showgrid": False}


def _down(lines: int, bits: int) -> dict[str, object]:
    names = {
        line * ROWS + row: f"{word} {line * LINE}" if bits > LINE else word
        for line in range(lines)
        for row, word in ((QUERY, "query"), (RESULT, "result"))
    }
    layout = Axis("code", ticks=tuple(names), names=tuple(names.values())).layout()
    bottom, top = lines * ROWS - 1, -1
    return layout | {"range": [bottom, top], "zeroline": False, "showgrid": False, "rangemode": "normal"}


def _list(bits: IntArray, most: int = 8) -> str:
    named = ", ".join(map(str, bits[:most]))
    return named if len(bits) <= most else f"{named} and {len(bits) - most} more"
