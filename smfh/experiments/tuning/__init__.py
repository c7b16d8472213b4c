"""Tune parameters on validation folds of the training items, never on the held-out queries.

    studies = Studies()  # in the cache folder, or the database in SMFH_STUDIES
    plan = StudyPlan("α on Wiki", (Wiki(),), SMFH(), (default_range(SMFH(), "graph_weight"),), "sweep")
    study = studies.join(plan)  # or with way="search": Optuna chooses the values
    tune(study)  # several processes can work on one study
    study.best.parameters

Sweeps and searches are Optuna studies. Their trials are queued in advance, except in a search that is limited
by minutes. Workers take one trial after another, and repeat the trial of a killed worker.
"""

from smfh.experiments.folds import BASE_MEASURES, VALIDATION_SHARE, FoldScores, ValidationFold, validation_folds
from smfh.experiments.tuning.export import fit_code, fit_command, study_file, trial_rows
from smfh.experiments.tuning.goals import MEASURES, SCOPES, Goal, describe_knee, knee_of, pareto_front
from smfh.experiments.tuning.held_out import Confirmation, MeasuredPair, confirm, confirm_work, confirmations
from smfh.experiments.tuning.plan import (
    SEARCHED,
    SWEEPS,
    Range,
    StudyPlan,
    Way,
    default_name,
    default_range,
    default_ranges,
    default_sweep,
    find_parameter,
    read_plan,
    tunable,
)
from smfh.experiments.tuning.preferences import (
    Comparison,
    EyeChoice,
    add_suggested,
    next_comparison,
    ranks_by_eye,
    read_choices,
    save_choice,
)
from smfh.experiments.tuning.storage import default_address
from smfh.experiments.tuning.study import Studies, Study, StudyKey, StudyProgress, StudyRecord, Trial
from smfh.experiments.tuning.summary import Summary, importances, levelled_folds, near_best, setting_in_words, summarise
from smfh.experiments.tuning.trials import study_work, tune
