"""A fit on shards is the fit in memory, bit by bit, whoever does its tasks, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smfh
from smfh.__main__ import main
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
from smfh.cluster import workers as workers_module
from smfh.cluster.program import hash_modules
from smfh.cluster.workers import DaskWorkers, LocalWorkers, ThisProcess, check_address, find_workers
from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.hashing import make_method
from smfh.hashing.products import ROWS
from smfh.types import InputError, MultimodalDataset, Split

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]

ROOT = Path(smfh.__file__).parents[1]
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


class Recording(ThisProcess):
    """Remembers what came back of every task."""

    def __init__(self) -> None:
        self.returned = []

    def map(self, task, arguments):
        results = super().map(task, arguments)
        self.returned += [(task, result) for result in results]
        return results


@pytest.mark.parametrize("name", ["smfh, all items", "smfh-plus, sampled"])
def test_features_that_are_not_used_are_not_sent(shards, name):
    workers = Recording()
    fit_shards(METHODS[name], shards, workers)
    assert tasks_module.take_rows not in [task for task, _ in workers.returned]


def test_of_rows_that_are_drawn_one_modality_is_sent_at_a_time(shards):
    workers = Recording()
    fit_shards(METHODS["smfh-plus, rbf"], shards, workers)
    taken = [rows for task, rows in workers.returned if task is tasks_module.take_rows]
    assert {rows.shape[1] for rows in taken} == {X.shape[1] for X in training().modalities.values()}


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


def processes() -> Any:
    """What comes with Dask to look at them."""
    return pytest.importorskip("psutil", reason="psutil is not installed: it comes with distributed")


def children() -> list[Any]:
    """The processes that work for this one."""
    every = processes().Process().children()
    return [one for one in every if one.is_running() and "smfh.jobs.worker" in " ".join(one.cmdline())]


class Mortal(LocalWorkers):
    """Processes of which two are killed, each a moment after the beginning of a pass."""

    kills = passes = 0

    def map(self, task, arguments):
        self.passes += task is tasks_module.run_parts
        if task is tasks_module.run_parts and self.passes in (2, 4):
            threading.Timer(0.01, self.kill).start()
        return super().map(task, arguments)

    def kill(self) -> None:
        if there := children():
            there[self.kills % len(there)].kill()
            self.kills += 1


def test_codes_are_the_same_for_two_workers_of_which_some_are_killed(shards):
    workers = Mortal(2)
    try:
        fit = fit_shards(METHODS["smfh-plus"], shards, workers)
        assert workers.kills == 2
        assert fit.codes_sha256 == in_memory("smfh-plus")
    finally:
        workers.close()


SCRIPT = """
import sys
from smfh.cluster import find_workers, fit_shards
from smfh.hashing import make_method

print("begun", file=sys.stderr)
fit = fit_shards(make_method("smfh", bits=8, iterations=3, graph_sample=500), sys.argv[1], find_workers(2))
print(fit.codes_sha256)
"""


def test_workers_serve_a_plain_script(shards, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), shards]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == in_memory("smfh")
    assert done.stderr.count("begun") == 1


def test_a_task_that_kills_its_worker_is_given_up(monkeypatch):
    monkeypatch.setattr(workers_module, "ATTEMPTS", 2)
    with closing(LocalWorkers(1)) as workers:
        with pytest.raises(InputError, match="killed 2 times at one task"):
            workers.map(os._exit, [(1,)])
        assert workers.map(divmod, [(7, 2), (9, 4)]) == [(3, 1), (2, 1)]


def test_what_a_task_raises_leaves_the_others_at_work(monkeypatch):
    with closing(LocalWorkers(2)) as workers:
        with pytest.raises(ZeroDivisionError):
            workers.map(divmod, [(1, 0), (1, 1)])
        before = {one.pid for one in children()}
        assert workers.map(divmod, [(7, 2)]) == [(3, 1)]
        assert {one.pid for one in children()} == before


def test_workers_that_are_closed_do_not_begin_again():
    workers, ended = LocalWorkers(2), []

    def work() -> None:
        try:
            workers.map(time.sleep, [(60,)] * 4)
        except Exception as error:
            ended.append(error)

    before = {one.pid for one in children()}
    at_work = threading.Thread(target=work)
    at_work.start()
    while len({one.pid for one in children()} - before) < 2:
        time.sleep(0.05)
    workers.close()
    at_work.join(timeout=30)
    assert ended
    assert {one.pid for one in children()} <= before
    with pytest.raises(RuntimeError):
        workers.map(time.sleep, [(60,)])


INTERRUPTED = """
import time
from smfh.cluster import find_workers

print("begun", flush=True)
find_workers(2).map(time.sleep, [(60,)] * 4)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_ctrl_c_ends_the_workers_too():
    command, psutil = [sys.executable, "-c", INTERRUPTED], processes()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs behind ignores Ctrl-C
    )
    assert process.stdout.readline()
    parent = psutil.Process(process.pid)
    while len(parent.children()) < 2:
        time.sleep(0.05)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) != 0
    process.stdout.close()
    end = time.monotonic() + 20
    while [one for one in psutil.pids() if psutil.pid_exists(one) and group_of(one) == process.pid]:
        assert time.monotonic() < end
        time.sleep(0.1)


def group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


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
    assert again.codes_sha256 == fit.codes_sha256


@pytest.mark.parametrize("name", METHODS)
def test_codes_before_packing_are_not_left_behind(shards, name):
    fit = fit_shards(METHODS[name], shards, ThisProcess())
    left = [one for one in fit.place.work.names() if one.startswith("pass-")]
    assert len(left) == fit.passes
    assert all(one.endswith(".npz") for one in left)


