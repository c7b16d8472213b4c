"""The Compare page in AppTest: train, change the view without training, links, open a run, uploads."""

import re
import secrets
import time
from functools import partial
from unittest.mock import patch

import app_pages
import pytest
from app_pages import make_page, texts, until
from streamlit.testing.v1 import AppTest

from smfh.datasets import Planted
from smfh.datasets.user_data import UserDataset
from smfh.experiments.comparison import Comparison, Grid, View, train_grid
from smfh.export import html_of
from smfh.hashing import make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.retrieval import evaluation
from smfh.runs import RunStore
from smfh.ui.compare.view import clicked_point
from smfh.ui.server import add_upload, forget, job_queue, upload_of
from smfh.ui.visitor import PrivateKey

pytestmark = pytest.mark.slow
open_page = partial(app_pages.open_page, "pages/5_Compare.py")
SMALL = {"data": "planted", "data.items": "100"}
TINY = {"compare.methods": "smfh,cvh", "compare.preset": "usual", "compare.bits": "8,16", "compare.seeds": "2"}
ONE = {"compare.methods": "cvh", "compare.bits": "8", "compare.seeds": "1"}


def until_there(page: AppTest) -> AppTest:
    """Until every run is there."""
    return until(page, lambda: button(page, "compare_run").startswith("All"))


def button(page: AppTest, key: str) -> str:
    return next((found.label for found in page.button if found.key == key), "")


@pytest.fixture(scope="module")
def trained() -> None:
    """The small comparison is in the store that the page reads."""
    source = Planted(items=100)
    comparison = Comparison(source, (make_method("smfh"), make_method("cvh")), (8, 16), 2)
    assert train_grid(Grid(comparison, *source.load()), RunStore()) == {}


def test_a_comparison_runs_in_the_background():
    seed = str(time.time_ns() % 2**31)  # data that no earlier run has left in the store
    page = open_page(**SMALL, **TINY, **{"data.data_seed": seed})
    assert button(page, "compare_run") == "Train 8 runs"
    page.button(key="compare_run").click().run()
    until_there(page)
    assert len(page.get("plotly_chart")) == 11
    assert "interval" in texts(page)
    page.slider(key="compare_seeds").set_value(3).run()
    assert button(page, "compare_run").startswith("Train 4 runs · about")
    page.slider(key="compare_seeds").set_value(2).run()
    store, source = RunStore(), Planted(items=100, data_seed=int(seed))
    store.delete(next(record.id for record in store.records() if record.source == source))
    page.run()
    assert button(page, "compare_run").startswith("Train 1 run ·")  # a deleted run is trained again


def test_scores_are_drawn_by_the_share_of_wrong_labels(trained):
    order = {"compare.corruption": "wrong_labels", "compare.shares": "0,40", "compare.at": "8"}
    page = open_page(**SMALL, **TINY, **order)
    charts = len(page.get("plotly_chart"))
    assert button(page, "robustness_run") == "Train 4 runs at 8 bits"  # those without wrong labels are saved
    page.button(key="robustness_run").click().run()
    until(page, lambda: not button(page, "robustness_run") and not button(page, "robustness_cancel"))
    assert len(page.get("plotly_chart")) == charts
    assert "with 40 % wrong labels" in texts(page)
    assert any("--wrong-labels 0 0.4" in code.value for code in page.code)


def test_the_classifier_level_is_measured_once_and_drawn(trained):
    page = open_page(**SMALL, **TINY)
    assert "classifier" not in page.get("plotly_chart")[0].proto.spec
    assert button(page, "classifiers_run") == "Measure reference levels"
    page.button(key="classifiers_run").click().run()
    until(page, lambda: any("cross-validation on training items" in told.value for told in page.caption))
    page.run()  # the level may have been saved after the charts were drawn
    assert not button(page, "classifiers_run")
    drawn = [chart.proto.spec for chart in page.get("plotly_chart")]
    for level in ("classifier", "kernel ridge"):
        assert sum(level in spec for spec in drawn) == 3  # each kind of score
    assert not button(open_page(**SMALL, **TINY), "classifiers_run")


def test_saved_runs_are_shown_at_once_and_another_view_neither_trains_nor_ranks(trained):
    page = open_page(**SMALL, **TINY)
    assert button(page, "compare_run") == "All 8 runs are done"
    assert len(page.get("plotly_chart")) == 11
    assert "python -m smfh compare planted --option items=100" in page.code[0].value
    seen = {texts(page)}
    with patch.object(evaluation, "rank", side_effect=AssertionError("ranked again")):
        for definition in list(AP_DEFINITIONS)[1:]:
            page.selectbox(key="compare_definition").set_value(definition).run()
            assert AP_DEFINITIONS[definition].latex in [shown.value.strip("$\n") for shown in page.latex]
            seen.add(texts(page))
        page.segmented_control(key="compare_protocol").set_value("unseen").run()
        page.segmented_control(key="compare_direction").set_value("image → text").run()
        page.selectbox(key="compare_at").set_value(8).run()
        page.selectbox(key="compare_radius").set_value(0).run()
        page.toggle(key="compare_log").set_value(True).run()
    assert not page.exception
    assert len(seen) == len(AP_DEFINITIONS)
    assert "at 8 bits, image → text" in texts(page)
    for key, value in {"definition": "precision", "protocol": "unseen", "at": "8", "radius": "0"}.items():
        assert page.query_params[f"compare.{key}"] == value


def test_the_sidebar_method_can_be_added():
    page = open_page(**SMALL, **ONE, method="smfh", bits="64", seed="0", graph_weight="7.0")
    page.toggle(key="compare_own").set_value(True).run()
    assert re.match("Train [12] run", button(page, "compare_run"))
    assert "α 2 → 7" in texts(page)
    assert page.query_params["compare.own"] == "True"


def test_uploads_are_compared_in_memory_only():
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(24))
    source = UserDataset(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    page = make_page("pages/5_Compare.py", data="own", **TINY)
    owner = page.session_state["visitor"] = secrets.token_hex(16)
    add_upload(owner, source, source.load())
    page.run()
    assert button(page, "compare_run") == "Train 8 runs"
    kept = {record.id for record in RunStore().records()}
    page.button(key="compare_run").click().run()
    until_there(page)
    assert len(page.get("plotly_chart")) == 11
    assert "interval" in texts(page)
    assert not page.code  # no command can repeat it
    assert {record.id for record in RunStore().records()} == kept
    grid = Grid(Comparison(source, (make_method("smfh"), make_method("cvh")), (8, 16), 2), *source.load())
    key = PrivateKey(owner, grid.key)
    assert job_queue().find(key) is not None
    assert "file_name = mine.csv" in html_of(grid, upload_of(owner).runs, View("text", "image"), "")
    forget(owner)
    assert job_queue().find(key) is None
    assert upload_of(owner) is None
    page.run()
    assert not page.exception
    assert "Your upload is not on the server" in page.info[0].value


def test_a_click_selects_the_first_point_that_is_a_run():
    chance, run = {"x": 8, "y": 0.1}, {"x": 16.0, "y": 0.5, "customdata": ["SMFH"]}
    assert clicked_point({"selection": {"points": [chance, run]}}) == ("SMFH", 16)
    assert clicked_point({"selection": {"points": [chance]}}) is None
