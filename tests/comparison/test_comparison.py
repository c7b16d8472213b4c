"""What is missing of a grid, what its runs say, and grids that are trained in the background."""

import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from smfh.comparison import (
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
from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.hashing import CVH, SMFHPlus, make_method
from smfh.jobs import JobQueue
from smfh.runs import PrivateRuns, RunStore
from smfh.significance import compare_pairs
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(iterations=2, rounds=1, anchors=20)
SOON = 60  # seconds after which a test that hangs fails
COMPARISON = Comparison(SOURCE, (QUICK, CVH()), bits=(8, 4), seeds=2)
TRAININGS = COMPARISON.trainings
VIEW = View("text", "image")


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
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def queue():
    with closing(JobQueue(workers=1, waiting=3)) as queue:
        yield queue


def test_trainings_are_every_method_length_and_seed_the_first_seed_first():
    assert [(t.name, t.bits, t.seed) for t in TRAININGS[:4]] == [
        ("smfh-plus", 4, 0),
        ("cvh", 4, 0),
        ("smfh-plus", 8, 0),
        ("cvh", 8, 0),
    ]
    assert len(set(TRAININGS)) == len(TRAININGS) == 8
    assert {replace(t, bits=64, seed=0) for t in TRAININGS} == {QUICK, CVH()}


def test_the_same_comparison_is_equal_however_it_is_asked_for():
    asked = Comparison(SOURCE, (replace(QUICK, bits=99, seed=5), QUICK, CVH(seed=1)), (4, 8, 8), 2)
    assert asked == COMPARISON
    assert hash(asked) == hash(COMPARISON)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"methods": ()}, "from 1 to 24 methods; got 0"),
        ({"bits": ()}, "from 1 to 12 code lengths; got 0"),
        ({"bits": (0,)}, "bits"),
        ({"bits": (4, 5000)}, "5000"),
        ({"seeds": 0}, "from 1 to 20 seeds; got 0"),
        ({"seeds": 21}, "got 21"),
        (
            {
                "methods": tuple(replace(QUICK, graph_weight=float(w)) for w in range(20)),
                "bits": tuple(range(1, 13)),
                "seeds": 20,
            },
            "trainings are too many at once; at most 500",
        ),
    ],
)
def test_a_comparison_that_cannot_be_is_refused_with_the_reason(change, problem):
    with pytest.raises(InputError, match=problem):
        replace(COMPARISON, **change)


def test_private_runs_say_the_same_as_kept_ones_and_stay_off_the_disk(grid, full, store):
    private, own = PrivateRuns(), replace(grid, owner="somebody")
    assert train_grid(own, private) == {}
    assert own.missing(private) == []
    assert own.key != grid.key
    for view in (VIEW, View("image", "text", "full", "unseen")):
        ours, theirs = points(own, private, view), points(grid, full, view)
        assert [(p.title, p.at, p.values) for p in ours] == [(p.title, p.at, p.values) for p in theirs]
    assert own.found(full) == {}
    assert {record.key.owner for record in private.records()} == {"somebody"}
    assert "not kept on disk" in " ".join(next(iter(train_grid(own, store).values())))
    assert not list(store.folder.glob("*"))


def test_the_oldest_private_runs_go_first(grid):
    private, own = PrivateRuns(most=3), replace(grid, owner="somebody")
    train_grid(own, private)
    assert [record.method for record in private.records()] == list(reversed(TRAININGS))[:3]
    assert own.missing(private) == list(TRAININGS[:-3])


def test_a_method_that_stands_twice_is_told_apart_by_what_differs():
    twice = replace(QUICK, graph_weight=2.0)
    titles = Comparison(SOURCE, (QUICK, twice, CVH()), (8,), 1).titles
    assert list(titles.values()) == ["SMFH+ (α 35)", "SMFH+ (α 2)", "CVH"]


def test_what_is_there_is_not_trained_again(grid, store):
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


def test_a_run_that_cannot_be_trained_is_told_and_the_rest_goes_on(store):
    bad = make_method("smfh", modality_weights=(0.5, 0.25, 0.25))
    grid = Grid(Comparison(SOURCE, (bad, CVH()), (4,), 1), *SOURCE.load())
    problems = train_grid(grid, store)
    assert [method.name for method in problems] == ["smfh"]
    assert "3 modality weights" in problems[next(iter(problems))][0]
    assert [method.name for method in grid.found(store)] == ["cvh"]


def test_points_are_the_scores_of_the_runs_with_what_seeds_and_ties_do(grid, full):
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
    found = points_every_way(grid, full, VIEW, measure)
    assert len(found) == 2 * 2 * 2
    for point in found:
        assert len(point.values) == 2
        assert all(value >= 0 for value in point.values)


def test_an_unknown_measure_is_told(grid, full):
    with pytest.raises(InputError, match="Unknown measure 'beauty'; there are map"):
        points(grid, full, VIEW, "beauty")


def test_a_view_that_cannot_be_is_refused_with_all_reasons():
    with pytest.raises(InputError) as refused:
        View("text", "image", "median", "nowhere")
    assert len(refused.value.problems) == 2


def test_curves_and_precisions_of_queries_come_seed_by_seed(grid, full):
    view = View("image", "text", bits=8)
    found = curves(grid, full, view)
    assert [curve.title for curve in found] == ["SMFH+", "CVH"]
    assert all([scores.bits for scores in curve.scores] == [8, 8] for curve in found)
    AP = query_precisions(grid, full, view)
    assert {title: values.shape for title, values in AP.items()} == {"SMFH+": (2, 15), "CVH": (2, 15)}
    np.testing.assert_allclose(AP["SMFH+"].mean(axis=1), points(grid, full, view)[1].values)
    assert compare_pairs(AP, resamples=100)[0].queries == 15


