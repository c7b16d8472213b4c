"""Cells, what is missing of them, what they say, and comparisons that run in the background."""

import shlex
import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from smfh.comparison import (
    MEASURES,
    Comparison,
    Comparisons,
    command_line,
    grid_of,
    in_words,
    kept_or_trained,
    mean_curves,
    method_text,
    points,
    query_precisions,
    read_method,
    run_comparison,
    seconds_left,
)
from smfh.datasets.own import OwnData
from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.hashing import CVH, METHODS, SMFHPlus, make_method
from smfh.jobs import TrainingQueue
from smfh.metrics import AP_DEFINITIONS
from smfh.significance import compare_pairs
from smfh.store import RunStore
from smfh.types import InputError

SOURCE = Planted(items=60)
QUICK = SMFHPlus(iterations=2, rounds=1, anchors=20)
SOON = 60  # seconds after which a test that hangs fails
COMPARISON = Comparison(SOURCE, (QUICK, CVH()), bits=(8, 4), seeds=2)


@pytest.fixture(scope="module")
def grid():
    return grid_of(COMPARISON, *SOURCE.load())


@pytest.fixture(scope="module")
def full(grid, tmp_path_factory):
    """A store in which every cell is finished."""
    store = RunStore(tmp_path_factory.mktemp("full"))
    assert run_comparison(grid, store) == {}
    return store


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def queue():
    with closing(TrainingQueue(workers=1, waiting=3)) as queue:
        yield queue


def test_cells_are_every_method_length_and_seed_the_first_seed_first():
    cells = COMPARISON.cells
    assert [(c.name, c.bits, c.seed) for c in cells[:4]] == [
        ("smfh-plus", 4, 0),
        ("cvh", 4, 0),
        ("smfh-plus", 8, 0),
        ("cvh", 8, 0),
    ]
    assert len(set(cells)) == len(cells) == 8
    assert {replace(c, bits=64, seed=0) for c in cells} == {QUICK, CVH()}


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
        ({"source": OwnData(b"", "x.zip")}, "Own data stays with its visitor"),
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


def test_a_method_that_stands_twice_is_told_apart_by_what_differs():
    twice = replace(QUICK, graph_weight=2.0)
    titles = Comparison(SOURCE, (QUICK, twice, CVH()), (8,), 1).titles
    assert list(titles.values()) == ["SMFH+ (α 35)", "SMFH+ (α 2)", "CVH"]


def test_what_is_there_is_not_trained_again(grid, store):
    done = []
    run_comparison(grid, store, lambda cell, is_new: done.append((cell, is_new)))
    assert done == [(cell, True) for cell in COMPARISON.cells]
    assert grid.missing(store) == []
    before = {file.name: file.stat().st_mtime_ns for file in store.folder.iterdir()}
    store.delete(store.find(grid.keys[COMPARISON.cells[3]]).record.id)
    assert grid.missing(store) == [COMPARISON.cells[3]]
    run_comparison(grid, store, lambda cell, is_new: done.append((cell, is_new)))
    assert [cell for cell, is_new in done[8:] if is_new] == [COMPARISON.cells[3]]
    after = {file.name: file.stat().st_mtime_ns for file in store.folder.iterdir()}
    assert sum(before[name] != after[name] for name in before) == 1


def test_a_cell_that_cannot_be_trained_is_told_and_the_rest_goes_on(store):
    bad = make_method("smfh", modality_weights=(0.5, 0.25, 0.25))
    grid = grid_of(Comparison(SOURCE, (bad, CVH()), (4,), 1), *SOURCE.load())
    problems = run_comparison(grid, store)
    assert [cell.name for cell in problems] == ["smfh"]
    assert "3 modality weights" in problems[next(iter(problems))][0]
    assert [cell.name for cell in grid.found(store)] == ["cvh"]


def test_points_are_the_scores_of_the_cells_with_what_seeds_and_ties_do(grid, full):
    definition = AP_DEFINITIONS["capped"]
    found = points(grid, full, "map", definition, "unseen", [("text", "image")])
    assert [(p.title, p.bits) for p in found] == [("SMFH+", 4), ("SMFH+", 8), ("CVH", 4), ("CVH", 8)]
    for point in found:
        direct = []
        for seed in range(2):
            cell = replace(point.method, bits=point.bits, seed=seed)
            hasher = cell.fit(grid.data.take(grid.split.train))
            direct.append(
                evaluate(hasher, grid.data, grid.split, "text", "image", "unseen", definition).scores
            )
        assert point.values == tuple(scores.mean_average_precision for scores in direct)
        assert point.worst == np.mean([scores.worst for scores in direct])
        assert point.best == np.mean([scores.best for scores in direct])
        assert point.chance == direct[0].chance
        drawn = point.measured
        assert drawn.worst <= drawn.mean <= drawn.best
        assert drawn.low <= drawn.mean <= drawn.high


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_a_value_in_every_direction(grid, full, measure):
    found = points(grid, full, measure)
    assert len(found) == 2 * 2 * 2
    for point in found:
        assert len(point.values) == 2
        assert all(value >= 0 for value in point.values)
        assert point.worst <= point.best


