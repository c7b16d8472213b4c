"""Tune: parameters → score, by a sweep or a search; on validation parts of the training rows."""

import streamlit as st

from smfh.types import InputError
from smfh.ui.page import begin_page
from smfh.ui.server import kept_studies
from smfh.ui.session import owner_of
from smfh.ui.tune.listing import draw_studies
from smfh.ui.tune.start import draw_form
from smfh.ui.tune.view import draw_open

IDEA = (
    "Find good parameters. Trials are scored on validation parts of the training rows, never on the queries."
)

settings, loaded = begin_page("Tune", IDEA)
draw_form(settings, loaded)
try:
    studies = kept_studies(owner_of(settings))
    draw_open(studies, settings)
    draw_studies(studies)
except InputError as error:
    st.error("The studies cannot be read. Nothing was changed.")
    st.text("\n".join(error.problems))
