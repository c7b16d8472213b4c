"""The page as a whole."""

import streamlit as st

from smfh.ui.explore.curves import draw_curves, draw_pin
from smfh.ui.explore.scores import draw_scores
from smfh.ui.explore.wall import draw_wall, draw_wall_live
from smfh.ui.page import begin_training
from smfh.ui.running import draw_convergence, draw_convergence_live, draw_run, wait_a_moment
from smfh.ui.session import pinned_run

IDEA = "Words and pictures get the same short binary codes; counting bits that differ finds one by the other."


def draw_explore() -> None:
    """What is trained, and then what it finds."""
    shown, pinned = begin_training("Explore", IDEA), pinned_run()
    wait_a_moment(shown)
    left, right = st.columns([7, 3], gap="medium")
    if (state := shown.job.state) != "finished":
        with left:
            draw_wall_live(shown)
        with right:
            draw_run(shown, state)
        draw_convergence_live(shown)
        st.stop()
    run = shown.job.result
    with left:
        draw_wall(run)
    with right:
        draw_scores(run, pinned)
    draw_convergence(shown, pinned)
    draw_curves(run, pinned)
    draw_pin(run, pinned)
