"""Compare in AppTest: run, look from all sides without training, link, and opening a run."""

import re
import time
from unittest.mock import patch

import pytest
from smfh.store import RunStore
from smfh.ui.compare.link import COMPARE, Wanted, read_wanted, to_query
from smfh.ui.comparing import duration
from streamlit.testing.v1 import AppTest

from smfh import evaluation
from smfh.comparison import Comparison, grid_of, run_comparison
from smfh.datasets import DATASETS, Planted
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.ui.compare.opening import clicked_point
from smfh.ui.settings import Settings

SECONDS = 90
SMALL = {"data": "planted", "data.items": "100"}
TINY = {f"{COMPARE}methods": "smfh,cvh", f"{COMPARE}bits": "8,16", f"{COMPARE}seeds": "2"}
ONE = {f"{COMPARE}methods": "cvh", f"{COMPARE}bits": "8", f"{COMPARE}seeds": "1"}


def open_page(**query: str) -> AppTest:
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=SECONDS)
    page.switch_page("pages/4_Compare.py")
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


def texts(page: AppTest) -> str:
    return "\n".join(element.value for element in page.text)


def until_there(page: AppTest) -> AppTest:
    """Look again as the page does by itself, until every cell is there."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not button(page, "compare_run").startswith("All"):
        page.run()
    assert not page.exception
    assert button(page, "compare_run").startswith("All")
    return page


def button(page: AppTest, key: str) -> str:
    return next((found.label for found in page.button if found.key == key), "")


@pytest.fixture(scope="module")
def trained() -> None:
    """The small comparison is in the store that the page reads."""
    source = Planted(items=100)
    comparison = Comparison(source, (make_method("smfh"), make_method("cvh")), (8, 16), 2)
    assert run_comparison(grid_of(comparison, *source.load()), RunStore()) == {}


def test_a_comparison_runs_in_the_background_and_its_cells_appear():
    seed = str(time.time_ns() % 2**31)  # data that no earlier run has left in the store
    page = open_page(**SMALL, **TINY, **{"data.data_seed": seed})
    assert button(page, "compare_run") == "Run 8 trainings"
    assert "Nothing of this comparison is trained yet" in page.info[0].value
    page.button(key="compare_run").click().run()
    until_there(page)
    assert len(page.get("plotly_chart")) == 7
    assert "interval" in texts(page)
    again = page.run()
    assert not again.exception
    again.slider(key="compare_seeds").set_value(3).run()
    assert button(again, "compare_run").startswith("Run 4 trainings · about")
    assert any("8 of 12 are there already" in caption.value for caption in again.caption)


def test_it_goes_on_while_another_page_is_looked_at():
    many = {f"{COMPARE}methods": "smfh", f"{COMPARE}bits": "8,16,24,32", f"{COMPARE}seeds": "10"}
    page = open_page(**SMALL, **many, **{"data.data_seed": str(time.time_ns() % 2**31)})
    page.button(key="compare_run").click().run()
    page.button(key="compare_pause").click().run()
    page.switch_page("pages/7_Data.py").run()
    page.switch_page("pages/4_Compare.py").run()
    assert not page.exception
    assert page.slider(key="compare_seeds").value == 10
    assert button(page, "compare_resume") == "Resume"
    page.button(key="compare_cancel").click().run()
    end = time.monotonic() + SECONDS
    while not button(page, "compare_run") and time.monotonic() < end:
        page.run()
    assert any("What is finished is kept" in info.value for info in page.info)
    assert button(page, "compare_run").startswith("Run ")


def test_all_that_is_stored_is_shown_without_a_click(trained):
    page = open_page(**SMALL, **TINY)
    assert button(page, "compare_run") == "All 8 trainings are there"
    assert len(page.get("plotly_chart")) == 7
    assert "at 16 bits, text→image" in texts(page)
    assert "python -m smfh compare planted --option items=100" in page.code[0].value
    assert not page.run().exception


def test_another_look_neither_trains_nor_ranks(trained):
    page = open_page(**SMALL, **TINY)
    seen = {texts(page)}
    with patch.object(evaluation, "scan", side_effect=AssertionError("ranked again")):
        for definition in list(AP_DEFINITIONS)[1:]:
            page.selectbox(key="compare_definition").set_value(definition).run()
            assert AP_DEFINITIONS[definition].formula in texts(page)
            seen.add(texts(page))
        page.segmented_control(key="compare_protocol").set_value("unseen").run()
        page.segmented_control(key="compare_direction").set_value("image→text").run()
        page.selectbox(key="compare_at").set_value(8).run()
        page.selectbox(key="compare_radius").set_value(0).run()
        page.toggle(key="compare_log").set_value(True).run()
    assert not page.exception
    assert len(seen) == len(AP_DEFINITIONS)
    assert "at 8 bits, image→text" in texts(page)
    for key, value in {"definition": "full", "protocol": "unseen", "at": "8", "radius": "0"}.items():
        assert page.query_params[f"{COMPARE}{key}"] == value


def test_the_link_brings_everything_back(trained):
    page = open_page(
        **SMALL, **TINY, **{f"{COMPARE}definition": "capped", f"{COMPARE}direction": "image→text"}
    )
    assert page.selectbox(key="compare_definition").value == "capped"
    assert page.segmented_control(key="compare_direction").value == "image→text"
    assert page.slider(key="compare_seeds").value == 2


def test_a_wrong_link_is_told_and_falls_back():
    page = open_page(**SMALL, **ONE, **{f"{COMPARE}definition": "<b>median</b>", f"{COMPARE}at": "²"})
    assert page.warning
    assert "Unknown definition '<b>median</b>'" in texts(page)
    assert "at must be one of" in texts(page)
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
    assert "α 2.0 → 7.0" in texts(page)
    assert page.query_params[f"{COMPARE}own"] == "True"


def test_own_data_is_told_to_stay_private():
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=SECONDS)
    page.switch_page("pages/4_Compare.py")
    own = OwnData(content=b"", file_name="mine.csv")
    page.session_state["own_source"], page.session_state["own_loaded"] = own, Planted(items=100).load()
    page.session_state["settings"], page.session_state["link_notes"] = Settings(own, make_method("cvh")), []
    page.run()
    assert not page.exception
    assert "Own data stays with its visitor" in texts(page)
    assert not button(page, "compare_run")


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
    wanted = Wanted(("smfh",), (8, 256), 10, "strong", True, "full", "unseen", "image→text", 256, 0)
    assert read_wanted(to_query(wanted)) == (wanted, [])
    assert read_wanted({}) == (Wanted(), [])
    assert read_wanted({"show.other": "x", "bits": "64"}) == (Wanted(), [])


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
    wanted, notes = read_wanted({f"{COMPARE}{name}": text})
    assert wanted == Wanted()
    assert len(notes) == 1
    assert notes[0].endswith("The usual value is used instead.")


def test_presets_are_the_methods_own():
    own = make_method("smfh", graph_weight=7.0)
    wanted = Wanted(("smfh", "cvh"), preset="paper", own=True)
    smfh, cvh, last = wanted.chosen_methods(own, "pascal")
    assert smfh == make_method("smfh", **METHODS["smfh"].presets["pascal"])
    assert cvh == make_method("cvh", **METHODS["cvh"].presets["paper"])
    assert last is own


def test_time_is_told_as_people_do():
    assert [duration(s) for s in (0.1, 42, 200, 9000)] == ["1 s", "42 s", "3 min", "2.5 h"]
