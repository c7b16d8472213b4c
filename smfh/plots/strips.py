"""One query beside one of its answers: their codes bit by bit."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row, chart
from smfh.plots.theme import BLUE, GREY, ORANGE
from smfh.types import BoolArray, InputError, IntArray

BITS_A_LINE = 32
QUERY, RESULT, ROWS = 0, 1, 3  # heights within a line of bits, and the height of a line
LINE_PIXELS, REST_PIXELS = 96, 96
SHAPES = {  # by whether the codes agree and whether the bit is on: name, shape and colour
    (True, True): ("both on", "square", BLUE),
    (True, False): ("both off", "square-open", GREY),
    (False, True): ("on here alone", "diamond", ORANGE),
    (False, False): ("off here alone", "diamond-open", ORANGE),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Strips(Chart):
    """Two codes of the same length, the query's above the result's, wrapped into lines."""

    query: BoolArray  # (bits,)
    result: BoolArray  # (bits,)

    @property
    def lines(self) -> int:
        return -(-max(len(self.query), 1) // BITS_A_LINE)

    @property
    def height(self) -> int:
        return REST_PIXELS + LINE_PIXELS * self.lines

    def _draw(self, figure: go.Figure) -> None:
        bare = {"zeroline": False, "showgrid": False, "rangemode": "normal"}
        along = Axis("bit, counted from the number on the left", limits=(-0.7, BITS_A_LINE - 0.3)).layout()
        places = [(line, row) for line in range(self.lines) for row in (QUERY, RESULT)]
        words = ["query" if row == QUERY else "result" for _, row in places]
        if self.lines > 1:
            words = [f"{word} {line * BITS_A_LINE}" for word, (line, _) in zip(words, places, strict=True)]
        heights = [line * ROWS + row for line, row in places]
        down = {"tickvals": heights, "ticktext": words, "range": [self.lines * ROWS - 1, -1]}
        figure.update_layout(
            xaxis=along | bare | {"tickvals": list(range(0, BITS_A_LINE, 8))},
            yaxis=Axis("code").layout() | bare | down,
        )
        codes = np.stack([self.query, self.result])
        for (agree, on), (name, symbol, colour) in SHAPES.items():
            rows, bits = np.nonzero(((self.query == self.result) == agree) & (codes == on))
            if len(bits):
                figure.add_trace(_markers(name, symbol, colour, bits, rows))

    def rows(self) -> list[Row]:
        """A row for every bit."""
        return [
            {"bit": bit, "query": int(q), "result": int(r), "agree": "yes" if q == r else "no"}
            for bit, (q, r) in enumerate(zip(self.query, self.result, strict=True))
        ]


@chart
def bit_strips(query: BoolArray | None, result: BoolArray | None) -> Strips:
    """The two codes; None where nothing is chosen."""
    none = np.zeros(0, dtype=np.bool_)
    query, result = none if query is None else query, none if result is None else result
    if query.ndim != 1 or query.shape != result.shape:
        raise InputError(f"Two codes must be rows of as many bits; got {query.shape} and {result.shape}.")
    title = _finding(query, result) if len(query) else "Two codes: nothing chosen yet"
    return Strips(
        kind="two codes",
        title=title,
        description=f"The codes of the query and of the result, {len(query)} bits in lines of {BITS_A_LINE}: "
        f"squares where they agree, diamonds where they differ, filled where a bit is on. {title}.",
        query=query,
        result=result,
        note="No answer is chosen. Ask why something was found, and its bits appear here.",
    )


def _finding(query: BoolArray, result: BoolArray) -> str:
    differ = np.flatnonzero(query != result)
    where = {0: "", 1: "; bit {} differs"}.get(len(differ), "; bits {} differ").format(_list(differ))
    return f"{len(query) - len(differ)} of {len(query)} bits agree{where}"


def _markers(name: str, symbol: str, colour: str, bits: IntArray, rows: IntArray) -> go.Scatter:
    who = np.where(rows == QUERY, "query", "result")
    return go.Scatter(
        name=name,
        x=bits % BITS_A_LINE,
        y=bits // BITS_A_LINE * ROWS + rows,
        mode="markers",
        marker={"symbol": symbol, "color": colour, "size": 11, "line": {"width": 2, "color": colour}},
        customdata=np.column_stack([bits.astype(str), who]),
        hovertemplate=f"bit %{{customdata[0]}} of the %{{customdata[1]}}: {name}<extra></extra>",
    )


def _list(bits: IntArray, most: int = 8) -> str:
    named = ", ".join(map(str, bits[:most]))
    return named if len(bits) <= most else f"{named} and {len(bits) - most} more"
