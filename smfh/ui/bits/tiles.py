"""All bits as tiles, in any order, some of them or all; a click chooses one."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import streamlit as st

from smfh.bits import FOLLOWS, TOGETHER, BitTopic
from smfh.plots import Tile, bit_tiles
from smfh.ui.address import hold
from smfh.ui.bits.chosen import Topics, choose_bit
from smfh.ui.charts import picked_numbers, show_pickable

NUMBER, TILES = "bit_number", "bit_tiles"
ORDERS: Mapping[str, Callable[[BitTopic], Any]] = MappingProxyType(
    {
        "Number": lambda topic: topic.number,
        "Bits that vote together": lambda topic: (-len(topic.group), topic.group, topic.number),
        "Class it follows": lambda topic: (topic.kind != "live", topic.classes[0][0], -topic.classes[0][1]),
        "Balance, the evenest first": lambda topic: (abs(topic.balance - 0.5), topic.number),
        "Agreement, the highest first": lambda topic: (-topic.agreement, topic.number),
    }
)
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"All": ("live", "echo", "dead"), "One of each vote": ("live",), "Dead or repeated": ("echo", "dead")}
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
        st.info("No bit is dead or votes with another: each tells something of its own.")
        return
    show_pickable(bit_tiles(tiles, class_names, chosen.number), TILES, ("points",), clicked)
    st.caption(
        f"Click a tile. Its band: the classes it follows, being on for them at least {FOLLOWS * 100:.0f} "
        "percentage points more often than for the others (the legend counts the bits that do). Its bar: the "
        f"share of items it is on for. ≈ 5: it votes with bit 5, |ρ| ≥ {TOGETHER}; ≈ −5: against it."
    )


def kind_of(topic: BitTopic) -> str:
    """`dead`, `echo` for one that votes with an earlier bit, or `live`."""
    if topic.kind == "dead":
        return "dead"
    return "live" if topic.echoes is None else "echo"


def arrange(topics: Sequence[BitTopic], order: str, kind: str) -> list[BitTopic]:
    """The bits of the kind, in the order."""
    return sorted((topic for topic in topics if kind_of(topic) in KINDS[kind]), key=ORDERS[order])


def tile_of(topic: BitTopic, class_names: Sequence[str]) -> Tile:
    """The bit as a tile, with a band of the classes that it follows."""
    classes = tuple(sorted(class_names.index(name) for name in topic.follows))
    return Tile(topic.number, kind_of(topic), topic.balance, classes, topic.summary, topic.echoes)
