"""Exercises of the small example: none is solved at first, and each can be solved with the sliders."""

from dataclasses import replace

import pytest

from smfh.datasets import Emoji
from smfh.lessons.diagram import diagram_frames
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.exercises import EXERCISES, Findings
from smfh.lessons.walkthrough import DEFAULT_METHOD, walk_through
from smfh.ui.learn.components import ARROWS

SOLUTIONS = ({"graph_weight": 0.0}, {"graph_weight": 10.0}, {"bits": 6}, {"projection_weight": 25.0})


@pytest.fixture(scope="module")
def example():
    data, _ = Emoji().load()
    return make_example(data, default_rows(data))


def test_no_exercise_is_solved_at_the_start(example):
    walkthrough = walk_through(example, DEFAULT_METHOD)
    now = Findings.of(walkthrough)
    assert not any(one.is_solved(walkthrough, now) for one in EXERCISES)
    assert now.in_words == "Now 9 of 9 queries find all their relevant items first, and 4 of 4 bits are different."


@pytest.mark.parametrize(("number", "changes"), list(enumerate(SOLUTIONS)))
def test_each_exercise_is_solved_by_these_settings_alone(example, number, changes):
    walkthrough = walk_through(example, replace(DEFAULT_METHOD, **changes))
    assert EXERCISES[number].is_solved(walkthrough, Findings.of(walkthrough))


def test_an_arrow_leads_from_what_a_step_uses_to_what_it_computes(example):
    """Only what a step copies or merely shows has no arrow of its own."""
    frames = diagram_frames(walk_through(example, DEFAULT_METHOD), 0)
    flows = {(used, made) for frame in frames for used in frame["uses"] for made in frame["computes"]}
    assert {("relaxed", "basis"), ("graph", "function"), ("features", "basis")} <= flows & set(ARROWS)
