"""Search: ask with words, an item or a picture, and see what was found, and why."""

import streamlit as st

from smfh.types import InputError
from smfh.ui.address import draw_notes
from smfh.ui.asked import answer_of, current_asked, draw_unknown, keep_asked, pose
from smfh.ui.page import begin_run
from smfh.ui.search.code import draw_code
from smfh.ui.search.form import draw_form
from smfh.ui.search.methods import draw_methods
from smfh.ui.search.results import draw_distances, draw_question, draw_results
from smfh.ui.search.take_home import draw_take_home
from smfh.ui.search.why import draw_why

run = begin_run("Search", "Ask with words, with an item or with a picture, and see what is near.")
asked, notes = current_asked(run)
draw_notes(notes)
keep_asked(asked, run)
draw_form(asked, run)
draw_unknown(asked, run)
try:
    question = pose(asked, run)
except InputError as error:
    st.text("\n".join(f"✗ {problem}" for problem in error.problems))
    st.stop()
answer = answer_of(run, question, asked)
draw_question(asked, answer, run)
draw_code(asked, answer, run)
draw_why(asked, answer, run)
draw_results(asked, answer, run)
draw_methods(asked, answer, run)
draw_distances(asked, answer, run)
draw_take_home(asked, run)
