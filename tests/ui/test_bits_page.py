"""The Bits page in AppTest: every available data set, each page run twice; handlers as functions."""

from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import until
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS
from smfh.plots import code_map
from smfh.retrieval.bits import BitTopic
from smfh.runs import Run
from smfh.ui.bits import LAST_SEARCH, arrange, groups_of, picked_row
from smfh.ui.canvas import brushed_rows
from smfh.ui.charts import picked_numbers

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/3_Bits.py")
SMALL = {"synthetic": {"data.items": "500"}, "planted": {}}
SPACE, QUERIES = "Map of codes", "Worst and best queries"


def until_bits(page: AppTest) -> AppTest:
    """Rerun the page until the run is finished."""
    return until(page, lambda: page.tabs)


def open_tab(page: AppTest, name: str) -> AppTest:
    page.session_state["bits_tab"] = name
    page.run()
    assert not page.exception
    return page


def headings(page: AppTest) -> list[str]:
    return [heading.value for heading in page.subheader]


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_all_tabs_or_says_which_files_are_missing(name):
    page = open_page(data=name, bits="16", **SMALL.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_bits(page)
    assert "Bit 0" in headings(page)
    assert "look_up_radius_16" not in [slider.key for slider in page.slider]  # only the open tab is drawn
    for tab in (SPACE, QUERIES):
        open_tab(page, tab)
        assert not page.run().exception
    assert page.dataframe[0].value.shape[0] > 0
    assert page.get("plotly_chart")


def test_the_radius_changes_size_hit_rate_and_gallery_together():
    page = open_tab(until_bits(open_page(data="planted", bits="16")), SPACE)
    seen = []
    for radius in (0, 16):
        page.slider(key="look_up_radius_16").set_value(radius).run()
        assert not page.exception
        values = {metric.label: metric.value for metric in page.metric}
        found = next(text.value for text in page.text if f"items within radius {radius}" in text.value)
        seen.append((float(values["Items found (mean)"]), values["Queries with a relevant item"], found))
    page.segmented_control(key="map_kind").set_value("t-SNE").run()
    assert not page.exception
    assert any("by t-SNE" in text.value for text in page.text)
    assert seen[0][0] < seen[1][0] == 300
    assert seen[1][1] == "100%"
    assert "finds 300 items within radius 16" in seen[1][2]


def test_the_last_search_is_on_the_map():
    page = app_pages.open_page("pages/2_Search.py", data="planted", bits="16", **{"search.source": "image"})
    until(page, lambda: "search_pick" in [box.key for box in page.selectbox])
    run: Run = page.session_state["shown"].job.result
    row = int(run.split.queries[5])
    page.selectbox(key="search_pick").set_value(row).run()
    page.switch_page("pages/3_Bits.py").run()
    open_tab(until_bits(page), SPACE)
    assert page.selectbox(key="space_query").value == LAST_SEARCH
    assert page.selectbox(key="space_direction").disabled
    near = np.count_nonzero(run.results("image", "text").distances[5] <= 2)
    assert any(f"finds {near} items within radius 2" in text.value for text in page.text)
    page.selectbox(key="space_query").set_value(0).run()
    assert not page.exception
    assert not page.selectbox(key="space_direction").disabled


def test_queries_can_be_filtered_by_class_and_sorted_both_ways():
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


def topic(number, kind="live", balance=0.5, name="a", agreement=1.0, group=None):
    classes, group = ((name, 0.5), ("z", -0.5)), group or (((number, 1),) if kind != "dead" else ())
    return BitTopic(number, balance, kind, classes, {}, (), agreement, 0.5, {}, group, ())


def test_bits_can_be_ordered_and_filtered():
    pair = ((2, 1), (3, -1))
    known = [topic(0, balance=0.1, name="b"), topic(1, "dead", 1.0)]
    known += [topic(2, agreement=0.7, group=pair), topic(3, "twin", group=pair)]

    def numbers(order, kind):
        return [shown.number for shown in arrange(known, order, kind)]

    assert numbers("Number", "All") == [0, 1, 2, 3]
    assert numbers("Correlated bits together", "All") == [2, 3, 0, 1]
    assert numbers("Class", "All") == [2, 0, 1, 3]
    assert numbers("Balance, most even first", "One bit per group") == [2, 0]
    assert numbers("Agreement, highest first", "One bit per group") == [0, 2]
    assert numbers("Number", "Dead or redundant") == [1, 3]
    assert groups_of(tuple(known)) == [pair, ((0, 1),)]


def test_selected_points_have_numbers():
    for points, numbers in (
        ([], []),
        ([{"customdata": 7}, {"customdata": 7}, {"customdata": [3]}], [7, 3]),
        ([{"x": 1.0}, {"customdata": None}, {"customdata": []}], []),
    ):
        assert picked_numbers({"selection": {"points": points}}) == numbers
    assert picked_numbers(None) == picked_numbers({}) == []


def test_a_click_on_a_row_or_a_cell_selects_the_row():
    assert picked_row({"selection": {"rows": [], "cells": []}}) is None
    assert picked_row({"selection": {"rows": [4], "cells": []}}) == 4
    assert picked_row({"selection": {"rows": [], "cells": [(2, "Query")]}}) == 2


def test_only_a_list_selects_rows_and_rows_of_another_map_are_left_out():
    rows, classes = np.array([40, 10, 30]), np.zeros(3, dtype=int)
    drawn = code_map("PCA", np.zeros((3, 2)), rows, classes, ("a",), list("xyz"), 3)
    assert brushed_rows([40, 7, 10, "x", None], drawn) == [40, 10]
    assert [brushed_rows(sent, drawn) for sent in (None, "rows", {"rows": [1]})] == [[], [], []]
