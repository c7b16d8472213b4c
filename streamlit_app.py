"""Explore: words find pictures; choose, train, watch, and see what changes."""

import streamlit as st

from smfh.ui.explore.curves import draw_curves, draw_pin
from smfh.ui.explore.scores import draw_scores
from smfh.ui.explore.wall import draw_wall
from smfh.ui.page import begin_training
from smfh.ui.running import draw_run, wait_a_moment
from smfh.ui.session import pinned_run

IDEA = "Words and pictures get the same short binary codes; counting bits that differ finds one by the other."

shown, pinned = begin_training("Explore", IDEA), pinned_run()
wait_a_moment(shown)
run = shown.job.result if shown.job.state == "finished" else None
if run is not None:
    wall, scores = st.columns([7, 3], gap="medium")
    with wall:
        draw_wall(run)
    with scores:
        draw_scores(run, pinned)
draw_run(shown, pinned)
if run is not None:
    draw_curves(run, pinned)
    draw_pin(run, pinned)
