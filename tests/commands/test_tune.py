"""tune: studies on the command line."""

import csv
import json
import re
import sqlite3
from contextlib import closing

import pytest

from smfh.__main__ import main
from smfh.tuning import Studies

FEW = ("--datasets", "planted", "--method", "smfh", "--bits", "8", "--iterations", "2", "--folds", "1")


@pytest.fixture
def tune(capsys, tmp_path, monkeypatch):
    """Run the command with a storage of its own; what it printed, or its errors."""
    monkeypatch.setenv("SMFH_STUDIES", f"sqlite:///{tmp_path / 'studies.db'}")
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))

    def run(*arguments, code=0):
        assert main(["tune", *arguments]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return run


def test_a_search_prints_the_start_the_best_and_what_they_say(tune):
    lines = tune(*FEW, "--trials", "3").splitlines()
    assert lines[0].startswith("planted, smfh, search ")
    assert lines[2].split() == [
        "trial",
        "score",
        "α",
        "μ",
        "β",
        "γ",
        "mAP@100",
        "whole",
        "mAP",
        "P@100",
        "seconds",
    ]
    assert lines[3].split()[0] == "start"
    assert {line.split()[0] for line in lines[4:6]} == {"1", "2"}
    assert float(lines[4].split()[1]) >= float(lines[5].split()[1])
    assert "no trial sees the queries" in lines[7]


def test_the_same_options_go_on_with_the_same_study(tune):
    first = json.loads(tune(*FEW, "--trials", "2", "--json"))
    more = json.loads(tune(*FEW, "--trials", "4", "--json"))
    assert more["study"] == first["study"]
    assert more["trials"][:2] == first["trials"]
    assert len(more["trials"]) == 4
    other = json.loads(tune(*FEW, "--trials", "2", "--goal", "full", "--json"))
    assert other["study"] != first["study"]


def test_a_study_is_joined_by_its_name_and_keeps_its_plan(tune):
    tune(*FEW, "--trials", "2", "--study", "mine")
    assert len(json.loads(tune("--study", "mine", "--json"))["trials"]) == 2
    assert len(json.loads(tune("--study", "mine", "--trials", "3", "--json"))["trials"]) == 3
    told = tune("--study", "mine", "--folds", "2", "--goal", "full", code=2)
    assert "keeps its plan: --goal, --folds needs --datasets" in told
    assert "There is no study 'yours'; there are mine." in tune("--study", "yours", code=2)
    told = tune(*FEW, "--study", "mine", "--goal", "full", code=2)
    assert "There is a study 'mine' already" in told
    assert "Say which study with --study" in tune(code=2)


def test_a_sweep_over_two_parameters_by_name_and_by_symbol(tune):
    said = json.loads(
        tune(*FEW, "--sweep", "α", "graph_sample", "--range", "α=1:100:3", "--range", "m=10:40:2", "--json")
    )
    points = [
        (trial["parameters"]["graph_weight"], trial["parameters"]["graph_sample"]) for trial in said["trials"]
    ]
    assert points == [(2.0, 1000), (1, 10), (1, 40), (10, 10), (10, 40), (100, 10), (100, 40)]
    assert {trial["state"] for trial in said["trials"]} == {"complete"}


def test_the_best_is_confirmed_and_exported(tune, tmp_path):
    table, file = tmp_path / "trials.csv", tmp_path / "study.db"
    tune(*FEW, "--trials", "3", "--study", "mine", "--export", str(table))
    text = tune("--study", "mine", "--confirm", "1", "--export", str(file))
    assert re.search(r"(beats|cannot be told apart) .* all directions, mAP@100: .*5 seeds", text)
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["trial"] for row in rows] == ["0", "1", "2"]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT study_name FROM studies").fetchall() == [("mine",)]
    assert json.loads(tune("--study", "mine", "--json"))["confirmed"][0]["number"] == 1


def test_several_sets_lengths_and_protocols_at_once(tune):
    several = [
        "--datasets",
        "planted",
        "planted",
        "--lengths",
        "8",
        "12",
        "--protocols",
        "training",
        "unseen",
    ]
    said = json.loads(tune(*FEW, *several, "--trials", "1", "--json"))
    assert [part["bits"] for part in said["trials"][0]["parts"]] == [8, 12, 8, 12]


def test_listed_and_deleted(tune):
    assert tune("--list") == "There are no studies yet.\n"
    tune(*FEW, "--trials", "1", "--study", "mine")
    assert re.match(
        r"mine: search of SMFH on planted, 1 of 1 trials, best balanced score 0\.\d", tune("--list")
    )
    tune("--study", "mine", "--delete")
    assert Studies().names() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--range", "α=5:1"], "graph_weight needs a range from low to high; got 5 to 1"),
        (["--range", "α=5"], "--range is such as graph_weight=0.1:100"),
        (["--range", "α=a:b"], "--range is such as graph_weight=0.1:100"),
        (["--range", "anchors=1:5"], "SMFH has no parameter 'anchors' to tune; there are bits"),
        (["--search", "ridge", "--range", "α=1:5"], "ridge alone is to be tuned"),
        (["--sweep", "α", "μ", "m"], "one or two parameters; got 3"),
        (["--trials", "0"], "say one of them"),
        (["--folds", "0"], "from 1 to 20 validation parts"),
        (["--export", "trials.txt"], "--export needs a file name that ends in .csv"),
        (["--storage", "studies.db"], "kept at an address such as sqlite:///studies.db"),
        (["--confirm", "first", "--trials", "1"], "--confirm takes the number of a trial"),
    ],
)
def test_bad_input_is_told_in_words(tune, arguments, message):
    assert message in tune(*FEW, *arguments, code=2)
