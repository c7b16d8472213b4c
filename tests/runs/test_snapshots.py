"""Snapshots of a training: each equals a training that stops at its step."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.hashing import CMFH, SMFH, SMFHPlus
from smfh.runs import Snapshots, find_or_train

SOURCE = Planted(items=60)


@pytest.mark.parametrize(
    "method", [SMFHPlus(bits=8, iterations=4, rounds=0), SMFH(bits=8, iterations=4), CMFH(bits=8, iterations=4)]
)
def test_each_snapshot_equals_a_training_stopped_there(method):
    data, split = SOURCE.load()
    snapshots = Snapshots()
    run = find_or_train(None, SOURCE, method, data, split, snapshots=snapshots)
    assert len(snapshots) == 4
    assert [frame.trace[-1].iteration for frame in snapshots.frames()] == [1, 2, 3, 4]
    for frame in snapshots.frames():
        shorter = replace(method, iterations=frame.trace[-1].iteration).fit(data.take(split.train))
        for modality, codes in shorter.database_codes.items():
            np.testing.assert_array_equal(frame.database_codes[modality], codes)
            X = data.modalities[modality]
            np.testing.assert_array_equal(frame.encode(modality, X), shorter.encode(modality, X))
    np.testing.assert_array_equal(snapshots.frames()[-1].database_codes["text"], run.hasher.database_codes["text"])


def test_a_new_training_clears_the_snapshots():
    data, split = SOURCE.load()
    snapshots = Snapshots()
    for iterations in (5, 3):
        SMFH(bits=8, iterations=iterations).fit(data.take(split.train), on_state=snapshots.add)
    assert [frame.trace[-1].iteration for frame in snapshots.frames()] == [1, 2, 3]


def test_large_snapshots_are_thinned_out_evenly():
    data, split = SOURCE.load()
    train = data.take(split.train)
    hasher = SMFH(bits=8, iterations=1).fit(train)
    arrays = [*hasher.bases.values(), *(f.projection for f in hasher.functions.values())]
    size = sum(array.nbytes for array in arrays) + hasher.database_codes["text"].nbytes
    snapshots = Snapshots(max_bytes=5 * size)
    SMFH(bits=8, iterations=20).fit(train, on_state=snapshots.add)
    iterations = [frame.trace[-1].iteration for frame in snapshots.frames()]
    assert 2 <= len(iterations) <= 5
    assert len(set(np.diff(iterations))) == 1
    assert iterations[0] == 1
