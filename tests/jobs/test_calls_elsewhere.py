"""Calls in another process: what comes back, what is heard meanwhile, how it ends."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

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


def test_a_job_calls_elsewhere_and_a_cancelled_one_ends_there_too(processes):
    queue = JobQueue(processes=processes)
    job = queue.submit("here?", lambda course: course.call(os.getpid))
    assert job.wait(timeout=60)
    assert job.result != os.getpid()
    endless = queue.submit("endless", lambda course: course.call(sleep_long))
    endless.wait("running")
    assert endless.cancel()
    assert endless.wait(timeout=60)
    assert endless.state == "cancelled"
    queue.close()
