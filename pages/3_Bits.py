"""Bits: what each bit stands for, how the codes lie, and which queries they serve well or badly."""

import streamlit as st

from smfh.ui.bits.chosen import chosen_bit
from smfh.ui.bits.matrix import draw_matrix, draw_votes
from smfh.ui.bits.queries import draw_queries
from smfh.ui.bits.space import draw_space
from smfh.ui.bits.tiles import draw_tiles
from smfh.ui.bits.topic import draw_reasons, draw_topic
from smfh.ui.page import begin_run
from smfh.ui.topics import topics_of

TABS = {
    "Classes and bits": draw_matrix,
    "The space of codes": draw_space,
    "Worst and best queries": draw_queries,
}

run = begin_run("Bits", "See which classes switch a bit on, which bits vote together, and how the codes lie.")
topics = topics_of(run)
draw_votes(run)
chosen = chosen_bit(topics)
left, right = st.columns([6, 5], gap="large")
with left:
    draw_tiles(topics, chosen, run.data.class_names)
with right:
    draw_topic(topics, chosen, run.data)
draw_reasons(chosen)
for tab, draw in zip(st.tabs(list(TABS), key="bits_tab", on_change="rerun"), TABS.values(), strict=True):
    with tab:
        if tab.open:
            draw(run)
