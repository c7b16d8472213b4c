"""Runs: what was trained, when, with what, and how it scored."""

import streamlit as st

from smfh.ui.page import set_up_page
from smfh.ui.runs.listing import draw_runs
from smfh.ui.runs.load import draw_load
from smfh.ui.sidebar import draw_sidebar

set_up_page("Runs")
settings = draw_sidebar()
st.title("Runs")
st.caption("What was trained, when, with what, and how it scored. Open one again, name it, take it along.")
draw_runs()
draw_load(settings)
