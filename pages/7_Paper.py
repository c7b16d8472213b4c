"""Paper: its tables and figures, published and measured; a leaderboard; differences and errata."""

import streamlit as st

from smfh.commands.compare import compare_command
from smfh.ui.paper.leaderboard import draw_leaderboard
from smfh.ui.paper.parts import begin_paper, draw_differences, draw_errata, draw_figures, draw_tables

choice, loaded = begin_paper()
titles = ("Tables", "Figures", "Leaderboard", "Not reproduced", "Errata")
tables, figures, board, differences, errata = st.tabs(titles, key="paper_tab", on_change="rerun")
if tables.open:
    with tables:
        draw_tables(choice, loaded)
if figures.open:
    with figures:
        draw_figures(choice, loaded)
if board.open:
    with board:
        draw_leaderboard(compare_command)
with differences:
    draw_differences()
with errata:
    draw_errata()
