"""Downloads are made in a worker process; one that is too large is explained instead of offered."""

import pytest

from smfh.datasets import DATASETS, Planted
from smfh.datasets.user_data import UserDataset
from smfh.experiments.comparison import Comparison, Grid, View, train_grid
from smfh.export import html_of, report
from smfh.export import page as page_module
from smfh.export.page import search_page
from smfh.hashing import CVH, SMFH, make_method
from smfh.plots import Published
from smfh.runs import MemoryRuns, RunStore, find_or_train
from smfh.ui.compare.view import make_report
from smfh.ui.server import local_engine

pytestmark = pytest.mark.slow
VIEW = View("text", "image", bits=8)


def refuse(*_: object) -> str:
    raise AssertionError("It is made in this process.")


def test_the_search_page_is_the_same_from_a_worker_process(monkeypatch):
    source = DATASETS["emoji"]()
    run = find_or_train(None, source, make_method("cvh", bits=8), *source.load())
    assert run.hasher.indexes  # as they are after the first question
    expected = search_page(run.hasher, run.data, run.split, "text", "image", "database", "hamming")
    monkeypatch.setattr(page_module, "assemble", refuse)
    how = ("text", "image", "database", "hamming")
    assert local_engine().call(search_page, run.hasher, run.data, run.split, *how) == expected


@pytest.mark.parametrize("is_private", [False, True])
def test_the_report_is_the_same_from_a_worker_process(tmp_path, monkeypatch, is_private):
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(24))
    own = UserDataset(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    source, store = (own, MemoryRuns()) if is_private else (Planted(items=120), RunStore(tmp_path))
    comparison = Comparison(source, (SMFH(iterations=5, graph_sample=10), CVH()), (8,), 2)
    grid = Grid(comparison, *source.load())
    assert train_grid(grid, store) == {}
    cross = Published("smfh", "SMFH", "text → image", 8, 0.4)
    expected = html_of(grid, store, VIEW, "the command", [cross])
    monkeypatch.setattr(report, "document", refuse)
    assert make_report(grid, store, VIEW, "the command", [cross]) == expected
    assert "the command" in expected
