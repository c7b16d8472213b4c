"""All bits at a glance: a tile each, coloured by the class it follows, with a bar for its balance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.bits import KIND_LOOKS, NO_CODES
from smfh.plots.chart import Chart, Row, chart
from smfh.plots.theme import GREY, class_colour, plain

COLUMNS, MOST_COLUMNS = 8, 32
TILE, MARGIN = 50, 90  # pixels of height that a row of tiles and what stands round them take
SIDE, BAR = 0.92, 0.72  # of a tile, and of the bar of its balance, in columns
FAINT, FULL = "rgba(255, 255, 255, 0.3)", "rgba(255, 255, 255, 0.95)"


@dataclass(frozen=True)
class Tile:
    """A bit as its tile shows it."""

    number: int
    kind: str  # "live", "dead" or "twin"
    balance: float
    position: int  # of the class that it follows
    class_name: str
    summary: str


@dataclass(frozen=True, eq=False, kw_only=True)
class TileChart(Chart):
    """Tiles row by row; the point that is clicked carries the bit's number as its custom data."""

    tiles: tuple[Tile, ...]
    chosen: int | None = None

    @property
    def columns(self) -> int:
        """Few enough for a phone, and more where there are hundreds of bits."""
        return min(max(COLUMNS, math.isqrt(len(self.tiles))), MOST_COLUMNS)

    @property
    def lines(self) -> int:
        """Of tiles."""
        return max(1, -(-len(self.tiles) // self.columns))

    @property
    def height(self) -> int:
        return MARGIN + self.lines * (TILE if self.columns <= COLUMNS else TILE * 2 // 3)

    def _draw(self, figure: go.Figure) -> None:
        bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "fixedrange": True}
        # a little more than the tiles, for the frame round the chosen one
        x, y = {"range": [-0.55, self.columns - 0.45]}, {"range": [-self.lines - 0.05, 0.05]}
        figure.update_layout(xaxis=bare | x, yaxis=bare | y)
        figure.update_layout(barmode="overlay", dragmode=False, showlegend=True, clickmode="event+select")
        if self.tiles:
            figure.add_traces([self._trace(name, at) for name, at in self._groups().items()])
            all_items, balances = [1.0] * len(self.tiles), [tile.balance for tile in self.tiles]
            figure.add_traces([self._bars(FAINT, all_items), self._bars(FULL, balances)])
        for k, tile in enumerate(self.tiles):
            if tile.number == self.chosen:
                down, across = divmod(k, self.columns)
                corners = {"x0": across - 0.5, "x1": across + 0.5, "y0": -1.0 - down, "y1": -float(down)}
                figure.add_shape(type="rect", line={"color": GREY, "width": 4}, **corners)

    def _groups(self) -> dict[str, list[int]]:
        """Which tiles, counted from 0, by what the legend calls them: a class, or of no use."""
        groups: dict[str, list[int]] = {}
        for k, tile in sorted(enumerate(self.tiles), key=lambda pair: pair[1].position):
            name = tile.class_name if tile.kind == "live" else KIND_LOOKS[tile.kind][0]
            groups.setdefault(name, []).append(k)
        return groups

    def _trace(self, name: str, at: Sequence[int]) -> go.Bar:
        tiles = [self.tiles[k] for k in at]
        first = tiles[0]
        return self._boxes(
            at,
            name=plain(name),
            text=[f"<b>{tile.number}</b>" for tile in tiles],
            customdata=[tile.number for tile in tiles],
            hovertext=[plain(_words(tile)) for tile in tiles],
            hovertemplate="%{hovertext}<extra></extra>",
            textposition="inside",
            insidetextanchor="end",
            textangle=0,
            textfont={"color": "white", "size": 13},
            marker={
                "color": class_colour(first.position) if first.kind == "live" else GREY,
                "pattern": {"shape": KIND_LOOKS[first.kind][2]},
                "line": {"width": 0},
                "cornerradius": 6,
            },
            selected={"textfont": {"color": "white"}},
            unselected={"marker": {"opacity": 1}, "textfont": {"color": "white"}},
        )

    def _bars(self, colour: str, shares: Sequence[float]) -> go.Bar:
        """A bar at the foot of each tile: the whole width is all items."""
        return self._boxes(
            range(len(self.tiles)),
            height=0.12,
            foot=0.14,
            width=[BAR * share for share in shares],
            offset=-BAR / 2,
            marker={"color": colour, "line": {"width": 0}},
            hoverinfo="skip",
            showlegend=False,
            unselected={"marker": {"opacity": 1}},
        )

    def _boxes(self, at: Sequence[int], height: float = SIDE, foot: float = 0.04, **look: Any) -> go.Bar:
        down, across = np.divmod(np.asarray(at), self.columns)
        return go.Bar(x=across, y=np.full(len(at), height), base=-1 - down + foot, **{"width": SIDE} | look)

    def rows(self) -> list[Row]:
        """A row for every tile, as they stand."""
        return [
            {
                "bit": tile.number,
                "kind": tile.kind,
                "balance": tile.balance,
                "class": tile.class_name,
                "stands for": tile.summary,
            }
            for tile in self.tiles
        ]


@chart
def bit_tiles(tiles: Sequence[Tile], chosen: int | None = None) -> TileChart:
    """A tile for each bit, in the order given."""
    useless = sum(tile.kind != "live" for tile in tiles)
    use = f"{useless} of no use (dead or twins)" if useless else "all of use"
    title = f"{len(tiles)} bits: {use}" if tiles else "Bits: none to show"
    return TileChart(
        kind="bits as tiles",
        title=title,
        description=f"{len(tiles)} tiles, one a bit, coloured by the class that it follows most. {title}.",
        tiles=tuple(tiles),
        chosen=chosen,
        note=NO_CODES,
    )


def _words(tile: Tile) -> str:
    use = f"follows {tile.class_name}" if tile.kind == "live" else KIND_LOOKS[tile.kind][0]
    return f"Bit {tile.number}: {tile.summary} · on for {tile.balance:.0%} · {use}"
