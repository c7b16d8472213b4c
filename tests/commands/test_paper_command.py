"""The command paper: its tables from saved and fresh runs, and the check of the reference scores."""

import json
from dataclasses import replace

import pytest

from smfh.__main__ import main
from smfh.commands import paper as command
from smfh.paper import reference
from smfh.paper.reference import read_reference, write_reference

TABLE = ["paper", "--datasets", "planted", "--methods", "cvh", "--seeds", "1", "--json"]
QUICK = ["--datasets", "planted", "--methods", "cvh", "--bits", "8", "--seeds", "1"]


@pytest.fixture
def path(monkeypatch, tmp_path):
    """A reference file for this test only."""
    path = tmp_path / "reference.json"
    for name in ("read_reference", "write_reference"):
        real = getattr(reference, name)
        monkeypatch.setattr(command, name, lambda *given, real=real: real(*given, path))
    return path


def test_fresh_runs_and_saved_runs_give_the_same_numbers(store, capsys):
    assert main([*TABLE, "--fresh"]) == 0
    fresh = json.loads(capsys.readouterr().out)
    assert store.records() == []
    assert main(TABLE) == 0
    saved = json.loads(capsys.readouterr().out)
    assert len(store.records()) == 3
    scores = [[row for row in rows if row["measure"] != "seconds"] for rows in (fresh, saved)]
    assert scores[0] == scores[1]


def test_the_split_seed_changes_the_scores(store, capsys):
    scores = []
    for seed in ("0", "1"):
        assert main([*TABLE, "--split-seed", seed]) == 0
        cells = json.loads(capsys.readouterr().out)
        scores.append([cell["mean"] for cell in cells if cell["measure"] == "map"])
    assert scores[0] != scores[1]


def test_without_the_benchmarks_it_says_what_is_missing(capsys, monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/nonexistent")
    assert main(["paper"]) == 2
    assert "SMFH_DATA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "--split", "random"], "use the default split"),
        (["--write-reference", "--split-seed", "3"], "use the default split"),
        (["--bits", "8"], "--bits is only for --check and --write-reference; the tables have 32, 64, 128"),
    ],
)
def test_options_that_would_be_ignored_are_refused(capsys, path, arguments, message):
    assert main(["paper", "--datasets", "planted", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not path.exists()


def test_a_lower_score_fails_the_check(capsys, path):
    with pytest.raises(SystemExit):
        main(["paper", "--check", *QUICK])  # there are no reference scores yet
    assert main(["paper", "--write-reference", *QUICK]) == 0
    assert main(["paper", "--check", *QUICK]) == 0
    best, *others = read_reference(path)
    assert len(others) == 5
    write_reference([replace(best, mean=best.mean + 0.01)], path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["paper", "--check", *QUICK])
    assert end.value.code == 1
    assert capsys.readouterr().out.count("✗") == 1


@pytest.mark.slow
def test_the_program_still_produces_the_reference_scores(capsys):
    chosen = ["--datasets", "emoji", "--methods", "smfh-plus", "smfh", "--bits", "16", "--seeds", "2"]
    assert main(["paper", "--check", *chosen]) == 0, capsys.readouterr().out
    assert "12 of 12 scores agree" in capsys.readouterr().out
