"""Figures 2 to 4: measured curves from the store, crosses from Table 1."""

import numpy as np
import pytest
from smfh.store import RunStore

from smfh.comparison import grid_of, run_comparison
from smfh.datasets import DATASETS
from smfh.paper import PARTS, TABLE_1, TASKS, figure_2, figure_3, figure_4a, figure_4b, paper_method
from smfh.paper import plan as plans


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path)


def grid(part, methods=("cvh",), seeds=2):
    return grid_of(PARTS[part].plan("planted", methods, seeds), *DATASETS["planted"]().load())


def by_name(chart):
    return {line.name: line for line in chart.lines}


def test_every_part_names_trainings_with_the_papers_settings():
    for name, trainings in (("table-1", 30), ("table-2", 20), ("figure-2", 40), ("figure-3", 10)):
        cells = PARTS[name].plan("wiki", ["smfh", "cvh"], 5).cells
        assert len(cells) == len(set(cells)) == trainings
    table = set(PARTS["table-1"].plan("wiki", ["smfh", "cvh"], 5).cells)
    for name in ("table-2", "figure-3", "figure-4b"):
        assert set(PARTS[name].plan("wiki", ["smfh", "cvh"], 5).cells) <= table  # measured once for all
    samples = PARTS["figure-4a"].plan("wiki", ["cvh"], 5).cells
    assert {cell.graph_sample for cell in samples} == set(range(200, 2001, 200))
    assert {(cell.name, cell.bits) for cell in samples} == {("smfh", 64)}
    assert paper_method("smfh", "nus-wide").graph_sample == 2000
    assert paper_method("pdh", "wiki", bits=32).centred is False


def test_figure_2_has_a_line_a_method_and_crosses_where_table_1_has_numbers(store):
    cells = grid("figure-2")
    before = figure_2("wiki", cells, store)
    assert before.keys() == TASKS.keys()
    assert list(by_name(before["text->image"])) == ["CVH, published"]
    run_comparison(cells, store)
    for direction, chart in figure_2("wiki", cells, store).items():
        lines = by_name(chart)
        assert lines["CVH"].x.tolist() == [16, 32, 64, 128]
        crosses = lines["CVH, published"]
        assert crosses.x.tolist() == [32, 64, 128]
        assert crosses.y.tolist() == list(TABLE_1["wiki"][direction]["cvh"][:3])
        assert chart.x.ticks == (16, 32, 64, 128)
    assert "CVH, published" not in by_name(figure_2("planted", cells, store)["text->image"])


def test_figure_3_is_the_mean_of_the_seeds_with_p_at_100_as_a_cross(store):
    cells = grid("figure-3")
    run_comparison(cells, store)
    charts = figure_3("wiki", cells, store)
    assert charts.keys() == {(task, what) for task in TASKS for what in ("precision", "recall")}
    lines = by_name(charts["image->text", "precision"])
    curves = [run.judged("image", "text").precision_curve for run in cells.found(store).values()]
    assert len(curves) == 2
    np.testing.assert_allclose(lines["CVH"].y, np.mean(curves, axis=0))
    cross = lines["CVH, published"]
    assert (cross.x.tolist(), cross.y.tolist()) == ([100], [0.1170])
    assert list(by_name(charts["image->text", "recall"])) == ["CVH"]


def test_figure_4_varies_the_sample_and_shows_a_trace(store, monkeypatch):
    monkeypatch.setattr(plans, "SAMPLES", (20, 40))
    samples = grid("figure-4a", seeds=1)
    run_comparison(samples, store)
    lines = by_name(figure_4a("wiki", samples, store))
    assert lines["SMFH text→image"].x.tolist() == [20, 40]
    assert lines["SMFH image→text, published"].x.tolist() == [1000]
    assert lines["SMFH image→text, published"].y.tolist() == [0.2581]
    trace = grid("figure-4b")
    assert figure_4b("planted", trace, store).rows() == []
    run_comparison(trace, store)
    assert len(by_name(figure_4b("planted", trace, store))["objective"].x) == 30
