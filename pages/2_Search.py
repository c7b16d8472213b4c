"""Search: a query by words, an item or a picture, its results, and why they match."""

import streamlit as st

from smfh.types import InputError
from smfh.ui.address import draw_notes
from smfh.ui.page import begin_run
from smfh.ui.search.form import draw_code, draw_form
from smfh.ui.search.results import draw_distances, draw_export, draw_methods, draw_query, draw_results, draw_why
from smfh.ui.search_state import current_search_state, draw_unknown_words, make_query, results_of, save_search_state

run = begin_run("Search", "Search with words, an item or a picture, and see why results match.")
state, notes = current_search_state(run)
draw_notes(notes)
save_search_state(state, run)
draw_form(state, run)
draw_unknown_words(state, run)
try:
    query = make_query(state, run)
except InputError as error:
    st.text("\n".join(f"✗ {problem}" for problem in error.problems))
    st.stop()
results = results_of(run, query, state)
draw_query(state, results, run)
draw_code(state, results, run)
draw_why(state, results, run)
draw_results(state, results, run)
draw_methods(state, results, run)
draw_distances(state, results, run)
draw_export(state, run)
