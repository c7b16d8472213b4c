"""The Runs page in AppTest: table, search, renaming, deleting, opening, and models from files."""

from dataclasses import replace
from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import SECONDS, make_page, texts, until
from streamlit.testing.v1 import AppTest

from smfh.datasets.planted import Planted
from smfh.experiments.comparison import Comparison, Grid, train_grid
from smfh.files import read_npz, write_npz
from smfh.hashing import CVH, SMFHPlus, save_hasher
from smfh.memory import BoundedCache
from smfh.runs import RunStore, ensure_saved
from smfh.ui import server
from smfh.ui.visitor import NOT_OWNER, owner_id

pytestmark = pytest.mark.slow
open_page = partial(app_pages.open_page, "pages/6_Runs.py")
SOURCE = Planted(items=60)
QUICK = SMFHPlus(iterations=2, rounds=1, anchors=20)


@pytest.fixture
def empty_store(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    monkeypatch.setattr(server, "_shared", BoundedCache(32))
    return RunStore()


@pytest.fixture
def store(empty_store):
    """Four runs in a folder for this test only."""
    grid = Grid(Comparison(SOURCE, (QUICK, CVH()), (4, 8), 1), *SOURCE.load())
    assert train_grid(grid, empty_store) == {}
    return empty_store


def test_the_table_has_all_runs_and_the_search_narrows_it(store):
    page = open_page(data="planted")
    table = page.run().dataframe[0].value
    assert sorted(zip(table["method"], table["bits"], strict=True)) == [
        (method, bits) for method in ("CVH", "SMFH+") for bits in (4, 8)
    ]
    assert {"text → image, mAP@100", "image → text, P@100", "seconds"} <= set(table.columns)
    page.text_input(key="runs_words").set_value("cvh 8 bits").run()
    assert page.dataframe[0].value["method"].tolist() == ["CVH"]
    page.text_input(key="runs_words").set_value("no such thing").run()
    assert not page.dataframe
    assert "No run matches" in page.info[0].value


def select(page: AppTest, store: RunStore, method: str, bits: int) -> AppTest:
    run = next(r for r in store.records() if (r.method.name, r.method.bits) == (method, bits))
    page.selectbox(key="runs_chosen").set_value(run.id).run()
    assert not page.exception
    return page


def test_with_the_edit_policy_owner_only_the_owner_can_edit_a_run(store, monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    ann, bob = "a" * 32, "b" * 32
    ensure_saved(store.saving_as(owner_id(ann)), SOURCE, CVH(bits=12), *SOURCE.load())
    damaged = next(r for r in store.records() if r.method.name == "smfh-plus")
    (store.folder / f"{damaged.id}.npz").write_bytes(b"PK")

    def offered(visitor, bits):
        page = select(open_page(data="planted", visitor=visitor), store, "cvh", bits)
        return page, {button.key for button in page.button} & {"runs_rename", "runs_delete", "runs_sweep"}

    assert offered(ann, 4)[1] == set()  # a run without an owner
    of_bob, buttons = offered(bob, 12)
    assert buttons == set()
    assert NOT_OWNER in [caption.value for caption in of_bob.caption]
    of_ann, buttons = offered(ann, 12)
    assert buttons == {"runs_rename", "runs_delete"}
    with monkeypatch.context() as before:
        before.setenv("SMFH_EDIT_POLICY", "anyone")
        of_bob.run()
    of_bob.button(key="runs_delete").click().run()  # drawn before the policy changed
    assert len(store.records()) == 4
    of_ann.button(key="runs_delete").click().run()
    assert len(store.records()) == 3


def test_the_visitor_who_trains_in_explore_is_the_owner(empty_store):
    query = {"data": "planted", "method": "cvh", "bits": "4", "data.items": "60"}
    until(make_page("streamlit_app.py", "a" * 32, **query), empty_store.records)
    assert [record.saved_by for record in empty_store.records()] == [owner_id("a" * 32)]


def test_unusable_files_are_listed_and_can_be_deleted(store):
    damaged, foreign = (store.folder / f"{run.id}.npz" for run in store.records()[:2])
    damaged.write_bytes(b"PK\x03\x04 half a file")
    arrays = read_npz(foreign)
    header = arrays["run"].tobytes().replace(b'"version": ', b'"version": 0.')
    write_npz(foreign, arrays | {"run": np.frombuffer(header, dtype=np.uint8)})
    page = open_page(data="planted")
    assert len(page.dataframe[0].value) == 2
    assert "2 files cannot be used" in [box.label for box in page.expander]
    assert all(file.stem[:12] in texts(page) for file in (damaged, foreign))
    page.button(key="runs_sweep").click().run()
    assert not page.exception
    assert store.listing().damaged == ()
    assert not damaged.exists()
    assert not foreign.exists()


@pytest.fixture
def model(tmp_path):
    data, split = SOURCE.load()
    path = tmp_path / "model.npz"
    save_hasher(replace(QUICK, bits=8, seed=5).fit(data.take(split.train)), path)
    return path


def upload(path) -> AppTest:
    page = open_page(data="planted")
    page.file_uploader(key="runs_upload").upload(path.name, path.read_bytes(), "application/octet-stream")
    assert not page.run().exception
    return page


def test_an_uploaded_model_opens_as_a_private_run(store, model):
    page = upload(model)
    assert "SMFH+ · 8 bits · seed 5 · trained on Planted" in texts(page)
    page.button(key="runs_show").click().run()
    assert not page.exception
    shown = page.session_state["shown"]
    assert shown.job.wait(timeout=SECONDS)
    assert shown.job.key.owner == page.session_state["visitor"]  # other visitors cannot get it
    assert shown.settings.source == SOURCE
    assert shown.job.result.scores("text", "image").queries == 15
    assert len(store.records()) == 4  # a model from a file is not saved


def test_models_of_other_data_and_damaged_files_are_refused(store, model, tmp_path):
    data, split = Planted(items=60, data_seed=9).load()
    save_hasher(CVH(bits=4).fit(data.take(split.train)), tmp_path / "other.npz")
    write_npz(tmp_path / "foreign.npz", {"x": np.arange(3)})
    (tmp_path / "cut.npz").write_bytes(model.read_bytes()[:-60])
    messages = {
        "other": "not trained on the items of Planted",
        "foreign": "foreign.npz is not a model",
        "cut": "truncated",
    }
    for name, message in messages.items():
        page = upload(tmp_path / f"{name}.npz")
        assert message in texts(page)
        assert "runs_show" not in [button.key for button in page.button]


@pytest.mark.parametrize("file", ["results.md", "server.md"])
def test_guides_open_in_the_app(empty_store, file):
    page = open_page(data="planted")
    page.button(key=f"guide_{file}").click().run()
    assert not page.exception
    (guide,) = (element.value for element in page.markdown if element.value.startswith("# "))
    assert ".md)" not in guide  # links to other files would not work
