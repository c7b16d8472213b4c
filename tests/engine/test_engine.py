"""Calls in worker processes, of this machine and of a cluster: results, callbacks, cancelling, losses."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import psutil
import pytest

from smfh.datasets import Planted
from smfh.engine import Engine
from smfh.hashing import make_method
from smfh.jobs import JobQueue
from smfh.runs.training import fit
from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]
SOON = 180  # seconds after which a test that hangs fails


@pytest.fixture(scope="module")
def local() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # workers import the functions of this file
        with closing(Engine(workers=2)) as engine:
            engine.connect()
            yield engine


@pytest.fixture(scope="module")
def remote(cluster) -> Iterator[Engine]:
    with closing(Engine(cluster.address)) as engine:
        engine.connect().wait_for_workers(2, timeout=SOON)
        yield engine


@pytest.fixture(params=["local", "remote"])
def engine(request) -> Engine:
    """The same tests run on processes of this machine and on a cluster at an address."""
    return request.getfixturevalue(request.param)


def count(steps: int, on_step: Callable[[int, int], None]) -> int:
    for step in range(steps):
        on_step(step, os.getpid())
    return steps


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class StopNowError(BaseException):
    """No Exception, like the one that ends a cancelled job."""


def wait_until(is_true: Callable[[], bool]) -> bool:
    """Whether it becomes true soon."""
    end = time.monotonic() + SOON
    while not is_true() and time.monotonic() < end:
        time.sleep(0.02)
    return is_true()


def test_callbacks_are_called_here_in_order(engine):
    calls = []
    assert engine.call(count, 50, on_step=lambda *values: calls.append((*values, os.getpid()))) == 50
    assert [step for step, *_ in calls] == list(range(50))
    assert {here for *_, here in calls} == {os.getpid()}
    assert os.getpid() not in {there for _, there, _ in calls}


def test_training_gives_the_same_codes_steps_and_snapshots(engine):
    data, split = Planted().load()
    method = make_method("smfh-plus", bits=16)
    states, steps = [], []
    callbacks = {"on_step": steps.append, "on_state": states.append}
    there = engine.call(fit, method, data.without_looks(), split, **callbacks)
    here = method.fit(data.take(split.train))
    for name, codes in here.database_codes.items():
        np.testing.assert_array_equal(there.database_codes[name], codes)
        assert there.database_codes[name].flags.writeable == codes.flags.writeable
    assert [step.objective for step in steps] == [step.objective for step in here.trace]
    assert len(states) == len(steps)


def test_an_exception_in_a_callback_ends_the_work(engine):
    def stop(step: int, there: int) -> None:
        if step == 3:
            raise StopNowError

    with pytest.raises(StopNowError):
        engine.call(count, 1_000_000, on_step=stop)
    assert wait_until(lambda: not any(running_calls(engine)))


def running_calls(engine: Engine) -> list[int]:
    """How many tasks each worker runs."""

    def count_tasks(dask_worker: Any) -> int:
        return len(dask_worker.state.all_running_tasks)

    return list(engine.connect().run(count_tasks).values())


def count_and_write(steps: int, file: str, on_step: Callable[[int], None]) -> None:
    for step in range(steps):
        on_step(step)
        Path(file).write_text(str(step))


def test_a_callback_that_waits_pauses_the_work(engine, tmp_path):
    file, progress = tmp_path / "step", []

    def wait_at_ten(step: int) -> None:
        if step == 10:
            time.sleep(0.5)
            progress.append(int(file.read_text()))

    engine.call(count_and_write, 100, str(file), on_step=wait_at_ten)
    assert 10 <= progress[0] <= 20


class UnpicklableError(Exception):
    def __init__(self, text: str, *, required: int) -> None:
        super().__init__(text)


def fail(text: str) -> None:
    raise UnpicklableError(text, required=1)


def refuse() -> None:
    raise InputError(["This is wrong.", "And this."])


def test_errors_arrive_with_their_problems_or_as_text(engine):
    with pytest.raises(InputError) as refused:
        engine.call(refuse)
    assert refused.value.problems == ("This is wrong.", "And this.")
    with pytest.raises(RuntimeError, match="UnpicklableError: none found"):
        engine.call(fail, "none found")
    assert engine.call(abs, -1) == 1


def test_a_call_that_kills_its_worker_is_an_error_after_two_attempts(local, tmp_path):
    with pytest.raises(InputError, match="too little memory"):
        local.call(append_and_die, str(tmp_path / "attempts"))
    assert (tmp_path / "attempts").read_text() == "11"
    assert local.call(abs, -1) == 1


def append_and_die(file: str) -> None:
    with Path(file).open("a") as attempts:
        attempts.write("1")
    die()


def count_and_die_once(steps: int, file: str, on_step: Callable[[int], None]) -> str:
    for step in range(steps):
        on_step(step)
        if step == 10 and not Path(file).exists():
            Path(file).touch()
            die()
    return "done"


def test_after_a_worker_was_killed_steps_are_not_reported_twice(local, tmp_path):
    steps = []
    assert local.call(count_and_die_once, 30, str(tmp_path / "died"), on_step=steps.append) == "done"
    assert steps == list(range(30))


def test_paused_calls_do_not_delay_others(local):
    began, ended = [], []

    def run() -> None:
        local.call(count, 1, on_step=lambda *_: (began.append(1), wait_until(lambda: bool(ended))))

    paused = [Thread(target=run) for _ in range(3)]
    for thread in paused:
        thread.start()
    assert wait_until(lambda: len(began) == 3)
    assert local.call(abs, -1) == 1
    ended.append(1)
    for thread in paused:
        thread.join()
    local.trim()
    assert wait_until(lambda: len(local.connect().nthreads()) == 2)


def test_a_call_that_ends_before_its_reports_are_read_loses_none(engine):
    steps = []
    engine.call(count, 2, on_step=lambda step, pid: steps.append(step), check=lambda: time.sleep(0.3))
    assert steps == [0, 1]


def test_work_without_reports_is_cancelled_by_ending_its_process(local):
    checks, pid = [], []

    def check() -> None:
        checks.append(1)
        if pid and len(checks) > 5:
            raise StopNowError

    with pytest.raises(StopNowError):
        local.call(report_and_sleep, on_step=pid.append, check=check)
    assert wait_until(lambda: not psutil.pid_exists(pid[0]))
    assert local.call(abs, -1) == 1


def report_and_sleep(on_step: Callable[[int], None]) -> None:
    on_step(os.getpid())
    time.sleep(600)


def stored_data(engine: Engine) -> int:
    """How many values the workers hold."""
    return sum(len(keys) for keys in engine.connect().has_what().values())


def test_a_data_set_is_sent_once_and_released_with_the_original(engine):
    data, _ = Planted(items=300).load()
    assert wait_until(lambda: stored_data(engine) == 0)
    assert {engine.call(len, data.without_looks()) for _ in range(3)} == {300}
    stored = stored_data(engine)
    assert 1 <= stored <= 2
    del data
    gc.collect()
    assert wait_until(lambda: stored_data(engine) == 0)


def test_a_data_set_that_was_lost_with_its_worker_is_sent_again(local):
    data, _ = Planted(items=200).load()
    assert local.call(len, data) == 200
    os.kill(local.call(os.getpid), signal.SIGKILL)  # the worker of the call before
    assert local.call(len, data) == 200


def test_other_data_is_sent_while_the_worker_of_a_cancelled_call_dies(local, monkeypatch):
    monkeypatch.setattr("smfh.engine.engine.STOP_SECONDS", 0.2)
    for items in range(60, 65):
        started = time.monotonic()

        def cancel(until: float = started + 1) -> None:
            if time.monotonic() > until:
                raise InputError("cancelled")

        with pytest.raises(InputError, match="cancelled"):
            local.call(time.sleep, SOON, check=cancel)
        data, _ = Planted(items=items).load()
        assert local.call(len, data) == items


def test_a_call_that_is_cancelled_as_it_begins_leaves_no_busy_worker(local):
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02):
        checks: list[int] = []

        def check(delay: float = delay, checks: list[int] = checks) -> None:
            checks.append(1)
            if len(checks) > 1:  # the first check reserves a worker, the second follows the sending
                time.sleep(delay)
                raise StopNowError

        with pytest.raises(StopNowError):
            local.call(time.sleep, SOON, check=check)
    with closing(JobQueue(caller_of=lambda key: local)) as queue:
        job = queue.submit("next", lambda context: context.call(abs, -1))
        assert job.wait(timeout=SOON / 2)
        assert job.result == 1


def test_a_lost_scheduler_is_reported_and_started_again(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with closing(Engine()) as engine:
        pids = []

        def kill_scheduler(pid: int) -> None:
            pids.append(pid)
            psutil.Process(pid).parent().kill()

        with pytest.raises(InputError, match="connection to the workers was lost"):
            engine.call(report_and_sleep, on_step=kill_scheduler)
        assert wait_until(lambda: not psutil.pid_exists(pids[0]))
        assert engine.call(abs, -1) == 1


def test_a_closed_engine_ends_its_calls_and_starts_none(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    engine, pids, errors = Engine(), [], []

    def run() -> None:
        try:
            engine.call(report_and_sleep, on_step=pids.append)
        except InputError as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    assert wait_until(lambda: bool(pids))
    engine.close()
    thread.join(SOON)
    assert errors
    assert wait_until(lambda: not psutil.pid_exists(pids[0]))
    with pytest.raises(InputError, match="shutting down"):
        engine.call(abs, -1)


def test_only_this_machine_can_reach_local_workers(local):
    scheduler = psutil.Process(local.call(os.getpid)).parent()
    listening = [
        connection.laddr.ip
        for process in (scheduler, *scheduler.children())
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert set(listening) == {"127.0.0.1"}


PARENT = """
from smfh.engine import Engine
from test_engine import report_and_sleep

if __name__ == "__main__":
    Engine(workers=2).call(report_and_sleep, on_step=lambda there: print(there, flush=True))
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_one_that_started_it(end):
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    parent = subprocess.Popen([sys.executable, "-c", PARENT], env={**os.environ, "PYTHONPATH": path}, **pipes)
    assert int(parent.stdout.readline())  # the call is running
    processes = psutil.Process(parent.pid).children(recursive=True)
    assert len(processes) >= 3
    parent.send_signal(end)
    with contextlib.suppress(subprocess.TimeoutExpired):
        parent.wait(timeout=20)
    if parent.poll() is None and end == signal.SIGINT:  # Python loses one that arrives in a callback
        parent.send_signal(end)
    _, errors = parent.communicate(timeout=SOON)  # the processes share its standard error
    assert wait_until(lambda: not any(one.is_running() for one in processes))
    assert errors == b"" or end == signal.SIGINT
