"""The Data page in AppTest: cards, downloads, browsing, and uploads, also hostile ones."""

import gc
import io
import json
import socket
import threading
import weakref
import zipfile
from collections.abc import Iterator

import numpy as np
import pytest
from app_pages import SECONDS, make_page, texts, until
from layouts import Items, coco, columns_csv
from PIL import Image
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS, Planted, wiki
from smfh.datasets.user_data import UserDataset, example_archive
from smfh.types import MultimodalDataset, Split
from smfh.ui import server
from smfh.ui.data.browse import matching_rows
from smfh.ui.items import feature_tile, looks_of
from smfh.ui.server import Upload, forget, forget_sources, job_queue, upload_of

pytestmark = pytest.mark.slow

SMALL = {"synthetic": {"data.items": "500"}}


def open_page(tab: str = "", **query: str) -> AppTest:
    page = make_page("pages/8_Data.py", **query)
    if tab:
        page.session_state["data_tab"] = tab
    return page.run()


def upload(page: AppTest, name: str, content: bytes) -> AppTest:
    return page.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


def traces_of_upload(page: AppTest) -> list[str]:
    keys = ("own_uploaded", "own_previewed", "own_menu_labels", "shown", "pinned")
    found = [key for key in keys if key in page.session_state]
    return [*found, "data"] if uploaded_data(page) else found


def uploaded_data(page: AppTest) -> Upload | None:
    return upload_of(page.session_state["visitor"])


def reload(page: AppTest) -> AppTest:
    """A new visit by the same browser, at the same address."""
    again = make_page("streamlit_app.py")
    again.session_state["visitor"] = page.session_state["visitor"]
    again.query_params.update(page.query_params)
    return again


def use(content: bytes, name: str = "mine.zip", **query: str) -> AppTest:
    page = upload(open_page(**({"data": "planted"} | query)), name, content)
    return page.button(key="own_use").click().run()


def feature_table(label: str = "{}", caption: str = "{}", modality: str = "text") -> bytes:
    """A .csv of twelve items in three classes."""
    rows = ["image:1,image:2," + f"{modality}:1,{modality}:2,caption,labels"]
    rows += [f'{k % 3},{k % 2},{k % 3},1,"{caption.format(k)}",{label.format(k % 3)}' for k in range(12)]
    return "\n".join(rows).encode()


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_is_drawn_or_its_missing_files_are_listed(name):
    page = open_page(data=name, **SMALL.get(name, {})).run()
    assert not page.exception
    missing = DATASETS[name]().missing()
    assert all(line in texts(page) for line in missing)
    assert missing or page.image
    page.session_state["data_tab"] = "Browse pairs"
    page.run().run()
    assert not page.exception
    assert bool(page.info) == bool(missing)
    assert bool(page.get("plotly_chart")) == (not missing)
    assert any("1 to 24 of" in caption.value for caption in page.caption) == (not missing)


def test_cards_load_only_the_selected_set(monkeypatch):
    def refuse(*_args, **_more):
        raise AssertionError("loaded for its card")

    forget_sources(lambda key: True)
    for source in DATASETS.values():
        if source is not Planted:
            monkeypatch.setattr(source, "load", refuse)
    page = open_page(data="planted").run()
    assert not page.exception


def test_the_use_button_changes_the_sidebar_and_the_link():
    page = open_page(data="emoji")
    page.button(key="use_planted").click().run()
    assert page.selectbox(key="control_data").value == "planted"
    assert "planted" in page.query_params["data"]
    page.button(key="browse_chosen").click().run()
    assert page.session_state["data_tab"] == "Browse pairs"
    assert any("Planted: 1 to 24 of 400" in caption.value for caption in page.caption)
    assert not page.exception


def test_a_link_that_hides_the_data_menu_fixes_the_data():
    page = open_page(data="planted", hide="data")
    assert page.button(key="use_synthetic").disabled
    page = upload(page, "mine.zip", example_archive())
    assert "own_use" not in [button.key for button in page.button]
    assert any("sets the data set" in info.value for info in page.info)


def test_pairs_are_filtered_by_class_and_word_and_paged():
    page = open_page("Browse pairs", data="planted")
    page.pagination(key="browse_page").set_value(2).run()
    assert any("25 to 48 of 400" in caption.value for caption in page.caption)
    page.multiselect(key="browse_classes").set_value(["class 1"]).run()
    items = int(Planted().load()[0].labels[:, 1].sum())
    assert any(f"1 to 24 of {items} items" in caption.value for caption in page.caption)
    page.text_input(key="browse_words").set_value("class 2").run()
    assert any("Remove a class or a word" in info.value for info in page.info)
    page.selectbox(key="control_data").set_value("emoji")  # has no such class
    assert not page.run().exception


