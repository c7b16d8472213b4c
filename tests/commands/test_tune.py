"""The command tune: creating, continuing, testing, exporting, listing and deleting studies."""

import csv
import json
import re
import sqlite3
from contextlib import closing

import pytest

from smfh.__main__ import main
from smfh.experiments.tuning import Studies

FEW = ("--datasets", "planted", "--method", "smfh", "--bits", "8", "--iterations", "2", "--folds", "1")


@pytest.fixture
def tune(capsys, tmp_path, monkeypatch):
    """Run the command with its own storage; return what it prints, or its errors."""
    monkeypatch.setenv("SMFH_STUDIES", f"sqlite:///{tmp_path / 'studies.db'}")
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))

    def run(*arguments, code=0):
        assert main(["tune", *arguments]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return run


def test_the_same_options_continue_the_same_study(tune):
    first = json.loads(tune(*FEW, "--trials", "2", "--json"))
    more = json.loads(tune(*FEW, "--trials", "4", "--json"))
    assert more["study"] == first["study"]
    assert more["trials"][:2] == first["trials"]
    assert len(more["trials"]) == 4
    other = json.loads(tune(*FEW, "--trials", "2", "--goal", "full", "--json"))
    assert other["study"] != first["study"]


def test_a_study_is_continued_by_name_and_its_plan_cannot_change(tune):
    tune(*FEW, "--trials", "2", "--study", "mine")
    assert len(json.loads(tune("--study", "mine", "--json"))["trials"]) == 2
    assert len(json.loads(tune("--study", "mine", "--trials", "3", "--json"))["trials"]) == 3
    error = tune("--study", "mine", "--folds", "2", "--goal", "full", code=2)
    assert (
        "plan of an existing study cannot be changed; to use --goal, --folds, create a new study with --datasets"
        in error
    )
    assert "There is no study 'yours'; there are mine." in tune("--study", "yours", code=2)
    error = tune(*FEW, "--study", "mine", "--goal", "full", code=2)
    assert "There is already a study named 'mine' with another plan" in error
    assert "Name a study with --study" in tune(code=2)


def test_a_sweep_over_two_parameters_by_name_and_by_symbol(tune):
    study = json.loads(
        tune(*FEW, "--sweep", "α", "graph_sample", "--range", "α=1:100:3", "--range", "m=10:40:2", "--json")
    )
    points = [(trial["parameters"]["graph_weight"], trial["parameters"]["graph_sample"]) for trial in study["trials"]]
    assert points == [(2.0, 1000), (1, 10), (1, 40), (10, 10), (10, 40), (100, 10), (100, 40)]
    assert {trial["state"] for trial in study["trials"]} == {"complete"}


def test_a_trial_is_tested_on_held_out_queries_and_exported(tune, tmp_path):
    table, file = tmp_path / "trials.csv", tmp_path / "study.db"
    tune(*FEW, "--trials", "3", "--study", "mine", "--export", str(table))
    assert "5 seeds" in tune("--study", "mine", "--confirm", "1", "--export", str(file))
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["trial"] for row in rows] == ["0", "1", "2"]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT study_name FROM studies").fetchall() == [("mine",)]
    assert json.loads(tune("--study", "mine", "--json"))["confirmed"][0]["number"] == 1


def test_trials_are_scored_by_the_chosen_distance(tune):
    one = [*FEW, "--datasets", "planted", "--trials", "1", "--json"]
    hamming, asymmetric = (json.loads(tune(*one, *more)) for more in ((), ("--distance", "asymmetric")))
    assert hamming["study"] != asymmetric["study"]
    assert asymmetric["plan"]["distance"] == "asymmetric"
    assert hamming["trials"][0]["folds"] != asymmetric["trials"][0]["folds"]


def test_studies_are_listed_and_deleted(tune):
    assert tune("--list") == "There are no studies yet.\n"
    tune(*FEW, "--trials", "1", "--study", "mine")
    assert re.match(r"mine: search of SMFH on planted, 1 of 1 trials, best balanced score 0\.\d", tune("--list"))
    tune("--study", "mine", "--delete")
    assert Studies().names() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--range", "α=5:1"], "graph_weight needs a range from low to high; got 5 to 1"),
        (["--range", "α=5"], "--range needs the form graph_weight=0.1:100"),
        (["--range", "anchors=1:5"], "SMFH has no tunable parameter 'anchors'; choose from bits"),
        (["--search", "ridge", "--range", "α=1:5"], "this study tunes only ridge"),
        (["--trials", "0"], "set one of them"),
        (["--export", "trials.txt"], "--export needs a file name that ends in .csv"),
        (["--storage", "studies.db"], "must look like sqlite:///studies.db"),
        (["--confirm", "first", "--trials", "1"], "--confirm needs the number of a trial"),
    ],
)
def test_wrong_options_are_refused(tune, arguments, message):
    assert message in tune(*FEW, *arguments, code=2)
