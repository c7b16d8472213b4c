"""A fit on shards is the fit in memory, bit by bit, whoever does its tasks, whoever is killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest

from smfh.cluster import (
    Folder,
    database_sha256,
    fit_shards,
    query_data,
    score_shards,
    search_shards,
    stream_source,
    write_shards,
)
from smfh.cluster import tasks as tasks_module
from smfh.cluster.workers import DaskWorkers, Processes, ThisProcess, check_address, find_workers
from smfh.comparison import Comparison, Grid, train_grid
from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.hashing import make_method
from smfh.hashing.products import ROWS
from smfh.runs import RunStore
from smfh.types import InputError, MultimodalDataset, Split

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]

SOURCE = Planted(items=2 * ROWS + 700, sparse_text=True, labels_per_item=2)
SPLIT = Split(train=np.arange(2 * ROWS + 500), queries=np.arange(2 * ROWS + 500, 2 * ROWS + 700))
METHODS = {
    "smfh": make_method("smfh", bits=8, iterations=3, graph_sample=500),
    "smfh, all items": make_method("smfh", bits=8, iterations=2, graph_sample=10**6),
    "smfh-plus": make_method("smfh-plus", bits=8, iterations=3, rounds=2, anchors=0),
    "smfh-plus, rbf": make_method("smfh-plus", bits=8, iterations=2, rounds=1, anchors=20),
    "smfh-plus, sampled": make_method(
        "smfh-plus", bits=8, iterations=2, rounds=1, anchors=0, graph_sample=300
    ),
    "cmfh": make_method("cmfh", bits=8, iterations=3),
}


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> str:
    """In three parts, of a block each and a rest."""
    address = str(tmp_path_factory.mktemp("cluster") / "shards")
    manifest = write_shards(stream_source(SOURCE, SPLIT, 0, None), Folder(address), ROWS)
    assert len(manifest.parts) == 3
    return address


@cache
def everything() -> MultimodalDataset:
    return SOURCE.load(SPLIT)[0]


@cache
def training() -> MultimodalDataset:
    return everything().take(SPLIT.train)


@cache
def in_memory(name: str) -> str:
    return database_sha256(METHODS[name].fit(training()).database_codes)


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_on_shards_is_the_fit_in_memory(shards, name):
    fit = fit_shards(METHODS[name], shards, ThisProcess())
    assert fit.codes_sha256 == in_memory(name)


def test_scores_and_answers_are_those_of_memory_ties_included(shards):
    data, split, method = everything(), SPLIT, METHODS["smfh"]
    hasher, fit = method.fit(training()), fit_shards(method, shards, ThisProcess())
    asking = query_data(fit)
    np.testing.assert_array_equal(asking.labels, data.labels[split.queries])
    found = search_shards(fit, ThisProcess(), "text", asking.modalities["text"], k=50)
    rows, distances = hasher.search("text", asking.modalities["text"], "image", 50)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.distances, distances)
    scores = score_shards(fit, ThisProcess())
    for search in (("text", "image", "training"), ("image", "text", "unseen")):
        mine, memory = scores[search], evaluate(hasher, data, split, *search)
        for name, own in memory.average_precision.items():
            np.testing.assert_allclose(mine.average_precision[name].by_query, own.by_query, rtol=1e-12)
            for figure in ("tie_aware", "best", "worst", "chance"):
                assert getattr(mine.average_precision[name], figure) == getattr(own, figure)
        np.testing.assert_array_equal(mine.precision, memory.precision)
        np.testing.assert_array_equal(mine.within.recall, memory.within.recall)


class Mortal(Processes):
    """Processes of which two are killed, each a moment after the beginning of a pass."""

    kills = passes = 0

    def map(self, task, arguments):
        self.passes += task is tasks_module.run_parts
        if task is tasks_module.run_parts and self.passes in (2, 4):
            threading.Timer(0.01, self.kill).start()
        return super().map(task, arguments)

    def kill(self) -> None:
        if pids := self.pids:
            os.kill(pids[self.kills % len(pids)], signal.SIGKILL)
            self.kills += 1


def test_codes_are_the_same_for_two_workers_of_which_some_are_killed(shards):
    workers = Mortal(2)
    try:
        fit = fit_shards(METHODS["smfh-plus"], shards, workers)
        assert workers.kills == 2
        assert fit.codes_sha256 == in_memory("smfh-plus")
    finally:
        workers.close()


class BrokenOffError(Exception):
    pass


def test_a_fit_that_breaks_off_goes_on_from_its_last_whole_iteration(shards):
    method, steps = METHODS["smfh-plus"], []

    def stop(step) -> None:
        steps.append(step)
        if len(steps) == 4:
            raise BrokenOffError

    with pytest.raises(BrokenOffError):
        fit_shards(method, shards, ThisProcess(), on_step=stop)
    done = 0

    class Counting(ThisProcess):
        def map(self, task, arguments):
            nonlocal done
            done += task is not tasks_module.check_part
            return super().map(task, arguments)

    fit = fit_shards(method, shards, Counting(), resume=True)
    assert fit.codes_sha256 == in_memory("smfh-plus")
    assert fit.resumed >= 2 + 3  # the moments, the start and three iterations
    assert fit.resumed + done <= fit.passes + 3  # a sweep is a task for each of three parts
    again = fit_shards(method, shards, ThisProcess(), resume=True)
    assert again.resumed == again.passes


def test_a_pass_that_was_half_done_is_done_again(shards):
    """The client dies between two tasks of a pass: parts of its codes are there, its sums are not."""
    method, calls = METHODS["smfh"], 0

    class Dying(ThisProcess):
        def map(self, task, arguments):
            nonlocal calls
            calls += task is tasks_module.run_parts
            if calls == 4:
                super().map(task, arguments[:1])
                raise BrokenOffError
            return super().map(task, arguments)

    with pytest.raises(BrokenOffError):
        fit_shards(method, shards, Dying())
    fit = fit_shards(method, shards, ThisProcess(), resume=True)
    assert fit.resumed
    assert fit.codes_sha256 == in_memory("smfh")


def test_a_worker_of_another_version_is_told_at_once(shards, monkeypatch):
    monkeypatch.setattr("smfh.cluster.fitting.program", lambda: "smfh of long ago")
    with pytest.raises(InputError, match="the client smfh of long ago: install the same version"):
        fit_shards(METHODS["smfh"], shards, ThisProcess())


def test_what_a_method_cannot_learn_is_said_before_anything_starts(shards):
    with pytest.raises(
        InputError, match="needs all items in memory; on shards there are smfh-plus, smfh, cmfh"
    ):
        fit_shards(make_method("cvh"), shards, ThisProcess())
    with pytest.raises(InputError, match=r"3 modality weights .* for 2 modalities"):
        fit_shards(make_method("smfh", modality_weights=(0.5, 0.25, 0.25)), shards, ThisProcess())


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two workers, each a process of its own on this machine."""
    pytest.importorskip("distributed")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "--host", address, "--no-dashboard", "--no-show"], **quiet)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    workers = [subprocess.Popen([*worker, "--no-dashboard"], **quiet) for _ in range(2)]
    yield address, workers, lambda: workers.append(subprocess.Popen([*worker, "--no-dashboard"], **quiet))
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def test_a_cluster_gives_the_same_codes_though_a_worker_is_killed(shards, cluster):
    address, processes, add_worker = cluster
    workers = DaskWorkers(address)
    try:
        workers.client.wait_for_workers(2, timeout=30)
        killed = []

        def kill(step) -> None:
            if step.iteration == 2:
                processes[0].kill()
                add_worker()
                killed.append(time.monotonic())

        fit = fit_shards(METHODS["smfh"], shards, workers, on_step=kill)
        assert killed
        assert fit.codes_sha256 == in_memory("smfh")
    finally:
        workers.close()


