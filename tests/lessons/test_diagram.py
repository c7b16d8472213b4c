"""The diagram: its frames add up to the states of the core; its exercises can be solved with the sliders."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.lessons.diagram import ARROWS, BOXES, EXERCISES, MEANINGS, Findings, diagram_frames
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_NAMES, Walkthrough, walk_through

QUERY = 4
SOLUTIONS = ({"graph_weight": 0.0}, {"graph_weight": 10.0}, {"bits": 6}, {"projection_weight": 25.0})


@pytest.fixture(scope="module")
def walkthrough(emoji) -> Walkthrough:
    return walk_through(make_example(emoji, default_rows(emoji)), DEFAULT_METHOD)


@pytest.fixture(scope="module")
def frames(walkthrough) -> list[dict]:
    return diagram_frames(walkthrough, QUERY)


def test_frames_add_up_to_the_state_after_every_step(walkthrough, frames):
    shown = {}
    assert len(frames) == 1 + len(walkthrough.steps)
    for frame, snapshot in zip(
        frames, [walkthrough.steps[0].before, *(step.after for step in walkthrough.steps)], strict=True
    ):
        shown |= frame["values"]
        for (name, modality), matrix in snapshot.matrices.items():
            if name in BOXES:
                np.testing.assert_array_equal(shown[f"{name}:{modality}"], matrix)
        order, distances = snapshot.rank("text", QUERY)
        assert shown["results:"] == order.tolist()
        assert [shown["distances:"][item][0] for item in order] == distances.tolist()
        codes, query = np.array(shown["code:"]), np.array(shown["query:"])
        np.testing.assert_array_equal(np.ravel(shown["distances:"]), (codes != query).sum(axis=1))


def test_a_frame_holds_only_what_its_step_changes(frames):
    search = {"query", "distances", "results"}
    for frame in frames[1 + len(STEP_NAMES) :]:
        assert {box.split(":")[0] for box in frame["values"]} - search <= {*frame["computes"], "code"}


def test_every_box_says_how_it_is_computed(frames):
    assert {box.split(":")[0] for box in frames[0]["values"]} == set(BOXES) <= set(MEANINGS)
    for about in BOXES.values():
        assert about.meaning.endswith(".")
        assert about.equation or about.code
    assert "label" in BOXES["labels"].meaning


def test_an_arrow_leads_from_what_a_step_uses_to_what_it_computes(frames):
    """Only what a step copies or merely shows has no arrow of its own."""
    flows = {(used, made) for frame in frames for used in frame["uses"] for made in frame["computes"]}
    assert {("relaxed", "basis"), ("graph", "function"), ("features", "basis")} <= flows & set(ARROWS)


def test_no_exercise_is_solved_at_the_start(walkthrough):
    now = Findings.of(walkthrough)
    assert now == Findings(queries=9, perfect=9, bits=4, different_bits=4)
    assert not any(one.is_solved(walkthrough, now) for one in EXERCISES)


@pytest.mark.parametrize(("number", "changes"), list(enumerate(SOLUTIONS)))
def test_each_exercise_is_solved_by_these_settings_alone(walkthrough, number, changes):
    changed = walk_through(walkthrough.example, replace(DEFAULT_METHOD, **changes))
    assert EXERCISES[number].is_solved(changed, Findings.of(changed))


def test_an_exercise_on_one_slider_needs_the_others_unchanged(walkthrough):
    changed = walk_through(walkthrough.example, replace(DEFAULT_METHOD, graph_weight=0.0, bits=5))
    assert not EXERCISES[0].is_solved(changed, replace(Findings.of(changed), perfect=0))
