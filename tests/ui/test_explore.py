"""Explore in AppTest: every data set that is there, each page run twice."""

from functools import partial
from unittest.mock import patch

import app_pages
import pytest
from app_pages import until
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from smfh import evaluation
from smfh.datasets import DATASETS
from smfh.hashing import make_method
from smfh.runs import RunStore, find_or_keep

open_page = partial(app_pages.open_page, "streamlit_app.py")
pytestmark = pytest.mark.slow
OPTIONS = {"synthetic": {"data.items": "500"}}


def texts(page: AppTest) -> str:
    return "\n".join(element.value for element in [*page.subheader, *page.text])


def until_scores(page: AppTest) -> AppTest:
    """Look again as the page does by itself, until the run is over."""
    return until(page, lambda: page.metric)


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_trains_at_once_or_says_what_it_needs(name):
    page = open_page(data=name, bits="16", **OPTIONS.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_scores(page)
    again = page.run()
    assert not again.exception
    assert again.metric[0].label == "text → image"
    assert again.get("plotly_chart")


def test_a_changed_slider_shows_that_the_scores_are_of_another_setting():
    page = until_scores(open_page(data="planted", bits="16"))
    assert page.button(key="train").disabled
    before = [metric.value for metric in page.metric]
    page.select_slider(key="control_smfh-plus_bits").set_value(8).run()
    assert not page.button(key="train").disabled
    assert [metric.value for metric in page.metric] == before
    assert "16 bits" in texts(page)
    assert page.query_params["bits"] == "8"
    page.button(key="train").click().run()
    until_scores(page)
    assert " 8 bits" in texts(page)


def test_what_only_shows_never_trains_or_ranks_again():
    page = until_scores(open_page(data="planted", bits="16"))
    with patch.object(evaluation, "rank", side_effect=AssertionError("ranked again")):
        page.slider(key="curve_k").set_value(7).run()
        page.toggle(key="curve_log").set_value(True).run()
        page.segmented_control(key="curve_protocol").set_value("unseen").run()
    assert not page.exception
    assert page.metric


def test_a_pinned_run_stays_beside_the_next():
    page = until_scores(open_page(data="planted", bits="16"))
    page.button(key="pin_run").click().run()
    page.select_slider(key="control_smfh-plus_bits").set_value(32).run()
    page.button(key="train").click().run()
    until_scores(page)
    assert all("vs pinned" in metric.delta for metric in page.metric)
    assert any("r 16 → 32" in text.value for text in page.text)


def test_a_wrong_link_is_told_and_falls_back():
    page = open_page(data="planted", bits="9999", method="md5")
    assert page.warning
    assert "Unknown method 'md5'" in texts(page)
    assert "9999" in texts(page)
    assert not page.exception


def test_hidden_controls_are_not_drawn():
    page = open_page(data="planted", hide="bits,seed,method")
    assert not page.exception
    assert "control_method" not in [box.key for box in page.selectbox]
    assert "control_smfh-plus_bits" not in [slider.key for slider in page.select_slider]


def test_a_setting_that_cannot_be_trained_says_why():
    page = open_page(data="planted", bits="16", modality_weights="0.5,0.25,0.25")
    until(page, lambda: page.error)
    assert "3 modality weights" in page.error[0].value
    assert not page.exception


def test_train_as_i_move_trains_the_newest_and_keeps_the_last_as_pinned():
    page = until_scores(open_page(data="planted", bits="16"))
    page.toggle(key="train_as_i_move").set_value(True).run()
    for bits in (8, 32):
        page.select_slider(key="control_smfh-plus_bits").set_value(bits).run()
        until_scores(page)
        assert f" {bits} bits" in texts(page)
        assert page.button(key="train").disabled
    assert all("pinned" in metric.delta for metric in page.metric)


def typed(page: AppTest, label: str) -> TextInput:
    return next(box for box in page.text_input if box.label == label)


def test_a_number_can_be_typed_beside_its_slider_and_a_wrong_one_says_why():
    page = until_scores(open_page(data="planted", bits="16"))
    slider, label = "control_smfh-plus_graph_weight", "Graph weight · α, typed"
    typed(page, label).set_value("37").run()
    assert page.select_slider(key=slider).value == 37.0
    assert page.query_params["graph_weight"] == "37.0"
    typed(page, label).set_value("lots").run()
    assert typed(page, label).value == "lots"
    assert page.warning[0].value.endswith("got 'lots'.")
    assert page.select_slider(key=slider).value == 37.0
    page.select_slider(key=slider).set_value(50.0).run()
    assert not page.warning
    assert typed(page, label).value == "50"
    page.select_slider(key=slider).set_value(100.0).run()
    assert page.query_params["graph_weight"] == "100.0"
    assert not page.exception


def test_every_method_has_the_main_controls_that_it_knows():
    page = open_page(data="planted", method="smfh-plus", bits="16", iterations="3")
    assert typed(page, "Graph sample · m, typed").value == "all"
    assert "m all" in texts(until_scores(page))
    page = open_page(data="planted", method="cmfh", bits="16", iterations="3")
    assert [box.label for box in page.text_input if "typed" in box.key] == [
        "Bits · r, typed",
        "Projection weight · μ, typed",
    ]


def test_a_teachers_link_starts_paused_and_the_class_presses_resume():
    query = {"data": "planted", "bits": "16", "iterations": "4", "start": "paused"}
    page = open_page(**query)
    until(page, lambda: "Resume" in [button.label for button in page.button])
    assert not page.metric
    next(button for button in page.button if button.label == "Resume").click().run()
    assert page.query_params["start"] == "paused"
    until_scores(page)
    assert page.select_slider(key="wall_iteration").value == 7


def test_a_run_that_ends_while_the_page_is_being_drawn_shows_its_scores():
    drawn = "smfh.ui.explore.page"
    with patch(f"{drawn}.wait_a_moment"), patch(f"{drawn}.draw_wall_live", lambda shown: shown.job.wait()):
        page = open_page(data="planted", bits="11")
    assert page.metric


def test_a_presentation_ends_by_a_button_and_the_link_says_so():
    page = until_scores(open_page(data="planted", bits="16", present="true"))
    assert page.toggle(key="control_present").value
    next(button for button in page.button if button.label == "End the presentation").click().run()
    assert not page.toggle(key="control_present").value
    assert "present" not in page.query_params
    assert not page.exception


def test_a_run_that_was_found_can_be_watched():
    query = {"data": "planted", "bits": "9", "iterations": "4"}
    source = DATASETS["planted"]()
    method = make_method("smfh-plus", bits=9, iterations=4)
    find_or_keep(RunStore(), source, method, *source.load())
    page = until_scores(open_page(**query))
    assert "wall_iteration" not in [slider.key for slider in page.select_slider]
    page.button(key="watch").click().run()
    until_scores(page)
    assert page.select_slider(key="wall_iteration").options == [str(step) for step in range(1, 8)]
    assert "watch" not in [button.key for button in page.button]
    assert not page.exception


def test_a_word_nobody_knows_is_told_with_what_was_perhaps_meant():
    page = until_scores(open_page(data="emoji", bits="16", iterations="3", **{"search.words": "doggo"}))
    assert "“doggo” is not known from training." in texts(page)
    page.button(key="search_instead_0_dog").click().run()
    assert page.query_params["search.words"] == "dog"
    assert "not known" not in texts(page)
    assert not page.exception


def test_typing_changes_the_wall_and_the_address():
    page = until_scores(open_page(data="emoji", bits="16", iterations="3"))
    first = texts(page)
    page.text_input(key="search_words").set_value("flag").run()
    assert page.query_params["search.words"] == "flag"
    assert "flag: " in texts(page) != first
    assert not page.exception
