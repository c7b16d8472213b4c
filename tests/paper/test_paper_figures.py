"""Figures 2 to 4: measured curves from saved runs, and crosses from Table 1."""

from dataclasses import replace

import numpy as np

from smfh.datasets import DATASETS
from smfh.experiments.comparison import Grid, train_grid
from smfh.paper import PARTS, TABLE_1, TASKS, figure_2, figure_3, figure_4a, paper_method
from smfh.paper import plan as plans


def grid_of(part, methods=("cvh",), seeds=2):
    return Grid(PARTS[part].plan("planted", methods, seeds), *DATASETS["planted"]().load())


def by_name(chart):
    return {line.name: line for line in chart.lines}


def test_parts_plan_runs_with_the_settings_of_the_paper():
    for name, trainings in (("table-1", 30), ("table-2", 20), ("figure-2", 40), ("figure-3", 10)):
        planned = PARTS[name].plan("wiki", ["smfh", "cvh"], 5).trainings
        assert len(planned) == len(set(planned)) == trainings
    table = set(PARTS["table-1"].plan("wiki", ["smfh", "cvh"], 5).trainings)
    for name in ("table-2", "figure-3", "figure-4b"):
        assert set(PARTS[name].plan("wiki", ["smfh", "cvh"], 5).trainings) <= table  # need no more runs
    assert paper_method("smfh", "nus-wide").graph_sample == 2000
    assert paper_method("pdh", "wiki", bits=32).centred is False


def test_figure_2_has_a_line_per_method_and_crosses_from_table_1(store):
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


def test_figure_3_is_the_mean_over_seeds_with_p_at_100_as_a_cross(store):
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


def test_figure_4a_names_the_best_measured_sample(store, monkeypatch):
    monkeypatch.setattr(plans, "SAMPLES", (20, 40))
    grid = grid_of("figure-4a", seeds=1)
    one = replace(grid, comparison=replace(grid.comparison, methods=grid.comparison.methods[:1]))
    train_grid(one, store)
    alone = figure_4a("wiki", grid, store)
    assert alone.title.startswith("SMFH at m = 20, the only one measured: 0.")
    train_grid(grid, store)
    chart = figure_4a("wiki", grid, store)
    lines = by_name(chart)
    assert lines["SMFH text → image"].x.tolist() == [20, 40]
    assert lines["SMFH image → text, published"].x.tolist() == [1000]
    assert lines["SMFH image → text, published"].y.tolist() == [0.2581]
    best = [20, 40][int(np.argmax(lines["SMFH text → image"].y))]
    assert chart.title.startswith(f"Of 2 sample sizes measured, SMFH is best text → image at m = {best} (0.")