def test_an_unknown_measure_is_told(grid, full):
    with pytest.raises(InputError, match="Unknown measure 'beauty'; there are map"):
        points(grid, full, "beauty")


def test_curves_and_precisions_of_queries_come_seed_by_seed(grid, full):
    curves = mean_curves(grid, full, 8, "image", "text")
    assert [curve.title for curve in curves] == ["SMFH+", "CVH"]
    for curve in curves:
        assert curve.precision.shape == curve.recall.shape == (2, 45)
        assert curve.radius_precision.shape == curve.radius_recall.shape == (2, 9)
        np.testing.assert_allclose(curve.radius_recall[:, -1], 1.0)
    AP = query_precisions(grid, full, 8, "image", "text")
    assert {title: values.shape for title, values in AP.items()} == {"SMFH+": (2, 15), "CVH": (2, 15)}
    best = points(grid, full, directions=[("image", "text")])[1]
    np.testing.assert_allclose(AP["SMFH+"].mean(axis=1), best.values)
    assert compare_pairs(AP, resamples=100)[0].queries == 15


def test_half_a_comparison_shows_what_there_is(grid, store, full):
    cells = COMPARISON.cells
    few = grid_of(replace(COMPARISON, seeds=1, bits=(4,)), grid.data, grid.split)
    run_comparison(few, store)
    found = points(grid, store, directions=[("text", "image")])
    assert [(p.title, p.bits, len(p.values)) for p in found] == [("SMFH+", 4, 1), ("CVH", 4, 1)]
    assert found[0].deviation == 0
    assert mean_curves(grid, store, 8, "text", "image") == []
    assert query_precisions(grid, store, 8, "text", "image") == {}
    assert grid.missing(store) == list(cells[2:])


def test_a_damaged_cell_counts_as_missing_and_breaks_nothing(grid, store):
    run_comparison(grid, store)
    record = store.find(grid.keys[COMPARISON.cells[0]]).record
    path = store.folder / f"{record.id}.npz"
    content = bytearray(path.read_bytes())
    at = content.index(b"judged.0.counts.npy") + 60
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)
    found = points(grid, store, directions=[grid.directions[0]])
    assert [len(p.values) for p in found] == [1, 2, 2, 2]
    assert grid.missing(store) == [COMPARISON.cells[0]]


def test_time_left_is_guessed_from_what_cells_took(grid, full):
    records = full.records()
    assert seconds_left(COMPARISON.cells, [], grid.data.fingerprint) is None
    assert seconds_left(COMPARISON.cells, records, "other data") is None
    fixed = [
        replace(record, timing=replace(record.timing, whole=record.method.bits * 1.0)) for record in records
    ]
    guess = seconds_left(COMPARISON.cells, fixed, grid.data.fingerprint)
    assert guess == pytest.approx(2 * 2 * (4 + 8))
    longer = [replace(QUICK, bits=16)]
    assert seconds_left(longer, fixed, grid.data.fingerprint) == pytest.approx(16)


def test_a_kept_run_is_the_run_and_an_own_thread_keeps_it(grid, store):
    cell = COMPARISON.cells[0]
    trained = kept_or_trained(store, SOURCE, cell, grid.data, grid.split, lambda step: None)
    for thread in threading.enumerate():
        if thread.name == "keeping":
            assert not thread.daemon
            thread.join(SOON)
    assert store.find(grid.keys[cell]) is not None

    def never(step):
        raise AssertionError("trained again")

    again = kept_or_trained(store, SOURCE, cell, grid.data, grid.split, never)
    for direction, result in trained.results.items():
        assert again.results[direction].scores == result.scores
        np.testing.assert_array_equal(again.results[direction].ranking.indices, result.ranking.indices)


def test_a_run_is_shown_where_it_cannot_be_kept(grid, tmp_path):
    full_up = RunStore(tmp_path, gigabytes=0)
    trained = kept_or_trained(full_up, SOURCE, QUICK, grid.data, grid.split, lambda step: None)
    assert trained.results
    for thread in threading.enumerate():
        if thread.name == "keeping":
            thread.join(SOON)
    assert full_up.records() == []


def test_a_comparison_in_the_background_trains_what_is_missing(grid, store, queue):
    few = grid_of(replace(COMPARISON, seeds=1), grid.data, grid.split)
    run_comparison(few, store)
    run = Comparisons(store, queue).start(grid, "visitor")
    assert run.wait(SOON)
    assert (run.state, run.done, run.total, run.trained) == ("finished", 8, 8, 4)
    assert run.problems == {}
    assert run.time_left == 0
    assert run.current is None
    assert grid.missing(store) == []


def test_two_visitors_share_the_cells_of_one_comparison(grid, store, queue):
    desk = Comparisons(store, queue)
    runs = [desk.start(grid, visitor) for visitor in ("first", "second")]
    for run in runs:
        assert run.wait(SOON)
        assert (run.state, run.done) == ("finished", 8)
    assert len(store.records()) == 8


