"""All bits as tiles, in any order, some of them or all; a click chooses one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st

from smfh.bits import BitTopic
from smfh.plots import Tile, bit_tiles
from smfh.ui.bits.chosen import choose_bit
from smfh.ui.charts import picked_numbers, show_pickable

NUMBER, TILES = "bit_number", "bit_tiles"
ORDERS: Mapping[str, Callable[[BitTopic], Any]] = MappingProxyType(
    {
        "number": lambda topic: topic.number,
        "class": lambda topic: (topic.kind != "live", topic.classes[0][0], -topic.classes[0][1]),
        "balance": lambda topic: (abs(topic.balance - 0.5), topic.number),
        "agreement": lambda topic: (-topic.agreement, topic.number),
    }
)
ORDER_WORDS = MappingProxyType(
    {
        "number": "Number",
        "class": "Class it follows",
        "balance": "Balance, the evenest first",
        "agreement": "Agreement, the highest first",
    }
)
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"All": ("live", "twin", "dead"), "Of use": ("live",), "Dead or twin": ("twin", "dead")}
)


def draw_tiles(known: tuple[BitTopic, ...], class_names: Sequence[str], chosen: int) -> None:
    """Order, filter, a field for the number, and the tiles."""
    by, show, which = st.columns([3, 2, 2], vertical_alignment="bottom")
    order = by.selectbox("Order", list(ORDERS), format_func=lambda name: ORDER_WORDS[name], key="bit_order")
    kind = show.selectbox("Show", list(KINDS), key="bit_filter")
    st.session_state[NUMBER] = chosen
    which.number_input("Bit", 0, len(known) - 1, key=NUMBER, on_change=_typed, args=(known,))
    shown = arrange(known, order, kind)
    if not shown:
        st.info("No bit is dead or the twin of another: all are of use.")
        return
    tiles = [tile_of(topic, class_names) for topic in shown]
    show_pickable(bit_tiles(tiles, chosen), TILES, ("points",), partial(_clicked, known))
    st.caption(
        "Click a tile. Its colour is the class it is on for most; its bar, the share of items it is on for."
    )


def arrange(known: Sequence[BitTopic], order: str, kind: str) -> list[BitTopic]:
    """The bits of the kind, in the order."""
    return sorted((topic for topic in known if topic.kind in KINDS[kind]), key=ORDERS[order])


def tile_of(topic: BitTopic, class_names: Sequence[str]) -> Tile:
    followed = topic.classes[0][0]
    return Tile(
        number=topic.number,
        kind=topic.kind,
        balance=topic.balance,
        position=class_names.index(followed),
        class_name=followed,
        summary=topic.summary,
    )


def _typed(known: tuple[BitTopic, ...]) -> None:
    choose_bit(known, int(st.session_state[NUMBER]))


def _clicked(known: tuple[BitTopic, ...]) -> None:
    if numbers := picked_numbers(st.session_state[TILES]):
        choose_bit(known, numbers[0])
