"""What a study says: in words, on the queries, and to other programs."""

import csv
import io
import shlex
import sqlite3
import subprocess
import sys

import numpy as np
import optuna
import pytest

from smfh.__main__ import main
from smfh.datasets import Planted
from smfh.evaluation import evaluate
from smfh.hashing import SMFH
from smfh.plots import csv_of
from smfh.runs import PrivateRuns
from smfh.tuning import (
    Goal,
    Range,
    confirm,
    confirmations,
    fit_code,
    fit_command,
    importances,
    study_file,
    summarise,
    trial_rows,
    tune,
)
from smfh.tuning.confirmation import ALL, SEEDS
from smfh.tuning.storage import claim
from smfh.tuning.study import PARTS
from smfh.tuning.work import suggest
from smfh.types import InputError

FIGURES = ("found", "full", "precision")


def pretend(study, scores):
    """Tell the trials these figures, as means over two parts that differ by .01."""
    for figures in scores:
        trial = claim(study.optuna, study.storage)
        suggest(study, trial)
        parts = [
            {
                "dataset": "planted",
                "fold": fold,
                "bits": 8,
                "seconds": 1.0,
                "directions": {
                    way: dict(zip(FIGURES, (x + 0.01 * fold for x in figures), strict=True))
                    for way in ("a → b", "b → a")
                },
            }
            for fold in range(2)
        ]
        trial.set_user_attr(PARTS, parts)
        study.optuna.tell(trial, float(np.prod(np.array(figures) + 0.005) ** (1 / 3)))


@pytest.fixture
def pretended(studies, make_plan):
    """A study whose trials were told: a function from (α, ridge) to the three figures."""

    def make(figures, name="pretended"):
        ranges = (Range("graph_weight", 0.1, 10, "log", points=6), Range("ridge", 0.001, 1, "log", points=2))
        study = studies.create(make_plan(name=name, way="sweep", ranges=ranges))
        pretend(study, [figures(**point) for point in study.plan.points])
        return study

    return make


def test_words_on_what_mattered_and_how_flat_the_top_is(pretended):
    study = pretended(lambda graph_weight, ridge: (0.5 + 0.1 * np.log10(graph_weight),) * 3)
    said = summarise(study)
    text = " ".join(said.lines)
    assert said.best.parameters["graph_weight"] == 10
    assert said.importance["graph_weight"] > 0.9
    assert "What mattered: α (" in text
    assert "What hardly did: γ (" in text
    assert said.gain == pytest.approx(0.1 * np.log10(5))
    assert said.gain_error == pytest.approx(0, abs=1e-12)
    assert "more than the parts vary" in text
    assert "The 10 best lie within 0.160." in text
    assert "trap" not in text
    assert "no trial sees the queries" in said.lines[0]


def test_words_on_a_flat_top_and_a_gain_that_is_none(pretended):
    study = pretended(lambda graph_weight, ridge: (0.5 + 1e-5 * graph_weight, 0.5, 0.5))
    text = " ".join(summarise(study).lines)
    assert "The 10 best lie within 0.000: the top is flat" in text


def test_the_trap_of_the_first_hundred_is_told(pretended):
    study = pretended(lambda graph_weight, ridge: (0.5 + 0.02 * graph_weight, 0.7 - 0.02 * graph_weight, 0.4))
    text = " ".join(summarise(study).lines)
    assert "A trap: mAP@100 and mAP over the whole ranking want different values" in text
    assert "α 10" in text
    assert "α 0.1" in text
    assert "is 0.198 worse in the second" in text


def test_a_study_without_trials_says_so(studies, make_plan):
    said = summarise(studies.create(make_plan()))
    assert (said.best, said.start, said.gain, said.importance) == (None, None, None, {})
    assert said.lines == (
        "6 trials (6 waiting) on 2 validation parts of the training rows of Planted; "
        "no trial sees the queries.",
    )


def test_importance_needs_trials_that_differ(pretended):
    assert importances(pretended(lambda graph_weight, ridge: (0.5, 0.5, 0.5))) == {}


def test_importance_of_a_front_is_that_of_its_score(studies, make_plan):
    study = studies.create(make_plan(goal=Goal(over="seconds"), trials=12, folds=1))
    tune(study)
    assert sum(importances(study).values()) == pytest.approx(1)
    assert summarise(study).best == study.best


@pytest.fixture
def tuned(studies, make_plan):
    study = studies.create(make_plan(trials=4))
    tune(study)
    return study


