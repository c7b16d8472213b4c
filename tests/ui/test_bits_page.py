"""Bits in AppTest: every data set that is there, each page run twice; handlers as plain functions."""

from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import until
from streamlit.testing.v1 import AppTest

from smfh.bits import BitTopic, correlate, database_bits, group_votes
from smfh.datasets import DATASETS
from smfh.evaluation import evaluate
from smfh.hashing import SMFHPlus
from smfh.runs import Run
from smfh.ui.bits.asked import LAST
from smfh.ui.bits.chosen import Chosen, chosen_part
from smfh.ui.bits.matrix import groups_of
from smfh.ui.bits.queries import order_queries, picked_row
from smfh.ui.bits.space import class_shares
from smfh.ui.bits.tiles import arrange, tile_of
from smfh.ui.bits.topic import disagreement_in_words
from smfh.ui.charts import picked_numbers

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/3_Bits.py")
BIT = "bits.bit"
SMALL = {"synthetic": {"data.items": "500"}, "planted": {}}
SPACE, QUERIES = "The space of codes", "Worst and best queries"


def until_bits(page: AppTest) -> AppTest:
    """Look again as the page does by itself, until the run is over."""
    return until(page, lambda: page.tabs)


def open_tab(page: AppTest, name: str) -> AppTest:
    page.session_state["bits_tab"] = name
    page.run()
    assert not page.exception
    return page


