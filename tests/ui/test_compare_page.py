"""Compare in AppTest: run, look from all sides without training, link, and opening a run."""

import re
import secrets
import time
from functools import partial
from unittest.mock import patch

import app_pages
import pytest
from app_pages import make_page, texts, until
from streamlit.testing.v1 import AppTest

from smfh import evaluation
from smfh.comparison import Comparison, Grid, View, train_grid
from smfh.datasets import DATASETS, Planted
from smfh.datasets.own import OwnData
from smfh.export import html_of
from smfh.hashing import METHODS, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.runs import RunStore
from smfh.ui.compare.opening import clicked_point
from smfh.ui.compare.wanted import WANTED, Wanted
from smfh.ui.grids import duration
from smfh.ui.server import bring, forget, job_queue, kept_runs

pytestmark = pytest.mark.slow
open_page = partial(app_pages.open_page, "pages/5_Compare.py")
SMALL = {"data": "planted", "data.items": "100"}
TINY = {"compare.methods": "smfh,cvh", "compare.bits": "8,16", "compare.seeds": "2"}
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


def test_a_comparison_runs_in_the_background_and_its_runs_appear():
    seed = str(time.time_ns() % 2**31)  # data that no earlier run has left in the store
    page = open_page(**SMALL, **TINY, **{"data.data_seed": seed})
    assert button(page, "compare_run") == "Run 8 trainings"
    assert "Nothing of this comparison is trained yet" in page.info[0].value
    page.button(key="compare_run").click().run()
    until_there(page)
    assert len(page.get("plotly_chart")) == 9
    assert "interval" in texts(page)
    again = page.run()
    assert not again.exception
    again.slider(key="compare_seeds").set_value(3).run()
    assert button(again, "compare_run").startswith("Run 4 trainings · about")
    assert any("8 of 12 are there already" in caption.value for caption in again.caption)


def test_what_the_features_allow_is_measured_once_and_drawn(trained):
    page = open_page(**SMALL, **TINY)
    assert "classifier" not in page.get("plotly_chart")[0].proto.spec
    assert button(page, "ceiling_run") == "Measure what the features allow"
    page.button(key="ceiling_run").click().run()
    until(page, lambda: any("cross-validation on training rows" in told.value for told in page.caption))
    assert not button(page, "ceiling_run")
    drawn = [chart.proto.spec for chart in page.get("plotly_chart")]
    assert sum("classifier" in spec for spec in drawn) == 3  # each kind of score
    again = open_page(**SMALL, **TINY)
    assert not button(again, "ceiling_run")
    source = Planted(items=100)
    comparison = Comparison(source, (make_method("cvh"),), (8,), 1)
    report = html_of(Grid(comparison, *source.load()), RunStore(), View("text", "image", bits=8), "")
    assert "classifier" in report


def test_what_was_deleted_since_is_trained_again():
    seed = time.time_ns() % 2**31
    page = open_page(**SMALL, **TINY, **{"data.data_seed": str(seed)})
    page.button(key="compare_run").click().run()
    until_there(page)
    store, source = RunStore(), Planted(items=100, data_seed=seed)
    store.delete(next(record.id for record in store.records() if record.source == source))
    page.run()
    assert button(page, "compare_run").startswith("Run 1 training ·")
    page.button(key="compare_run").click().run()
    until_there(page)


def test_who_opens_the_same_comparison_sees_how_far_it_is_and_cannot_stop_it():
    many = {"compare.methods": "smfh", "compare.bits": "8,16,24,32", "compare.seeds": "10"}
    query = {**SMALL, **many, "data.data_seed": str(time.time_ns() % 2**31)}
    first = open_page(**query)
    first.button(key="compare_run").click().run()
    first.button(key="compare_pause").click().run()
    second = open_page(**query)
    assert "of 40 trainings" in second.get("progress")[0].proto.text
    second.button(key="compare_cancel").click().run()
    assert "Others watch" in second.toast[0].value
    first.button(key="compare_cancel").click().run()
    until(first, lambda: button(first, "compare_run"))


def test_one_at_a_time_and_the_other_can_be_cancelled():
    many = {"compare.methods": "smfh", "compare.bits": "8,16,24,32", "compare.seeds": "10"}
    page = open_page(**SMALL, **many, **{"data.data_seed": str(time.time_ns() % 2**31)})
    page.button(key="compare_run").click().run()
    page.button(key="compare_pause").click().run()
    page.slider(key="compare_seeds").set_value(9).run()
    assert page.button(key="compare_run").disabled
    page.button(key="compare_cancel_other").click().run()
    until(page, lambda: not page.button(key="compare_run").disabled)
    assert button(page, "compare_run").startswith("Run ")


def test_it_goes_on_while_another_page_is_looked_at():
    many = {"compare.methods": "smfh", "compare.bits": "8,16,24,32", "compare.seeds": "10"}
    page = open_page(**SMALL, **many, **{"data.data_seed": str(time.time_ns() % 2**31)})
    page.button(key="compare_run").click().run()
    page.button(key="compare_pause").click().run()
    page.switch_page("pages/8_Data.py").run()
    page.switch_page("pages/5_Compare.py").run()
    assert not page.exception
    assert page.slider(key="compare_seeds").value == 10
    until(page, lambda: button(page, "compare_resume"))
    page.button(key="compare_cancel").click().run()
    until(page, lambda: button(page, "compare_run"))
    assert any("What is finished is kept" in info.value for info in page.info)
    assert button(page, "compare_run").startswith("Run ")