def test_confirmed_on_the_queries_beside_the_start_once(tuned, studies):
    number = 1 + int(np.argmax([trial.values[0] for trial in tuned.trials[1:]]))
    far = []
    found = confirm(tuned, number, PrivateRuns(), lambda *at: far.append(at))
    assert far[0] == (0, 2 * SEEDS)
    assert far[-1] == (2 * SEEDS, 2 * SEEDS)
    data, split = Planted(items=80).load()
    for setting, method in (("start", tuned.plan.method), ("chosen", tuned.method_of(tuned.trials[number]))):
        for way in (("text", "image"), ("image", "text")):
            by_hand = []
            for seed in range(SEEDS):
                hasher = method.set_params(seed=seed).fit(data.take(split.train))
                by_hand.append(evaluate(hasher, data, split, *way).mean_average_precision)
            one = next(f for f in found.figures if (f.direction, f.measure) == (" → ".join(way), "found"))
            assert getattr(one, setting) == pytest.approx(by_hand)
    both = [f for f in found.figures if f.direction == ALL and f.measure == "found"]
    ways = [f for f in found.figures if f.direction != ALL and f.measure == "found"]
    assert both[0].gain == pytest.approx(np.mean([f.gain for f in ways]))
    assert abs(both[0].difference.mean) == pytest.approx(abs(both[0].gain))
    assert len(found.lines) == 3 * 3
    for line in found.lines:
        assert "cannot be told apart on Planted, 8 bits" in line or "beats" in line
        assert "5 seeds" in line
    assert confirm(tuned, number, None) == found  # nothing is computed again
    assert confirmations(studies.open("small")) == {number: found}
    assert summarise(tuned).lines[-3:] == found.lines[-3:]


def test_to_choose_by_the_queries_is_warned_of(tuned):
    for number in (1, 2):
        confirm(tuned, number, PrivateRuns())
    assert summarise(tuned).lines[-1].startswith("2 trials were confirmed: to choose among them")


def test_the_start_itself_cannot_be_confirmed(tuned):
    for number in (0, 99):
        with pytest.raises(InputError, match=f"Trial {number} cannot be confirmed"):
            confirm(tuned, number, PrivateRuns())


def test_rows_have_every_figure_and_no_formula(studies, make_plan):
    study = studies.create(make_plan(name="=1+1", trials=5))
    tune(study)
    study.add_trials(1)
    rows = list(csv.DictReader(io.StringIO(csv_of(trial_rows(study)))))
    assert len(rows) == 6
    assert {row["study"] for row in rows} == {"'=1+1"}
    for row, trial in zip(rows[:5], study.trials, strict=False):
        assert float(row["graph_weight"]) == trial.parameters["graph_weight"]
        assert float(row["balanced score"]) == trial.values[0]
        assert float(row["P@100, image → text"]) == trial.measure("precision", "image → text")
    parts = [float(rows[0][f"balanced score, part {k}"]) for k in (1, 2)]
    assert np.mean(parts) == pytest.approx(float(rows[0]["balanced score"]))
    assert rows[5]["state"] == "waiting"
    assert rows[5]["balanced score"] == ""


def test_the_file_holds_this_study_alone_and_optuna_opens_it(tuned, studies, make_plan, tmp_path):
    studies.create(make_plan(name="private"))
    path = tmp_path / "copy.db"
    path.write_bytes(study_file(tuned))
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    copy = optuna.load_study(study_name=None, storage=storage)
    assert copy.study_name == "small"
    assert [trial.values for trial in copy.trials] == [list(trial.values) for trial in tuned.trials]
    storage.engine.dispose()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT study_name FROM studies").fetchall() == [("small",)]
    connection.close()


def test_a_setting_as_a_command_and_as_python_gives_the_same_scores(capsys):
    source, method = Planted(items=80), SMFH(bits=8, iterations=3, graph_weight=1 / 3, seed=2)
    data, split = source.load()
    hasher = method.fit(data.take(split.train))
    score = evaluate(hasher, data, split, "text", "image").mean_average_precision
    words = shlex.split(fit_command(source, method))
    assert words[:4] == ["python", "-m", "smfh", "fit"]
    assert main([*words[3:], "--json"]) == 0
    assert str(score) in capsys.readouterr().out
    command = [sys.executable, "-c", fit_code(source, method)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(score) in finished.stdout
