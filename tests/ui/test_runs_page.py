"""The Runs page in AppTest: table, cards, notes, comparison, editing, opening, and models from files."""

import json
from dataclasses import replace
from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import SECONDS, make_page, texts, until
from streamlit.testing.v1 import AppTest

from smfh.datasets import Emoji
from smfh.datasets.planted import Planted
from smfh.experiments.comparison import Comparison, Grid, train_grid
from smfh.files import read_npz, write_npz
from smfh.hashing import CVH, SMFHPlus, save_hasher
from smfh.memory import BoundedCache
from smfh.retrieval.search import SearchResults, query_from_item, search
from smfh.runs import RunRecord, RunStore, ensure_saved
from smfh.ui import server
from smfh.ui.plain import plain
from smfh.ui.runs import gallery
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


def show_cards(**query: str) -> AppTest:
    page = open_page(data="planted", **query)
    page.segmented_control(key="runs_view").set_value("Cards").run()
    assert not page.exception
    return page


def captions(page: AppTest) -> str:
    return "\n".join(element.value for element in page.caption)


def test_cards_have_settings_results_scores_and_a_curve(store):
    page = show_cards()
    (query,) = page.main.number_input  # Planted has no words, so the query is a held-out item
    assert query.label == "Held-out query for Planted · items 60, 1 to 15"
    assert not page.dataframe
    for run in store.records():
        assert f"{run.method.title} · {run.method.bits} bits · seed 0" in texts(page)
        score = run.headline("text", "image")["found"]
        assert f"mAP@100 text → image {score:.3f}\nmAP@100 image → text " in texts(page)
        assert "by Hamming distance" in texts(page)
    assert texts(page).count(" of 6 are relevant") == 4
    assert captions(page).count("in 2 iterations") == len(page.image) == 2  # CVH has no iterations
    before = texts(page)
    query.set_value(1 + query.value % 15).run()
    assert not page.exception
    assert texts(page) != before
    page.text_input(key="runs_words").set_value("cvh 8 bits").run()
    assert texts(page).count(" of 6 are relevant") == 1


def test_only_models_on_the_page_of_cards_are_read_and_only_once(store, monkeypatch):
    read, hasher = [], RunStore.hasher
    monkeypatch.setattr(gallery, "PAGE_CARDS", 2)
    monkeypatch.setattr(RunStore, "hasher", lambda *given: read.append(given[1].id) or hasher(*given))
    ids = [run.id for run in store.records()]
    page = show_cards()
    page.run()
    assert read == ids[:2]
    page.get("pagination")[0].set_value(2).run()
    assert read == ids
    page.text_input(key="runs_words").set_value("bits").run()  # a search goes back to the first page
    assert f"runs_open_{ids[0]}" in [button.key for button in page.button]
    assert read == ids


def test_typed_words_are_the_query_of_all_runs_on_a_data_set_with_text(empty_store):
    loaded = Emoji().load()
    for bits in (8, 16):
        ensure_saved(empty_store, Emoji(), CVH(bits=bits), *loaded)
    page = show_cards()
    (query,) = [box for box in page.text_input if box.label == "Query for Emoji"]
    assert query.value == "smiling cat"
    assert "Emoji: text “smiling cat” → image" in texts(page)
    assert len(page.image) == 2 * 6
    query.set_value("!?").run()
    assert not page.exception
    assert "Only scores: " in captions(page)
    assert texts(page).count("mAP@100 text → image") == 2


def test_cards_without_model_or_data_show_scores_and_the_reason(store, monkeypatch):
    run = store.records()[0]
    path = store.folder / f"{run.id}.npz"
    arrays = read_npz(path)
    header = json.loads(arrays["run"].tobytes()) | {"model_arrays": []}
    write_npz(path, arrays | {"run": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})
    page = show_cards()
    assert captions(page).count("the file of this run has no model") == 1
    assert texts(page).count(" of 6 are relevant") == 3
    monkeypatch.setattr(Planted, "missing", lambda self: ["Planted needs a file that is not here."])
    page.run()
    assert not page.exception
    assert captions(page).count("Only scores: Planted needs a file that is not here.") == 3
    assert texts(page).count("mAP@100 text → image") == 4
    page.button(key=f"runs_open_{run.id}").click().run()
    assert not page.exception
    assert page.warning[0].value == "The run cannot be opened:"


def test_a_page_of_cards_loads_few_data_sets(store, monkeypatch):
    other = Planted(items=60, data_seed=1)
    ensure_saved(store, other, CVH(bits=4), *other.load())
    monkeypatch.setattr(gallery, "MAX_DATA_SETS", 1)
    page = show_cards()
    assert len(page.main.number_input) == 1
    assert captions(page).count("Only scores: the cards of one page") == 4


def test_a_run_is_opened_from_its_card(store):
    run = store.records()[0]
    page = show_cards()
    page.button(key=f"runs_open_{run.id}").click().run()
    assert not page.exception
    shown = page.session_state["shown"]
    assert shown.settings.method == run.method
    assert shown.job.wait(timeout=SECONDS)


