"""A film has a frame for every step, and what a frame says is what training would have yielded there."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.hashing import CMFH, SMFH, SMFHPlus
from smfh.runs import Film, find_or_train
from smfh.runs.film import size_of

SOURCE = Planted(items=60)


@pytest.mark.parametrize(
    "method",
    [SMFHPlus(bits=8, iterations=4, rounds=0), SMFH(bits=8, iterations=4), CMFH(bits=8, iterations=4)],
)
def test_each_frame_is_the_training_stopped_there(method):
    data, split = SOURCE.load()
    film = Film()
    run = find_or_train(None, SOURCE, method, data, split, film=film)
    assert len(film) == 4
    assert [frame.trace[-1].iteration for frame in film.frames()] == [1, 2, 3, 4]
    for frame in film.frames():
        shorter = replace(method, iterations=frame.trace[-1].iteration).fit(data.take(split.train))
        for modality, codes in shorter.database_codes.items():
            np.testing.assert_array_equal(frame.database_codes[modality], codes)
            X = data.modalities[modality]
            np.testing.assert_array_equal(frame.encode(modality, X), shorter.encode(modality, X))
    np.testing.assert_array_equal(film.frames()[-1].database_codes["text"], run.hasher.database_codes["text"])


def test_a_training_begun_again_is_a_film_of_its_own():
    data, split = SOURCE.load()
    film = Film()
    for iterations in (5, 3):
        SMFH(bits=8, iterations=iterations).fit(data.take(split.train), on_state=film.add)
    assert [frame.trace[-1].iteration for frame in film.frames()] == [1, 2, 3]


def test_a_film_of_many_large_frames_keeps_evenly_spread_ones():
    data, split = SOURCE.load()
    train = data.take(split.train)
    size = size_of(SMFH(bits=8, iterations=1).fit(train))
    film = Film(most_bytes=5 * size)
    SMFH(bits=8, iterations=20).fit(train, on_state=film.add)
    kept = [frame.trace[-1].iteration for frame in film.frames()]
    assert 2 <= len(kept) <= 5
    assert len(set(np.diff(kept))) == 1
    assert kept[0] == 1
