"""What pages hand out is made in another process, and what is too large is said before anybody clicks."""

import re
import time

import pytest
from streamlit.testing.v1 import AppTest

from smfh.comparison import Comparison, Grid, View, train_grid
from smfh.datasets import DATASETS, Planted
from smfh.datasets.own import OwnData
from smfh.export import html_of, report
from smfh.export import page as page_module
from smfh.export.page import search_page
from smfh.hashing import CVH, SMFH, make_method
from smfh.plots import Published
from smfh.runs import PrivateRuns, RunStore, find_or_train
from smfh.ui.compare.download import make_report
from smfh.ui.search.take_home import make_page

pytestmark = pytest.mark.slow
VIEW = View("text", "image", bits=8)
SECONDS = 120


def refuse(*_: object) -> str:
    raise AssertionError("It is made in this process.")


def test_the_search_to_take_home_is_the_same_file_from_another_process(monkeypatch):
    source = DATASETS["emoji"]()
    run = find_or_train(None, source, make_method("cvh", bits=8), *source.load())
    assert run.hasher.indexes  # as they are after the first question
    expected = search_page(run.hasher, run.data, run.split, "text", "image", "database")
    monkeypatch.setattr(page_module, "assemble", refuse)
    assert make_page(run, "text", "image", "database") == expected


@pytest.mark.parametrize("is_private", [False, True])
def test_the_report_is_the_same_file_from_another_process(tmp_path, monkeypatch, is_private):
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(24))
    own = OwnData(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    source, store = (own, PrivateRuns()) if is_private else (Planted(items=120), RunStore(tmp_path))
    comparison = Comparison(source, (SMFH(iterations=5, graph_sample=10), CVH()), (8,), 2)
    grid = Grid(comparison, *source.load(), "ann" if is_private else "")
    assert train_grid(grid, store) == {}
    cross = Published("smfh", "SMFH", "text → image", 8, 0.4)
    expected = html_of(grid, store, VIEW, "the command", [cross])
    monkeypatch.setattr(report, "document", refuse)
    assert make_report(grid, store, VIEW, "the command", [cross]) == expected
    assert "the command" in expected


@pytest.fixture
def search() -> AppTest:
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=SECONDS)
    page.switch_page("pages/2_Search.py")
    for key, value in {"data": "emoji", "method": "cvh", "bits": "8"}.items():
        page.query_params[key] = value
    return page


def told(page: AppTest) -> tuple[list[str], str]:
    """The downloads that are offered, and the small print; once the run is trained."""
    end = time.monotonic() + SECONDS
    while not page.run().get("download_button") and "cannot be taken" not in str(page.caption):
        assert time.monotonic() < end
    assert not page.exception
    offered = [button.proto.label for button in page.get("download_button")]
    return offered, "\n".join(caption.value for caption in page.caption)


def test_a_search_that_is_too_large_says_so_in_the_place_of_its_button(search, monkeypatch):
    monkeypatch.setattr(page_module, "MOST_BYTES", 1 << 20)
    offered, small_print = told(search)
    assert "This search as one HTML file" not in offered
    assert re.search(r"cannot be taken home\. All of it in one file would be about \d+ MB", small_print)
    assert "let ties stay in database order" in small_print
    monkeypatch.undo()
    offered, small_print = told(search)
    assert "This search as one HTML file" in offered
    assert "cannot be taken home" not in small_print
