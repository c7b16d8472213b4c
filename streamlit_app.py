"""Explore: choose, train, watch it converge, first scores, first answers."""

import streamlit as st

from smfh.ui.explore.answers import draw_curves, draw_pin, draw_try
from smfh.ui.explore.scores import draw_scores
from smfh.ui.page import begin_page, describe, draw_train
from smfh.ui.session import pinned_run, shown_data
from smfh.ui.training import draw_run

settings, loaded = begin_page("Explore", "Words find pictures, and pictures find words, by counting bits.")
job, pinned = draw_train(settings, loaded), pinned_run()
left, right = st.columns(2, gap="large")
with left:
    st.subheader("Convergence", anchor=False)
    draw_run(job, pinned)
with right:
    st.subheader(f"Scores: {describe(job)}", anchor=False)
    if job.state == "finished":
        draw_scores(job.result, *shown_data(), pinned.result if pinned else None)
    else:
        st.caption("They appear when the training is done.")
if job.state == "finished":
    draw_try(job.result, *shown_data())
    draw_curves(job, pinned)
    draw_pin(job, pinned, *shown_data())
