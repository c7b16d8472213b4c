"""Several real processes on one study, and processes that are killed."""

import json
import random
import subprocess
import sys
import time

import pytest

from smfh.datasets import Planted
from smfh.hashing import SMFH
from smfh.tuning import Range, Studies, tune

pytestmark = pytest.mark.slow

WORKER = """
import json, sys
from smfh.tuning import Studies, storage, tune, work
storage.BEAT, storage.GRACE = 1, 3
did, do = [], work.do_trial
def note(study, trial, *others):
    did.append(trial.number)
    return do(study, trial, *others)
work.do_trial = note
tune(Studies(sys.argv[1]).open(sys.argv[2]))
print(json.dumps(did))
"""
KILLS = 4


@pytest.fixture
def start(address):
    """Start a worker; whatever still runs at the end is ended."""
    started = []

    def make(name):
        command = [sys.executable, "-c", WORKER, address, name]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield make
    for process in started:
        process.kill()
        process.communicate()


def did(worker):
    out, err = worker.communicate(timeout=300)
    assert worker.returncode == 0, err
    return json.loads(out)


def test_two_processes_share_a_sweep_and_do_no_point_twice(studies, make_plan, start):
    ranges = (Range("graph_weight", 0.1, 100, "log", points=6), Range("ridge", 1e-4, 1, "log", points=6))
    method, source = SMFH(bits=16, iterations=30), Planted(items=600)
    plan = make_plan(name="shared", way="sweep", ranges=ranges, method=method, sources=(source,), folds=1)
    study = studies.create(plan)
    workers = [start("shared"), start("shared")]
    first, second = map(did, workers)
    assert sorted(first + second) == list(range(len(plan.points)))
    assert first
    assert second
    assert {trial.state for trial in study.trials} == {"complete"}
    assert [trial.parameters for trial in study.trials] == plan.points
    alone = studies.create(make_plan(**{**vars(plan), "name": "alone"}))
    tune(alone)
    assert [trial.values for trial in alone.trials] == [trial.values for trial in study.trials]


def test_workers_killed_again_and_again_lose_no_trial(studies, address, make_plan, start):
    plan = make_plan(
        name="killed", method=SMFH(bits=32, iterations=60), sources=(Planted(items=1200),), trials=16
    )
    study, luck, finished = studies.create(plan), random.Random(0), {}  # noqa: S311

    def note_finished():
        for trial in study.trials:
            if trial.state in ("complete", "pruned"):
                assert finished.setdefault(trial.number, trial) == trial  # what is finished stays as it is
            else:
                assert trial.number not in finished

    for _ in range(KILLS):
        worker = start("killed")
        before = {trial.number: trial.started for trial in study.trials}
        while {trial.number: trial.started for trial in study.trials} == before:
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.02)
        time.sleep(luck.random())
        worker.kill()
        worker.wait()
        note_finished()
    begun = [trial.number for trial in study.trials if trial.state == "running"]
    assert begun  # some were killed in the midst of their work
    assert len(finished) < 16
    did(start("killed"))
    note_finished()
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}
    assert len(study.trials) == 16
    assert all(study.trials[number].put_back == "its worker was gone" for number in begun)
    assert len(Studies(address).open("killed").trials) == 16
