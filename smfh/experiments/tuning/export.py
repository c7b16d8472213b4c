"""Export a study as table rows or an SQLite file, and a setting as a command or Python code."""

import shlex
import sqlite3
from dataclasses import fields
from typing import Any

import optuna
from optuna.storages import RDBStorage

from smfh.datasets import DatasetSource
from smfh.experiments.folds import BASE_MEASURES
from smfh.experiments.tuning.preferences import ranks_by_eye, read_choices
from smfh.experiments.tuning.storage import errors_in_words
from smfh.experiments.tuning.study import Study
from smfh.hashing import HashMethod

Row = dict[str, str | float | int | None]


def trial_rows(study: Study) -> list[Row]:
    """Return a table of a study's trials, with means over the folds and all parameters of the method.

    If choices are stored with the study, "by eye" is the rank of each compared trial. `plots.csv_of` escapes
    formulas.
    """
    goal, rows, ranks = study.plan.goal, list[Row](), ranks_by_eye(read_choices(study))
    for trial in study.trials:
        row: Row = {"study": study.name, "trial": trial.number, "state": trial.state}
        row |= {one.name: trial.parameters.get(one.name) for one in study.plan.ranges}
        row |= dict(zip(goal.titles, trial.values, strict=False))
        if ranks:
            row["by eye"] = ranks.get(trial.number)
        for number, value in enumerate(trial.by_fold(goal), start=1):
            row[f"{goal.title}, fold {number}"] = value
        for direction in trial.folds[0].directions if trial.folds else ():
            for measure, label in BASE_MEASURES.items():
                row[f"{label}, {direction}"] = trial.measure(measure, direction)
        row |= {
            "training seconds": trial.seconds if trial.folds else None,
            "started": trial.started.isoformat() if trial.started else None,
            "ended": trial.ended.isoformat() if trial.ended else None,
            "problem": trial.problem,
            "note": trial.note,
        }
        for name, value in study.plan.method.get_params().items():  # the fixed parameters come last
            row.setdefault(name, value if isinstance(value, int | float) else str(value))
        rows.append(row)
    return rows


def fit_command(source: DatasetSource, method: HashMethod) -> str:
    """Return the shell command that trains a setting and scores it on the held-out queries."""
    words = ["python", "-m", "smfh", "fit", source.name]
    for name, value in _changed_fields(source).items():
        words += ["--option", f"{name}={_text(value)}"]
    words += ["--method", method.name]
    for name, value in _changed_fields(method).items():
        words += [f"--{name.replace('_', '-')}", _text(value)]
    return shlex.join(words)


def fit_code(source: DatasetSource, method: HashMethod) -> str:
    """Return Python code that trains a setting and scores it on the held-out queries."""
    options, values = (
        "".join(f", {name}={value!r}" for name, value in _changed_fields(one).items()) for one in (source, method)
    )
    return f"""from smfh.datasets import make_source
from smfh.retrieval.evaluation import evaluate
from smfh.hashing import make_method

data, split = make_source({source.name!r}{options}).load()
hasher = make_method({method.name!r}{values}).fit(data.take(split.train))
for source, target in hasher.directions:
    print(source, target, evaluate(hasher, data, split, source, target).headline)
"""


def _changed_fields(configuration: DatasetSource | HashMethod) -> dict[str, Any]:
    """Return the fields of a data source or method that differ from their defaults, by name."""
    values = {one.name: getattr(configuration, one.name) for one in fields(configuration)}
    return {one.name: values[one.name] for one in fields(configuration) if values[one.name] != one.default}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def study_file(study: Study) -> bytes:
    """Return the bytes of an SQLite file with only this study, for Optuna and its dashboard.

    The file is made in memory, because studies of uploaded data must not be written to disk.
    """
    with errors_in_words("memory"):
        target = RDBStorage("sqlite://")
        try:
            optuna.copy_study(from_study_name=study.name, from_storage=study.storage, to_storage=target)
            with target.engine.connect() as connection:
                database = connection.connection.driver_connection
                assert isinstance(database, sqlite3.Connection)  # noqa: S101, the address is sqlite://
                return database.serialize()
        finally:
            target.engine.dispose()
