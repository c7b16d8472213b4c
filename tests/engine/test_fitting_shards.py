"""A fit on shards equals the fit in memory bit by bit, whatever its workers, also if they are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from functools import cache

import numpy as np
import pytest

from smfh.__main__ import main
from smfh.datasets.planted import Planted
from smfh.engine import (
    Folder,
    fit_shards,
    hash_codes,
    query_data,
    score_shards,
    search_shards,
    sharded,
    stream_source,
    write_shards,
)
from smfh.engine.engine import Engine, ThisProcess, check_address, find_workers, open_client
from smfh.hamming import DISTANCES
from smfh.hashing import make_method
from smfh.hashing.blocks import ROWS
from smfh.retrieval.evaluation import evaluate
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
        "smfh-plus", bits=8, iterations=2, rounds=1, anchors=0, graph_sample=300, ridge=0.1
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
    return hash_codes(METHODS[name].fit(training()).database_codes.values())


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_on_shards_equals_the_fit_in_memory(shards, name):
    fit = fit_shards(METHODS[name], shards, ThisProcess())
    assert fit.codes_sha256 == in_memory(name)
    left = [one for one in fit.folders.work.names() if one.startswith("pass-")]
    assert len(left) == fit.passes
    assert all(one.endswith(".npz") for one in left)  # the codes of the passes are removed


@pytest.mark.parametrize("distance", DISTANCES)
def test_scores_and_results_equal_those_in_memory_including_ties(shards, distance):
    data, split, method = everything(), SPLIT, METHODS["smfh"]
    hasher, fit = method.fit(training()), fit_shards(method, shards, ThisProcess())
    queries = query_data(fit)
    np.testing.assert_array_equal(queries.labels, data.labels[split.queries])
    found = search_shards(fit, ThisProcess(), "text", queries.modalities["text"], 50, distance)
    rows, distances = hasher.search("text", queries.modalities["text"], "image", 50, distance)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.distances, distances)
    scores = score_shards(fit, ThisProcess(), distance)
    for search in (("text", "image", "training"), ("image", "text", "unseen")):
        mine, memory = scores[search], evaluate(hasher, data, split, *search, distance)
        for name, own in memory.average_precision.items():
            np.testing.assert_allclose(mine.average_precision[name].by_query, own.by_query, rtol=1e-12)
            for figure in ("tie_aware", "best", "worst", "chance"):
                assert getattr(mine.average_precision[name], figure) == getattr(own, figure)
        np.testing.assert_array_equal(mine.precision, memory.precision)
        np.testing.assert_allclose(mine.ndcg, memory.ndcg, rtol=1e-12)
        assert (mine.search, mine.graded.keys()) == (memory.search, memory.graded.keys())
        assert (mine.pair_retrieval, mine.distinct_codes) == (memory.pair_retrieval, memory.distinct_codes)
        np.testing.assert_array_equal(mine.within.recall, memory.within.recall)


class MortalEngine(Engine):
    """Local workers of which some are killed, each a moment after the beginning of a pass."""

    kills = passes = 0

    def map(self, task, arguments):
        self.passes += task is sharded.run_parts
        if task is sharded.run_parts and self.passes in (2, 4):
            threading.Timer(0.01, self.kill).start()
        return super().map(task, arguments)

    def kill(self) -> None:
        pids = list(self.connect().run(os.getpid).values())
        os.kill(pids[self.kills % len(pids)], signal.SIGKILL)
        self.kills += 1


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_codes_are_the_same_though_workers_are_killed(shards, workers):
    with closing(MortalEngine(workers=workers)) as engine:
        fit = fit_shards(METHODS["smfh-plus"], shards, engine)
        assert engine.kills == 2
        assert fit.codes_sha256 == in_memory("smfh-plus")


class InterruptedFitError(Exception):
    pass


def test_an_interrupted_fit_continues_after_its_last_complete_pass(shards):
    method, steps = METHODS["smfh-plus"], []

    def stop(step) -> None:
        steps.append(step)
        if len(steps) == 4:
            raise InterruptedFitError

    with pytest.raises(InterruptedFitError):
        fit_shards(method, shards, ThisProcess(), on_step=stop)
    done = 0

    class Counting(ThisProcess):
        def map(self, task, arguments):
            nonlocal done
            done += task not in (sharded.check_part, sharded.take_rows)  # which belong to no pass
            return super().map(task, arguments)

    fit = fit_shards(method, shards, Counting(), resume=True)
    assert fit.codes_sha256 == in_memory("smfh-plus")
    assert fit.resumed >= 2 + 3  # the moments, the start and three iterations
    assert fit.resumed + done <= fit.passes + 3  # a sweep is a task for each of three parts
    again = fit_shards(method, shards, ThisProcess(), resume=True)
    assert again.resumed == again.passes
    assert again.codes_sha256 == fit.codes_sha256


def test_the_command_continues_a_fit_only_if_asked(shards, capsys):
    fast = ["--method", "smfh", "--bits", "8", "--iterations", "2", "-m", "400", "--seed", "77"]
    reports = []
    for options in (["--resume"], ["--resume"], []):
        assert main(["fit", "--shards", shards, *fast, "--workers", "0", "--json", *options]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert [report["resumed"] > 0 for report in reports] == [False, True, False]
    assert len({report["codes_sha256"] for report in reports}) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["planted", "--cluster", "tcp://127.0.0.1:1", "--resume"], "--cluster, --resume: only with"),
        (["planted", "--shards", "SHARDS"], "leave out planted"),
        (["--shards", "SHARDS", "--split", "random", "--option", "a=1"], "leave out --option, --split"),
        (["--shards", "SHARDS", "--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "on the cluster itself"),
        (["--shards", "SHARDS", "--worker-gb", "1", "--workers", "0"], "needs worker processes"),
        (["--shards", "SHARDS", "--worker-gb", "nan"], "must be a number of gigabytes"),
    ],
)
def test_options_of_fit_without_effect_are_refused(shards, options, said, capsys):
    assert main(["fit", *(shards if option == "SHARDS" else option for option in options)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="where the system holds a process to a limit")
def test_the_memory_limit_of_a_worker_is_an_input_error():
    with closing(find_workers(1, worker_bytes=800_000_000)) as workers:
        assert workers.map(len, [(b"some",)]) == [4]
        with pytest.raises(InputError, match=r"more than the 0\.8 GB that a worker may take"):
            workers.map(np.ones, [((2000, 100_000),)])


def test_an_incomplete_pass_is_repeated(shards):
    """The client dies between two tasks of a pass: parts of its codes are there, its sums are not."""
    method, calls = METHODS["smfh"], 0

    class Dying(ThisProcess):
        def map(self, task, arguments):
            nonlocal calls
            calls += task is sharded.run_parts
            if calls == 4:
                super().map(task, arguments[:1])
                raise InterruptedFitError
            return super().map(task, arguments)

    with pytest.raises(InterruptedFitError):
        fit_shards(method, shards, Dying())
    fit = fit_shards(method, shards, ThisProcess(), resume=True)
    assert fit.resumed
    assert fit.codes_sha256 == in_memory("smfh")


def test_a_cluster_with_a_worker_of_an_old_version_is_refused(cluster, tmp_path):
    (tmp_path / "smfh").mkdir()
    (tmp_path / "smfh" / "__init__.py").touch()
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--name", "old"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    old = subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], cwd=tmp_path, env=environment, **quiet)
    try:
        client = open_client(cluster.address, is_local=True)
        client.wait_for_workers(3, timeout=60)
        client.close()
        with pytest.raises(InputError, match=r"runs another version .*No module named 'smfh\.engine'"):
            Engine(cluster.address).connect()
    finally:
        old.kill()
        old.wait()


def test_unsuitable_methods_are_refused_before_training(shards):
    with pytest.raises(InputError, match="needs all items in memory; methods for shards: smfh-plus, smfh, cmfh"):
        fit_shards(make_method("cvh"), shards, ThisProcess())
    with pytest.raises(InputError, match="set clusters to 0"):
        fit_shards(make_method("smfh-plus", clusters=4), shards, ThisProcess())
    with pytest.raises(InputError, match=r"3 modality weights .* for 2 modalities"):
        fit_shards(make_method("smfh", modality_weights=(0.5, 0.25, 0.25)), shards, ThisProcess())


def test_a_task_that_fails_leaves_its_workers_and_one_that_kills_them_is_refused(monkeypatch):
    monkeypatch.setattr("smfh.engine.engine.TASK_ATTEMPTS", 2)
    with closing(Engine()) as engine:
        before = set(engine.connect().run(os.getpid).values())
        with pytest.raises(ZeroDivisionError):
            engine.map(divmod, [(1, 0), (1, 1)])
        assert set(engine.connect().run(os.getpid).values()) == before
        with pytest.raises(InputError, match="killed 2 times while running the same task"):
            engine.map(os._exit, [(1,)])
        assert engine.map(divmod, [(7, 2), (9, 4)]) == [(3, 1), (2, 1)]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://10.0.0.7:8786", "not encrypted"),
        ("tls://127.0.0.1:8786", "needs certificates: set CA_FILE, CLIENT__CERT and CLIENT__KEY"),
        ("example.org:8786", "tls://HOST:PORT"),
        ("http://127.0.0.1:8786", "tls://HOST:PORT"),
    ],
)
def test_unsafe_addresses_are_refused(address, message):
    with pytest.raises(InputError, match=message):
        find_workers(cluster=address).map(abs, [(1,)])
    for safe in ("tls://example.org:8786", "tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:1"):
        check_address(safe)
