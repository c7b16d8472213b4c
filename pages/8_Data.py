"""Data: choose a data set, browse its pairs, or upload a file."""

import streamlit as st

from smfh.ui.data.browse import draw_browse
from smfh.ui.data.cards import TAB, TABS, choose_requested, draw_cards
from smfh.ui.data.upload import draw_upload
from smfh.ui.page import begin_plainly

choose_requested()
settings = begin_plainly("Data", "Choose a data set, browse its pairs, or upload your data.", methods=False)
sets, pairs, upload = st.tabs(TABS, key=TAB, on_change="rerun")
with upload:
    draw_upload(settings)
with pairs:
    if pairs.open:
        draw_browse(settings)
with sets:
    draw_cards(settings)