def test_a_note_is_saved_shown_and_searched(store):
    page = select(open_page(data="planted"), store, "cvh", 8)
    run = store.get(page.session_state["runs_chosen"])
    page.text_area(key=f"runs_note_{run.id}").set_value("For the <b>talk</b> *in May*")
    page.button(key="runs_save_note").click().run()
    assert not page.exception
    assert store.get(run.id).note == "For the <b>talk</b> *in May*"
    assert store.get(run.id).title == ""
    assert "For the <b>talk</b> *in May*" in texts(page)
    page.text_input(key="runs_words").set_value("talk may").run()
    assert page.dataframe[0].value["bits"].tolist() == [8]
    page.segmented_control(key="runs_view").set_value("Cards").run()
    assert plain("For the <b>talk</b> *in May*") in captions(page)


def test_only_the_owner_can_annotate_a_run(store, monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    page = select(open_page(data="planted"), store, "cvh", 8)
    assert not page.text_area
    with monkeypatch.context() as before:
        before.setenv("SMFH_EDIT_POLICY", "anyone")
        page.run()
    run = store.get(page.session_state["runs_chosen"])
    page.text_area(key=f"runs_note_{run.id}").set_value("mine")
    page.button(key="runs_save_note").click().run()  # drawn before the policy changed
    assert store.get(run.id).note == ""


def test_two_cards_are_compared_on_one_query(store):
    first, second, third, _ = store.records()
    page = show_cards()
    page.button(key=f"runs_compare_{first.id}").click().run()
    assert "select another run on the same data set" in captions(page)
    page.button(key=f"runs_compare_{third.id}").click().run()
    assert not page.exception
    assert "Two runs, one query" in [element.value for element in page.subheader]
    assert f"Different settings: r {first.method.bits} → {third.method.bits}" in texts(page)
    found = [search_with(store, run, page.main.number_input[0].value - 1) for run in (first, third)]
    shared = len(set(found[0].rows) & set(found[1].rows))
    assert f"Results in common: {shared} of the first 12" in texts(page)
    for results in found:
        assert f"This query: AP@100 {results.average_precision:.3f}" in texts(page)
    assert len(page.main.number_input) == 1
    page.button(key=f"runs_compare_{second.id}").click().run()  # takes the place of the first
    assert page.session_state["runs_compared"] == [third.id, second.id]
    assert "Different settings: CVH → SMFH+, bits 4 → 8" in texts(page)
    page.button(key="runs_compare_end").click().run()
    assert not page.exception
    assert "Two runs, one query" not in [element.value for element in page.subheader]


def search_with(store: RunStore, run: RunRecord, query: int) -> SearchResults:
    data, split = SOURCE.load()
    item = query_from_item(data, "text", int(split.queries[query]))
    return search(store.hasher(run), data, split, item, "image", "all", limit=12)


def test_the_last_two_rows_are_compared_with_their_own_query_field(store):
    ids = [run.id for run in store.records()]

    def select_rows(*selections):
        from smfh.ui.runs.listing import select_runs

        for selected in selections:
            select_runs(selected)

    # AppTest cannot select rows of a table; the table lists them in its own order
    selections = ([ids[3]], [ids[1], ids[3]], [ids[0], ids[1], ids[3]])
    state = AppTest.from_function(select_rows, args=selections).run().session_state
    assert state["runs_compared"] == [ids[1], ids[0]]
    assert state["runs_chosen"] == ids[0]
    page = make_page("pages/6_Runs.py", data="planted")
    page.session_state["runs_compared"] = state["runs_compared"]
    assert not page.run().exception
    assert len(page.main.number_input) == 1
    assert " of the first 12" in texts(page)


def test_runs_on_different_data_sets_are_not_compared(store):
    other = Planted(items=60, data_seed=1)
    last = ensure_saved(store, other, CVH(bits=4), *other.load())
    page = show_cards()
    page.button(key=f"runs_compare_{store.records()[1].id}").click().run()
    page.button(key=f"runs_compare_{last.id}").click().run()
    assert not page.exception
    assert page.session_state["runs_compared"] == [last.id]
    assert "cannot be compared" in page.toast[0].value


def test_with_the_edit_policy_owner_only_the_owner_can_edit_a_run(store, monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    ann, bob = "a" * 32, "b" * 32
    ensure_saved(store.saving_as(owner_id(ann)), SOURCE, CVH(bits=12), *SOURCE.load())
    damaged = next(r for r in store.records() if r.method.name == "smfh-plus")
    (store.folder / f"{damaged.id}.npz").write_bytes(b"PK")

    def offered(visitor, bits):
        page = select(open_page(data="planted", visitor=visitor), store, "cvh", bits)
        return page, {button.key for button in page.button} & {"runs_save_title", "runs_delete", "runs_sweep"}

    assert offered(ann, 4)[1] == set()  # a run without an owner
    of_bob, buttons = offered(bob, 12)
    assert buttons == set()
    assert NOT_OWNER in [caption.value for caption in of_bob.caption]
    of_ann, buttons = offered(ann, 12)
    assert buttons == {"runs_save_title", "runs_delete"}
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
        "other": "trained neither on the items of Planted",
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
