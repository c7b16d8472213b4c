"""Which runs are the same."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from smfh.hashing import METHODS, SMFH, SMFHPlus, make_method, relaxation_passes
from smfh.hashing.graph import LabelGraph
from smfh.runs import key as keys
from smfh.runs import run_key
from smfh.types import Split, parameters

SOON = 60  # seconds after which a test that hangs fails


def forget_behaviours():
    keys._behaviours.forget_where(lambda known: True)


def test_the_same_data_and_parameters_are_the_same_key(planted):
    data, split = planted
    again = data.take(np.arange(len(data)))
    assert run_key(data, split, SMFHPlus(bits=16)) == run_key(again, split, SMFHPlus(bits=16))
    assert hash(run_key(data, split, SMFH(), "ann")) == hash(run_key(data, split, SMFH(), "ann"))


def test_whatever_decides_the_result_changes_the_key_and_the_id(planted):
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
    assert run_key(data, split, SMFHPlus(bits=16), owner="ann") != different[0]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_split_is_its_rows_however_they_are_stored(planted, kind):
    data, split = planted
    stored = Split(split.train.astype(kind), split.queries.astype(kind))
    assert run_key(data, stored, SMFH()) == run_key(data, split, SMFH())


def test_the_same_numbers_are_the_same_id_however_they_are_written(planted):
    key = run_key(*planted, SMFHPlus(bits=8, graph_weight=2.0))
    for same in (replace(key.method, bits=np.int64(8)), replace(key.method, graph_weight=2)):
        assert replace(key, method=same).id == key.id


def test_a_parameter_that_changes_nothing_leaves_the_id(planted, monkeypatch):
    key = run_key(*planted, SMFH())
    before = key.id
    about = parameters(SMFH)
    assert all(parameter.neutral is None for parameter in about.values()), "take another parameter below"
    later = {name: replace(p, neutral=1e-3) if name == "smoothness" else p for name, p in about.items()}
    keys.identify.cache_clear()
    monkeypatch.setattr(keys, "parameters", lambda method: later)
    without = key.id
    assert without != before  # as if it had been left out from the beginning
    assert replace(key, method=SMFH(smoothness=2e-3)).id != without
    del later["smoothness"]
    keys.identify.cache_clear()
    assert key.id == without
    keys.identify.cache_clear()


def test_sampling_is_probed_where_it_is_asked_for(planted, monkeypatch):
    all_items, some = (run_key(*planted, SMFHPlus(graph_sample=m)) for m in (0, 20))
    before = all_items.id, some.id
    monkeypatch.setattr(
        LabelGraph, "sampled", lambda graph, *drawn: replace(graph, degrees=1e6 * graph.degrees)
    )
    forget_behaviours()
    assert all_items.id == before[0]
    assert some.id != before[1]
    forget_behaviours()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_behaves_the_same_every_time(name):
    first = keys.behaviour(name)
    forget_behaviours()
    assert keys.behaviour(name) == first


def test_who_asks_for_a_behaviour_that_is_being_found_waits_for_it(monkeypatch):
    probe, probed = keys._probe, []
    together = threading.Barrier(20)

    def slow(*asked):
        probed.append(asked)
        time.sleep(0.1)
        return probe(*asked)

    def ask(_):
        together.wait(SOON)
        return keys.behaviour("cvh")

    monkeypatch.setattr(keys, "_probe", slow)
    forget_behaviours()
    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(ask, range(20)))) == 1
    assert probed == [("cvh", False)]


def test_a_changed_algorithm_is_another_run_without_anybody_raising_a_number(planted, monkeypatch):
    own, other = (run_key(*planted, make_method(name)) for name in ("smfh-plus", "smfh"))
    before = own.id, other.id
    monkeypatch.setattr(relaxation_passes, "NOISE", 0.5)
    forget_behaviours()
    assert own.id != before[0]
    assert other.id == before[1]
    forget_behaviours()
