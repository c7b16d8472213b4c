"""The Data page in AppTest: every data set that is there, each page run twice; own data, also hostile."""

import gc
import io
import shutil
import socket
import threading
import time
import weakref
import zipfile
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from app_pages import SECONDS, make_page, texts
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS, Planted, wiki
from smfh.datasets.own import OwnData, example_archive
from smfh.types import MultimodalDataset, Split
from smfh.ui import server
from smfh.ui.data.browse import A_PAGE, Filter, matching_rows
from smfh.ui.items import cells, draw_bars, feature_tile, looks_of, pictures_of, top_words
from smfh.ui.server import Brought, brought, derive, forget, forget_sources, job_queue

pytestmark = pytest.mark.slow

SMALL = {"synthetic": {"data.items": "500"}}
HOSTILE = "<img src=x onerror=alert(1)> ![x](https://x.invalid/y.png) **b** $x$ :red[r]"
# what shows words as they are; everything else reads Markdown. Plotly's own markup is escaped in smfh.plots
PLAIN = ("text", "image", "multiselect", "selectbox", "plotly_chart")


def open_page(tab: str = "", **query: str) -> AppTest:
    page = make_page("pages/8_Data.py", **query)
    if tab:
        page.session_state["data_tab"] = tab
    return page.run()


def upload(page: AppTest, name: str, content: bytes) -> AppTest:
    return page.file_uploader[0].set_value((name, content, "application/octet-stream")).run()


def kept_of_own_data(page: AppTest) -> list[str]:
    keys = ("own_uploaded", "own_previewed", "own_menu_labels", "shown", "pinned")
    kept = [key for key in keys if key in page.session_state]
    return [*kept, "data"] if own_of(page) else kept


def own_of(page: AppTest) -> Brought | None:
    return brought(page.session_state["visitor"])


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
def test_every_data_set_is_shown_or_says_what_it_needs(name):
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


def test_there_is_a_card_for_every_set_with_its_terms_and_origin():
    page = open_page(data="planted")
    said = "\n".join(element.value for element in [*page.subheader, *page.caption, *page.text])
    for source in DATASETS.values():
        for part in (source.card.title, source.card.about, source.card.terms, source.card.origin):
            assert part in said


def test_no_set_is_loaded_for_its_card_alone(monkeypatch):
    def refuse(*_args, **_more):
        raise AssertionError("loaded for its card")

    forget_sources(lambda key: True)
    for source in DATASETS.values():
        if source is not Planted:
            monkeypatch.setattr(source, "load", refuse)
    page = open_page(data="planted").run()
    assert not page.exception


def test_use_changes_the_sidebar_and_the_link():
    page = open_page(data="emoji")
    page.button(key="use_planted").click().run()
    assert page.selectbox(key="control_data").value == "planted"
    assert "planted" in page.query_params["data"]
    page.button(key="browse_chosen").click().run()
    assert page.session_state["data_tab"] == "Browse pairs"
    assert any("Planted: 1 to 24 of 400" in caption.value for caption in page.caption)
    assert not page.exception


def test_languages_are_read_by_name_and_linked_by_code():
    page = open_page(data="emoji", **{"data.languages": "de"})
    languages = page.multiselect(key="control_data.emoji_languages")
    assert languages.value == ["de"]
    assert languages.options[:2] == ["Spanish", "Japanese"]
    languages.set_value(["de", "ja"]).run()
    assert page.query_params["data.languages"] == "de,ja"
    assert "text (German)" in texts(page)


def test_a_link_that_hides_the_data_fixes_it():
    page = open_page(data="planted", hide="data")
    assert page.button(key="use_synthetic").disabled
    page = upload(page, "mine.zip", example_archive())
    assert "own_use" not in [button.key for button in page.button]
    assert any("fixes the data" in info.value for info in page.info)