def fit_command(shards: str, capsys, *options: str) -> tuple[dict, str]:
    """The object that `fit` prints, and what it says beside it."""
    fast = ["--method", "smfh", "--bits", "8", "--iterations", "2", "-m", "400"]
    assert main(["fit", "--shards", shards, *fast, "--workers", "0", "--json", *options]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_resume_says_whether_there_was_anything_to_go_on_with(shards, capsys):
    first, said = fit_command(shards, capsys, "--resume", "--seed", "77")
    assert "No such fit was begun: it begins anew." in said
    assert first["resumed"] == 0
    again, said = fit_command(shards, capsys, "--resume", "--seed", "77")
    assert f"goes on after pass {again['resumed']}." in said
    assert again["resumed"] > 0
    assert again["codes_sha256"] == first["codes_sha256"]
    anew, said = fit_command(shards, capsys, "--seed", "77")
    assert "pass" not in said
    assert anew["resumed"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["planted", "--workers", "2"], "--workers: for --shards DIR alone"),
        (["planted", "--cluster", "tcp://127.0.0.1:1", "--resume"], "--cluster, --resume: for --shards"),
        (["planted", "--shards", "SHARDS"], "leave out planted"),
        (["--shards", "SHARDS", "--split", "random", "--option", "a=1"], "leave out --option, --split"),
        (["--shards", "SHARDS", "--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "workers of its own"),
        (["--shards", "SHARDS", "--worker-gb", "1", "--cluster", "tcp://127.0.0.1:1"], "workers of its own"),
        (["--shards", "SHARDS", "--worker-gb", "1", "--workers", "0"], "This process itself has no limit"),
        (["--shards", "SHARDS", "--worker-gb", "nan"], "must be a number of gigabytes"),
        (["--shards", "SHARDS", "--worker-gb", "0"], "must be let take some memory"),
    ],
)
def test_options_of_fit_that_would_be_dropped_are_refused(shards, options, said, capsys):
    assert main(["fit", *(shards if option == "SHARDS" else option for option in options)]) == 2
    assert said in capsys.readouterr().err


def test_the_commands_show_that_codes_in_shards_are_those_in_memory(tmp_path, capsys):
    items = str(ROWS + 3000)
    assert main(["shard", "synthetic", "--items", items, "--to", str(tmp_path / "shards")]) == 0
    fast = ["--method", "smfh", "--bits", "8", "--iterations", "2", "-m", "400", "--json"]
    capsys.readouterr()
    reports = []
    for options in (["synthetic", "--option", f"items={items}"], ["--shards", str(tmp_path / "shards")]):
        assert main(["fit", *options, *fast]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    memory, sharded = reports
    assert sharded["codes_sha256"] == memory["codes_sha256"]
    assert sharded["items"] == memory["items"]
    for direction, row in memory["scores"].items():
        assert sharded["scores"][direction] == pytest.approx(row, rel=1e-12)


@pytest.mark.skipif(sys.platform != "linux", reason="where the system holds a process to a limit")
def test_a_worker_takes_no_more_than_it_may():
    with closing(find_workers(1, most_bytes=800_000_000)) as workers:
        assert workers.map(len, [(b"some",)]) == [4]
        with pytest.raises(InputError, match=r"more than the 0\.8 GB that a worker may take"):
            workers.map(np.ones, [((2000, 100_000),)])


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


def test_whatever_module_changes_it_is_another_program(tmp_path):
    (tmp_path / "room").mkdir()
    files = [tmp_path / "evaluation.py", tmp_path / "room" / "deep.py"]
    for file in files:
        file.write_text("a = 1")
    seen = {hash_modules(tmp_path)}
    for file in files:
        file.write_text("a = 2")
        seen.add(hash_modules(tmp_path))
    files[0].rename(tmp_path / "other.py")
    assert len(seen | {hash_modules(tmp_path)}) == 4


def test_a_cluster_whose_worker_has_an_old_package_is_refused_in_words(cluster, tmp_path):
    (tmp_path / "smfh").mkdir()
    (tmp_path / "smfh" / "__init__.py").touch()
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--name", "old"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    old = subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], cwd=tmp_path, env=environment, **quiet)
    try:
        client = workers_module.connect(cluster.address)
        client.wait_for_workers(3, timeout=60)
        client.close()
        with pytest.raises(InputError, match=r"runs another version .*No module named 'smfh\.cluster'"):
            DaskWorkers(cluster.address)
    finally:
        old.kill()
        old.wait()


def test_what_a_method_cannot_learn_is_said_before_anything_starts(shards):
    with pytest.raises(
        InputError, match="needs all items in memory; on shards there are smfh-plus, smfh, cmfh"
    ):
        fit_shards(make_method("cvh"), shards, ThisProcess())
    with pytest.raises(InputError, match=r"3 modality weights .* for 2 modalities"):
        fit_shards(make_method("smfh", modality_weights=(0.5, 0.25, 0.25)), shards, ThisProcess())


def test_a_cluster_gives_the_same_codes_though_a_worker_is_killed(shards, cluster):
    workers = DaskWorkers(cluster.address)
    try:
        workers.client.wait_for_workers(2, timeout=30)
        killed = []

        def kill(step) -> None:
            if step.iteration == 2:
                cluster.kill_worker()
                cluster.add_worker()
                killed.append(time.monotonic())

        fit = fit_shards(METHODS["smfh"], shards, workers, on_step=kill)
        assert killed
        assert fit.codes_sha256 == in_memory("smfh")
    finally:
        workers.close()


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
