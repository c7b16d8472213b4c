"""Calls in another process: what comes back, what is heard meanwhile, how it ends."""

import gc
import logging
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from smfh.datasets import Planted
from smfh.hashing import make_method
from smfh.jobs import JobQueue, Processes
from smfh.runs.training import fit
from smfh.types import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def processes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # they call what stands here
        made = Processes()
        yield made
        made.close()


def count(steps: int, on_step: Callable[[int, int], None]) -> int:
    for step in range(steps):
        on_step(step, os.getpid())
    return steps


def sleep_long() -> None:
    time.sleep(600)


def same(first: np.ndarray, second: np.ndarray) -> tuple[bool, bool]:
    """Whether these are one array, and whether it may be written to."""
    return first is second, first.flags.writeable


def refuse() -> None:
    raise InputError(["This is wrong.", "And this."])


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Enough(BaseException):
    """No Exception, as what ends a job is none."""


def test_it_is_another_process_and_callbacks_are_called_here_in_order(processes):
    heard = []
    assert processes.call(count, 50, on_step=lambda *told: heard.append((*told, os.getpid()))) == 50
    assert [step for step, *_ in heard] == list(range(50))
    assert {here for *_, here in heard} == {os.getpid()}
    assert os.getpid() not in {there for _, there, _ in heard}


def test_the_same_process_is_used_again(processes):
    assert processes.call(os.getpid) == processes.call(os.getpid)


def test_training_elsewhere_gives_the_same_codes_and_films(processes):
    data, split = Planted().load()
    method = make_method("smfh-plus", bits=16)
    frames, steps = [], []
    there = processes.call(
        fit, method, data.without_looks(), split, on_step=steps.append, on_state=frames.append
    )
    here = method.fit(data.take(split.train))
    for name, codes in here.database_codes.items():
        np.testing.assert_array_equal(there.database_codes[name], codes)
    assert [step.objective for step in steps] == [step.objective for step in here.trace]
    assert len(frames) == len(steps)


@pytest.mark.parametrize("is_writeable", [True, False])
def test_a_large_array_goes_over_once_and_stays_as_writeable_as_it_is(processes, is_writeable):
    large = np.zeros(1 << 15)
    large.flags.writeable = is_writeable
    assert processes.call(same, large, large) == (True, is_writeable)
    small = np.zeros(3)
    small.flags.writeable = is_writeable
    assert processes.call(same, small, small) == (True, is_writeable)


def test_an_array_that_is_let_go_here_is_let_go_there(processes):
    large = np.zeros(1 << 24)
    before = processes.call(resident)
    processes.call(np.sum, large)
    held = processes.call(resident)
    del large
    processes.tidy()
    after = processes.call(resident)
    assert held - before > 100 << 20
    assert held - after > 100 << 20


def resident() -> int:
    with open("/proc/self/statm") as told:  # noqa: PTH123
        return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_is_refused_there_is_refused_here_in_the_same_words(processes):
    with pytest.raises(InputError) as refused:
        processes.call(refuse)
    assert refused.value.problems == ("This is wrong.", "And this.")


def test_what_a_callback_raises_ends_the_work_and_the_process_goes_on(processes):
    pid = processes.call(os.getpid)

    def stop(step: int, there: int) -> None:
        if step == 3:
            raise Enough

    with pytest.raises(Enough):
        processes.call(count, 1_000_000, on_step=stop)
    assert processes.call(os.getpid) == pid


def test_work_is_never_far_ahead_of_a_callback_that_halts(processes):
    heard = []

    def halt(step: int, there: int) -> None:
        heard.append(step)
        if step == 10:
            time.sleep(0.5)

    assert processes.call(count, 20, on_step=halt) == 20
    assert heard == list(range(20))


def test_work_without_steps_is_ended_with_its_process(processes):
    pid = processes.call(os.getpid)
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked > 2:
            raise Enough

    with pytest.raises(Enough):
        processes.call(sleep_long, check=check)
    assert not os.path.exists(f"/proc/{pid}")  # noqa: PTH110
    assert processes.call(abs, -1) == 1


def test_a_process_that_dies_is_told_in_words_and_replaced(processes):
    with pytest.raises(InputError, match="too little memory"):
        processes.call(die)
    assert processes.call(abs, -1) == 1


