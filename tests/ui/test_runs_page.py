"""Runs in AppTest: the table, its filters, renaming, deleting, opening, and models from files."""

import time
from dataclasses import replace
from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import SECONDS, texts
from streamlit.testing.v1 import AppTest

from smfh.comparison import Comparison, Grid, train_grid
from smfh.datasets import DATASETS
from smfh.datasets.planted import Planted
from smfh.files import read_npz, write_npz
from smfh.hashing import CVH, SMFHPlus, save_hasher
from smfh.memory import Memory
from smfh.runs import RunStore, find_or_keep
from smfh.ui import server
from smfh.ui.rights import OTHERS, maker_of
from smfh.ui.runs.table import matching, row_of, usual_directions

pytestmark = pytest.mark.slow
open_page = partial(app_pages.open_page, "pages/6_Runs.py")
SOURCE = Planted(items=60)
QUICK = SMFHPlus(iterations=2, rounds=1, anchors=20)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A folder of its own, with four runs; the page finds it as it finds the usual one."""
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "_shared", Memory(32))
    store = RunStore()
    assert train_grid(Grid(Comparison(SOURCE, (QUICK, CVH()), (4, 8), 1), *SOURCE.load()), store) == {}
    return store


def test_without_runs_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "_shared", Memory(32))
    page = open_page(data="planted")
    assert "Nothing is kept yet" in page.info[0].value
    assert not page.run().exception


def test_every_run_is_in_the_table_and_a_second_look_is_the_same(store):
    page = open_page(data="planted")
    for _ in range(2):
        table = page.dataframe[0].value
        assert len(table) == 4
        assert set(table["bits"]) == {4, 8}
        assert set(table["method"]) == {"SMFH+", "CVH"}
        assert table["data"][0] == "Planted · items 60"
        assert {"text → image, mAP@100", "image → text, P@100", "seconds"} <= set(table.columns)
        assert "4 of 4 runs" in page.caption[1].value
        page.run()
        assert not page.exception


def test_search_and_filters_narrow_the_table(store):
    page = open_page(data="planted")
    page.text_input(key="runs_words").set_value("cvh 8 bits").run()
    assert page.dataframe[0].value["method"].tolist() == ["CVH"]
    page.text_input(key="runs_words").set_value("").run()
    page.multiselect(key="runs_method").set_value(["smfh-plus"]).run()
    assert set(page.dataframe[0].value["method"]) == {"SMFH+"}
    page.text_input(key="runs_words").set_value("no such thing").run()
    assert not page.dataframe
    assert "No run fits" in page.info[0].value


def chosen(page: AppTest, store: RunStore, method: str, bits: int) -> AppTest:
    run = next(r for r in store.records() if (r.method.name, r.method.bits) == (method, bits))
    page.selectbox(key="runs_chosen").set_value(run.id).run()
    assert not page.exception
    return page


def test_a_run_is_renamed_and_found_by_its_new_name(store):
    page = chosen(open_page(data="planted"), store, "cvh", 4)
    (run,) = (r for r in store.records() if (r.method.name, r.method.bits) == ("cvh", 4))
    page.text_input(key=f"runs_title_{run.id}").set_value("*my* <b>baseline</b>")
    page.button(key="runs_rename").click().run()
    assert not page.exception
    assert store.get(run.id).title == "*my* <b>baseline</b>"
    page.text_input(key="runs_words").set_value("baseline").run()
    assert page.dataframe[0].value["title"].tolist() == ["*my* <b>baseline</b>"]
    assert not any("<b>" in element.value for element in page.markdown)


def test_a_run_is_deleted_after_a_second_word(store):
    page = chosen(open_page(data="planted"), store, "cvh", 4)
    assert len(store.records()) == 4
    page.button(key="runs_delete").click().run()
    assert not page.exception
    assert len(store.records()) == 3
    assert len(page.dataframe[0].value) == 3
    assert page.selectbox(key="runs_chosen").value is None


def test_where_only_makers_may_nobody_elses_run_is_renamed_or_deleted(store, monkeypatch):
    monkeypatch.setenv("SMFH_CHANGED_BY", "maker")
    ann = "a" * 32
    method = CVH(bits=12)
    find_or_keep(store.by(maker_of(ann)), SOURCE, method, *SOURCE.load())
    damaged = next(r for r in store.records() if r.method.name == "smfh-plus")
    (store.folder / f"{damaged.id}.npz").write_bytes(b"PK")
    orders = {"runs_rename", "runs_delete", "runs_sweep"}

    def offered(visitor, bits):
        page = open_page(data="planted", visitor=visitor)
        chosen(page, store, "cvh", bits)
        return page, {button.key for button in page.button} & orders

    assert offered("b" * 32, 12)[1] == offered(ann, 4)[1] == set()  # another's, and nobody's
    page, there = offered(ann, 12)
    assert there == {"runs_rename", "runs_delete"}
    bob = chosen(open_page(data="planted", visitor="b" * 32), store, "cvh", 12)
    assert OTHERS in [caption.value for caption in bob.caption]
    with monkeypatch.context() as while_drawn:
        while_drawn.setenv("SMFH_CHANGED_BY", "all")
        bob.run()
    bob.button(key="runs_delete").click().run()  # a page that was drawn under other rules
    assert len(store.records()) == 4
    page.button(key="runs_delete").click().run()
    assert not page.exception
    assert len(store.records()) == 3


def test_who_trains_in_explore_is_the_maker(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "_shared", Memory(32))
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=SECONDS)
    page.query_params.update(data="planted", method="cvh", bits="4", **{"data.items": "60"})
    page.session_state["visitor"] = "a" * 32
    page.run()
    assert page.session_state["shown"].job.wait(timeout=SECONDS)
    until = time.monotonic() + SECONDS
    while not (records := RunStore().records()):  # it is written a moment later
        assert time.monotonic() < until
        time.sleep(0.05)
    assert [record.maker for record in records] == [maker_of("a" * 32)]


def test_damaged_files_are_told_and_can_be_deleted(store):
    run = store.records()[0]
    (store.folder / f"{run.id}.npz").write_bytes(b"PK\x03\x04 half a file")
    page = open_page(data="planted")
    assert len(page.dataframe[0].value) == 3
    assert run.id[:12] in texts(page)
    page.button(key="runs_sweep").click().run()
    assert not page.exception
    assert store.listing().damaged == ()


def test_runs_of_an_older_version_are_not_called_damaged(store):
    path = store.folder / f"{store.records()[0].id}.npz"
    arrays = read_npz(path)
    header = arrays["run"].tobytes().replace(b'"version": 3', b'"version": 2')
    write_npz(path, arrays | {"run": np.frombuffer(header, dtype=np.uint8)})
    page = open_page(data="planted")
    assert [box.label for box in page.expander if "file" in box.label] == [
        "One file is made by an older version"
    ]
    assert "planted, made by an older version of this program; train it again." in texts(page)
    page.button(key="runs_older").click().run()
    assert not page.exception
    assert not path.exists()


def test_a_run_opens_in_explore_with_its_settings(store):
    page = chosen(open_page(data="emoji"), store, "smfh-plus", 8)
    page.button(key="runs_open_button").click().run()
    assert not page.exception
    assert page.title[0].value == "Explore"
    shown = page.session_state["shown"]
    assert (shown.settings.source, shown.method) == (SOURCE, replace(QUICK, bits=8))
    assert shown.job.wait(timeout=SECONDS)
    assert shown.job.state == "finished"
    assert page.query_params["data.items"] in ("60", ["60"])
    assert page.query_params["iterations"] in ("2", ["2"])


def test_a_run_of_an_older_split_is_told_and_stays_here(store, monkeypatch):
    page = chosen(open_page(data="planted"), store, "cvh", 8)
    data, split = SOURCE.load()
    monkeypatch.setattr(Planted, "load", lambda *_, **__: (data.take(split.train), split))
    monkeypatch.setattr(server, "_shared", Memory(32))
    page.button(key="runs_open_button").click().run()
    assert not page.exception
    assert page.title[0].value == "Runs"
    assert "another split or version of its data" in texts(page)


@pytest.fixture
def model(tmp_path):
    data, split = SOURCE.load()
    path = tmp_path / "model.npz"
    save_hasher(replace(QUICK, bits=8, seed=5).fit(data.take(split.train)), path)
    return path


def drop(page: AppTest, path) -> AppTest:
    page.file_uploader(key="runs_upload").upload(
        path.name, path.read_bytes(), "application/octet-stream"
    ).run()
    assert not page.exception
    return page


def test_a_model_of_known_data_becomes_the_shown_run_of_this_visitor_alone(store, model):
    page = drop(open_page(data="planted"), model)
    assert "SMFH+ · 8 bits · seed 5 · trained on Planted" in texts(page)
    page.button(key="runs_show").click().run()
    assert not page.exception
    shown = page.session_state["shown"]
    assert shown.job.wait(timeout=SECONDS)
    assert shown.job.key.owner not in ("", page.session_state["visitor"])
    assert shown.settings.source == SOURCE
    assert shown.job.result.scores("text", "image").queries == 15
    assert len(store.records()) == 4  # what a file claims is not kept


def test_a_model_of_other_data_is_refused_in_words(store, tmp_path):
    other = Planted(items=60, data_seed=9)
    data, split = other.load()
    path = tmp_path / "other.npz"
    save_hasher(CVH(bits=4).fit(data.take(split.train)), path)
    page = drop(open_page(data="planted"), path)
    assert "trained on other items than Planted" in texts(page)
    assert "runs_show" not in [button.key for button in page.button]


def test_foreign_and_damaged_files_are_refused_in_words(store, model, tmp_path):
    foreign = tmp_path / "foreign.npz"
    write_npz(foreign, {"x": np.arange(3)})
    page = drop(open_page(data="planted"), foreign)
    assert "not a model that this program saved" in texts(page)
    cut = tmp_path / "cut.npz"
    cut.write_bytes(model.read_bytes()[:-60])
    page = drop(open_page(data="planted"), cut)
    assert "truncated" in texts(page)


def test_words_are_sought_in_all_that_describes_a_run(store):
    runs = store.records()
    assert len(matching(runs, "PLANTED smfh+")) == 2
    assert len(matching(runs, "items 60", methods=["cvh"])) == 2
    assert matching(runs, "", data=["wiki"]) == []
    assert usual_directions(runs) == runs[0].directions
    assert row_of(runs[0], [("smell", "touch")])["smell → touch, mAP@100"] is None


@pytest.mark.parametrize("name", DATASETS)
def test_it_opens_whatever_data_is_set(store, name):
    page = open_page(data=name)
    assert page.dataframe
    assert not page.run().exception
