"""Bits: what each bit stands for, how the codes lie, and which queries they serve well or badly."""

import streamlit as st

from smfh.ui.bits.chosen import chosen_bit
from smfh.ui.bits.matrix import draw_matrix
from smfh.ui.bits.queries import draw_queries
from smfh.ui.bits.space import draw_space
from smfh.ui.bits.tiles import draw_tiles
from smfh.ui.bits.topic import draw_reasons, draw_topic
from smfh.ui.page import begin_run
from smfh.ui.topics import topics_of

TABS = ("Classes and bits", "The space of codes", "Worst and best queries")

run = begin_run("Bits", "Each bit is a topic: see what switches it on, and how the codes lie.")
known = topics_of(run)
chosen = chosen_bit(known)
left, right = st.columns([6, 5], gap="large")
with left:
    draw_tiles(known, run.data.class_names, chosen)
with right:
    draw_topic(known, chosen, run.data)
draw_reasons(known[chosen])
classes, space, queries = st.tabs(TABS, key="bits_tab", on_change="rerun")
with classes:
    if classes.open:
        draw_matrix(run)
with space:
    if space.open:
        draw_space(run)
with queries:
    if queries.open:
        draw_queries(run)
