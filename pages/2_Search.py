"""Search: ask with words, an item or a picture, and see what was found, and why."""

import streamlit as st

from smfh.types import InputError
from smfh.ui.page import begin_run
from smfh.ui.search.asking import answers_of, current_asked, pose
from smfh.ui.search.form import draw_form, draw_unknown
from smfh.ui.search.methods import draw_methods
from smfh.ui.search.results import draw_distances, draw_question, draw_results
from smfh.ui.search.why import draw_why
from smfh.ui.session import shown_data

_, job = begin_run("Search", "Ask with words, with an item or with a picture, and see what is near.")
data, split = shown_data()
asked, notes = current_asked(data, job.result.hasher.bits)
for note in notes:
    st.text(f"⚠ {note}")
draw_form(asked, data, split)
draw_unknown(asked, data)
try:
    posed = pose(asked, job.result, data, split)
except InputError as error:
    st.text("\n".join(f"✗ {problem}" for problem in error.problems))
    st.stop()
answers = answers_of(job, posed, asked, data, split)
draw_question(asked, posed, answers, data, split)
draw_why(job, asked, answers, data, split)
draw_results(asked, answers, data)
draw_methods(job, asked, posed, data, split)
draw_distances(asked, answers, data)
