"""The key of a run: what makes two runs the same."""

from dataclasses import replace

import numpy as np

from smfh.hashing import SMFH, SMFHPlus
from smfh.runs import run as run_module
from smfh.runs import run_key
from smfh.types import Split, parameters


def test_equal_data_and_parameters_give_equal_keys(planted):
    data, split = planted
    copy = data.take(np.arange(len(data)))
    stored = Split(split.train.astype(np.int32), split.queries.astype(np.int32))
    assert run_key(data, split, SMFHPlus(bits=16)) == run_key(copy, stored, SMFHPlus(bits=16))


def test_everything_that_decides_the_outcome_changes_the_id(planted, monkeypatch):
    data, split = planted
    moved = Split(train=split.train[1:], queries=np.append(split.queries, split.train[0]))
    rows = np.concatenate([split.train, split.queries])
    later = Split(train=rows[: len(split.train) + 1], queries=rows[len(split.train) + 1 :])
    fewer = Split(train=split.train[1:], queries=split.queries)
    different = [
        run_key(data, split, SMFHPlus(bits=16)),
        run_key(data, split, SMFHPlus(bits=16, seed=1)),
        run_key(data, split, SMFHPlus(bits=9)),
        run_key(data, split, SMFHPlus(bits=16, graph_weight=1.0)),
        run_key(data, split, SMFH(bits=16)),
        run_key(data.take(np.arange(len(data))[::-1]), split, SMFHPlus(bits=16)),
        *(run_key(data, other, SMFHPlus(bits=16)) for other in (moved, later, fewer)),
    ]
    assert len(set(different)) == len({key.id for key in different}) == len(different)
    monkeypatch.setattr(SMFHPlus, "version", SMFHPlus.version + 1)
    assert run_key(data, split, SMFHPlus(bits=16)).id not in {key.id for key in different}


def test_equal_numbers_give_the_same_id_however_they_are_written(planted):
    key = run_key(*planted, SMFHPlus(bits=8, graph_weight=2.0))
    for same in (replace(key.method, bits=np.int64(8)), replace(key.method, graph_weight=2)):
        assert replace(key, method=same).id == key.id


def test_a_parameter_at_its_neutral_value_is_not_part_of_the_id(planted, monkeypatch):
    def smfh_id(**values):
        return run_key(*planted, SMFH(**values)).id

    before, about = smfh_id(), parameters(SMFH)
    neutral = {name: replace(p, neutral=1e-3) if name == "smoothness" else p for name, p in about.items()}
    monkeypatch.setattr(run_module, "parameters", lambda method: neutral)
    without = smfh_id()
    assert without != before
    assert smfh_id(smoothness=2e-3) != without
    del neutral["smoothness"]
    assert smfh_id() == without