@pytest.fixture(scope="module")
def pairs() -> tuple[MultimodalDataset, Split]:
    """Six items: red, red and green, green, twice."""
    labels = np.array([[1, 0], [1, 1], [0, 1]] * 2, dtype=np.bool_)
    captions = ["A red ball", "red and green", "Green GRASS", "a RED car", "green, red", ""]
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    data = MultimodalDataset("pairs", {"image": X, "text": X}, labels, ("red", "green"), captions)
    return data, Split(np.array([5, 0, 1]), np.array([2, 4, 3]))


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"part": "training"}, [0, 1, 5]),
        ({"part": "queries"}, [2, 3, 4]),
        ({"classes": ["red"]}, [0, 1, 3, 4]),
        ({"classes": ["red", "green"]}, [0, 1, 2, 3, 4, 5]),
        ({"classes": ["red", "green"], "every_class": True}, [1, 4]),
        ({"words": "green RED"}, [1, 4]),
        ({"words": "green"}, [1, 2, 4, 5]),  # the last has no caption but its label
        ({"classes": ["green"], "words": "grass", "part": "queries"}, [2]),
        ({"words": "blue"}, []),
    ],
)
def test_the_rows_that_match_a_filter(pairs, chosen, rows):
    assert matching_rows(*pairs, **chosen).tolist() == rows


@pytest.mark.parametrize("dimensions", [1, 2, 10, 128, 1024, 1025, 5000])
def test_a_tile_has_a_cell_for_each_dimension_or_their_means(dimensions):
    features = np.zeros(dimensions)
    empty = tile_pixels(features)
    features[-1] = 3.0
    marked = (tile_pixels(features) != empty).any(axis=2)
    rows, columns = np.flatnonzero(marked.any(axis=1)), np.flatnonzero(marked.any(axis=0))
    assert marked.sum() == len(rows) * len(columns) > 0  # one bar or cell


def tile_pixels(features: np.ndarray) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(feature_tile(features))).convert("RGB"))


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    """No data in memory, neither before nor after: files of the same name may hold other data."""
    forget_sources(lambda key: True)
    yield
    forget_sources(lambda key: True)


@pytest.mark.usefixtures("small_wiki", "nothing_loaded")
def test_features_are_drawn_for_items_without_pictures():
    data, _ = DATASETS["wiki"]().load()
    rows = range(len(data))
    for modality in data.modalities:
        assert len(set(looks_of(data, rows, modality))) == len(data)
    page = open_page("Browse pairs", data="wiki").run()
    assert not page.exception
    assert len(page.image) == 6 + 2 * len(data)  # on the card, and of both modalities
    assert "text0-1.2 / image0" in texts(page)


def wait_for_download(page: AppTest) -> AppTest:
    """Draw the page after the download has ended."""
    assert page.session_state["download_wiki"].wait(timeout=SECONDS)
    page.run()
    assert not page.exception
    return page


