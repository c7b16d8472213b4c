"""Findings of a study in words, its test on held-out queries, and its exports."""

import csv
import io
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing

import numpy as np
import optuna
import pytest

from smfh.__main__ import main
from smfh.datasets import Planted
from smfh.experiments.tuning import (
    BASE_MEASURES,
    Range,
    Studies,
    confirm,
    confirmations,
    fit_code,
    fit_command,
    importances,
    levelled_folds,
    near_best,
    study_file,
    summarise,
    trial_rows,
    tune,
)
from smfh.experiments.tuning.held_out import ALL, SEEDS, widen
from smfh.experiments.tuning.study import FOLDS
from smfh.experiments.tuning.summary import standard_error
from smfh.experiments.tuning.trials import suggest_values, take_trial
from smfh.hashing import SMFH
from smfh.metrics.significance import compare_pairs
from smfh.plots import csv_of
from smfh.retrieval.evaluation import evaluate
from smfh.runs import MemoryRuns
from smfh.types import InputError


def make_fold(number, measures):
    """Scores on one fold as a trial stores them, the same in both directions."""
    own = dict(zip(BASE_MEASURES, map(float, measures), strict=True))
    directions = dict.fromkeys(("a → b", "b → a"), own)
    return {"dataset": "planted", "fold": number, "bits": 8, "seconds": 1.0, "directions": directions}


def set_scores(study, scores):
    """Finish the trials with these measures, as means over two folds that differ by .01."""
    for measures in scores:
        with take_trial(study) as trial:
            suggest_values(study, trial, trial.number)
            folds = [make_fold(k, [x + 0.01 * k for x in measures]) for k in range(2)]
            trial.set_user_attr(FOLDS, folds)
            study.optuna.tell(trial, float(np.prod(np.array(measures) + 0.005) ** (1 / 3)))


@pytest.fixture
def scored_study(studies, make_plan):
    """Return a function that makes a sweep with measures given as a function of (α, ridge)."""

    def make(measures, name="scored"):
        ranges = (Range("graph_weight", 0.1, 10, "log", points=6), Range("ridge", 0.001, 1, "log", points=2))
        study = studies.create(make_plan(name=name, way="sweep", ranges=ranges))
        set_scores(study, [measures(**point) for point in study.plan.points])
        return study

    return make


def test_summary_names_important_parameters_and_the_gain(scored_study):
    study = scored_study(lambda graph_weight, ridge: (0.5 + 0.1 * np.log10(graph_weight),) * 3)
    said = summarise(study)
    text = " ".join(said.lines)
    assert said.best.parameters["graph_weight"] == 10
    assert said.importance["graph_weight"] > 0.9
    assert "Most important, by share of the variance between trials: α (" in text
    assert "Least important: γ (" in text
    assert said.gain == pytest.approx(0.1 * np.log10(5))
    assert said.gain_error == pytest.approx(0, abs=1e-12)
    assert "a clear gain" in text
    assert "The ten best trials differ by at most 0.160." in text
    assert "Trade-off" not in text
    assert "no trial uses the held-out queries" in said.lines[0]


def test_summary_names_a_trade_off(scored_study):
    study = scored_study(lambda graph_weight, ridge: (0.5 + 0.02 * graph_weight, 0.7 - 0.02 * graph_weight, 0.4))
    text = " ".join(summarise(study).lines)
    assert "Trade-off: mAP@100 and whole-ranking mAP peak at different values" in text
    assert "α 10" in text
    assert "α 0.1" in text
    assert "loses 0.198 in whole-ranking mAP" in text


@pytest.fixture
def tuned(studies, make_plan):
    study = studies.create(make_plan(trials=4))
    tune(study)
    return study


def test_held_out_test_compares_with_the_start_and_runs_once(tuned, studies):
    number = 1 + int(np.argmax([trial.values[0] for trial in tuned.trials[1:]]))
    far = []
    found = confirm(tuned, number, MemoryRuns(), lambda *at: far.append(at))
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
    assert confirm(tuned, number, MemoryRuns(), call=None) == found  # nothing is trained again
    assert confirmations(studies.open("small")) == {number: found}
    assert summarise(tuned).lines[-3:] == found.lines[-3:]


def test_tests_on_held_out_queries_are_numbered_and_widen_each_other(tuned, studies):
    first = confirm(tuned, 2, MemoryRuns())
    assert first.place == 1
    second = confirm(tuned, 1, MemoryRuns())
    again = confirm(tuned, 2, MemoryRuns())  # a saved test is not counted again
    logged = confirmations(studies.open("small"))
    assert list(logged) == [2, 1]
    assert [one.place for one in logged.values()] == [1, 2]
    assert logged == {2: again, 1: second}
    assert logged[2].at == first.at <= logged[1].at
    for before, after in zip(first.figures, again.figures, strict=True):
        if before.difference is not None:
            assert after.difference.pairs == 2
            assert after.difference.low <= before.difference.low <= before.difference.high
            assert before.difference.high <= after.difference.high
    assert summarise(tuned).lines[-1].startswith("This study made 2 tests on the held-out queries")