def test_pairs_are_filtered_by_class_and_word_and_turned_by_page():
    page = open_page("Browse pairs", data="planted")
    page.pagination(key="browse_page").set_value(2).run()
    assert any("25 to 48 of 400" in caption.value for caption in page.caption)
    page.multiselect(key="browse_classes").set_value(["class 1"]).run()
    items = int(Planted().load()[0].labels[:, 1].sum())
    assert any(f"1 to 24 of {items} items" in caption.value for caption in page.caption)
    page.text_input(key="browse_words").set_value("class 2").run()
    assert any("Take away a class or a word" in info.value for info in page.info)
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
    ("wanted", "rows"),
    [
        (Filter(), [0, 1, 2, 3, 4, 5]),
        (Filter(part="training"), [0, 1, 5]),
        (Filter(part="queries"), [2, 3, 4]),
        (Filter(("red",)), [0, 1, 3, 4]),
        (Filter(("red", "green")), [0, 1, 2, 3, 4, 5]),
        (Filter(("red", "green"), every_class=True), [1, 4]),
        (Filter(words="green RED"), [1, 4]),
        (Filter(words="green"), [1, 2, 4, 5]),  # the last has no caption but its label
        (Filter(("green",), words="grass", part="queries"), [2]),
        (Filter(words="blue"), []),
    ],
)
def test_the_rows_that_a_filter_leaves(pairs, wanted, rows):
    assert matching_rows(*pairs, wanted).tolist() == rows


@pytest.mark.parametrize("dimensions", [1, 2, 10, 128, 1024, 1025, 5000])
def test_a_tile_has_a_cell_for_each_dimension_or_their_means(dimensions):
    features = np.zeros(dimensions)
    features[-1] = 3.0
    square = cells(features)
    assert square.shape[0] == square.shape[1] <= 32
    assert np.count_nonzero(square) == 1
    assert square.max() == 1.0
    assert feature_tile(features).startswith(b"\x89PNG")
    assert not cells(np.zeros(dimensions)).any()


def test_bars_stand_for_the_values_in_place_and_height():
    pixels = draw_bars(np.array([1.0, 0.5, 0.0, 0.25]))
    heights = (pixels < 255).any(axis=2).sum(axis=0)[8::44]  # (192 − 2 · 8) / 4 pixels a bar
    assert heights[:4].tolist() == [173, 87, 1, 44]  # 1 + x · (176 − 4)
    colours = {tuple(pixels[183, 8 + 44 * place]) for place in range(4)}
    assert len(colours) == 4


def test_two_lines_of_bars_show_the_root_of_small_values():
    pixels = draw_bars(np.r_[1.0, np.zeros(31), 0.25, np.zeros(31)])
    heights = [(pixels[rows] < 255).any(axis=2).sum(axis=0)[8] for rows in (slice(96), slice(96, 192))]
    assert heights == [85, 43]  # 1 + √x · (176 / 2 − 4)


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    """No data in memory, neither before nor after: files of the same name may hold other data."""
    forget_sources(lambda key: True)
    yield
    forget_sources(lambda key: True)


@pytest.mark.usefixtures("small_wiki", "nothing_loaded")
def test_items_of_wiki_look_different_from_each_other():
    data, _ = DATASETS["wiki"]().load()
    rows = range(len(data))
    for modality in data.modalities:
        assert len(set(looks_of(data, rows, modality))) == len(data)
    page = open_page("Browse pairs", data="wiki").run()
    assert not page.exception
    assert len(page.image) == 6 + 2 * len(data)  # on the card, and of both modalities
    assert "text0-1.2 / image0" in texts(page)


@pytest.mark.usefixtures("illustrated_wiki", "nothing_loaded")
def test_pictures_and_texts_of_wiki_are_shown_where_they_are_there():
    page = open_page("Browse pairs", data="wiki").run()
    assert not page.exception
    assert len(page.image) == 6 + 8
    assert "Section 0 <b> of it" in texts(page)


