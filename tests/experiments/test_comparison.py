"""Grids: which runs are missing, what their scores are, and grids as jobs."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets.planted import Planted
from smfh.experiments.comparison import (
    MEASURES,
    Comparison,
    Grid,
    View,
    curves,
    estimate_seconds,
    grid_work,
    points,
    points_every_way,
    query_precisions,
    train_grid,
)
from smfh.hashing import CVH, SMFHPlus, make_method
from smfh.jobs import JobQueue
from smfh.metrics import GRADED
from smfh.metrics.significance import compare_pairs
from smfh.retrieval.evaluation import evaluate
from smfh.runs import MemoryRuns, RunStore
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(iterations=2, rounds=1, anchors=20)
SOON = 60  # seconds after which a test that hangs fails
COMPARISON = Comparison(SOURCE, (QUICK, CVH()), bits=(8, 4), seeds=2)
TRAININGS = COMPARISON.trainings
VIEW = View("text", "image")
MANY = tuple(replace(QUICK, graph_weight=float(weight)) for weight in range(20))


@pytest.fixture(scope="module")
def grid():
    return Grid(COMPARISON, *SOURCE.load())


@pytest.fixture(scope="module")
def full(grid, tmp_path_factory):
    """A store in which every run is finished."""
    store = RunStore(tmp_path_factory.mktemp("full"))
    assert train_grid(grid, store) == {}
    return store


@pytest.fixture
def queue():
    with closing(JobQueue(workers=1, max_waiting=3)) as queue:
        yield queue


def test_equal_comparisons_compare_equal():
    asked = Comparison(SOURCE, (replace(QUICK, bits=99, seed=5), QUICK, CVH(seed=1)), (4, 8, 8), 2)
    assert asked == COMPARISON
    assert hash(asked) == hash(COMPARISON)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"methods": ()}, "1 to 24 methods; got 0"),
        ({"bits": ()}, "1 to 12 code lengths; got 0"),
        ({"bits": (0,)}, "bits"),
        ({"seeds": 0}, "1 to 20 seeds; got 0"),
        ({"methods": MANY, "bits": tuple(range(1, 13)), "seeds": 20}, "a comparison has at most 500"),
    ],
)
def test_invalid_comparisons_are_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        replace(COMPARISON, **change)


def test_runs_in_memory_say_the_same_as_saved_ones_and_stay_off_the_disk(grid, full, store):
    private = MemoryRuns()
    assert train_grid(grid, private) == {}
    assert grid.missing(private) == []
    for view in (VIEW, View("image", "text", "full", "unseen")):
        ours, theirs = points(grid, private, view), points(grid, full, view)
        assert [(p.title, p.at, p.values) for p in ours] == [(p.title, p.at, p.values) for p in theirs]
    assert not list(store.folder.glob("*"))


def test_titles_of_one_method_show_the_parameters_that_differ():
    twice = replace(QUICK, graph_weight=2.0)
    titles = Comparison(SOURCE, (QUICK, twice, CVH()), (8,), 1).titles
    assert list(titles.values()) == ["SMFH+ (α 35)", "SMFH+ (α 2)", "CVH"]


def test_saved_runs_are_not_trained_again(grid, store):
    told = []
    assert train_grid(grid, store, told.append) == {}
    assert [progress.current for progress in told] == [*TRAININGS, None]
    assert [(p.done, p.trained, p.total) for p in told] == [(k, k, 8) for k in range(9)]
    assert told[0].seconds_left is None
    assert all(progress.seconds_left >= 0 for progress in told[1:])
    assert grid.missing(store) == []
    before = {file.name: file.stat().st_mtime_ns for file in store.folder.iterdir()}
    store.delete(store.find(grid.keys[TRAININGS[3]]).id)
    assert grid.missing(store) == [TRAININGS[3]]
    train_grid(grid, store, told.append)
    assert [(p.current, p.done) for p in told[9:]] == [(TRAININGS[3], 7), (None, 8)]
    after = {file.name: file.stat().st_mtime_ns for file in store.folder.iterdir()}
    assert sum(before[name] != after[name] for name in before) == 1


def test_points_have_scores_seeds_and_ties_of_the_runs(grid, full):
    view = View("text", "image", "capped", "unseen")
    found = points(grid, full, view)
    assert [(p.title, p.at) for p in found] == [("SMFH+", 4), ("SMFH+", 8), ("CVH", 4), ("CVH", 8)]
    for point in found:
        method = next(method for method in COMPARISON.methods if method.name == point.method)
        direct = []
        for seed in range(2):
            hasher = replace(method, bits=point.at, seed=seed).fit(grid.data.take(grid.split.train))
            scores = evaluate(hasher, grid.data, grid.split, "text", "image", "unseen")
            direct.append(scores.average_precision["capped"])
        assert point.values == tuple(score.mean for score in direct)
        assert point.ties == (np.mean([s.worst for s in direct]), np.mean([s.best for s in direct]))
        assert point.chance == direct[0].chance
        assert point.direction == "text → image"
        assert point.ties[0] <= point.mean <= point.ties[1]
        assert point.deviation == pytest.approx(np.std(point.values, ddof=1))


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_a_value_in_every_direction(grid, full, measure):
    unseen = replace(VIEW, protocol="unseen")
    found = points_every_way(grid, full, unseen, measure)
    assert len(found) == 2 * 2 * 2
    assert bool(points(grid, full, VIEW, measure)) == (measure in VIEW.graded or measure not in GRADED)
    for point in found:
        assert len(point.values) == 2
        assert all(value >= 0 for value in point.values)


def test_curves_and_query_precisions_have_one_row_per_seed(grid, full):
    view = View("image", "text", bits=8)
    found = curves(grid, full, view)
    assert [curve.title for curve in found] == ["SMFH+", "CVH"]
    assert all([scores.bits for scores in curve.scores] == [8, 8] for curve in found)
    AP = query_precisions(grid, full, view)
    assert {title: values.shape for title, values in AP.items()} == {"SMFH+": (2, 15), "CVH": (2, 15)}
    np.testing.assert_allclose(AP["SMFH+"].mean(axis=1), points(grid, full, view)[1].values)
    assert compare_pairs(AP, resamples=100)[0].queries == 15


def test_unfinished_comparisons_show_their_finished_runs(grid, store):
    few = Grid(replace(COMPARISON, seeds=1, bits=(4,)), grid.data, grid.split)
    train_grid(few, store)
    found = points(grid, store, VIEW)
    assert [(p.title, p.at, len(p.values)) for p in found] == [("SMFH+", 4, 1), ("CVH", 4, 1)]
    assert found[0].deviation == 0
    assert curves(grid, store, replace(VIEW, bits=8)) == []
    assert query_precisions(grid, store, replace(VIEW, bits=8)) == {}
    assert grid.missing(store) == list(TRAININGS[2:])


def test_damaged_runs_count_as_missing(grid, store):
    train_grid(grid, store)
    path = store.folder / f"{store.find(grid.keys[TRAININGS[0]]).id}.npz"
    content = bytearray(path.read_bytes())
    at = content.index(b"scores.0.average_precision.npy") + 60
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)
    assert [len(p.values) for p in points(grid, store, VIEW)] == [1, 2, 2, 2]
    assert grid.missing(store) == [TRAININGS[0]]


def test_time_is_estimated_from_saved_runs(grid, full):
    records, data = full.records(), grid.data.fingerprint
    assert estimate_seconds(TRAININGS, [], data) == {}
    assert estimate_seconds(TRAININGS, records, "other data") == {}
    fixed = [replace(r, timing=replace(r.timing, run=r.method.bits * 1.0)) for r in records]
    guess = estimate_seconds(TRAININGS, fixed, data)
    assert guess == pytest.approx({training: training.bits for training in TRAININGS})
    longer, unknown = replace(QUICK, bits=16), make_method("pdh", bits=8)
    assert estimate_seconds([longer, unknown], fixed, data) == pytest.approx({longer: 16, unknown: 8})


def test_a_grid_job_trains_missing_runs(grid, store, queue):
    train_grid(Grid(replace(COMPARISON, seeds=1), grid.data, grid.split), store)
    job = queue.submit(grid.key, grid_work(grid, store), "visitor")
    assert job.wait(timeout=SOON)
    assert (job.state, job.result) == ("finished", {})
    last = job.reports[-1]
    assert (last.done, last.total, last.trained, last.current) == (8, 8, 4, None)
    assert grid.missing(store) == []


def test_problems_are_listed_by_run_and_a_full_folder_ends_the_job(store, queue):
    bad = make_method("smfh", modality_weights=(0.5, 0.25, 0.25))
    grid = Grid(Comparison(SOURCE, (bad, CVH()), (4,), 1), *SOURCE.load())
    job = queue.submit(grid.key, grid_work(grid, store))
    assert job.wait(timeout=SOON)
    assert [(method.name, "3 modality weights" in said[0]) for method, said in job.result.items()] == [("smfh", True)]
    assert [method.name for method in grid.found(store)] == ["cvh"]
    queue.forget(lambda key: key == grid.key)
    stopped = queue.submit(grid.key, grid_work(grid, RunStore(store.folder, gigabytes=0)))
    assert stopped.wait(timeout=SOON)
    assert stopped.state == "failed"
    assert "delete some on the Runs page" in stopped.problems[0]
