"""A study for other programs: trials as rows, the storage itself, a setting as a command and as Python."""

import shlex
import sqlite3
from dataclasses import fields
from typing import Any

import numpy as np
import optuna
from optuna.storages import RDBStorage

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
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


def fit_command(source: DatasetSource, method: HashMethod) -> str:
    """The command that trains this setting and scores it on the queries."""
    words = ["python", "-m", "smfh", "fit", source.name]
    for name, value in _unusual(source).items():
        words += ["--option", f"{name}={_text(value)}"]
    words += ["--method", method.name]
    for name, value in _unusual(method).items():
        words += [f"--{name.replace('_', '-')}", _text(value)]
    return shlex.join(words)


def fit_code(source: DatasetSource, method: HashMethod) -> str:
    """The same in Python."""
    options, values = (
        "".join(f", {name}={value!r}" for name, value in _unusual(one).items()) for one in (source, method)
    )
    return f"""from smfh.datasets import make_source
from smfh.evaluation import evaluate
from smfh.hashing import make_method

data, split = make_source({source.name!r}{options}).load()
hasher = make_method({method.name!r}{values}).fit(data.take(split.train))
for source, target in hasher.directions:
    print(source, target, evaluate(hasher, data, split, source, target).headline)
"""


def _unusual(configuration: DatasetSource | HashMethod) -> dict[str, Any]:
    """The fields that are not as they are by themselves."""
    values = {one.name: getattr(configuration, one.name) for one in fields(configuration)}
    return {one.name: values[one.name] for one in fields(configuration) if values[one.name] != one.default}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def study_file(study: Study) -> bytes:
    """An SQLite file with this study alone, which Optuna and its dashboard open.

    It is made in memory: a study of somebody's own data never comes to a disk here.
    """
    with errors_in_words("memory"):
        target = RDBStorage("sqlite://")
        try:
            optuna.copy_study(from_study_name=study.name, from_storage=study.storage, to_storage=target)
            with target.engine.connect() as connection:
                database = connection.connection.driver_connection
                assert isinstance(database, sqlite3.Connection)  # noqa: S101, as the address says
                return database.serialize()
        finally:
            target.engine.dispose()
