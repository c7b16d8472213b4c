"""Which trainings are the same."""

import numpy as np
import pytest

from smfh.hashing import SMFH, SMFHPlus
from smfh.jobs import job_key
from smfh.types import Split


def test_the_same_data_and_parameters_are_the_same_key(planted):
    data, split = planted
    train, again = data.take(split.train), data.take(split.train)
    assert job_key(train, SMFHPlus(bits=16)) == job_key(again, SMFHPlus(bits=16))
    assert hash(job_key(data, SMFH(), "ann", split)) == hash(job_key(data, SMFH(), "ann", split))


def test_whatever_decides_the_result_changes_the_key(planted):
    data, split = planted
    moved = Split(train=split.train[1:], queries=np.append(split.queries, split.train[0]))
    rows = np.concatenate([split.train, split.queries])
    later = Split(train=rows[: len(split.train) + 1], queries=rows[len(split.train) + 1 :])
    fewer = Split(train=split.train[1:], queries=split.queries)
    keys = [
        job_key(data, SMFHPlus(bits=16)),
        job_key(data, SMFHPlus(bits=16, seed=1)),
        job_key(data, SMFH(bits=16)),
        job_key(data.take(split.train), SMFHPlus(bits=16)),
        job_key(data, SMFHPlus(bits=16), owner="ann"),
        job_key(data, SMFHPlus(bits=16), split=split),
        job_key(data, SMFHPlus(bits=16), split=moved),
        job_key(data, SMFHPlus(bits=16), split=later),
        job_key(data, SMFHPlus(bits=16), split=fewer),
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_split_is_its_rows_however_they_are_stored(planted, kind):
    data, split = planted
    stored = Split(split.train.astype(kind), split.queries.astype(kind))
    assert job_key(data, SMFH(), split=stored) == job_key(data, SMFH(), split=split)
