"""Calls on a cluster are those of this machine: told step by step, ended if unwanted, done again if lost."""

import time
from contextlib import closing
from threading import Event

import numpy as np
import pytest

from smfh.cluster.calls import ClusterCalls
from smfh.comparison import Comparison, Grid, grid_work
from smfh.datasets.planted import Planted
from smfh.hashing import make_method
from smfh.jobs import JobQueue
from smfh.runs import RunStore, find_or_train
from smfh.runs.film import Film
from smfh.tuning import Studies, StudyPlan, study_work, usual_range
from smfh.types import InputError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]
SOURCE = Planted(items=120)
METHOD = make_method("smfh-plus", bits=8, iterations=6, anchors=20)


@pytest.fixture
def calls(cluster):
    with closing(ClusterCalls(cluster.address)) as made:
        made.find().client.wait_for_workers(2, timeout=60)
        yield made


def test_a_run_of_the_cluster_is_the_run_of_this_machine_film_and_all(calls):
    loaded, steps, films = SOURCE.load(), ([], []), (Film(), Film())
    here = find_or_train(None, SOURCE, METHOD, *loaded, steps[0].append, film=films[0])
    there = find_or_train(None, SOURCE, METHOD, *loaded, steps[1].append, film=films[1], call=calls.call)
    assert [step.terms for step in steps[1]] == [step.terms for step in steps[0]]
    np.testing.assert_array_equal(there.hasher.database_codes["text"], here.hasher.database_codes["text"])
    frames = [film.frames() for film in films]
    assert len(frames[0]) == len(frames[1]) > 1
    for mine, other in zip(*frames, strict=True):
        np.testing.assert_array_equal(mine.database_codes["image"], other.database_codes["image"])
    for way in here.hasher.directions:
        assert there.scores(*way).mean_average_precision == here.scores(*way).mean_average_precision


def test_what_a_call_raises_comes_back_at_once(calls):
    wrong = make_method("smfh", bits=8, modality_weights=(0.5, 0.25, 0.25))
    with pytest.raises(InputError, match="3 modality weights"):
        find_or_train(None, SOURCE, wrong, *SOURCE.load(), call=calls.call)


class NotWantedError(Exception):
    pass


def test_a_call_that_is_not_wanted_ends_on_its_worker(calls):
    heard = []

    def hear(step) -> None:
        heard.append(step)
        if len(heard) == 2:
            raise NotWantedError

    endless = make_method("smfh", bits=8, iterations=1000)
    with pytest.raises(NotWantedError):
        find_or_train(None, SOURCE, endless, *SOURCE.load(), hear, call=calls.call)
    end = time.monotonic() + 30
    while any(calls.find().client.processing().values()) or any(executing(calls)):
        assert time.monotonic() < end
        time.sleep(0.1)


def executing(calls: ClusterCalls) -> list[int]:
    """How many tasks each worker is at."""

    def count(dask_worker) -> int:
        return dask_worker.state.executing_count

    return list(calls.find().client.run(count).values())


def test_steps_are_told_once_though_the_worker_dies_in_the_middle(calls, cluster):
    loaded, told, here = SOURCE.load(), [], []
    find_or_train(None, SOURCE, METHOD, *loaded, here.append)

    def hear(step) -> None:
        told.append(step)
        if len(told) == 3:
            while len(cluster.workers):
                cluster.kill_worker()
            cluster.add_worker()
            cluster.add_worker()

    run = find_or_train(None, SOURCE, METHOD, *loaded, hear, call=calls.call)
    assert [step.terms for step in told] == [step.terms for step in here]
    assert len(run.hasher.trace) == len(here)


def test_a_grid_goes_over_all_workers_and_is_kept_as_if_trained_here(calls, tmp_path):
    comparison = Comparison(SOURCE, (make_method("smfh"), make_method("cmfh")), (8,), 2)
    grid = Grid(comparison, *SOURCE.load())
    here, there = RunStore(tmp_path / "here"), RunStore(tmp_path / "there")
    for store, caller_of in ((here, None), (there, lambda key: calls)):
        with closing(JobQueue(caller_of=caller_of)) as queue:
            job = queue.submit("grid", grid_work(grid, store))
            assert job.wait(timeout=120)
            assert job.result == {}
    for key in grid.keys.values():
        mine, other = (store.hasher(store.find(key)) for store in (here, there))
        np.testing.assert_array_equal(mine.database_codes["text"], other.database_codes["text"])
        assert here.find(key).searches == there.find(key).searches


def test_a_study_goes_over_all_workers_and_halts_as_a_whole(calls, tmp_path):
    method = make_method("smfh", bits=8, iterations=2)
    plan = StudyPlan("many", (SOURCE,), method, (usual_range(method, "graph_weight"),), trials=6, folds=1)
    study, paused = Studies(f"sqlite:///{tmp_path / 'studies.db'}").create(plan), Event()
    with closing(JobQueue(caller_of=lambda key: calls)) as queue:
        job = queue.submit(study.key, study_work(study))
        assert job.pause()
        assert job.wait("paused", timeout=120)
        assert not paused.wait(2.0)  # time for the others to end the trial they are at
        done = [trial.state for trial in study.trials]
        assert "running" not in done
        assert done.count("waiting") >= 3
        job.resume()
        assert job.wait(timeout=120)
        assert job.state == "finished"
    assert {trial.state for trial in study.trials} <= {"complete", "pruned"}


def test_as_many_jobs_are_at_work_as_there_are_workers(calls, cluster):
    heard = []
    with closing(ClusterCalls(cluster.address, heard.append)) as counted:
        assert counted.at_once == 2
    assert heard == [2]
    with closing(JobQueue()) as queue:
        gate = Event()
        jobs = [queue.submit(name, lambda course: gate.wait(60)) for name in "abc"]
        queue.set_workers(2)
        assert [job.state for job in jobs] == ["running", "running", "queued"]
        gate.set()


def test_a_cluster_that_was_lost_is_told_and_found_again(cluster, monkeypatch):
    with closing(ClusterCalls(cluster.address)) as calls:
        loaded = SOURCE.load()
        with monkeypatch.context() as soon:
            soon.setattr("smfh.cluster.workers.WAIT", 5)  # seconds that a client looks for a lost scheduler
            find_or_train(None, SOURCE, METHOD, *loaded, call=calls.call)

        def lose(step) -> None:
            if cluster.workers:
                cluster.stop()

        with pytest.raises(InputError, match="The cluster lost this work"):
            find_or_train(None, SOURCE, METHOD, *loaded, lose, call=calls.call)
        cluster.start_scheduler()
        cluster.add_worker()
        cluster.add_worker()
        assert find_or_train(None, SOURCE, METHOD, *loaded, call=calls.call).hasher.bits == METHOD.bits