def test_widening_agrees_with_a_bootstrap_at_the_higher_level():
    values = np.random.default_rng(0).normal([[0.5], [0.52]], 0.1, (2, 400))
    by_method = {"the start": values[:1], "trial 1": values[1:]}
    (usual,), (strict,) = compare_pairs(by_method), compare_pairs(by_method, level=1 - 0.05 / 3)
    wide = widen(usual, 3)
    assert [wide.low, wide.high] == pytest.approx([strict.low, strict.high], abs=0.0015)
    assert widen(wide, 1).low == pytest.approx(usual.low)


def test_the_region_within_one_standard_error_of_the_best(studies, make_plan):
    study = studies.create(make_plan(way="sweep", ranges=(Range("graph_weight", 1, 10_000, "log", points=5),)))
    for score, shift in ((0.5, 0.01), (0.4, 0), (0.6, 0.02), (0.59, 0), (0.5, 0), (0.3, 0.01)):
        with take_trial(study) as trial:  # trial 0, the start, has α 2
            suggest_values(study, trial, trial.number)
            values = [score, score + 0.1 + shift]
            folds = [make_fold(k, (value,) * 3) for k, value in enumerate(values)]
            trial.set_user_attr(FOLDS, folds)
            study.optuna.tell(trial, float(np.mean(values)))
    folds = np.array([one.by_fold(study.plan.goal) for one in study.trials])
    levelled = np.array(list(levelled_folds(study).values()))
    assert levelled.mean(axis=1) == pytest.approx(folds.mean(axis=1))
    assert levelled.mean(axis=0) == pytest.approx([folds.mean()] * 2)
    differences = folds[:, 1] - folds[:, 0]  # with two folds, the error is that of their difference
    error = np.std(differences, ddof=1) / 2
    assert standard_error(levelled_folds(study)) == pytest.approx(error)
    low, high = near_best(study)
    best, after, before = folds.mean(axis=1)[[2, 3, 0]]
    assert (best, after) == (folds.mean(axis=1).max(), pytest.approx(0.64))
    assert after < best - error < best
    assert low == pytest.approx(10 / 5 ** (error / (best - before)))  # on the log scale, between 2 and 10
    assert high == pytest.approx(10 * 10 ** (error / (best - after)))
    assert "is within one standard error of the best" in " ".join(summarise(study).lines)


def test_notes_on_studies_and_trials_are_saved_and_exported(tuned, studies):
    tuned.set_note("first try")
    tuned.set_note("looks good", 2)
    again = studies.rename("small", "renamed")
    assert again.note == "first try"
    assert [one.note for one in again.trials] == ["", "", "looks good", ""]
    assert [row["note"] for row in trial_rows(again)] == ["", "", "looks good", ""]
    with pytest.raises(InputError, match="at most 500 characters"):
        tuned.set_note("x" * 501)


def test_the_start_cannot_be_tested_against_itself(tuned):
    for number in (0, 99):
        with pytest.raises(InputError, match=f"Trial {number} has the same settings"):
            confirm(tuned, number, MemoryRuns())


def test_rows_have_every_measure_and_no_formula(studies, make_plan):
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
    folds = [float(rows[0][f"balanced score, fold {k}"]) for k in (1, 2)]
    assert np.mean(folds) == pytest.approx(float(rows[0]["balanced score"]))
    assert rows[5]["state"] == "waiting"
    assert rows[5]["balanced score"] == ""


def test_exported_command_and_code_give_the_same_scores(capsys):
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


@pytest.mark.parametrize("is_private", [True, False])
def test_exported_file_is_made_in_memory(make_plan, studies, tmp_path, monkeypatch, is_private):
    source = Planted(items=80)
    study = (Studies(upload=source) if is_private else studies).create(make_plan(sources=(source,)))
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    content = study_file(study)
    assert set(tmp_path.iterdir()) <= before | {tmp_path / f"studies.db-{end}" for end in ("shm", "wal")}
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        assert database.execute("SELECT study_name FROM studies").fetchall() == [("small",)]
        assert database.execute("SELECT count(*) FROM trials").fetchall() == [(6,)]


def test_optuna_opens_the_exported_file_with_the_same_best_trial_and_importances(scored_study, tmp_path):
    study = scored_study(lambda graph_weight, ridge: (0.5 + 0.1 * np.log10(graph_weight) - 0.1 * ridge,) * 3)
    assert all(study.trials[0].parameters[one.name] in one for one in study.plan.ranges)
    path = tmp_path / "copy.db"
    path.write_bytes(study_file(study))
    copy = optuna.load_study(study_name=None, storage=f"sqlite:///{path}")
    assert [trial.values for trial in copy.trials] == [list(trial.values) for trial in study.trials]
    assert copy.best_trial.number == study.best.number
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    shares = optuna.importance.get_param_importances(copy, evaluator=evaluator)
    assert importances(study) == pytest.approx(shares)
    assert list(importances(study)) == list(shares)
    copy._storage.remove_session()
