"""Data: what there is to learn from, to look through, and to bring along."""

import streamlit as st

from smfh.ui.data.browse import draw_browse
from smfh.ui.data.cards import TAB, TABS, choose_wanted, draw_cards
from smfh.ui.data.own import draw_own_data
from smfh.ui.page import begin_plainly

choose_wanted()
settings = begin_plainly("Data", "Choose a set, look through its pairs, or bring your own.")
sets, pairs, own = st.tabs(TABS, key=TAB, on_change="rerun")
with own:
    draw_own_data(settings)
with pairs:
    if pairs.open:
        draw_browse(settings)
with sets:
    draw_cards(settings)
