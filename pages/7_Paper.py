"""Paper: its tables and figures, published beside measured; what differs, and its errata."""

import streamlit as st

from smfh.ui.paper.errata import draw_differences, draw_errata
from smfh.ui.paper.figures import draw_figures
from smfh.ui.paper.leaderboard import draw_leaderboard
from smfh.ui.paper.part import TABS, begin_paper
from smfh.ui.paper.tables import draw_tables

choice, loaded = begin_paper()
tables, figures, board, differences, errata = st.tabs(TABS, key="paper_tab", on_change="rerun")
if tables.open:
    with tables:
        draw_tables(choice, loaded)
if figures.open:
    with figures:
        draw_figures(choice, loaded)
if board.open:
    with board:
        draw_leaderboard()
with differences:
    draw_differences()
with errata:
    draw_errata()
