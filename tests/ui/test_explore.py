"""The Explore page in AppTest: every available data set, each page run twice."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from unittest.mock import patch

import app_pages
import numpy as np
import pytest
from app_pages import until
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from smfh.datasets import DATASETS
from smfh.hashing import make_method
from smfh.retrieval import evaluation
from smfh.retrieval.search import TIES, query_from_item, search
from smfh.runs import RunStore, ensure_saved
from smfh.ui.explore.page import describe_relevance
from smfh.ui.explore.wall import WALL_HELP, describe_wall, valid_flips, wall_content
from smfh.ui.items import in_bits
from smfh.ui.search_state import SearchState, adapt_state
from smfh.ui.server import job_queue, snapshots_of

open_page = partial(app_pages.open_page, "streamlit_app.py")
pytestmark = pytest.mark.slow
OPTIONS = {"synthetic": {"data.items": "500"}}


def texts(page: AppTest) -> str:
    return "\n".join(element.value for element in [*page.subheader, *page.text])


def until_scores(page: AppTest) -> AppTest:
    """Rerun the page until the run is finished: it is then named above its scores, with charts below."""
    return until(page, lambda: page.metric and page.subheader and page.get("plotly_chart"))


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_trains_or_says_which_files_are_missing(name):
    page = open_page(data=name, bits="16", **OPTIONS.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_scores(page)
    again = page.run()
    assert not again.exception
    assert [metric.label for metric in again.metric[:2]] == ["training items", "unseen items"]
    assert again.get("plotly_chart")


def test_scores_stay_until_changed_settings_are_trained_and_are_compared_with_the_pinned_run():
    page = until_scores(open_page(data="planted", bits="16"))
    assert page.button(key="train").disabled
    before = [metric.value for metric in page.metric]
    with patch.object(evaluation, "rank", side_effect=AssertionError("ranked again")):
        page.slider(key="curve_k").set_value(7).run()
        page.toggle(key="curve_log").set_value(True).run()
        page.segmented_control(key="curve_protocol").set_value("unseen").run()
    page.button(key="pin_run").click().run()
    assert not any(metric.delta for metric in page.metric)  # a run is not compared with itself
    page.select_slider(key="control_smfh-plus_bits").set_value(32).run()
    assert [metric.value for metric in page.metric] == before
    assert "16 bits" in texts(page)
    assert page.query_params["bits"] == "32"
    with occupied_queue():
        page.button(key="train").click().run()
        assert [metric.value for metric in page.metric] == before  # stay while the next run trains
        assert not page.exception
    until_scores(page)
    assert " 32 bits" in texts(page)
    assert all("pinned" in metric.delta for metric in page.metric)
    assert "vs pinned" in page.metric[0].delta
    assert any("r 16 → 32" in text.value for text in page.text)


def test_all_scores_and_definitions_are_drawn_when_their_box_is_opened():
    page = until_scores(open_page(data="planted", bits="16"))
    assert not page.table
    page.session_state["all_figures"] = True
    page.run()
    assert not page.exception
    assert "P@100" in page.table[0].value["Score"].tolist()


def test_presets_that_cannot_be_told_apart_are_not_offered():
    page = until_scores(open_page(data="planted", bits="16")).run()
    (presets,) = [pills for pills in page.sidebar.pills if pills.label == "Preset"]
    assert presets.options == ["first hundred", "fine", "linear"]  # "whole ranking" cannot join more codes


@contextmanager
def occupied_queue():
    """Hold the queue, so that a run stays unfinished."""
    release = Event()
    job = job_queue().submit(object(), lambda context: release.wait(60))
    try:
        yield
    finally:
        release.set()
        job.wait()


def test_settings_that_cannot_be_trained_say_why():
    page = open_page(data="planted", bits="16", modality_weights="0.5,0.25,0.25")
    until(page, lambda: page.error)
    assert "3 modality weights" in page.error[0].value
    assert not page.exception


def test_a_failed_run_leaves_the_last_one_in_place_and_says_why():
    page = until_scores(open_page(data="planted", bits="16"))
    before = [metric.value for metric in page.metric]
    page.text_input(key="control_smfh-plus_modality_weights").set_value("0.5,0.25,0.25").run()
    page.button(key="train").click().run()
    until(page, lambda: any("Training stopped" in caption.value for caption in page.caption))
    assert any("3 modality weights" in caption.value for caption in page.caption)
    assert [metric.value for metric in page.metric] == before
    assert not page.error
    assert not page.button(key="train").disabled


def test_train_as_i_move_trains_the_newest_settings_and_pins_the_previous_run():
    page = until_scores(open_page(data="planted", bits="16"))
    page.toggle(key="train_on_change").set_value(True).run()
    for bits in (8, 32):
        page.select_slider(key="control_smfh-plus_bits").set_value(bits).run()
        until_scores(page)
        assert f" {bits} bits" in texts(page)
        assert page.button(key="train").disabled
    assert all("pinned" in metric.delta for metric in page.metric)


def typed(page: AppTest, label: str) -> TextInput:
    return next(box for box in page.text_input if box.label == label)


def test_a_number_can_be_typed_and_a_wrong_one_says_why():
    page = until_scores(open_page(data="planted", bits="16"))
    slider, label = "control_smfh-plus_graph_weight", "Graph weight (α): exact value"
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


def test_methods_show_the_main_controls_they_have():
    page = open_page(data="planted", method="smfh-plus", bits="16", iterations="3")
    assert typed(page, "Graph sample (m): exact value").value == "all"
    assert "m all" in texts(until_scores(page))
    page = open_page(data="planted", method="cmfh", bits="16", iterations="3")
    assert [box.label for box in page.text_input if "typed" in box.key] == [
        "Bits (r): exact value",
        "Projection weight (μ): exact value",
    ]


def test_cancel_returns_to_the_last_finished_run_and_a_saved_run_needs_no_train():
    page = until_scores(open_page(data="planted", bits="16"))
    before = texts(page), [metric.value for metric in page.metric]
    page.select_slider(key="control_smfh-plus_bits").set_value(48).run()
    with occupied_queue():
        page.button(key="train").click().run()
        assert not page.subheader  # its progress instead
        next(button for button in page.button if button.label == "Cancel").click().run()
        assert (texts(page), [metric.value for metric in page.metric]) == before
        assert not page.button(key="train").disabled
    page.button(key="train").click().run()
    until_scores(page)
    assert " 48 bits" in texts(page)
    page.select_slider(key="control_smfh-plus_bits").set_value(16).run()
    assert " 16 bits" in texts(until_scores(page))
    assert page.button(key="train").disabled


def test_another_data_set_starts_without_train():
    page = until_scores(open_page(data="planted", bits="10"))
    with occupied_queue():
        page.selectbox(key="control_data").set_value("emoji").run()
        assert page.session_state["shown"].settings.source.name == "emoji"
        next(button for button in page.button if button.label == "Cancel").click().run()
    page.run()
    assert "Planted" in texts(page)
    assert page.session_state["shown"].state == "cancelled"  # and does not start again by itself


def test_words_are_dropped_for_data_without_words():
    data, _ = DATASETS["planted"]().load()
    bare = replace(data, encoders={})
    assert adapt_state(SearchState("text", "image", words="cat"), bare).words is None


def test_relevance_is_stated_by_the_classes_that_contain_all_others():
    groups = np.eye(3, dtype=np.bool_)[[0, 0, 1, 1, 2, 2]]
    nested = np.hstack([groups, np.eye(6, dtype=np.bool_)[:, :4]])
    assert describe_relevance(groups) == "are in the query's class, one of three"
    assert describe_relevance(nested) == "are in the query's group, one of three"
    groups[0, 1] = True
    assert describe_relevance(groups) == "share at least one of three classes with the query"


def test_a_saved_run_can_be_replayed():
    query = {"data": "planted", "bits": "9", "iterations": "4"}
    source = DATASETS["planted"]()
    method = make_method("smfh-plus", bits=9, iterations=4)
    ensure_saved(RunStore(), source, method, *source.load())
    page = until_scores(open_page(**query))
    assert "wall_iteration" not in [slider.key for slider in page.select_slider]
    page.button(key="watch").click().run()
    until_scores(page)
    assert page.select_slider(key="wall_iteration").options == [str(step) for step in range(1, 8)]
    assert "watch" not in [button.key for button in page.button]
    assert not page.exception


@pytest.mark.parametrize("ties", TIES)
def test_the_wall_uses_the_same_database_and_ties_while_training(ties):
    link = {"data": "planted", "bits": "8", "iterations": "4", "start": "paused"}
    page = open_page(**link, **{"search.database": "unseen", "search.ties": ties, "search.row": "7"})
    until(page, lambda: "Resume" in [button.label for button in page.button])
    next(button for button in page.button if button.label == "Step").click().run()
    until(page, lambda: any("iteration 2 of" in bar.proto.text for bar in page.get("progress")))
    shown = page.session_state["shown"]
    (data, split), model = shown.loaded, snapshots_of(shown.job.key).frames()[-1]
    results = search(model, data, split, query_from_item(data, "text", 7), "image", "unseen", ties)
    described = describe_wall(results, SearchState("text", "image", database="unseen", ties=ties))
    assert f"{described} {WALL_HELP}" in [caption.value for caption in page.caption]
    assert described.startswith(f"{len(split.queries)} items (unseen items) searched")
    assert described.endswith(TIES[ties])
    next(button for button in page.button if button.label == "Resume").click().run()
    assert until_scores(page).select_slider(key="wall_iteration").value == 7


def test_the_wall_groups_tied_results_and_marks_exact_names(planted):
    data, split = planted
    hasher = make_method("smfh-plus", bits=8, iterations=4).fit(data.take(split.train))
    query = query_from_item(data, "text", int(split.queries[0]))
    results = search(hasher, data, split, query, "image", "all", flips=(3,), distance="hamming")
    state = SearchState("text", "image", row=query.row, flips=(3,), distance="hamming")
    content = wall_content(data, results, state)
    items = content["items"]
    assert [item["row"] for item in items] == results.rows[: len(items)].tolist()
    assert len({item["group"] for item in items}) == len(set(results.distances[: len(items)].tolist()))
    for item, distance in zip(items, results.distances.tolist(), strict=False):
        differing = sum(a != b for a, b in zip(item["code"], content["code"], strict=True))
        assert differing == distance
        assert item["label"] == ("same code" if differing == 0 else in_bits(differing))
    named = wall_content(data, replace(results, names=2), state)["items"]
    assert [item["label"] for item in named[:2]] == ["exact name"] * 2
    assert named[0]["group"] == named[1]["group"] != named[2]["group"]


@pytest.mark.parametrize("sent", [None, "3", {"a": 1}, [3, -1, 8, "x", 2.5, None, 3]])
def test_only_bits_that_exist_are_flipped(sent):
    assert valid_flips(sent, 8) == ((3,) if isinstance(sent, list) else ())


def test_a_link_reproduces_the_label_and_the_flipped_bits_of_a_search():
    data = DATASETS["planted"]().load()[0]
    link = {"search.row": "7", "search.flips": "1,5", "search.label": data.class_names[0]}
    page = until_scores(open_page(data="planted", bits="16", **link)).run()
    assert {key: page.query_params[key] for key in link} == link
    assert page.selectbox(key="search_label").value == data.class_names[0]
    having = int(data.labels[:, 0].sum()) - int(data.labels[7, 0])  # an item does not find itself
    assert any(caption.value.startswith(f"{having:,} items (all items with") for caption in page.caption)
    page.selectbox(key="search_label").set_value(None).run()
    assert any(caption.value.startswith(f"{len(data) - 1:,} items (all items)") for caption in page.caption)
    assert "search.flips" not in page.query_params  # another search
