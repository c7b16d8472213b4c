"""Bits: what each bit stands for, how the codes lie, and which queries they serve well or badly."""

import streamlit as st

from smfh.ui.bits.matrix import draw_matrix
from smfh.ui.bits.model import chosen_bit, model_of, topics_of
from smfh.ui.bits.queries import draw_queries
from smfh.ui.bits.space import draw_space
from smfh.ui.bits.tiles import draw_tiles
from smfh.ui.bits.topic import draw_reasons, draw_topic
from smfh.ui.page import begin_run
from smfh.ui.session import shown_data

TABS = ("Classes and bits", "The space of codes", "Worst and best queries")

_, job = begin_run("Bits", "Each bit is a topic: see what switches it on, and how the codes lie.")
model = model_of(job, *shown_data())
known = topics_of(model)
chosen = chosen_bit(known)
left, right = st.columns([6, 5], gap="large")
with left:
    draw_tiles(known, model.data.class_names, chosen)
with right:
    draw_topic(known[chosen], model.data)
draw_reasons(known[chosen])
classes, space, queries = st.tabs(TABS, key="bits_tab", on_change="rerun")
with classes:
    if classes.open:
        draw_matrix(model)
with space:
    if space.open:
        draw_space(model)
with queries:
    if queries.open:
        draw_queries(model)
