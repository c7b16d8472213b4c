"""Splits: drawn and carved."""

import numpy as np
import pytest

from smfh.datasets.splits import carve_validation, random_split, resolve_split, validation_as_queries
from smfh.types import InputError, Split


def test_validation_comes_out_of_train_alone():
    split = random_split(100, 0.8, seed=0)
    carved = carve_validation(split, 0.25, seed=1)
    assert len(carved.validation) == 20
    assert sorted(np.concatenate([carved.train, carved.validation])) == split.train.tolist()
    assert np.array_equal(carved.queries, split.queries)
    assert np.array_equal(validation_as_queries(carved).queries, carved.validation)


def test_default_is_official_where_there_is_one():
    official = Split(train=np.array([0, 1]), queries=np.array([2]))
    assert resolve_split("default", 0, 3, official) is official
    assert len(resolve_split("default", 0, 100).train) == 75
    with pytest.raises(InputError, match="no official split"):
        resolve_split("official", 0, 100)
