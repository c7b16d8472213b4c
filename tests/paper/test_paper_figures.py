"""Figures 2 to 4: measured curves from the store, crosses from Table 1."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.comparison import Grid, train_grid
from smfh.datasets import DATASETS
from smfh.paper import PARTS, TABLE_1, TASKS, figure_2, figure_3, figure_4a, figure_4b, paper_method
from smfh.paper import plan as plans
from smfh.runs import RunStore


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path)


def grid_of(part, methods=("cvh",), seeds=2):
    return Grid(PARTS[part].plan("planted", methods, seeds), *DATASETS["planted"]().load())


def by_name(chart):
    return {line.name: line for line in chart.lines}


def test_every_part_names_trainings_with_the_papers_settings():
    for name, trainings in (("table-1", 30), ("table-2", 20), ("figure-2", 40), ("figure-3", 10)):
        planned = PARTS[name].plan("wiki", ["smfh", "cvh"], 5).trainings
        assert len(planned) == len(set(planned)) == trainings
    table = set(PARTS["table-1"].plan("wiki", ["smfh", "cvh"], 5).trainings)
    for name in ("table-2", "figure-3", "figure-4b"):
        assert set(PARTS[name].plan("wiki", ["smfh", "cvh"], 5).trainings) <= table  # measured once for all
    samples = PARTS["figure-4a"].plan("wiki", ["cvh"], 5).trainings
    assert {method.graph_sample for method in samples} == set(range(200, 2001, 200))
    assert {(method.name, method.bits) for method in samples} == {("smfh", 64)}
    assert paper_method("smfh", "nus-wide").graph_sample == 2000
    assert paper_method("pdh", "wiki", bits=32).centred is False


def test_figure_2_has_a_line_a_method_and_crosses_where_table_1_has_numbers(store):
    grid = grid_of("figure-2")
    before = figure_2("wiki", grid, store)
    assert before.keys() == TASKS.keys()
    assert list(by_name(before["text->image"])) == ["CVH, published"]
    assert train_grid(grid, store) == {}
    for direction, chart in figure_2("wiki", grid, store).items():
        lines = by_name(chart)
        assert lines["CVH"].x.tolist() == [16, 32, 64, 128]
        crosses = lines["CVH, published"]
        assert crosses.x.tolist() == [32, 64, 128]
        assert crosses.y.tolist() == list(TABLE_1["wiki"][direction]["cvh"][:3])
        assert chart.x.ticks == (16, 32, 64, 128)
    assert "CVH, published" not in by_name(figure_2("planted", grid, store)["text->image"])


def test_figure_3_is_the_mean_of_the_seeds_with_p_at_100_as_a_cross(store):
    grid = grid_of("figure-3")
    assert train_grid(grid, store) == {}
    charts = figure_3("wiki", grid, store)
    assert charts.keys() == {(task, what) for task in TASKS for what in ("precision", "recall")}
    lines = by_name(charts["image->text", "precision"])
    search = grid.data, grid.split, "image", "text", "training"
    curves = [store.scores(record, *search).precision for record in grid.found(store).values()]
    assert len(curves) == 2
    np.testing.assert_allclose(lines["CVH"].y, np.mean(curves, axis=0))
    cross = lines["CVH, published"]
    assert (cross.x.tolist(), cross.y.tolist()) == ([100], [0.1170])
    assert list(by_name(charts["image->text", "recall"])) == ["CVH", "chance"]


def test_figure_4a_varies_the_sample_and_tells_the_best_of_those_that_were_measured(store, monkeypatch):
    monkeypatch.setattr(plans, "SAMPLES", (20, 40))
    grid = grid_of("figure-4a", seeds=1)
    one = replace(grid, comparison=replace(grid.comparison, methods=grid.comparison.methods[:1]))
    train_grid(one, store)
    alone = figure_4a("wiki", grid, store)
    assert alone.title.startswith("SMFH at m = 20, the only one measured: 0.")  # one point is no best
    train_grid(grid, store)
    chart = figure_4a("wiki", grid, store)
    lines = by_name(chart)
    assert lines["SMFH text → image"].x.tolist() == [20, 40]
    assert lines["SMFH image → text, published"].x.tolist() == [1000]
    assert lines["SMFH image → text, published"].y.tolist() == [0.2581]
    best = [20, 40][int(np.argmax(lines["SMFH text → image"].y))]
    assert chart.title.startswith(f"Of 2 samples measured, SMFH is best text → image at m = {best} (0.")


def test_figure_4b_shows_a_trace(store):
    grid = grid_of("figure-4b")
    assert figure_4b("planted", grid, store).rows() == []
    train_grid(grid, store)
    (panel,) = figure_4b("planted", grid, store).panels
    assert len(by_name(panel)["objective"].x) == 30
