"""The replay: every snapshot equals the hasher of a training stopped there."""

import io

import numpy as np
import pytest
from PIL import Image

from smfh.datasets import Planted
from smfh.lessons.replay import REPLAY_METHOD, Replay, record_replay, shipped_replay, write_replay
from smfh.retrieval.evaluation import evaluate

SMALL = Planted(items=200)


@pytest.fixture(scope="module")
def replay() -> Replay:
    return record_replay(SMALL, *SMALL.load())


@pytest.fixture(scope="module")
def hasher():
    data, split = SMALL.load()
    return REPLAY_METHOD.fit(data.take(split.train))


def test_there_are_codes_per_iteration_and_the_last_are_those_of_the_run(replay, hasher):
    assert replay.iterations == tuple(range(1, REPLAY_METHOD.iterations + 1))
    np.testing.assert_array_equal(replay.database[-1], hasher.database_codes["image"])
    data, queries = replay.items.data, list(replay.items.queries.values())
    codes = hasher.encode("text", data.modalities["text"][queries])
    np.testing.assert_array_equal(replay.query_codes[-1], codes)
    assert replay.objective.tolist() == pytest.approx([step.objective for step in hasher.trace])
    assert len(replay.maps) == len(replay.scores) == len(replay.iterations)
    caption, row = next(iter(replay.items.queries.items()))
    found = hasher.search("text", data.modalities["text"][[row]], "image", 5, "hamming")
    assert replay.nearest(-1, caption, 5)[0].rows == tuple(replay.items.split.train[found.rows[0]].tolist())


def test_scores_improve_from_the_random_start(replay, hasher):
    assert replay.scores[-1] > replay.scores[0] + 0.2
    ways = (("text", "image"), ("image", "text"))
    found = [evaluate(hasher, replay.items.data, replay.items.split, *way) for way in ways]
    assert replay.scores[-1] == np.mean([one.mean_average_precision for one in found])


def test_a_written_replay_is_read_only_for_the_same_run(replay, tmp_path):
    file = tmp_path / "replay.npz"
    write_replay(replay, file)
    read = shipped_replay(*SMALL.load(), file)
    np.testing.assert_array_equal(read.database, replay.database)
    np.testing.assert_array_equal(read.query_codes, replay.query_codes)
    assert (read.scores == replay.scores).all()
    assert read.galleries == replay.galleries
    assert shipped_replay(*Planted(items=201).load(), file) is None
    assert shipped_replay(*SMALL.load(), tmp_path / "missing.npz") is None


def test_the_animation_has_a_different_frame_per_iteration(replay):
    file = Image.open(io.BytesIO(replay.animation(next(iter(replay.galleries)))))
    assert file.n_frames == len(replay.iterations)
    frames = []
    for number in (0, file.n_frames - 1):
        file.seek(number)
        frames.append(np.asarray(file.convert("RGB")))
    assert not np.array_equal(*frames)
