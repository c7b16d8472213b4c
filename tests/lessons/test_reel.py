"""The film: every frame is what the training would have answered there."""

import numpy as np
import pytest

from smfh.datasets import Planted
from smfh.evaluation import evaluate
from smfh.hamming import unpack
from smfh.landscape import map_codes
from smfh.lessons.film import FILMED, Reel, shoot

SMALL = Planted(items=200)


@pytest.fixture(scope="module")
def reel() -> Reel:
    return shoot(SMALL, *SMALL.load())


def test_there_is_a_frame_for_every_iteration_and_the_last_one_is_the_run(reel):
    assert reel.iterations == tuple(range(1, FILMED.iterations + 1))
    last, run = reel.frames.runs[-1].hasher, reel.run.hasher
    np.testing.assert_array_equal(last.database_codes["image"], run.database_codes["image"])
    assert len(last.trace) == len(run.trace)
    assert len(reel.maps) == len(reel.scores) == len(reel.iterations)


def test_order_comes_out_of_noise(reel):
    """Planted classes are found: at the start hardly, at the end nearly all."""
    assert reel.scores[-1] > reel.scores[0] + 0.2
    ways = (("text", "image"), ("image", "text"))
    found = [evaluate(reel.run.hasher, reel.run.data, reel.run.split, *way) for way in ways]
    assert reel.scores[-1] == np.mean([one.mean_average_precision for one in found])


def test_all_frames_lie_on_the_plane_of_the_last_one(reel):
    last = reel.maps[-1]
    alone = map_codes(reel.run.hasher.database_codes["image"], reel.run.split.train, FILMED.bits, "PCA")
    middle = (alone.centres - alone.centres[0]) - (last.centres - last.centres[0])
    np.testing.assert_allclose(middle, 0, atol=1e-9)  # the same map, save where its middle is
    # one affine map from bits to places holds for all frames, each with more codes than it has unknowns
    bits = np.vstack([unpack(frame.codes, FILMED.bits) for frame in reel.maps]).astype(np.float64)
    known, places = np.hstack([bits, np.ones((len(bits), 1))]), np.vstack([f.centres for f in reel.maps])
    assert len(known) > 10 * known.shape[1]
    plane, *_ = np.linalg.lstsq(known, places, rcond=None)
    np.testing.assert_allclose(known @ plane, places, atol=1e-9)


def test_the_query_that_gains_most_comes_first(reel):
    gains = [sum(stops[-1][0].right) - sum(stops[0][0].right) for stops in reel.walls.values()]
    assert gains == sorted(gains, reverse=True)


def test_every_query_has_its_answers_at_every_frame(reel):
    for caption, stops in reel.walls.items():
        assert len(stops) == len(reel.iterations)
        rows, _ = reel.frames.nearest(reel.frames.runs[3], ("text", "image"), reel.frames.queries[caption], 6)
        assert stops[3][0].rows == tuple(rows)