def test_a_deleted_cell_is_trained_again(grid, store, queue):
    desk = Comparisons(store, queue)
    assert desk.start(grid, "visitor").wait(SOON)
    store.delete(store.find(grid.keys[COMPARISON.cells[2]]).record.id)
    again = desk.start(grid, "visitor")
    assert again.wait(SOON)
    assert (again.state, again.trained) == ("finished", 1)
    assert grid.missing(store) == []


def test_one_comparison_a_visitor_and_so_many_at_once(grid, store, queue):
    gate = threading.Event()
    queue.submit("others", lambda on_step: gate.wait(SOON))
    desk = Comparisons(store, queue, most=2)
    first = desk.start(grid, "first")
    with pytest.raises(InputError, match="A comparison of yours is under way"):
        desk.start(grid, "first")
    second = desk.start(grid, "second")
    with pytest.raises(InputError, match="2 comparisons of others are under way"):
        desk.start(grid, "third")
    assert desk.of("first") is first
    assert desk.of("third") is None
    for run in (first, second):
        run.cancel()
    gate.set()
    assert first.wait(SOON)
    assert first.state == second.state == "cancelled"
    assert desk.start(grid, "third").wait(SOON)


def test_cancelled_it_keeps_what_is_finished_and_goes_on_from_there(grid, store, queue):
    gate = threading.Event()
    desk = Comparisons(store, queue)
    queue.submit("others", lambda on_step: gate.wait(SOON))
    run = desk.start(grid, "visitor")
    run.cancel()
    gate.set()
    assert run.wait(SOON)
    assert run.state == "cancelled"
    again = desk.start(grid, "visitor")
    assert again.wait(SOON)
    assert (again.state, again.done) == ("finished", 8)


def test_paused_it_trains_nothing_until_it_is_resumed(grid, store, queue):
    gate = threading.Event()
    queue.submit("others", lambda on_step: gate.wait(SOON))
    run = Comparisons(store, queue).start(grid, "visitor")
    run.pause()
    gate.set()
    assert not run.wait(0.5)
    assert run.state == "paused"
    assert run.done <= 1  # the one in line when the word came
    run.resume()
    assert run.wait(SOON)
    assert run.done == 8


def test_problems_are_kept_by_cell_and_a_full_folder_ends_it(store, queue):
    bad = make_method("smfh", modality_weights=(0.5, 0.25, 0.25))
    grid = grid_of(Comparison(SOURCE, (bad, CVH()), (4,), 1), *SOURCE.load())
    run = Comparisons(store, queue).start(grid, "visitor")
    assert run.wait(SOON)
    assert (run.state, run.done, run.trained) == ("finished", 2, 1)
    assert ["3 modality weights" in problems[0] for problems in run.problems.values()] == [True]
    full_up = RunStore(store.folder, gigabytes=0)
    stopped = Comparisons(full_up, queue).start(grid, "visitor")
    assert stopped.wait(SOON)
    assert stopped.state == "failed"
    assert "delete some on the Runs page" in stopped.stopped_by[0]


@pytest.mark.parametrize("name", METHODS)
def test_methods_as_words_read_back(name):
    for preset in ("", *METHODS[name].presets):
        method = read_method(f"{name}:{preset}" if preset else name)
        assert read_method(method_text(method)) == method
    assert method_text(make_method(name, bits=7, seed=9)) == name


def test_parameters_in_words():
    method = read_method("smfh:graph_weight=3:modality_weights=0.7,0.3")
    assert method == make_method("smfh", graph_weight=3.0, modality_weights=(0.7, 0.3))
    assert in_words(method) == "α 3, λ 0.7/0.3"
    assert in_words(make_method("smfh", bits=3, seed=4)) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("md5", "Unknown method 'md5'"),
        ("smfh:gold", "Unknown preset of smfh 'gold'"),
        ("smfh:colour=1", "smfh has no parameter colour"),
        ("smfh:bits=3", "with --bits"),
        ("smfh:seed=3", "with --seeds"),
        ("smfh:ridge=x", "ridge must be a number"),
        ("smfh:ridge=-1", "ridge"),
    ],
)
def test_bad_words_for_a_method_are_told(text, problem):
    with pytest.raises(InputError, match=problem):
        read_method(text)


def test_the_command_repeats_the_comparison(full, grid, capsys, monkeypatch):
    from smfh.__main__ import main

    command = command_line(COMPARISON, "capped", "unseen")
    words = shlex.split(command)
    assert words[:5] == ["python", "-m", "smfh", "compare", "planted"]
    assert "items=60" in words
    monkeypatch.setattr("smfh.commands.compare.RunStore", lambda: full)
    assert main(words[3:]) == 0
    told = capsys.readouterr()
    assert "8 of 8 cells are there; 0 to train" in told.err
    shown = points(grid, full, "map", AP_DEFINITIONS["capped"], "unseen")[0]
    assert f"{shown.mean:.3f} ± {shown.deviation:.3f}" in told.out
