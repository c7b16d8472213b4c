"""Kept scores beside fresh ones: what is let pass, what is not, and that ours still hold."""

import json
from dataclasses import replace
from math import sqrt

import pytest

from smfh.__main__ import main
from smfh.commands import paper as command
from smfh.metrics import HEADLINE
from smfh.paper import reference
from smfh.paper.reference import KeptScore, Verdict, compare_scores, read_reference, write_reference

KEPT = KeptScore("emoji", "smfh", 16, "text → image", "found", 0.6, 0.01, 5)


@pytest.mark.parametrize(("mean", "holds"), [(0.6, True), (0.62, True), (0.57, False), (0.63, False)])
def test_a_score_may_lie_within_the_scatter_of_the_seeds(mean, holds):
    verdict = Verdict(KEPT, replace(KEPT, mean=mean))
    assert verdict.allowed == pytest.approx(0.002 + 3 * 0.01 * sqrt(2 / 5))  # .021
    assert verdict.holds == holds
    assert verdict.words.startswith("✓" if holds else "✗")


def test_fewer_seeds_may_lie_farther_off_and_no_scatter_allows_rounding_alone():
    assert Verdict(KEPT, replace(KEPT, seeds=1)).allowed == pytest.approx(0.002 + 0.03 * sqrt(1 / 5 + 1))
    certain = replace(KEPT, deviation=0.0)
    assert Verdict(certain, certain).allowed == 0.002


def test_seeds_that_scatter_now_do_not_widen_what_is_allowed():
    """A method that breaks for some seeds has a lower mean and a larger scatter at once."""
    broken = replace(KEPT, mean=0.5, deviation=0.2)
    assert Verdict(KEPT, broken).allowed == Verdict(KEPT, KEPT).allowed
    assert not Verdict(KEPT, broken).holds


def test_where_one_seed_was_kept_those_of_now_tell_the_scatter():
    alone = replace(KEPT, deviation=0.0, seeds=1)
    fresh = replace(KEPT, deviation=0.02)
    assert Verdict(alone, fresh).allowed == pytest.approx(0.002 + 0.06 * sqrt(1 + 1 / 5))


def test_only_what_is_kept_is_compared():
    other = replace(KEPT, bits=32)
    assert [verdict.kept for verdict in compare_scores([KEPT], [KEPT, other])] == [KEPT]


def test_a_kept_score_that_is_not_measured_any_more_does_not_hold():
    gone = replace(KEPT, direction="image → text")
    verdicts = compare_scores([KEPT, gone], [KEPT])
    assert [verdict.holds for verdict in verdicts] == [True, False]
    assert verdicts[1].words.startswith("✗ emoji, smfh, 16 bits, image → text, found: not measured any more")


def test_scores_are_kept_in_the_place_of_older_ones(tmp_path):
    path = tmp_path / "kept.json"
    assert read_reference(path) == []
    write_reference([KEPT, replace(KEPT, bits=32)], path)
    write_reference([replace(KEPT, mean=0.7)], path)
    assert read_reference(path) == [replace(KEPT, mean=0.7), replace(KEPT, bits=32)]
    assert json.loads(path.read_text())["made by"] == "python -m smfh paper --write-reference"


def test_what_is_kept_with_the_program_has_every_measure_and_several_seeds():
    kept = read_reference()
    assert {score.definition for score in kept} == set(HEADLINE)
    assert {score.direction for score in kept} == {"text → image", "image → text"}
    assert min(score.seeds for score in kept) >= 5
    assert len({score.cell for score in kept}) == len(kept)


SMALL = ["paper", "--check", "--datasets", "emoji", "--methods", "smfh-plus", "smfh", "--bits", "16"]


@pytest.mark.slow
def test_our_scores_still_hold(capsys):
    assert main([*SMALL, "--seeds", "2"]) == 0, capsys.readouterr().out
    assert "12 of 12 scores are what was kept" in capsys.readouterr().out


@pytest.fixture
def path(monkeypatch, tmp_path):
    """A reference of one's own."""
    path = tmp_path / "kept.json"
    for name in ("read_reference", "write_reference"):
        real = getattr(reference, name)
        monkeypatch.setattr(command, name, lambda *given, real=real: real(*given, path))
    return path


def test_a_score_that_fell_is_found(capsys, path):
    """A reference of a quick method, and then one that promises more."""
    asked = ["--datasets", "planted", "--methods", "cvh", "--bits", "8", "--seeds", "1"]
    with pytest.raises(SystemExit):
        main(["paper", "--check", *asked])  # nothing is kept yet, so nothing holds
    assert main(["paper", "--write-reference", *asked]) == 0
    assert main(["paper", "--check", *asked]) == 0
    best, *others = read_reference(path)
    write_reference([replace(best, mean=best.mean + 0.01)], path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["paper", "--check", *asked])
    assert end.value.code == 1
    assert capsys.readouterr().out.count("✗") == 1
    assert len(others) == 5


def test_a_score_that_is_gone_is_found_and_one_that_was_not_asked_for_is_not(capsys, path):
    asked = ["--datasets", "planted", "--methods", "cvh", "--bits", "8", "--seeds", "1"]
    assert main(["paper", "--write-reference", *asked]) == 0
    one = read_reference(path)[0]
    write_reference([replace(one, bits=16), replace(one, method="smh")], path)  # nobody asks for them below
    assert main(["paper", "--check", *asked]) == 0
    write_reference([replace(one, direction="text → smell")], path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["paper", "--check", *asked])
    assert end.value.code == 1
    told = capsys.readouterr().out
    assert "✗ planted, cvh, 8 bits, text → smell, " in told
    assert "6 of 7 scores are what was kept" in told