def headings(page: AppTest) -> list[str]:
    return [heading.value for heading in page.subheader]


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_bits_and_all_tabs_or_says_what_it_needs(name):
    page = open_page(data=name, bits="16", **SMALL.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_bits(page)
    assert "Bit 0" in headings(page)
    for tab in (SPACE, QUERIES):
        open_tab(page, tab)
        assert not page.run().exception
    assert page.dataframe[0].value.shape[0] > 0
    assert page.get("plotly_chart")


def test_only_the_open_tab_is_computed():
    page = until_bits(open_page(data="planted", bits="16"))
    assert not _has(page, "look_up_radius")
    assert not _has(page, "query_direction", "selectbox")
    open_tab(page, SPACE)
    assert _has(page, "look_up_radius")
    assert not _has(page, "query_direction", "selectbox")


def _has(page: AppTest, key: str, kind: str = "slider") -> bool:
    return key in [element.key for element in page.get(kind)]


def test_codes_and_votes_are_counted_before_any_bit_is_looked_at():
    page = until_bits(open_page(data="planted", bits="16"))
    run: Run = page.session_state["shown"].job.result
    codes = database_bits(run.hasher, run.data, run.split)
    different = len(np.unique(codes, axis=0))
    told = next(text.value for text in page.text if "different votes" in text.value)
    assert f"300 items share {different} codes" in told
    assert f"16 bits cast {len(group_votes(correlate(codes)))} different votes" in told


def test_a_chosen_bit_is_shown_and_stays_in_the_link():
    page = until_bits(open_page(data="planted", bits="16"))
    page.number_input(key="bit_number").set_value(7).run()
    assert "Bit 7" in headings(page)
    assert page.query_params[BIT] == "7"
    relative = next(button for button in page.button if str(button.key).startswith("relative_"))
    number = relative.key.removeprefix("relative_")
    relative.click().run()
    assert f"Bit {number}" in headings(page)
    assert page.number_input(key="bit_number").value == int(number)


def test_a_link_opens_its_bit():
    page = until_bits(open_page(data="planted", bits="16", **{BIT: "5"}))
    assert "Bit 5" in headings(page)
    assert not page.warning


@pytest.mark.parametrize("text", ["16", "-1", "seven", "1e3", "٣", "9" * 40, "<b>x</b>", ""])
def test_a_wrong_bit_in_the_link_is_told_and_falls_back(text):
    page = until_bits(open_page(data="planted", bits="16", **{BIT: text}))
    assert any(heading.startswith("Bit ") for heading in headings(page))
    assert "A part of the link cannot be used" in page.warning[0].value
    told = f"bit must be a whole number from 0 to 15; got {text[:40]!r}."
    assert told in [shown.value for shown in page.text]
    assert not page.run().exception


def test_a_shorter_code_falls_back_to_a_bit_that_it_has():
    page = until_bits(open_page(data="planted", bits="16", **{BIT: "15"}))
    page.select_slider(key="control_smfh-plus_bits").set_value(8).run()
    page.button(key="train").click().run()
    until_bits(page)
    assert page.number_input(key="bit_number").max == 7
    assert "Bit 15" not in headings(page)


def test_the_radius_moves_the_size_the_hit_rate_and_the_gallery_together():
    page = open_tab(until_bits(open_page(data="planted", bits="16")), SPACE)
    seen = []
    for radius in (0, 16):
        page.slider(key="look_up_radius").set_value(radius).run()
        assert not page.exception
        values = {metric.label: metric.value for metric in page.metric}
        told = next(text.value for text in page.text if f"items within radius {radius}" in text.value)
        seen.append((float(values["Items found, mean"].replace(",", "")), values["Queries with a hit"], told))
    assert seen[0][0] < seen[1][0] == 300
    assert seen[1][1] == "100%"
    assert "finds 300 items within radius 16" in seen[1][2]


def test_the_last_question_of_the_search_page_is_on_the_map():
    page = app_pages.open_page("pages/2_Search.py", data="planted", bits="16", **{"search.source": "image"})
    until(page, lambda: "search_pick" in [box.key for box in page.selectbox])
    run: Run = page.session_state["shown"].job.result
    row = int(run.split.queries[5])
    page.selectbox(key="search_pick").set_value(row).run()
    page.switch_page("pages/3_Bits.py").run()
    open_tab(until_bits(page), SPACE)
    assert page.selectbox(key="space_query").value == LAST
    assert page.selectbox(key="space_direction").disabled
    near = np.count_nonzero(run.answers("image", "text").distances[5] <= 2)
    assert any(f"finds {near} items within radius 2" in text.value for text in page.text)
    page.selectbox(key="space_query").set_value(0).run()
    assert not page.exception
    assert not page.selectbox(key="space_direction").disabled


def test_both_maps_are_drawn_and_kept():
    page = open_tab(until_bits(open_page(data="planted", bits="16")), SPACE)
    page.segmented_control(key="map_kind").set_value("t-SNE").run()
    assert not page.exception
    assert any("by t-SNE" in text.value for text in page.text)


def test_queries_can_be_filtered_by_class_and_turned_round():
    page = open_tab(until_bits(open_page(data="planted", bits="16")), QUERIES)
    everything = page.dataframe[0].value
    assert list(everything["AP"]) == sorted(everything["AP"])
    page.multiselect(key="query_classes").set_value(["class 2"]).run()
    some = page.dataframe[0].value
    assert 0 < len(some) < len(everything)
    assert set(some["Labels"]) == {"class 2"}
    page.segmented_control(key="query_end").set_value("Best").run()
    turned = page.dataframe[0].value
    assert list(turned["AP"]) == sorted(some["AP"], reverse=True)


def topic(number, kind="live", balance=0.5, name="a", agreement=1.0, group=None, fidelity=None):
    classes, group = ((name, 0.5), ("z", -0.5)), group or (((number, 1),) if kind != "dead" else ())
    return BitTopic(number, balance, kind, classes, {}, (), agreement, 0.5, fidelity or {}, group, ())


def test_bits_can_be_ordered_and_filtered():
    pair = ((2, 1), (3, -1))
    known = [
        topic(0, balance=0.1, name="b"),
        topic(1, "dead", 1.0),
        topic(2, agreement=0.7, group=pair),
        topic(3, "twin", group=pair),
    ]

    def numbers(order, kind):
        return [shown.number for shown in arrange(known, order, kind)]

    assert numbers("Number", "All") == [0, 1, 2, 3]
    assert numbers("Bits that vote together", "All") == [2, 3, 0, 1]
    assert numbers("Class it follows", "All") == [2, 0, 1, 3]
    assert numbers("Balance, the evenest first", "One of each vote") == [2, 0]
    assert numbers("Agreement, the highest first", "One of each vote") == [0, 2]
    assert numbers("Number", "Dead or repeated") == [1, 3]
    assert groups_of(tuple(known)) == [pair, ((0, 1),)]


def test_a_tile_shows_the_classes_that_the_bit_follows():
    tile = tile_of(topic(4, name="b", group=((1, 1), (4, -1))), ("z", "a", "b"))
    assert (tile.number, tile.kind, tile.classes, tile.echoes) == (4, "echo", (2,), (1, -1))


def test_a_bit_on_which_modalities_disagree_says_which_is_the_farther():
    told = disagreement_in_words(topic(0, agreement=0.56, fidelity={"text": 0.91, "image": 0.74}))
    assert "image is the farther from the database (74% of items have its bit, text: 91%)" in told
    assert (
        "κ 0.12, told from 0.4 on). They give the same for 56% of held-out items, and would by chance for 50%"
        in told
    )
    even = disagreement_in_words(topic(0, agreement=0.56, fidelity={"text": 0.97, "image": 0.98}))
    assert "none is much farther" in even


@pytest.mark.parametrize(
    ("event", "numbers"),
    [
        (None, []),
        ({}, []),
        ({"selection": {"points": []}}, []),
        ({"selection": {"points": [{"customdata": 7}, {"customdata": 7}, {"customdata": [3]}]}}, [7, 3]),
        ({"selection": {"points": [{"x": 1.0}, {"customdata": None}, {"customdata": []}]}}, []),
    ],
)
def test_what_is_picked_is_read_from_the_points_that_carry_a_number(event, numbers):
    assert picked_numbers(event) == numbers


@pytest.mark.parametrize(
    ("event", "row"),
    [
        (None, None),
        ({"selection": {"rows": [], "cells": []}}, None),
        ({"selection": {"rows": [4], "cells": []}}, 4),
        ({"selection": {"rows": [], "cells": [(2, "Query")]}}, 2),
    ],
)
def test_a_click_on_a_row_or_a_cell_picks_the_row(event, row):
    assert picked_row(event) == row


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("15", 15), ("16", None), ("-1", None), ("x", None)])
def test_a_bit_is_read_from_text(text, number):
    part = chosen_part(tuple(topic(k, "live" if k else "dead") for k in range(16)))
    chosen, notes = part.read({BIT: text})
    assert chosen == Chosen(1 if number is None else number)  # the first of use where there is no such bit
    assert bool(notes) == (number is None)


def test_the_shares_of_classes_name_the_commonest(planted):
    data, _ = planted
    rows = [int(row) for row in np.flatnonzero(data.labels[:, 1])[:3]]
    assert class_shares(data, rows).startswith("100% class 1")


def test_worst_and_best_queries_are_ordered_by_their_score(planted):
    data, split = planted
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    score = evaluate(hasher, data, split, "text", "image").average_precision["found"]
    worst = order_queries(score, data, split.queries, (), best=False)
    best = order_queries(score, data, split.queries, (), best=True)
    assert np.all(np.diff(score.by_query[worst]) >= 0)
    assert np.all(np.diff(score.by_query[best]) <= 0)
    assert sorted(worst) == sorted(best) == list(range(len(split.queries)))
    only = order_queries(score, data, split.queries, ("class 0",), best=True)
    assert data.labels[split.queries[only], 0].all()
