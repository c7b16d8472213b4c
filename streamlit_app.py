"""Explore: choose, train, watch it converge, first scores, first answers."""

import streamlit as st

from smfh.ui.answers import draw_curves, draw_pin, draw_try
from smfh.ui.page import begin_page, describe, draw_train
from smfh.ui.scores import draw_scores
from smfh.ui.training import draw_run

settings, loaded = begin_page("Explore", "Words find pictures, and pictures find words, by counting bits.")
job = draw_train(settings, loaded)
pinned = st.session_state.get("pinned")
left, right = st.columns(2, gap="large")
with left:
    draw_run(job, pinned)
if job.state == "finished":
    with right:
        describe(job)
        draw_scores(job.result, *job_data(job, loaded), pinned.result if pinned else None)
    draw_try(job.result, *loaded)
    draw_curves(job, pinned)
    draw_pin(job, pinned, *loaded)
