"""The Learn page in AppTest: every part, its links, and its functions; each part is drawn twice."""

from functools import partial

import app_pages
import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from smfh.experiments.comparison import Grid
from smfh.lessons.example import default_rows, make_example
from smfh.lessons.lessons import LESSONS
from smfh.lessons.predictions import PREDICTIONS
from smfh.lessons.shipped import shipped_lesson
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_INFO, walk_through
from smfh.ui.learn.components import COMES_OUT, GOES_IN, REST, matrix_groups, names_of, read_entry
from smfh.ui.learn.state import PARTS
from smfh.ui.server import job_queue, run_store

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/9_Learn.py")


def param(page: AppTest, key: str, default: str = "") -> str:
    """Return a parameter of the address."""
    value = page.query_params.get(key, default)
    return value[0] if isinstance(value, list) else value


def text_of(page: AppTest) -> str:
    return "\n".join(one.value for one in (*page.text, *page.markdown, *page.subheader, *page.caption))


@pytest.fixture(scope="module")
def walkthrough(emoji):
    return walk_through(make_example(emoji, default_rows(emoji)), DEFAULT_METHOD)


def test_method_controls_are_hidden_and_keep_their_values():
    page = open_page(data="emoji", method="smfh", bits="16", graph_weight="5.0")
    controls = [control.key for control in (*page.sidebar.select_slider, *page.sidebar.selectbox)]
    assert controls
    assert all(key.startswith("control_data") for key in controls)
    assert [param(page, name) for name in ("method", "bits", "graph_weight")] == ["smfh", "16", "5.0"]
    page.switch_page("pages/4_Tune.py").run()
    assert not page.exception
    assert page.selectbox(key="control_method").value == "smfh"
    values = {name: page.select_slider(key=f"control_smfh_{name}").value for name in ("bits", "graph_weight")}
    assert values == {"bits": 16, "graph_weight": 5.0}


@pytest.mark.parametrize("part", [part for part in PARTS if part != "lessons"])
def test_every_part_is_drawn_twice(part):
    page = open_page(**{"learn.part": part})
    assert page.segmented_control[0].value == part
    assert (before := text_of(page))
    assert not page.run().exception
    assert text_of(page) == before


def test_weights_and_items_change_the_numbers():
    page = open_page(**{"learn.part": "iteration", "learn.step": "functions"})
    before = text_of(page)
    page.select_slider(key="learn_alpha").set_value(5.0).run()
    assert param(page, "learn.alpha") == "5.0"
    assert text_of(page) != before
    before = text_of(page)
    page.multiselect(key="learn_rows").set_value([0, 1, 2, 3, 4, 5]).run()
    assert param(page, "learn.rows") == "0,1,2,3,4,5"
    assert text_of(page) != before
    page.multiselect(key="learn_rows").set_value([0, 1]).run()
    assert "4 to 12" in text_of(page)
    next(button for button in page.button if button.label == "Use the default items").click().run()
    assert "learn.rows" not in page.query_params
    assert not page.exception


def test_a_lesson_opens_at_once_and_starts_nothing():
    page, runs = open_page(**{"learn.lesson": "sample", "learn.guess": "-1"}), LESSONS["sample"].runs
    grid = Grid(runs, *runs.source.load())
    if shipped_lesson("sample", grid) is None:
        pytest.skip("the features of this processor differ in the last bit, so lessons are computed here")
    assert "m = 20:" in text_of(page)
    assert len(grid.missing(run_store())) == len(grid.keys)
    assert job_queue().find(grid.key) is None


def test_a_lesson_asks_for_a_prediction_before_it_shows_the_truth():
    runs = LESSONS["ties"].runs
    if (worked := shipped_lesson("ties", Grid(runs, *runs.source.load()))) is None:
        pytest.skip("the features of this processor differ in the last bit, so lessons are computed here")
    page, prediction = open_page(**{"learn.lesson": "ties"}), PREDICTIONS["ties"](worked)
    assert worked.notes[0] not in text_of(page)
    assert worked.answer not in text_of(page)
    page.radio(key="learn_guess").set_value(prediction.truth).run()
    assert page.info[0].value.startswith("Correct.")
    assert worked.notes[0] in text_of(page)
    assert param(page, "learn.guess") == str(prediction.truth)


@pytest.mark.parametrize("name", STEP_INFO)
def test_every_matrix_is_shown_with_the_numbers_of_the_method(walkthrough, name):
    step, info = walkthrough.at(2, name), STEP_INFO[name]
    groups = matrix_groups(walkthrough, step)
    shown = {title: {table["id"].split(":")[0] for table in tables} for title, tables in groups.items()}
    assert list(groups) == [GOES_IN, COMES_OUT, REST]
    assert (shown[GOES_IN], shown[COMES_OUT]) == (set(info.inputs), set(info.outputs))
    assert set().union(*shown.values()) == {key[0] for key in step.after.matrices}
    for title, table in ((title, table) for title, tables in groups.items() for table in tables):
        key = tuple(table["id"].split(":"))
        values = (step.before if title == GOES_IN else step.after).matrices[key]
        rows, columns = names_of(walkthrough, key)
        assert values.shape == (len(rows), len(columns)) == (len(table["entries"]), len(table["entries"][0]))
        for i, k in np.ndindex(values.shape):
            text = table["entries"][i][k].replace("−", "-")
            assert float(text) == pytest.approx(values[i, k], abs=0.0051)
        np.testing.assert_allclose(table["shades"], values / (np.abs(values).max() or 1), atol=5e-4)
        assert not np.any(table["changed"]) or title == COMES_OUT


def test_an_entry_is_read_only_if_it_exists(walkthrough):
    step = walkthrough.steps[0]
    assert read_entry("basis:text:2:1", step) == (("basis", "text"), 2, 1)
    assert read_entry("relaxed::8:3", step) == (("relaxed", ""), 8, 3)
    for wrong in (None, "", "basis:text:2", "basis:sound:2:1", "relaxed::9:0", "relaxed::-1:0", "a:b:c:d"):
        assert read_entry(wrong, step) is None