def test_all_that_is_stored_is_shown_without_a_click(trained):
    page = open_page(**SMALL, **TINY)
    assert button(page, "compare_run") == "All 8 trainings are there"
    assert len(page.get("plotly_chart")) == 9
    assert "at 16 bits, text → image" in texts(page)
    assert "python -m smfh compare planted --option items=100" in page.code[0].value
    assert not page.run().exception


def test_another_look_neither_trains_nor_ranks(trained):
    page = open_page(**SMALL, **TINY)
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


def test_the_link_brings_everything_back(trained):
    page = open_page(**SMALL, **TINY, **{"compare.definition": "capped", "compare.direction": "image → text"})
    assert page.selectbox(key="compare_definition").value == "capped"
    assert page.segmented_control(key="compare_direction").value == "image → text"
    assert page.slider(key="compare_seeds").value == 2


def test_a_wrong_link_is_told_and_falls_back():
    page = open_page(**SMALL, **ONE, **{"compare.definition": "<b>median</b>", "compare.at": "²"})
    assert page.warning
    assert "Unknown definition '<b>median</b>'" in texts(page)
    assert "Unknown at '²'; there are 8, 16" in texts(page)
    assert page.selectbox(key="compare_definition").value == "found"


def test_without_a_method_it_says_what_to_choose():
    page = open_page(**SMALL, **ONE)
    page.get("button_group")[0].set_value([]).run()
    assert "Choose at least one method" in page.info[0].value
    assert not page.exception


def test_the_sidebars_own_settings_can_be_added():
    page = open_page(**SMALL, **ONE, method="smfh", bits="64", seed="0", graph_weight="7.0")
    page.toggle(key="compare_own").set_value(True).run()
    assert re.match("Run [12] training", button(page, "compare_run"))
    assert "α 2 → 7" in texts(page)
    assert page.query_params["compare.own"] == "True"


def test_own_data_is_compared_in_memory_and_forgotten():
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(24))
    source = OwnData(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    page = make_page("pages/5_Compare.py", data="own", **TINY)
    owner = page.session_state["visitor"] = secrets.token_hex(16)
    bring(owner, source, source.load())
    page.run()
    assert button(page, "compare_run") == "Run 8 trainings"
    kept = {record.id for record in RunStore().records()}
    page.button(key="compare_run").click().run()
    until_there(page)
    assert len(page.get("plotly_chart")) == 9
    assert "interval" in texts(page)
    assert not page.code  # no command can repeat it
    assert {record.id for record in RunStore().records()} == kept
    grid = Grid(
        Comparison(source, (make_method("smfh"), make_method("cvh")), (8, 16), 2), *source.load(), owner
    )
    assert job_queue().find(grid.key) is not None
    assert "file_name = mine.csv" in html_of(grid, kept_runs(owner), View("text", "image"), "")
    forget(owner)
    assert job_queue().find(grid.key) is None
    assert grid.found(kept_runs(owner)) == {}
    page.run()
    assert not page.exception
    assert "Your own data is not here" in page.info[0].value


def test_a_chosen_run_opens_in_explore(trained):
    page = open_page(**SMALL, **TINY)
    page.selectbox(key="compare_chosen").set_value(make_method("cvh", bits=16, seed=1)).run()
    page.button(key="compare_open_button").click().run()
    assert not page.exception
    assert page.title[0].value == "Explore"
    assert page.selectbox(key="control_method").value == "cvh"
    assert page.query_params["bits"] == "16"
    assert page.query_params["seed"] == "1"
    assert page.query_params["data.items"] == "100"


def test_a_click_means_the_first_point_that_is_a_run():
    chance, run = {"x": 8, "y": 0.1}, {"x": 16.0, "y": 0.5, "customdata": ["SMFH"]}
    assert clicked_point({"selection": {"points": [chance, run]}}) == ("SMFH", 16)
    assert clicked_point({"selection": {"points": [chance]}}) is None
    assert clicked_point({"selection": {"points": []}}) is None


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_can_be_compared_or_says_what_it_needs(name):
    options = {"data.items": "300"} if name in ("synthetic", "planted") else {}
    page = open_page(data=name, **options, **ONE)
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
    else:
        assert button(page, "compare_run")
    assert not page.run().exception


def test_what_a_link_says_is_what_was_wanted():
    wanted = Wanted(("smfh",), (8, 256), 10, "strong", True, "full", "unseen", "image → text", 256, 0)
    assert WANTED.read(WANTED.write(wanted)) == (wanted, [])
    assert WANTED.read({}) == (Wanted(), [])
    assert WANTED.read({"search.words": "x", "bits": "64"}) == (Wanted(), [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("methods", text) for text in ("md5", ",")),
        *(("bits", text) for text in ("7", "-8", "²")),
        *(("seeds", text) for text in ("0", "11", "one")),
        *(("protocol", "x"), ("radius", "9"), ("own", "maybe"), ("colour", "red"), ("preset", "weak")),
    ],
)
def test_each_wrong_value_has_a_note(name, text):
    wanted, notes = WANTED.read({f"compare.{name}": text})
    assert wanted == Wanted()
    assert len(notes) == 1


def test_presets_are_the_methods_own():
    own = make_method("smfh", graph_weight=7.0)
    wanted = Wanted(("smfh", "cvh"), preset="paper", own=True)
    smfh, cvh, last = wanted.chosen_methods(own, "pascal")
    assert smfh == make_method("smfh", **METHODS["smfh"].preset_values("pascal"))
    assert cvh == make_method("cvh", **METHODS["cvh"].preset_values("paper"))
    assert last is own


def test_time_is_told_as_people_do():
    assert [duration(s) for s in (0.1, 42, 200, 9000)] == ["1 s", "42 s", "3 min", "2.5 h"]