def test_half_a_comparison_shows_what_there_is(grid, store):
    few = Grid(replace(COMPARISON, seeds=1, bits=(4,)), grid.data, grid.split)
    train_grid(few, store)
    found = points(grid, store, VIEW)
    assert [(p.title, p.at, len(p.values)) for p in found] == [("SMFH+", 4, 1), ("CVH", 4, 1)]
    assert found[0].deviation == 0
    assert curves(grid, store, replace(VIEW, bits=8)) == []
    assert query_precisions(grid, store, replace(VIEW, bits=8)) == {}
    assert grid.missing(store) == list(TRAININGS[2:])


def test_a_damaged_run_counts_as_missing_and_breaks_nothing(grid, store):
    train_grid(grid, store)
    path = store.folder / f"{store.find(grid.keys[TRAININGS[0]]).id}.npz"
    content = bytearray(path.read_bytes())
    at = content.index(b"scores.0.average_precision.npy") + 60
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)
    assert [len(p.values) for p in points(grid, store, VIEW)] == [1, 2, 2, 2]
    assert grid.missing(store) == [TRAININGS[0]]


def test_time_is_guessed_from_what_runs_took(grid, full):
    records, data = full.records(), grid.data.fingerprint
    assert estimate_seconds(TRAININGS, [], data) == {}
    assert estimate_seconds(TRAININGS, records, "other data") == {}
    fixed = [replace(r, timing=replace(r.timing, run=r.method.bits * 1.0)) for r in records]
    guess = estimate_seconds(TRAININGS, fixed, data)
    assert guess == pytest.approx({training: training.bits for training in TRAININGS})
    longer, unknown = replace(QUICK, bits=16), make_method("pdh", bits=8)
    assert estimate_seconds([longer, unknown], fixed, data) == pytest.approx({longer: 16, unknown: 8})


def test_guessing_looks_at_each_record_once(grid, full):
    """Of 480 runs and 480 trainings each is looked at once, not each with each."""
    looks = []

    class Counted(list):
        def __iter__(self):
            for record in super().__iter__():
                looks.append(record)
                yield record

    records = Counted(full.records() * 60)
    many = [replace(QUICK, seed=seed) for seed in range(480)]
    assert len(estimate_seconds(many, records, grid.data.fingerprint)) == 480
    assert len(looks) == 480


def test_a_grid_in_the_background_trains_what_is_missing(grid, store, queue):
    train_grid(Grid(replace(COMPARISON, seeds=1), grid.data, grid.split), store)
    job = queue.submit(grid.key, grid_work(grid, store), "visitor")
    assert job.wait(timeout=SOON)
    assert (job.state, job.result) == ("finished", {})
    last = job.reports[-1]
    assert (last.done, last.total, last.trained, last.current) == (8, 8, 4, None)
    assert grid.missing(store) == []


def test_the_same_grid_is_one_job_for_all_who_ask(grid, store, queue):
    again = Grid(Comparison(SOURCE, (QUICK, CVH(seed=1)), (4, 8, 8), 2), *SOURCE.load())
    gate = threading.Event()
    queue.submit("others", lambda course: gate.wait(SOON))
    first, second = (queue.submit(g.key, grid_work(g, store), v) for g, v in ((grid, "ann"), (again, "bob")))
    assert first is second
    gate.set()
    assert first.wait(timeout=SOON)
    assert len(store.records()) == 8


def test_a_single_training_goes_before_the_rest_of_a_grid(grid, store, queue):
    begun, gate = threading.Event(), threading.Event()

    def first(course):
        begun.set()
        assert gate.wait(SOON)

    queue.submit("first", first)
    assert begun.wait(SOON)
    job = queue.submit(grid.key, grid_work(grid, store))
    single = queue.submit("single", lambda course: len(store.records()))
    gate.set()
    assert single.wait(timeout=SOON)
    assert single.result == 0  # the grid had not trained anything yet when it gave way
    assert job.wait(timeout=SOON)


def test_cancelled_it_keeps_what_is_finished_and_goes_on_from_there(grid, store, queue):
    job = queue.submit(grid.key, grid_work(grid, store), "visitor")
    job.pause("visitor")
    assert job.wait("paused", timeout=SOON)
    assert job.cancel("visitor")
    assert job.state == "cancelled"
    again = queue.submit(grid.key, grid_work(grid, store), "visitor")
    assert again.wait(timeout=SOON)
    assert (again.state, again.reports[-1].done) == ("finished", 8)


def test_problems_are_told_by_run_and_a_full_folder_ends_it(store, queue):
    bad = make_method("smfh", modality_weights=(0.5, 0.25, 0.25))
    grid = Grid(Comparison(SOURCE, (bad, CVH()), (4,), 1), *SOURCE.load())
    job = queue.submit(grid.key, grid_work(grid, store))
    assert job.wait(timeout=SOON)
    assert ["3 modality weights" in problems[0] for problems in job.result.values()] == [True]
    queue.forget(lambda key: key == grid.key)
    stopped = queue.submit(grid.key, grid_work(grid, RunStore(store.folder, gigabytes=0)))
    assert stopped.wait(timeout=SOON)
    assert stopped.state == "failed"
    assert "delete some on the Runs page" in stopped.problems[0]
