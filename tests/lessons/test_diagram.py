"""The diagram: its frames, put together one after the other, are the states of the core."""

import numpy as np
import pytest

from smfh.lessons.diagram import BOXES, box_values, boxes_of, diagram_frames
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_NAMES, Walkthrough, walk_through

QUERY = 4


@pytest.fixture(scope="module")
def walkthrough(emoji) -> Walkthrough:
    return walk_through(make_example(emoji, default_rows(emoji)), DEFAULT_METHOD)


def test_frames_add_up_to_the_state_after_every_step(walkthrough):
    frames, shown = diagram_frames(walkthrough, QUERY), {}
    assert len(frames) == 1 + len(walkthrough.steps)
    for frame, snapshot in zip(
        frames, [walkthrough.steps[0].before, *(step.after for step in walkthrough.steps)], strict=True
    ):
        shown |= frame["values"]
        assert set(shown) == set(boxes_of(walkthrough))
        for (name, modality), matrix in snapshot.matrices.items():
            if name in BOXES:
                np.testing.assert_array_equal(shown[f"{name}:{modality}"], matrix)
        order, distances = snapshot.rank("text", QUERY)
        assert shown["results:"] == order.tolist()
        assert [shown["distances:"][item][0] for item in order] == distances.tolist()
        codes, query = np.array(shown["code:"]), np.array(shown["query:"])
        np.testing.assert_array_equal(np.ravel(shown["distances:"]), (codes != query).sum(axis=1))


def test_a_frame_holds_only_what_its_step_changes(walkthrough):
    later = diagram_frames(walkthrough, QUERY)[1 + len(STEP_NAMES) :]
    search = {"query", "distances", "results"}
    for frame in later:
        assert {box.split(":")[0] for box in frame["values"]} - search <= {*frame["computes"], "code"}
    assert box_values(walkthrough.steps[-1].after, "text", 0)["query:"] != []


def test_every_box_says_how_it_is_computed(walkthrough):
    for box in {box.split(":")[0] for box in boxes_of(walkthrough)}:
        about = BOXES[box]
        assert about.meaning.endswith(".")
        assert about.equation or about.code
    assert "label" in BOXES["labels"].meaning