def test_a_failed_download_is_explained(monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setattr(wiki, "ARCHIVE", f"http://127.0.0.1:{unused.getsockname()[1]}/wiki.zip")
        page = open_page(data="planted")
        page.button(key="fetch_wiki").click().run()
        wait_for_download(page)
    assert "The download failed" in page.error[0].value
    assert "Check the connection" in texts(page)
    assert "put raw_features.mat, trainset_txt_img_cat.list" in texts(page)


def test_a_download_can_be_cancelled(monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    goes_on = threading.Event()

    def fetch(_source, on_progress):
        while not goes_on.wait(0.01):
            on_progress(0.25, "1.0 of 4.0 MB")

    monkeypatch.setattr(wiki.Wiki, "fetch", fetch)
    page = open_page(data="planted")
    page.button(key="fetch_wiki").click().run()
    job = page.session_state["download_wiki"]
    while not job.reports:
        page.run()
    page.run()
    assert page.get("progress")[0].proto.text == "1.0 of 4.0 MB"
    page.button(key="stop_wiki").click().run()
    wait_for_download(page)
    assert job.state == "cancelled"
    assert any("Download cancelled" in caption.value for caption in page.caption)
    goes_on.set()


def test_the_template_is_previewed_used_browsed_and_deleted():
    page = upload(open_page(data="planted"), "mine.zip", example_archive())
    assert "mine.zip · 12 items · image: pictures · text: captions" in texts(page)
    assert "7 classes: triangle (4), square (4), circle (4), red (3)" in texts(page)
    assert not page.error
    assert uploaded_data(page) is None
    page.button(key="own_use").click().run()
    assert page.selectbox(key="control_data").value == "own"
    page.run()
    assert page.selectbox(key="control_data").value == "own"
    page.button(key="own_browse").click().run()
    assert any("Your data: 1 to 12 of 12 items" in caption.value for caption in page.caption)
    assert uploaded_data(page).loaded[0].thumbnails[0]
    page.selectbox(key="control_data").set_value("planted").run()
    page.button(key="own_again").click().run()
    assert page.selectbox(key="control_data").value == "own"
    page.button(key="own_forget").click().run()
    assert traces_of_upload(page) == []
    assert page.selectbox(key="control_data").options[-1] == "Your data (removed)"
    assert any("Your upload is not on the server" in info.value for info in page.info)
    assert page.file_uploader[0].value == []
    page.button(key="use_planted").click().run()
    assert "Your data (removed)" not in page.selectbox(key="control_data").options
    assert not page.exception


def test_nothing_remains_of_a_deleted_upload():
    page = use(feature_table(), "mine.csv")
    page.switch_page("streamlit_app.py").run()
    job = page.session_state["shown"].job
    assert job.wait(timeout=SECONDS)
    assert job.state == "finished"
    run, key = job.result, job.key
    page.session_state["pinned"] = run
    page.switch_page("pages/2_Search.py").run()  # finds answers, and remembers them
    assert job_queue().find(key) is job
    page.switch_page("pages/8_Data.py").run()
    page.session_state["data_tab"] = "Browse pairs"
    page.run().multiselect(key="browse_classes").set_value(["1"]).run()
    page.button(key="own_forget").click().run()
    assert not page.exception
    assert traces_of_upload(page) == []
    assert job_queue().find(key) is None

    data = weakref.ref(run.data)
    del run, job, page  # what callbacks were given stays with Streamlit until the visit ends
    gc.collect()
    assert data() is None


def test_an_upload_survives_a_reload_and_a_missing_one_is_reported():
    page = use(example_archive()).switch_page("streamlit_app.py").run()
    until(page, lambda: "search_words" in [field.key for field in page.text_input])
    page.text_input(key="search_words").set_value("red circle").run()
    assert page.query_params["data"] == "own"
    again = reload(page).run()
    assert not again.exception
    assert again.selectbox(key="control_data").value == "own"
    assert again.text_input(key="search_words").value == "red circle"
    assert again.session_state["shown"].job is page.session_state["shown"].job

    forget(page.session_state["visitor"])
    for gone in (reload(page).run(), again.run()):
        assert not gone.exception
        assert "Your upload is not on the server" in gone.info[0].value
        assert gone.selectbox(key="control_data").options[-1] == "Your data (removed)"
        assert not gone.image  # no other set answers the old question
        assert traces_of_upload(gone) == []
    other = reload(page)
    other.session_state["visitor"] = "0" * 32
    assert "Your upload is not on the server" in other.run().info[0].value


def test_an_upload_is_deleted_when_its_visitor_is_away_or_too_many_others_came(monkeypatch):
    source = UserDataset(feature_table(), "mine.csv")
    loaded = source.load()
    names = [f"{number:032x}" for number in range(server.MAX_UPLOADS + 1)]
    for name in names:
        server.add_upload(name, source, loaded)
    assert upload_of(names[0]) is None
    assert all(upload_of(name) for name in names[1:])
    server.forget_unused()
    assert all(upload_of(name) for name in names[1:])
    monkeypatch.setattr(server, "AWAY_SECONDS", 0.0)
    server.forget_unused()
    assert not any(upload_of(name) for name in names)


def drawings(table: str) -> bytes:
    """Five drawings in folders and below them a table, as people have it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(example_archive())) as made, zipfile.ZipFile(file, "w") as archive:
        for number, name in enumerate(made.namelist()[:5]):
            archive.writestr(f"mine/photos/{number % 2}/{number}.png", made.read(name))
        archive.writestr("mine/list.csv", table)
    return file.getvalue()


def test_columns_are_guessed_or_chosen_in_menus():
    table = "picture,text,tags,kind\n" + "".join(f"{k}.png,drawing {k},a;b{k % 2},x|y{k}\n" for k in range(5))
    page = upload(open_page(data="planted"), "mine.zip", drawings(table))
    assert not page.error
    menus = [page.selectbox(key=f"own_menu_{name}") for name in ("picture", "labels")]
    assert [menu.value for menu in menus] == ["picture", "tags"]
    assert menus[0].options == ["(none)", "picture", "text", "tags", "kind"]
    assert page.multiselect(key="own_menu_captions").value == ["text"]
    assert page.segmented_control(key="own_menu_labels_separator").value == ";"
    assert "3 classes: a (5), b0 (3), b1 (2)" in texts(page)
    page.segmented_control(key="own_menu_labels_separator").set_value(",").run()
    assert "2 classes: a;b0 (3), a;b1 (2)" in texts(page)
    page.selectbox(key="own_menu_labels").set_value("kind").run()
    assert page.segmented_control(key="own_menu_labels_separator").value == "|"
    assert "6 classes: x (5), y0 (1)" in texts(page)
    page.multiselect(key="own_menu_captions").set_value(["text", "tags"]).run()
    page.button(key="own_use").click().run()
    assert not page.exception
    data, _ = uploaded_data(page).loaded
    assert list(data.modalities) == ["image", "text", "text (tags)"]
    assert data.class_names == ("x", "y0", "y1", "y2", "y3", "y4")
    upload(page, "other.zip", example_archive())
    assert page.selectbox(key="own_menu_labels").value == "labels"
    assert "7 classes" in texts(page)


def test_coco_captions_are_several_texts_and_unlabelled_items_stay_if_chosen(tmp_path):
    items = Items(16)
    coco(tmp_path, items)
    captions, instances = sorted((tmp_path / "annotations").iterdir())
    known = json.loads(captions.read_text())
    captions.write_text(json.dumps(known | {"annotations": 2 * known["annotations"]}))
    known = json.loads(instances.read_text())
    instances.write_text(json.dumps(known | {"annotations": known["annotations"][:12]}))
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    files = [(path.relative_to(tmp_path).as_posix(), path.read_bytes(), "") for path in paths]
    page = open_page(data="planted")
    page.file_uploader[0].set_value(files).run()
    assert page.button(key="own_use").label == "Skip these 4 and continue"
    page.toggle(key="own_menu_several").set_value(True).run()
    assert "24 items" in texts(page)
    unlabelled = page.toggle(key="own_menu_unlabelled")
    assert unlabelled.label == "Keep items without a label (4), to label them by hand"
    unlabelled.set_value(True).run()
    assert "32 items" in texts(page)
    page.button(key="own_use").click().run()
    assert not page.exception
    data, split = uploaded_data(page).loaded
    assert (len(data), data.labels[split.queries].any(axis=1).all()) == (32, True)


def test_a_folder_is_opened_only_on_a_server_for_this_computer(tmp_path, monkeypatch):
    columns_csv(tmp_path, Items(12))
    page = open_page(data="planted")
    page.text_input(key="own_folder").set_value(str(tmp_path)).run()
    assert "image: 6 dimensions" in texts(page)
    page.button(key="own_use").click().run()
    assert len(uploaded_data(page).loaded[0]) == 12
    page.text_input(key="own_folder").set_value(str(tmp_path / "absent")).run()
    assert "There is no file or folder 'absent'" in texts(page)
    monkeypatch.setattr("smfh.ui.data.upload.is_only_local", lambda: False)
    page = open_page(data="planted")
    assert "own_folder" not in [field.key for field in page.text_input]
    page.session_state["own_folder"] = str(tmp_path)
    assert "image: 6 dimensions" not in texts(page.run())


@pytest.mark.parametrize(
    ("name", "content", "problems"),
    [
        ("broken.zip", example_archive()[:500], ["broken.zip is truncated"]),
        ("empty.csv", b"", ["empty.csv is empty"]),
        ("words.zip", b"no archive", ["words.zip is not a .zip archive"]),
        ("one.npz", b"PK\x05\x06" + bytes(18), ["one.npz"]),
        (
            "bare.csv",
            b"image:1,text:1,labels\n1,2,a\nx,2,\n3,nan,b\n4,5,b\n",
            ["2 damaged row: Row 2 of bare.csv: column 'image:1': expected a finite number; got 'x'", "nan"],
        ),
    ],
)
def test_every_problem_of_an_upload_is_listed(name, content, problems):
    page = upload(open_page(data="planted"), name, content).run()
    assert not page.exception
    assert "to continue" in page.error[0].value
    for problem in problems:
        assert problem in texts(page)
    assert "own_use" not in [button.key for button in page.button]
    assert uploaded_data(page) is None


def unlabelled_matrices() -> bytes:
    """Pairs that a linear map relates, without labels."""
    rng = np.random.default_rng(0)
    hidden = rng.random((120, 8))
    file = io.BytesIO()
    np.savez(file, image=hidden @ rng.random((8, 12)), text=hidden @ rng.random((8, 10)))
    return file.getvalue()


def test_data_without_labels_is_trained_and_scored_by_pairs():
    page = use(unlabelled_matrices(), "mine.npz")
    assert page.selectbox(key="control_data").value == "own"
    assert not uploaded_data(page).loaded[0].has_labels
    page.switch_page("streamlit_app.py").run()
    assert page.selectbox(key="control_method").value == "cmfh"
    until(page, lambda: page.metric)
    assert {metric.label for metric in page.metric} == {"R@10, unseen items"}
    assert float(page.metric[0].value) > 0.8
    assert any("The data has no labels" in caption.value for caption in page.caption)
    for script in ("2_Search", "3_Bits", "4_Tune", "5_Compare", "6_Runs", "8_Data"):
        page.switch_page(f"pages/{script}.py").run().run()
        assert not page.exception, script
    page.switch_page("streamlit_app.py").run()
    page.selectbox(key="control_method").set_value("smfh-plus").run()
    page.button(key="train").click().run()
    why = "SMFH+ learns from labels, and this data has none"
    until(page, lambda: any(why in caption.value for caption in page.caption))


def test_labels_are_tagged_renamed_merged_deleted_and_applied():
    page = use(example_archive())
    page.session_state["data_tab"] = "Browse pairs"
    page.run().toggle(key="browse_edit").set_value(True).run()
    before = uploaded_data(page)
    page.checkbox(key="browse_select_3").set_value(True).run()
    assert "Label for 1 selected items" in [menu.label for menu in page.selectbox]
    page.selectbox(key="browse_label").set_value("green").run()
    page.button(key="label_Add").click().run()
    page.button(key="label_apply").click().run()
    assert not page.exception
    data = uploaded_data(page).loaded[0]
    assert uploaded_data(page) is not before
    assert data.label_origin == "Classes were corrected by hand."
    assert data.labels[:, data.class_names.index("green")].nonzero()[0].tolist() == [1, 3, 5, 9]

    page.multiselect(key="browse_old_classes").set_value(["orange", "red"]).run()
    page.text_input(key="browse_new_name").set_value("crimson").run()
    page.button(key="label_rename").click().run()
    page.multiselect(key="browse_old_classes").set_value(["triangle", "square", "circle"]).run()
    page.button(key="label_delete").click().run()
    assert any("12 items changed." in caption.value for caption in page.caption)
    page.button(key="label_apply").click().run()
    data = uploaded_data(page).loaded[0]
    assert data.class_names == ("blue", "crimson", "green")
    assert data.labels.sum(axis=0).tolist() == [3, 6, 4]
    page.switch_page("streamlit_app.py").run()
    until(page, lambda: page.metric or page.error)
    assert any("Classes were corrected by hand." in caption.value for caption in page.caption)


def test_captions_without_labels_are_clustered_as_the_menus_say():
    items = Items(40)
    files = dict(zip(items.names(), items.pictures, strict=True))
    rows = "".join(f"{k}.png,{text.split(',')[0]}\n" for k, text in enumerate(items.captions))
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        for name, content in (files | {"list.csv": f"file,caption\n{rows}".encode()}).items():
            archive.writestr(name, content)
    page = upload(open_page(data="planted"), "mine.zip", file.getvalue())
    assert "found by clustering the captions" in texts(page)
    page.number_input(key="own_menu_labels_topics").set_value(3).run()
    assert "3 topics: " in texts(page)
    page.selectbox(key="own_menu_labels_source").set_value("none").run()
    assert "There are no labels" in texts(page)
    page.selectbox(key="own_menu_labels_source").set_value("topics").run()
    page.button(key="own_use").click().run()
    assert not page.exception
    assert len(uploaded_data(page).loaded[0].class_names) == 3