@pytest.fixture
def wiki_archive(illustrated_wiki, tmp_path, monkeypatch) -> Iterator[None]:
    """A server on this machine offers Wiki's archive, and the data folder is empty."""
    sums = {name: sha256((illustrated_wiki / name).read_bytes()).hexdigest() for name in wiki.CHECKSUMS}
    monkeypatch.setattr(wiki, "CHECKSUMS", sums)
    shutil.make_archive(str(tmp_path / "wiki"), "zip", illustrated_wiki)
    monkeypatch.setenv("SMFH_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        monkeypatch.setattr(wiki, "ARCHIVE", f"http://127.0.0.1:{server.server_port}/wiki.zip")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        pass


def until_over(page: AppTest) -> AppTest:
    """Until the page tells what became of the download."""
    assert page.session_state["fetching_wiki"].wait(timeout=SECONDS)
    page.run()
    assert not page.exception
    return page


@pytest.mark.usefixtures("wiki_archive", "nothing_loaded")
def test_a_set_is_fetched_from_its_card():
    page = open_page(data="planted")
    assert page.button(key="fetch_wiki").label == "Download it"
    page.button(key="fetch_wiki").click().run()
    until_over(page)
    assert page.button(key="use_wiki").label == "Use"
    assert page.button(key="fetch_wiki").label == "Download it again"
    data, _ = DATASETS["wiki"]().load()
    assert data.captions[0] == "Section 0 <b> of it"
    assert data.thumbnails is not None
    assert "fetch_emoji" not in [button.key for button in page.button]


def test_a_download_without_a_connection_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setattr(wiki, "ARCHIVE", f"http://127.0.0.1:{unused.getsockname()[1]}/wiki.zip")
        page = open_page(data="planted")
        page.button(key="fetch_wiki").click().run()
        until_over(page)
    assert "did not work" in page.error[0].value
    assert "is this computer online?" in texts(page)
    assert "put raw_features.mat, trainset_txt_img_cat.list" in texts(page)
    monkeypatch.delenv("SMFH_DATA")
    page.button(key="fetch_wiki").click().run()
    assert "Point SMFH_DATA" in texts(until_over(page))


def test_a_download_can_be_cancelled(monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    goes_on = threading.Event()

    def fetch(_source, on_progress):
        while not goes_on.wait(0.01):
            on_progress(0.25, "1.0 of 4.0 MB")

    monkeypatch.setattr(wiki.Wiki, "fetch", fetch)
    page = open_page(data="planted")
    page.button(key="fetch_wiki").click().run()
    job = page.session_state["fetching_wiki"]
    while not job.reports:
        page.run()
    page.run()
    assert page.get("progress")[0].proto.text == "1.0 of 4.0 MB"
    page.button(key="stop_wiki").click().run()
    until_over(page)
    assert job.state == "cancelled"
    assert any("the next try goes on" in caption.value for caption in page.caption)
    goes_on.set()


def test_words_that_weigh_most_come_first():
    page = use(example_archive())
    data, _ = own_of(page).loaded
    row = list(data.captions).index("a red circle on white")
    assert set(top_words(data, row, "text")) == {"a", "red", "circle", "on", "white"}
    assert top_words(data, row, "image") == []
    assert pictures_of(data, [row], None) == [data.thumbnails[row]]


def test_the_template_is_previewed_used_browsed_and_forgotten():
    page = upload(open_page(data="planted"), "mine.zip", example_archive())
    assert "mine.zip · 12 items · image: pictures · text: captions" in texts(page)
    assert "7 classes: triangle (4), square (4), circle (4), red (3)" in texts(page)
    assert not page.error
    assert own_of(page) is None
    page.button(key="own_use").click().run()
    assert page.selectbox(key="control_data").value == "own"
    page.run()
    assert page.selectbox(key="control_data").value == "own"
    page.button(key="own_browse").click().run()
    assert any("Own data: 1 to 12 of 12 items" in caption.value for caption in page.caption)
    assert own_of(page).loaded[0].thumbnails[0]
    page.selectbox(key="control_data").set_value("planted").run()
    page.button(key="own_again").click().run()
    assert page.selectbox(key="control_data").value == "own"
    page.button(key="own_forget").click().run()
    assert kept_of_own_data(page) == []
    assert page.selectbox(key="control_data").options[-1] == "Own data (gone)"
    assert any("Your own data is not here" in info.value for info in page.info)
    assert page.file_uploader[0].value is None
    page.button(key="use_planted").click().run()
    assert "Own data (gone)" not in page.selectbox(key="control_data").options
    assert not page.exception


def test_nothing_is_left_of_own_data_that_is_forgotten():
    page = use(feature_table(), "mine.csv")
    page.switch_page("streamlit_app.py").run()
    job = page.session_state["shown"].job
    assert job.wait(timeout=SECONDS)
    assert job.state == "finished"
    run, key = job.result, job.key
    page.session_state["pinned"] = run
    page.switch_page("pages/2_Search.py").run()  # finds answers, and remembers them
    assert derive(run, "told", lambda: "before") == "before"
    assert job_queue().find(key) is job
    page.switch_page("pages/8_Data.py").run()
    page.session_state["data_tab"] = "Browse pairs"
    page.run().multiselect(key="browse_classes").set_value(["1"]).run()
    page.button(key="own_forget").click().run()
    assert not page.exception
    assert kept_of_own_data(page) == []
    assert job_queue().find(key) is None
    assert derive(run, "told", lambda: "after") == "after"

    data = weakref.ref(run.data)
    del run, job, page  # what callbacks were given stays with Streamlit until the visit ends
    gc.collect()
    assert data() is None


def test_a_run_on_own_data_ends_when_it_is_forgotten():
    page = use(feature_table(), "mine.csv")
    page.session_state["control_smfh-plus_graph_weight"] = 3.0
    page.switch_page("streamlit_app.py").run()
    job = page.session_state["shown"].job
    page.switch_page("pages/8_Data.py").run()
    page.button(key="own_forget").click().run()
    assert job.wait(timeout=SECONDS)
    assert job_queue().find(job.key) is None


def test_own_data_outlives_a_reload_and_what_is_gone_is_said():
    page = use(example_archive())
    page.switch_page("streamlit_app.py").run()
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
        assert "Your own data is not here" in gone.info[0].value
        assert gone.selectbox(key="control_data").options[-1] == "Own data (gone)"
        assert not gone.image  # no other set answers the old question
        assert kept_of_own_data(gone) == []
    other = reload(page)
    other.session_state["visitor"] = "0" * 32
    assert "Your own data is not here" in other.run().info[0].value


def test_own_data_goes_when_its_visitor_is_away_or_too_many_others_came(monkeypatch):
    source = OwnData(feature_table(), "mine.csv")
    loaded = source.load()
    names = [f"{number:032x}" for number in range(server.OWNERS + 1)]
    for name in names:
        server.bring(name, source, loaded)
    assert brought(names[0]) is None
    assert all(brought(name) for name in names[1:])
    monkeypatch.setattr(server, "AWAY", 0.05)
    server.bring(names[1], source, loaded)
    end = time.monotonic() + SECONDS
    while server._brought.get(names[1]) is not None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert brought(names[2])
    for name in names:
        forget(name)


def test_own_data_is_nobody_elses():
    use(feature_table(), "mine.csv")
    other = open_page(data="planted")
    assert own_of(other) is None
    assert "Own data" not in other.selectbox(key="control_data").options
    assert "mine.csv" not in texts(other)


def test_a_look_at_an_upload_is_taken_once(monkeypatch):
    looked, remember = [], OwnData.remember  # what another process has seen
    monkeypatch.setattr(OwnData, "remember", lambda *args: looked.append(args) or remember(*args))
    page = upload(open_page(data="planted"), "mine.csv", feature_table())
    page.run()
    assert len(looked) == 1


def drawings(table: str) -> bytes:
    """Five drawings in folders and below them a table, as people have it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(example_archive())) as made, zipfile.ZipFile(file, "w") as archive:
        for number, name in enumerate(made.namelist()[:5]):
            archive.writestr(f"mine/photos/{number % 2}/{number}.png", made.read(name))
        archive.writestr("mine/list.csv", table)
    return file.getvalue()


def test_the_table_is_read_as_people_have_it_or_as_the_menus_say():
    table = "picture,text,tags,kind\n" + "".join(f"{k}.png,drawing {k},a;b{k % 2},x|y{k}\n" for k in range(5))
    page = upload(open_page(data="planted"), "mine.zip", drawings(table))
    assert not page.error
    menus = [page.selectbox(key=f"own_menu_{name}") for name in ("picture", "labels")]
    assert [menu.value for menu in menus] == ["picture", "tags"]
    assert menus[0].options == ["(none)", "picture", "text", "tags", "kind"]
    assert page.multiselect(key="own_menu_captions").value == ["text"]
    assert page.segmented_control(key="own_menu_separator").value == ";"
    assert "3 classes: a (5), b0 (3), b1 (2)" in texts(page)
    page.segmented_control(key="own_menu_separator").set_value(",").run()
    assert "2 classes: a;b0 (3), a;b1 (2)" in texts(page)
    page.selectbox(key="own_menu_labels").set_value("kind").run()
    assert page.segmented_control(key="own_menu_separator").value == "|"
    assert "6 classes: x (5), y0 (1)" in texts(page)
    page.multiselect(key="own_menu_captions").set_value(["text", "tags"]).run()
    page.button(key="own_use").click().run()
    assert not page.exception
    data, _ = own_of(page).loaded
    assert list(data.modalities) == ["image", "text", "text (tags)"]
    assert data.class_names == ("x", "y0", "y1", "y2", "y3", "y4")
    upload(page, "other.zip", example_archive())
    assert page.selectbox(key="own_menu_labels").value == "labels"
    assert "7 classes" in texts(page)


def test_a_table_without_labels_can_still_be_used_by_naming_a_column():
    table = "file,caption,sort\n" + "".join(f"{k}.png,drawing {k},{'ab'[k % 2]}\n" for k in range(5))
    page = upload(open_page(data="planted"), "mine.zip", drawings(table))
    assert "no column of labels" in texts(page)
    assert "name the one that holds them" in texts(page)
    assert "Choose other columns above" in page.error[0].value
    assert not page.get("segmented_control")
    page.selectbox(key="own_menu_labels").set_value("sort").run()
    assert not page.error
    assert "2 classes: a (3), b (2)" in texts(page)
    page.selectbox(key="own_menu_picture").set_value("").run()
    assert "no column of pictures" in texts(page)
    assert not page.exception


def test_equal_problems_are_told_once_with_their_number():
    page = upload(open_page(data="planted"), "mine.zip", drawings("file,caption,labels\n" + "0.png,,a\n" * 9))
    assert "One thing has to be put right" in page.error[0].value
    assert "Row 2 of mine/list.csv has no text for text. The same holds for 8 more (3, 4, 5, …)." in texts(
        page
    )


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
            ["Row 3 of bare.csv has no label", "'x'", "nan"],
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_everything_that_is_wrong(name, content, problems):
    page = upload(open_page(data="planted"), name, content).run()
    assert not page.exception
    assert "to be put right" in page.error[0].value
    for problem in problems:
        assert problem in texts(page)
    assert "own_use" not in [button.key for button in page.button]
    assert own_of(page) is None


def test_what_turns_out_only_when_features_are_made_is_told_too():
    """Captions of signs alone have no words to learn."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(example_archive())) as whole, zipfile.ZipFile(file, "w") as copy:
        for member in whole.namelist():
            table = whole.read(member)
            if member.endswith(".csv"):
                rows = [row.split(",") for row in table.decode().split()]
                names = [row[0] for row in rows if row[0].endswith(".png")]
                table = "\n".join(["file,caption,labels", *(f"{name},!?,x" for name in names)]).encode()
            copy.writestr(member, table)
    page = use(file.getvalue())
    assert not page.exception
    assert "has a word" in texts(page)
    assert page.error
    assert own_of(page) is None


def test_texts_of_the_data_are_never_read_as_markdown():
    name = f"{HOSTILE}.csv".replace("/", "")
    page = use(feature_table(f"{HOSTILE} {{}}", f"{HOSTILE} {{}}"), name)
    for tab in ("Data sets", "Browse pairs", "Bring your own"):
        page.session_state["data_tab"] = tab
        page.run()
        assert not page.exception
        assert page.selectbox(key="control_data").value == "own"
        said = [element for element in [*page.main, *page.sidebar] if "onerror" in str(element.proto)]
        assert "text" in {element.type for element in said} <= set(PLAIN)


def test_a_page_holds_the_items_it_says_whatever_is_looked_at():
    page = open_page("Browse pairs", data="planted")
    captions = Planted().load()[0].captions
    for look in ("Features: text", "Features: image"):
        page.selectbox(key="browse_view").set_value(look).run()
        assert not page.exception
        shown = [text.value for text in page.text if text.value in set(captions)]
        assert shown == list(captions[:A_PAGE])
