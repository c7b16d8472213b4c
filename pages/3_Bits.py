"""Bits: what each bit stands for, the map of codes, and which queries score worst and best."""

import streamlit as st

from smfh.ui.bits.tabs import draw_queries, draw_space
from smfh.ui.bits.topics import chosen_bit, draw_code_summary, draw_matrices, draw_reasons, draw_tiles, draw_topic
from smfh.ui.page import begin_run
from smfh.ui.search_state import topics_of

TABS = {"Classes and bits": draw_matrices, "Map of codes": draw_space, "Worst and best queries": draw_queries}

run = begin_run("Bits", "See which classes switch a bit on, which bits are redundant, and a map of codes.")
topics = topics_of(run)
draw_code_summary(run)
chosen = chosen_bit(topics)
left, right = st.columns([6, 5], gap="large")
with left:
    draw_tiles(topics, chosen, run.data)
with right:
    draw_topic(topics, chosen, run.data)
draw_reasons(chosen)
for tab, draw in zip(st.tabs(list(TABS), key="bits_tab", on_change="rerun"), TABS.values(), strict=True):
    with tab:
        if tab.open:
            draw(run)
