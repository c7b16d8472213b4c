"""Several real processes on one study, and processes that are killed."""

import subprocess
import sys

import pytest

from smfh.datasets import Planted
from smfh.experiments.tuning import Range, tune
from smfh.hashing import SMFH

pytestmark = pytest.mark.slow

WORKER = """
import sys
from smfh.experiments.tuning import Studies, storage, tune
storage.HEARTBEAT_SECONDS, storage.GRACE_SECONDS = 1, 5
progress = tune(Studies(sys.argv[1]).open(sys.argv[2]), on_progress=lambda progress: print(progress.done))
"""


@pytest.fixture
def start(address):
    """Start a worker process; those that still run at the end are killed."""
    started = []

    def make(name):
        command = [sys.executable, "-c", WORKER, address, name]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield make
    for process in started:
        process.kill()
        process.communicate()


def wait_for(worker):
    _, errors = worker.communicate(timeout=300)
    assert worker.returncode == 0, errors


def test_two_processes_share_a_sweep_without_doing_a_point_twice(studies, make_plan, start):
    ranges = (Range("graph_weight", 0.1, 100, "log", points=6), Range("ridge", 1e-4, 1, "log", points=6))
    method, source = SMFH(bits=16, iterations=30), Planted(items=600)
    plan = make_plan(name="shared", way="sweep", ranges=ranges, method=method, sources=(source,), folds=1)
    study = studies.create(plan)
    for worker in [start("shared"), start("shared")]:
        wait_for(worker)
    assert {trial.state for trial in study.trials} == {"complete"}
    assert [trial.parameters for trial in study.trials] == plan.points
    assert len(study.optuna.trials) == len(plan.points)
    alone = studies.create(make_plan(**{**vars(plan), "name": "alone"}))
    tune(alone)
    assert [trial.values for trial in alone.trials] == [trial.values for trial in study.trials]
