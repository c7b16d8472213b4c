"""Tune: find good parameters by a sweep or a search, on validation folds of the training items."""

from smfh.types import InputError
from smfh.ui.page import begin_page
from smfh.ui.plain import draw_problems
from smfh.ui.server import saved_studies
from smfh.ui.tune.form import draw_form, start_sweep
from smfh.ui.tune.page import draw_open, draw_studies

IDEA = "Find good parameters. Trials are scored on validation folds, never on the held-out queries."

settings, loaded = begin_page("Tune", IDEA)
start_sweep(settings)
plan = draw_form(settings, loaded)
try:
    studies = saved_studies(settings.source)
    draw_open(studies, settings, plan)
    draw_studies(studies)
except InputError as error:
    draw_problems("The studies cannot be read. Nothing was changed.", error.problems)
