"""Runs, grids and studies on a cluster are those of this machine, also after workers were killed."""

import time
from contextlib import closing
from threading import Event

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.engine import Engine
from smfh.engine.engine import NO_WORKER_SECONDS
from smfh.experiments.comparison import Comparison, Grid, grid_work
from smfh.experiments.tuning import Studies, StudyPlan, default_range, study_work
from smfh.hashing import make_method
from smfh.jobs import JobQueue
from smfh.runs import RunStore, find_or_train
from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]
SOURCE = Planted(items=120)
METHOD = make_method("smfh-plus", bits=8, iterations=6, anchors=20)


@pytest.fixture
def engine(cluster):
    with closing(Engine(cluster.address)) as engine:
        engine.connect().wait_for_workers(2, timeout=60)
        yield engine


def test_steps_are_reported_once_though_all_workers_are_killed(engine, cluster):
    loaded, there, here = SOURCE.load(), [], []
    find_or_train(None, SOURCE, METHOD, *loaded, here.append)

    def kill_at_third_step(step) -> None:
        there.append(step)
        if len(there) == 3:
            cluster.add_worker()
            cluster.add_worker()
            engine.connect().wait_for_workers(4, timeout=60)
            cluster.kill_worker()
            cluster.kill_worker()

    run = find_or_train(None, SOURCE, METHOD, *loaded, kill_at_third_step, call=engine.call)
    assert [step.terms for step in there] == [step.terms for step in here]
    assert len(run.hasher.trace) == len(here)


def test_a_grid_uses_all_workers_and_saves_the_same_runs(engine, tmp_path):
    comparison = Comparison(SOURCE, (make_method("smfh"), make_method("cmfh")), (8,), 2)
    grid = Grid(comparison, *SOURCE.load())
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    for store, caller_of in ((here, None), (there, lambda key: engine)):
        with closing(JobQueue(caller_of=caller_of)) as queue:
            job = queue.submit("grid", grid_work(grid, store))
            assert job.wait(timeout=120)
            assert job.result == {}
    for key in grid.keys.values():
        mine, other = (store.hasher(store.find(key)) for store in (here, there))
        np.testing.assert_array_equal(mine.database_codes["text"], other.database_codes["text"])
        assert here.find(key).searches == there.find(key).searches


def test_a_study_uses_all_workers_and_pauses_as_a_whole(engine, tmp_path):
    method = make_method("smfh", bits=8, iterations=2)
    plan = StudyPlan("many", (SOURCE,), method, (default_range(method, "graph_weight"),), trials=6, folds=1)
    study, never = Studies(f"sqlite:///{tmp_path / 'studies.db'}").create(plan), Event()
    with closing(JobQueue(caller_of=lambda key: engine)) as queue:
        job = queue.submit(study.key, study_work(study))
        assert job.pause()
        assert job.wait("paused", timeout=120)
        end = time.monotonic() + 60
        while "running" in [trial.state for trial in study.trials]:  # other workers finish their trial
            assert time.monotonic() < end
            never.wait(0.1)
        assert [trial.state for trial in study.trials].count("waiting") >= 3
        job.resume()
        assert job.wait(timeout=120)
        assert job.state == "finished"
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}


def test_a_cluster_without_workers_or_scheduler_is_reported_soon(cluster):
    with closing(Engine(cluster.address)) as engine:
        engine.connect()

        def kill_all(*_) -> None:
            while cluster.workers:
                cluster.kill_worker()

        with pytest.raises(InputError, match="No worker of the cluster is left"):
            find_or_train(None, SOURCE, METHOD, *SOURCE.load(), kill_all, call=engine.call)
        for work in (lambda: engine.map(abs, [(-1,)]), lambda: engine.call(abs, -1)):
            started = time.monotonic()
            with pytest.raises(InputError, match="No worker of the cluster is left"):
                work()
            assert time.monotonic() - started < 5 + NO_WORKER_SECONDS  # twice as long on a machine that is busy
    with closing(Engine("tcp://127.0.0.1:1")) as missing, pytest.raises(InputError, match="No scheduler"):
        missing.call(abs, -1)
