"""Tuning: one idea, parameters → score, on validation parts of training rows and never on the queries.

    studies = Studies()  # in the cache folder, or where SMFH_STUDIES says
    plan = StudyPlan("α on Wiki", (Wiki(),), SMFH(), (usual_range(SMFH(), "graph_weight"),), "sweep")
    study = studies.join(plan)  # or with way="search": by Optuna
    tune(study)  # by this program and any other that has joined
    study.best.parameters

A sweep and a search are one Optuna study whose trials stand in line from the beginning: workers take them one
after another, and what a killed worker has left goes back into the line.
"""

from smfh.tuning.confirmation import Confirmation, OnQueries, confirm, confirm_work, confirmations
from smfh.tuning.export import fit_code, fit_command, study_file, trial_rows
from smfh.tuning.goals import FIGURES, MEASURES, OVER, Goal, PartScores
from smfh.tuning.importance import importances
from smfh.tuning.plan import StudyPlan, Way, read_plan
from smfh.tuning.ranges import SWEEPS, TUNED, Range, find_parameter, tunable, usual_range, usual_ranges
from smfh.tuning.storage import usual_address
from smfh.tuning.studies import Studies, StudyRecord
from smfh.tuning.study import Study, StudyKey, Trial
from smfh.tuning.summary import Summary, setting_in_words, summarise
from smfh.tuning.validation import VALIDATION_SHARE, ValidationSet, validation_sets
from smfh.tuning.work import StudyProgress, progress_of, study_work, tune