def test_calls_at_the_same_time_have_a_process_each(processes):
    found: list[int] = []
    threads = [Thread(target=lambda: found.append(processes.call(count, 3, on_step=pause))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3, 3]


def pause(step: int, there: int) -> None:
    time.sleep(0.05)


def test_who_has_worked_can_be_let_go_and_the_next_call_has_a_new_one(processes):
    first = processes.call(os.getpid)
    assert processes.call(os.getpid) == first
    processes.rest()
    second = processes.call(os.getpid)
    assert second != first
    processes.rest()
    processes.prepare()
    waits = processes.call(os.getpid)
    assert waits not in (first, second)


def test_a_job_calls_elsewhere_and_a_cancelled_one_ends_there_too(processes):
    queue = JobQueue(caller_of=lambda key: processes)
    job = queue.submit("here?", lambda course: course.call(os.getpid))
    assert job.wait(timeout=60)
    assert job.result != os.getpid()
    endless = queue.submit("endless", lambda course: course.call(sleep_long))
    endless.wait("running")
    assert endless.cancel()
    assert endless.wait(timeout=60)
    assert endless.state == "cancelled"
    queue.close()


class Unreadable:
    """Goes, and cannot be read where it arrives."""

    def __reduce__(self) -> Any:
        return int, ("no number", "no base")  # a TypeError


def make_unreadable() -> Unreadable:
    return Unreadable()


def make_unwritable() -> Any:
    return lambda: None


def not_converge(secret: str) -> None:
    raise ArpackNoConvergence(secret, [], [])


def test_an_error_that_cannot_be_read_here_comes_in_words_and_the_process_goes_on(processes):
    pid = processes.call(os.getpid)
    with pytest.raises(RuntimeError, match="ArpackNoConvergence: ARPACK error -1: none found"):
        processes.call(not_converge, "none found")
    assert processes.call(os.getpid) == pid


def test_an_answer_that_cannot_be_read_ends_the_call_in_words_and_the_process(processes, caplog):
    with pytest.raises(InputError, match="cannot be read") as lost, caplog.at_level(logging.ERROR):
        processes.call(make_unreadable)
    assert "memory" not in str(lost.value)
    assert "TypeError at smfh/jobs/channel.py:" in caplog.text
    assert processes.call(abs, -1) == 1


def test_an_answer_that_cannot_be_written_is_an_error_and_the_process_goes_on(processes):
    pid = processes.call(os.getpid)
    with pytest.raises(Exception, match="pickle"):
        processes.call(make_unwritable)
    assert processes.call(os.getpid) == pid


def test_a_call_that_cannot_be_read_there_is_an_error_and_the_process_goes_on(processes):
    pid = processes.call(os.getpid)
    with pytest.raises(TypeError):
        processes.call(id, Unreadable())
    assert processes.call(os.getpid) == pid


def test_a_call_that_cannot_be_written_leaves_nothing_behind(processes):
    large = np.zeros(1 << 15)
    with pytest.raises(Exception, match="pickle"):
        processes.call(same, large, lambda: None)
    assert processes.call(same, large, large) == (True, True)


def wait_until(is_so: Callable[[], bool]) -> bool:
    """Whether it is so within a minute."""
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def test_an_array_that_was_returned_is_let_go_here_when_nobody_uses_it(processes):
    returned = processes.call(np.zeros, 1 << 20)
    alive = weakref.ref(returned)
    del returned
    processes.tidy()
    gc.collect()
    assert wait_until(lambda: alive() is None)


def test_after_tidying_neither_side_keeps_what_nobody_uses(processes):
    sent = np.ones(1 << 20)
    assert processes.call(np.add, sent, 1).sum() == 2 << 20
    (process,) = processes._idle
    del sent
    processes.tidy()
    assert wait_until(lambda: not process._channel._kept)
    assert wait_until(lambda: processes.call(kept_there) == 0)


def kept_there() -> int:
    """How many large arrays this process keeps for the other one."""
    from smfh.jobs.channel import Channel

    (channel,) = (found for found in gc.get_objects() if isinstance(found, Channel))
    return len(channel._kept)


def test_the_log_tells_where_a_job_failed_in_another_process_and_not_what_it_said(processes, caplog):
    queue = JobQueue(caller_of=lambda key: processes)
    with caplog.at_level(logging.ERROR):
        job = queue.submit("a", lambda course: course.call(not_converge, "a caption"))
        assert job.wait(timeout=60)
    queue.close()
    (record,) = caplog.records
    here, there = record.getMessage().split("; In another process: ")
    assert here.startswith("A job failed: RuntimeError at smfh/jobs/processes.py:")
    assert there.startswith("ArpackNoConvergence at tests/jobs/test_calls_elsewhere.py:")
    assert ":not_converge" in there
    assert "caption" not in caplog.text
    assert job.problems == ("RuntimeError: ArpackNoConvergence: ARPACK error -1: a caption",)


def test_closing_ends_those_at_work_too_and_begins_none():
    made, heard = Processes(), []

    def call() -> None:
        with pytest.raises(InputError):
            made.call(tell_and_sleep, on_step=heard.append)

    calling = Thread(target=call)
    calling.start()
    assert wait_until(lambda: bool(heard))
    made.close()
    assert not os.path.exists(f"/proc/{heard[0]}")  # noqa: PTH110
    calling.join(60)
    assert not calling.is_alive()
    with pytest.raises(InputError, match="about to end"):
        made.call(abs, -1)


def tell_and_sleep(on_step: Callable[[int], None]) -> None:
    on_step(os.getpid())
    time.sleep(600)


PARENT = """
from smfh.jobs import Processes
from test_calls_elsewhere import tell_and_sleep
Processes().call(tell_and_sleep, on_step=lambda there: print(there, flush=True))
"""


def test_a_process_does_not_outlive_the_server_that_is_killed():
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    parent = subprocess.Popen([sys.executable, "-c", PARENT], env={**os.environ, "PYTHONPATH": path}, **pipes)
    assert int(parent.stdout.readline())  # the call is under way
    parent.kill()
    _, told = parent.communicate(timeout=60)  # the process has the same standard error, which ends with both
    assert told == b""
