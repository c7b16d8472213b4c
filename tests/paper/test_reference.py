"""Reference scores: which differences are allowed, and how the file is updated."""

import json
from dataclasses import replace
from math import sqrt

import pytest

from smfh.paper.reference import ReferenceScore, Verdict, compare_scores, read_reference, write_reference

SCORE = ReferenceScore("emoji", "smfh", 16, "text → image", "found", 0.6, 0.01, 5)


@pytest.mark.parametrize(("mean", "holds"), [(0.6, True), (0.62, True), (0.57, False), (0.63, False)])
def test_a_score_may_differ_within_the_deviation_over_seeds(mean, holds):
    verdict = Verdict(SCORE, replace(SCORE, mean=mean))
    assert verdict.allowed == pytest.approx(0.002 + 3 * 0.01 * sqrt(2 / 5))  # .021
    assert verdict.holds == holds
    assert verdict.words.startswith("✓" if holds else "✗")


@pytest.mark.parametrize(
    ("reference", "fresh", "allowed"),
    [
        ({}, {"seeds": 1}, 0.002 + 0.03 * sqrt(1 / 5 + 1)),  # fewer seeds: a larger difference
        ({"deviation": 0.0}, {"deviation": 0.0}, 0.002),  # no deviation: only rounding
        ({}, {"mean": 0.5, "deviation": 0.2}, 0.002 + 0.03 * sqrt(2 / 5)),  # a method broken for some seeds
        ({"deviation": 0.0, "seeds": 1}, {"deviation": 0.02}, 0.002 + 0.06 * sqrt(1 + 1 / 5)),
    ],
)
def test_the_allowed_difference(reference, fresh, allowed):
    assert Verdict(replace(SCORE, **reference), replace(SCORE, **fresh)).allowed == pytest.approx(allowed)


def test_only_reference_scores_are_compared_and_missing_ones_fail():
    missing = replace(SCORE, direction="image → text")
    verdicts = compare_scores([SCORE, missing], [SCORE, replace(SCORE, bits=32)])
    assert [verdict.holds for verdict in verdicts] == [True, False]
    assert verdicts[1].words.startswith("✗ emoji, smfh, 16 bits, image → text, found: no longer measured")


def test_new_scores_replace_those_of_the_same_cells(tmp_path):
    path = tmp_path / "reference.json"
    assert read_reference(path) == []
    write_reference([SCORE, replace(SCORE, bits=32)], path)
    write_reference([replace(SCORE, mean=0.7)], path)
    assert read_reference(path) == [replace(SCORE, mean=0.7), replace(SCORE, bits=32)]
    assert json.loads(path.read_text())["made by"] == "python -m smfh paper --write-reference"
