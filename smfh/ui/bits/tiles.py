"""All bits as tiles, in any order, some of them or all; a click chooses one."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import streamlit as st

from smfh.bits import BitTopic
from smfh.plots import Tile, bit_tiles
from smfh.ui.address import hold
from smfh.ui.bits.chosen import Topics, choose_bit
from smfh.ui.charts import picked_numbers, show_pickable

NUMBER, TILES = "bit_number", "bit_tiles"
ORDERS: Mapping[str, Callable[[BitTopic], Any]] = MappingProxyType(
    {
        "Number": lambda topic: topic.number,
        "Class it follows": lambda topic: (topic.kind != "live", topic.classes[0][0], -topic.classes[0][1]),
        "Balance, the evenest first": lambda topic: (abs(topic.balance - 0.5), topic.number),
        "Agreement, the highest first": lambda topic: (-topic.agreement, topic.number),
    }
)
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"All": ("live", "twin", "dead"), "Of use": ("live",), "Dead or twin": ("twin", "dead")}
)


def draw_tiles(topics: Topics, chosen: BitTopic, class_names: Sequence[str]) -> None:
    """Order, filter, a field for the number, and the tiles."""

    def typed() -> None:
        choose_bit(topics, int(st.session_state[NUMBER]))

    def clicked() -> None:
        if numbers := picked_numbers(st.session_state[TILES]):
            choose_bit(topics, numbers[0])

    by, show, which = st.columns([3, 2, 2], vertical_alignment="bottom")
    order = by.selectbox("Order", list(ORDERS), key="bit_order")
    kind = show.selectbox("Show", list(KINDS), key="bit_filter")
    which.number_input("Bit", 0, len(topics) - 1, key=hold(NUMBER, chosen.number), on_change=typed)
    tiles = [tile_of(topic, class_names) for topic in arrange(topics, order, kind)]
    if not tiles:
        st.info("No bit is dead or the twin of another: all are of use.")
        return
    show_pickable(bit_tiles(tiles, chosen.number), TILES, ("points",), clicked)
    st.caption(
        "Click a tile. Its colour is the class it is on for most; its bar, the share of items it is on for."
    )


def arrange(topics: Sequence[BitTopic], order: str, kind: str) -> list[BitTopic]:
    """The bits of the kind, in the order."""
    return sorted((topic for topic in topics if topic.kind in KINDS[kind]), key=ORDERS[order])


def tile_of(topic: BitTopic, class_names: Sequence[str]) -> Tile:
    """The bit as a tile, coloured by the class that it follows."""
    followed = topic.classes[0][0]
    position = class_names.index(followed)
    return Tile(topic.number, topic.kind, topic.balance, position, followed, topic.summary)