def test_the_cells_of_a_grid_are_trained_on_the_cluster_and_kept_as_if_here(cluster, tmp_path):
    source = Planted(items=120)
    comparison = Comparison(source, (make_method("smfh"), make_method("cmfh")), (8,), 2)
    grid = Grid(comparison, *source.load())
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    workers = DaskWorkers(cluster[0])
    try:
        assert not train_grid(grid, there, call=workers.call, at_once=2)
    finally:
        workers.close()
    assert not train_grid(grid, here)
    for key in grid.keys.values():
        mine, other = (store.hasher(store.find(key)) for store in (here, there))
        np.testing.assert_array_equal(mine.database_codes["text"], other.database_codes["text"])
        assert here.find(key).searches == there.find(key).searches


@pytest.mark.parametrize("address", ["tcp://10.0.0.7:8786", "tcp://example.org:8786"])
def test_plain_tcp_to_another_machine_is_refused(address):
    with pytest.raises(InputError, match="not encrypted"):
        find_workers(cluster=address)


def test_without_certificates_no_encrypted_cluster_is_asked():
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="needs certificates: set CA_FILE, CLIENT__CERT and CLIENT__KEY"):
        find_workers(cluster="tls://127.0.0.1:8786")


def test_addresses_that_are_safe_are_taken_and_others_are_not_understood():
    for address in ("tls://example.org:8786", "tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:1"):
        check_address(address)
    for address in ("example.org:8786", "http://127.0.0.1:8786", "tcp://"):
        with pytest.raises(InputError, match="tls://HOST:PORT"):
            check_address(address)


def test_without_dask_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="needs Dask, which is not installed"):
        find_workers(cluster="tcp://127.0.0.1:8786")
