"""What visitors share: loaded once, nobody waits for another, and what is private goes with its owner."""

import threading
from dataclasses import dataclass, replace
from typing import ClassVar
from weakref import WeakKeyDictionary

import pytest

from smfh.datasets import DatasetSource, Planted, Synthetic
from smfh.datasets.own import OwnData, example_archive
from smfh.hashing import make_method
from smfh.memory import Memory
from smfh.runs import find_or_train
from smfh.runs.limits import GB
from smfh.types import InputError
from smfh.ui import server

SOON = 60  # seconds after which a test that hangs fails
LOADS: list[str] = []
GATES: dict[str, threading.Event] = {}


@dataclass(frozen=True)
class Slow(DatasetSource):
    """A data set that is there when it is let through."""

    name: ClassVar[str] = "slow"
    is_light: ClassVar[bool] = True  # so that it is loaded here, where it can be held up
    card: ClassVar = Planted.card
    gate: str = ""

    def load(self, split="default", seed=0, on_progress=None):
        LOADS.append(self.gate)
        on_progress(0.5, "half of it")
        assert GATES[self.gate].wait(SOON)
        if self.gate == "bad":
            raise InputError("A file is damaged.")
        return Planted(items=20).load()


@pytest.fixture(autouse=True)
def gates():
    LOADS.clear()
    GATES.update({name: threading.Event() for name in ("large", "small", "bad")})
    yield
    for gate in GATES.values():
        gate.set()
    server.forget_sources(lambda key: isinstance(key, Slow))


def in_thread(results, source):
    thread = threading.Thread(target=lambda: results.append(server.load_source(source)))
    thread.start()
    return thread


def test_a_small_set_does_not_wait_for_a_large_one_of_another_visitor():
    large = in_thread([], Slow("large"))
    GATES["small"].set()
    assert len(server.load_source(Slow("small"))[0]) == 20
    assert large.is_alive()
    assert server.peek_source(Slow("large")) is None
    GATES["large"].set()
    large.join(SOON)
    assert server.peek_source(Slow("large")) is not None


def test_who_asks_again_while_it_loads_joins_and_does_not_start_it_anew():
    results = []
    threads = [in_thread(results, Slow("large")) for _ in range(3)]
    GATES["large"].set()
    for thread in threads:
        thread.join(SOON)
    assert LOADS == ["large"]
    assert len({id(data) for data, _ in results}) == 1


def test_what_cannot_be_loaded_is_told_and_tried_again():
    GATES["bad"].set()
    for _ in range(2):
        with pytest.raises(InputError, match="damaged"):
            server.load_source(Slow("bad"))
    assert LOADS == ["bad", "bad"]


def test_a_load_that_nobody_waits_for_any_more_ends(monkeypatch):
    monkeypatch.setattr(server, "_shared", Memory(32))
    queue, source = server.data_queue(), Synthetic(items=50_000)
    job = queue.submit(source, lambda course: server._load(source, course), "ann")
    job.leave("ann")
    assert job.wait(timeout=SOON)
    assert "Nobody waits" in job.problems[0]


def test_all_data_in_use_together_leaves_room_or_is_refused_with_the_figures(monkeypatch):
    monkeypatch.setattr(server, "_shared", Memory(32))
    monkeypatch.setattr(server, "_live", WeakKeyDictionary())
    source, other = Synthetic(items=1000), Synthetic(items=1000, data_seed=1)
    monkeypatch.setenv("SMFH_MOST_GB", str(5 * source.bytes / GB))
    monkeypatch.setattr("smfh.ui.server.check_size", lambda source, limits: None)
    held = [server.load_source(replace(source, data_seed=seed), "ann") for seed in range(5)]
    with pytest.raises(InputError, match=r"all who are here use 0\.0\. Take fewer items"):
        server.load_source(replace(source, data_seed=5), "bob")
    held.clear()
    assert len(server.load_source(replace(other, data_seed=5), "bob")[0]) == 1000


def test_when_nobody_is_here_all_that_can_be_made_again_goes_and_own_data_stays(monkeypatch):
    monkeypatch.setattr(server, "_shared", Memory(32))
    source, own = Planted(items=40), OwnData(example_archive(), "mine.zip")
    loaded = server.load_source(source)
    server.bring("ann", own, own.load())
    run = find_or_train(None, source, make_method("cvh", bits=4), *loaded)
    job = server.job_queue().submit(run.key, lambda course: run)
    assert job.wait(timeout=SOON)
    assert server.derive(run, "answer", lambda: 1) == 1
    server.forget_all()
    assert server.job_queue().find(run.key) is None
    assert server.peek_source(source) is None
    assert server.derive(run, "answer", lambda: 2) == 2
    assert server.brought("ann") is not None
    server.forget("ann")


def test_runs_of_a_model_file_go_with_their_visitor():
    source, method = Planted(items=40), make_method("cvh", bits=4)
    run = find_or_train(None, source, method, *source.load())
    loaded = replace(run, key=replace(run.key, owner=f"ann{server.MODEL}0123"))
    job = server.job_queue().submit(loaded.key, lambda course: loaded, "ann")
    assert job.wait(timeout=SOON)
    server.derive(loaded, "answer", lambda: 42)
    server.forget("ann")
    assert server.job_queue().find(loaded.key) is None
    assert server.derive(loaded, "answer", lambda: 43) == 43
    server.forget("ann")


def test_nothing_is_remembered_of_own_data_that_was_forgotten():
    source = OwnData(example_archive(), "mine.zip")
    loaded = source.load()
    run = find_or_train(None, source, make_method("cvh", bits=4), *loaded, owner="ann")
    server.bring("ann", source, loaded)
    assert server.derive(run, "answer", lambda: 1) == server.derive(run, "answer", lambda: 2) == 1
    server.forget("ann")
    assert server.derive(run, "answer", lambda: 3) == 3
    assert server.derive(run, "answer", lambda: 4) == 4


def test_what_follows_from_a_run_is_made_once_and_goes_with_its_owner():
    source, method = Planted(items=40), make_method("cvh", bits=4)
    public = find_or_train(None, source, method, *source.load())
    private = replace(public, key=replace(public.key, owner="ann"))
    made = []
    for run in (public, private, public, private):
        assert server.derive(run, "answer", lambda run=run: made.append(run.key.owner) or 42) == 42
    assert made == ["", "ann"]
    film = server.film_of(private.key)
    assert server.film_of(private.key) is film
    server.forget("ann")
    assert server.film_of(private.key) is not film
    for run in (public, private):
        server.derive(run, "answer", lambda run=run: made.append(run.key.owner) or 42)
    assert made == ["", "ann", "ann"]
