"""A study for other programs: its trials as rows, and the storage itself."""

import tempfile
from pathlib import Path

import numpy as np
import optuna
from optuna.storages import RDBStorage

from smfh.tuning.goals import FIGURES
from smfh.tuning.storage import errors_in_words
from smfh.tuning.study import Study, Trial

Row = dict[str, str | float | int | None]


def trial_rows(study: Study) -> list[Row]:
    """A row for each trial, means over its parts; for `plots.csv_of`, which makes formulas harmless."""
    return [_row(study, trial) for trial in study.trials]


def _row(study: Study, trial: Trial) -> Row:
    goal = study.plan.goal
    row: Row = {
        "study": study.name,
        "trial": trial.number,
        "state": trial.state,
        **{one.name: trial.parameters.get(one.name) for one in study.plan.ranges},
        **dict(zip(goal.titles, trial.values, strict=False)),
    }
    for fold in dict.fromkeys(part.fold for part in trial.parts):
        own = [goal.of_part(part)[0] for part in trial.parts if part.fold == fold]
        row[f"{goal.titles[0]}, part {fold + 1}"] = float(np.mean(own))
    for direction in trial.parts[0].directions if trial.parts else ():
        for figure, label in FIGURES.items():
            row[f"{label}, {direction}"] = trial.measure(figure, direction)
    return row | {
        "training seconds": trial.seconds if trial.parts else None,
        "started": trial.started.isoformat() if trial.started else None,
        "ended": trial.ended.isoformat() if trial.ended else None,
        "problem": trial.problem,
    }


def study_file(study: Study) -> bytes:
    """An SQLite file with this study alone, which Optuna and its dashboard open."""
    with tempfile.TemporaryDirectory() as folder, errors_in_words("a temporary file"):
        path = Path(folder) / "study.db"
        target = RDBStorage(f"sqlite:///{path}")
        try:
            optuna.copy_study(from_study_name=study.name, from_storage=study.storage, to_storage=target)
        finally:
            target.engine.dispose()
        return path.read_bytes()
