"""Explore: choose, train, watch it converge, first scores, first answers."""

import streamlit as st

from smfh.ui.explore.answers import draw_curves, draw_pin, draw_try
from smfh.ui.explore.scores import draw_scores
from smfh.ui.page import begin_page, describe_training, draw_train
from smfh.ui.running import draw_run
from smfh.ui.session import pinned_run

settings, loaded = begin_page("Explore", "Words find pictures, and pictures find words, by counting bits.")
shown, pinned = draw_train(settings, loaded), pinned_run()
left, right = st.columns(2, gap="large")
with left:
    st.subheader("Convergence", anchor=False)
    draw_run(shown, pinned)
with right:
    st.subheader(f"Scores: {describe_training(shown.method)}", anchor=False)
    if shown.job.state == "finished":
        draw_scores(shown.job.result, pinned)
    else:
        st.caption("They appear when the training is done.")
if shown.job.state == "finished":
    run = shown.job.result
    draw_try(run)
    draw_curves(run, pinned)
    draw_pin(run, pinned)
