"""All bits at a glance: a tile each, with a band of the classes it follows and a bar for its balance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from smfh.plots.bits import KIND_LOOKS, NO_CODES
from smfh.plots.chart import Chart, Row, chart, short
from smfh.plots.theme import GREY, PALETTE, class_colour, plain, turn

COLUMNS, MOST_COLUMNS = 8, 32
TILE, MARGIN, LEGEND = 56, 70, 24  # pixels of height: a row of tiles, what stands round them, a line of names
NAMES = 4  # of classes in a line of the legend
MOST_NAMES = 40
SIDE, BAR = 0.92, 0.76  # of a tile, and of the bars in it, in columns
SLATE = "#4B5162"
FAINT, FULL = "rgba(255, 255, 255, 0.3)", "rgba(255, 255, 255, 0.95)"
OVERLAY = {"fillmode": "overlay", "fgcolor": FULL, "size": 6}
AGAIN = ("", "/", ".", "x", "|")  # on the colours of classes when they start again


@dataclass(frozen=True)
class Tile:
    """A bit as its tile shows it."""

    number: int
    kind: str  # "live", "echo" or "dead"
    balance: float
    classes: tuple[int, ...]  # positions of those that it follows
    summary: str
    echoes: tuple[int, int] | None = None  # the earlier bit that it votes with, and 1 or −1


@dataclass(frozen=True, eq=False, kw_only=True)
class TileChart(Chart):
    """Tiles row by row; the point that is clicked carries the bit's number as its custom data."""

    tiles: tuple[Tile, ...]
    class_names: tuple[str, ...]
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
        a_line = TILE if self.columns <= COLUMNS else TILE * 2 // 3
        return MARGIN + self.lines * a_line + LEGEND * -(-min(len(self.class_names), MOST_NAMES) // NAMES)

    def _draw(self, figure: go.Figure) -> None:
        bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "fixedrange": True}
        # a little more than the tiles, for the frame round the chosen one
        x, y = {"range": [-0.55, self.columns - 0.45]}, {"range": [-self.lines - 0.05, 0.05]}
        figure.update_layout(xaxis=bare | x, yaxis=bare | y)
        figure.update_layout(barmode="overlay", dragmode=False, showlegend=True, clickmode="event+select")
        if self.tiles:
            figure.add_traces([self._trace(kind) for kind in KIND_LOOKS if self._of_kind(kind)])
            figure.add_traces([self._followers(position) for position in self._named()])
            all_items, balances = [1.0] * len(self.tiles), [tile.balance for tile in self.tiles]
            figure.add_traces([self._bars(FAINT, all_items), self._bars(FULL, balances)])
        for k, tile in enumerate(self.tiles):
            if tile.number == self.chosen:
                down, across = divmod(k, self.columns)
                corners = {"x0": across - 0.5, "x1": across + 0.5, "y0": -1.0 - down, "y1": -float(down)}
                figure.add_shape(type="rect", line={"color": GREY, "width": 4}, **corners)

    def _of_kind(self, kind: str) -> list[int]:
        return [k for k, tile in enumerate(self.tiles) if tile.kind == kind]

    def _named(self) -> list[int]:
        """The classes that the legend names: all, or of very many those that a bit follows."""
        if len(self.class_names) <= MOST_NAMES:
            return list(range(len(self.class_names)))
        return sorted({position for tile in self.tiles for position in tile.classes})

    def _trace(self, kind: str) -> go.Bar:
        """The tiles of a kind, with their numbers; a click or a look finds them."""
        at = self._of_kind(kind)
        tiles = [self.tiles[k] for k in at]
        name, _, pattern = KIND_LOOKS[kind]
        return self._boxes(
            at,
            name=name,
            text=[self._label(tile) for tile in tiles],
            customdata=[tile.number for tile in tiles],
            hovertext=[plain(self._words(tile)) for tile in tiles],
            hovertemplate="%{hovertext}<extra></extra>",
            textposition="inside",
            insidetextanchor="end",
            textangle=0,
            textfont={"color": "white", "size": 13},
            marker={
                "color": SLATE if kind == "live" else GREY,
                "pattern": OVERLAY | {"shape": pattern, "fgcolor": FAINT},
                "line": {"width": 0},
                "cornerradius": 6,
            },
            selected={"textfont": {"color": "white"}},
            unselected={"marker": {"opacity": 1}, "textfont": {"color": "white"}},
            showlegend=kind != "live",
        )

    def _label(self, tile: Tile) -> str:
        """Its number and, where there is room, the bit that it repeats."""
        if tile.echoes is None or self.columns > COLUMNS:
            return f"<b>{tile.number}</b>"
        return f"<b>{tile.number}</b> ≈ {_signed(tile.echoes)}"

    def _words(self, tile: Tile) -> str:
        names = ", ".join(self.class_names[position] for position in tile.classes) or "no class"
        use = "dead" if tile.kind == "dead" else f"follows {names}"
        told = "" if tile.echoes is None else f" · votes with {_signed(tile.echoes)}"
        return f"Bit {tile.number}: {tile.summary} · on for {tile.balance:.0%} · {use}{told}"

    def _followers(self, position: int) -> go.Bar:
        """A piece of the band in the tile of each bit that follows the class."""
        at = [k for k, tile in enumerate(self.tiles) if position in tile.classes]
        parts = [len(self.tiles[k].classes) for k in at]
        which = [self.tiles[k].classes.index(position) for k in at]
        return self._boxes(
            at,
            height=0.26,
            foot=0.32,
            name=f"{plain(short(self.class_names[position]))} · {len(at)}",
            width=[BAR / part for part in parts],
            offset=[BAR * (k / part - 0.5) for k, part in zip(which, parts, strict=True)],
            marker={
                "color": class_colour(position),
                "pattern": OVERLAY | {"shape": turn(AGAIN, position // len(PALETTE))},
                "line": {"width": 0},
            },
            hoverinfo="skip",
            showlegend=True,
            unselected={"marker": {"opacity": 1}},
        )

    def _bars(self, colour: str, shares: Sequence[float]) -> go.Bar:
        """A bar at the foot of each tile: the whole width is all items."""
        return self._boxes(
            range(len(self.tiles)),
            height=0.1,
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
                "classes": "; ".join(self.class_names[position] for position in tile.classes),
                "votes with": "" if tile.echoes is None else _signed(tile.echoes),
                "stands for": tile.summary,
            }
            for tile in self.tiles
        ]


@chart
def bit_tiles(tiles: Sequence[Tile], class_names: Sequence[str], chosen: int | None = None) -> TileChart:
    """A tile for each bit, in the order given."""
    echoes, dead = (sum(tile.kind == kind for tile in tiles) for kind in ("echo", "dead"))
    found = [f"{echoes} {'votes' if echoes == 1 else 'vote'} with another (≈)"] * bool(echoes) + [
        f"{dead} dead"
    ] * bool(dead)
    title = f"{len(tiles)} bits: {' and '.join(found) or 'each votes for itself'}" if tiles else "Bits: none"
    return TileChart(
        kind="bits as tiles",
        title=title,
        description=f"{len(tiles)} tiles, one a bit, with a band of the classes that it follows. {title}.",
        tiles=tuple(tiles),
        class_names=tuple(class_names),
        chosen=chosen,
        note=NO_CODES,
    )


def _signed(echoes: tuple[int, int]) -> str:
    number, sign = echoes
    return str(number) if sign > 0 else f"−{number}"
