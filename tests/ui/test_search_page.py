"""Search in AppTest: every data set that is there, every way to ask, hostile words and wrong links."""

import hashlib
import io
from dataclasses import replace
from functools import partial

import app_pages
import numpy as np
import pytest
from app_pages import SECONDS, texts, until
from PIL import Image
from streamlit.testing.v1 import AppTest

from smfh.asking import answer, ask_item
from smfh.datasets import DATASETS, DatasetSource, Emoji, Planted
from smfh.hashing import SMFHPlus
from smfh.runs import Run, find_or_train
from smfh.types import DistanceCounts
from smfh.ui import server
from smfh.ui.asked import UPLOAD, Asked, asked_part, fitting, nearest_in_words, pose, usual_asked

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/2_Search.py")
SMALL = {"synthetic": {"data.items": "500"}, "planted": {}}
QUICK = {"data": "emoji", "bits": "16", "iterations": "5", "rounds": "1"}
MARKUP = "<img src=x onerror=alert(1)> **dog** $x$ :material/home: [a](javascript:alert(1))"


def until_trained(page: AppTest) -> AppTest:
    """Look again as the page does by itself, until the run is over and there is a form to ask with."""
    return until(page, lambda: "search_source" in keys(page, "selectbox"))


def keys(page: AppTest, kind: str) -> list[str]:
    return [element.key for element in page.get(kind)]


def code_of(page: AppTest) -> list[int]:
    """The bits that are on."""
    return page.pills(key="search_code").value


def answers(page: AppTest) -> list[int]:
    """The rows of the cards, in order."""
    names = [key for key in keys(page, "button") if key and key.startswith("search_with_")]
    return [int(name.removeprefix("search_with_")) for name in names]


@pytest.fixture
def emoji() -> dict[str, str]:
    if missing := DATASETS["emoji"]().missing():
        pytest.skip(missing[0])
    return QUICK


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_answers_at_once_or_says_what_it_needs(name):
    page = open_page(data=name, bits="16", **SMALL.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_trained(page)
    again = page.run()
    assert not again.exception
    assert len(answers(again)) == 12
    assert "within radius 8" in texts(again)
    assert "a held-out query" in texts(again)
    assert again.image  # pictures, or features as tiles
    assert again.get("plotly_chart")


def test_words_find_pictures_and_a_picture_finds_words(emoji):
    page = until_trained(open_page(**emoji))
    page.text_input(key="search_words").set_value("flag").run()
    assert page.query_params["search.words"] == "flag"
    assert "“flag”" in texts(page)
    assert "Right is what has a class that your words name: Flags" in texts(page)
    assert texts(page).count("flag: ") >= 9
    row = answers(page)[0]
    page.button(key=f"search_with_{row}").click().run()
    assert page.query_params["search.row"] == str(row)
    assert page.selectbox(key="search_source").value == "image"
    assert page.selectbox(key="search_target").value == "text"
    assert f"item {row}, a training item" in texts(page)
    assert page.text_input(key="search_words").value == ""
    assert not page.exception


def test_why_shows_the_two_codes_and_what_they_stand_for(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "flag"}))
    row = answers(page)[2]
    page.button(key=f"search_why_{row}").click().run()
    assert not page.exception
    assert page.query_params["search.why"] == str(row)
    assert any(heading.value == "Why did this match?" for heading in page.subheader)
    assert "of 16 bits agree" in texts(page)
    assert any(text.value.startswith(("bit ", "bits ")) for text in page.text)
    assert [text.value for text in page.text].count("“flag”") == 2  # asked above, and beside the result
    page.button(key="search_why_close").click().run()
    assert "search.why" not in page.query_params
    assert "of 16 bits agree" not in texts(page)


@pytest.mark.parametrize("words", [MARKUP, "‮dog كلب", "🐶", "dog " * 100])
def test_hostile_words_are_answered_and_shown_as_plain_text(emoji, words):
    page = until_trained(open_page(**emoji, **{"search.words": words}))
    assert not page.exception
    assert len(answers(page)) == 12
    assert f"“{words}”" in texts(page)
    said = [element.value for element in (*page.markdown, *page.caption)]
    assert not any(words in text or "onerror" in text for text in said)
    assert not any("onerror" in (button.label or "") for button in page.button)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("!?", "no word to search with"),
        ("a" * 3_000, "At most 500 characters"),
        ("zzxqj", "known from training"),
    ],
)
def test_what_cannot_be_asked_is_refused_clearly(emoji, words, why):
    page = until_trained(open_page(**emoji, **{"search.words": words}))
    assert not page.exception
    assert why in texts(page)
    assert not answers(page)
    page.text_input(key="search_words").set_value("dog").run()
    assert len(answers(page)) == 12


@pytest.mark.parametrize("blank", ["", "   "])
def test_an_empty_box_asks_the_usual_query(emoji, blank):
    usual = until_trained(open_page(**emoji))
    linked = until_trained(open_page(**emoji, **{"search.words": blank}))
    assert answers(linked) == answers(usual)
    linked.text_input(key="search_words").set_value("dog").run()
    assert answers(linked) != answers(usual)
    linked.text_input(key="search_words").set_value(blank).run()
    assert answers(linked) == answers(usual)
    assert "search.words" not in linked.query_params
    assert not linked.exception


def test_only_wrong_answers_are_marked_and_what_that_means_is_said_once(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "flag", "search.number": "48"}))
    run: Run = page.session_state["shown"].job.result
    asked = Asked("text", "image", words="flag")
    found = answer(run.hasher, run.data, run.split, pose(asked, run), "image")
    marked = sum(text.value.startswith("✗ ") for text in page.text)
    rivals = 8  # shown again in the row of the method
    assert marked == np.count_nonzero(~found.relevance[:24]) + np.count_nonzero(~found.relevance[:rivals])
    assert "✓" not in texts(page)
    assert sum("✗ marks what is not right" in caption.value for caption in page.caption[:4]) == int(
        not found.relevance[:24].all()
    )


def test_an_unknown_word_is_told_and_replaced_by_one_like_it(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "red vehicl"}))
    assert "“vehicl” is not known from training. Did you mean" in texts(page)
    page.button(key="search_instead_0_vehicle").click().run()
    assert page.query_params["search.words"] == "red vehicle"
    assert "not known" not in "\n".join(text.value for text in page.text if "vehicl" in text.value)


def test_an_uploaded_picture_is_asked_and_a_bad_one_refused(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "dog"}))
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    page.file_uploader(key=UPLOAD).set_value(("red.png", file.getvalue(), "image/png")).run()
    assert not page.exception
    assert "Your picture" in texts(page)
    assert page.selectbox(key="search_source").value == "image"
    assert len(answers(page)) == 12
    shared = server._derived()
    assert not [key for key in shared._values if hashlib.sha256(file.getvalue()).hexdigest() in str(key)]
    page.file_uploader(key=UPLOAD).set_value(("bad.png", b"<svg onload=alert(1)>", "image/png")).run()
    assert "is not a picture that can be read" in texts(page)
    assert not page.exception


def test_a_held_out_query_both_ways_and_by_the_other_database(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    row = int(page.selectbox(key="search_pick").options[3].rsplit(" ", 1)[1])
    page.selectbox(key="search_pick").set_value(row).run()
    assert f"item {row}, a held-out query" in texts(page)
    before = answers(page)
    page.button(key="search_turn").click().run()
    assert page.selectbox(key="search_source").value == "image"
    assert page.query_params["search.row"] == str(row)
    page.selectbox(key="search_database").set_value("unseen").run()
    assert f"item {row}, a held-out query: its own pair is in the database" in texts(page)
    assert not set(before) & set(answers(page))  # training items against held-out ones
    page.selectbox(key="search_ties").set_value("database").run()
    page.button(key="search_any").click().run()
    assert not page.exception
    assert len(answers(page)) == 12


def test_more_results_come_in_pages(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    page.selectbox(key="search_number").set_value(48).run()
    first = answers(page)
    assert len(first) == 24
    link = {"data": "planted", "bits": "16", "search.number": "48", "search.page": "2"}
    turned = until_trained(open_page(**link))
    second = answers(turned)
    assert len(second) == 24
    assert not set(first) & set(second)
    assert "Results 25 to 48 of 48" in "\n".join(caption.value for caption in turned.caption)


def test_the_radius_counts_what_lies_within(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    page.slider(key="search_radius").set_value(16).run()
    assert page.query_params["search.radius"] == "16"
    assert "300 within radius 16" in texts(page)


def test_a_control_is_set_only_where_something_else_asks(planted):
    page = until_trained(open_page(data="planted", bits="16"))

    def set_anew() -> set[str]:
        """What the browser is told to set, whatever the hand has moved meanwhile."""
        controls = [*page.selectbox, *page.slider, *page.text_input]
        return {c.key for c in controls if c.key.startswith("search_") and c.proto.set_value}

    page.run()
    assert set_anew() == set()
    page.slider(key="search_radius").set_value(3).run()
    assert set_anew() == set()
    page.button(key="search_turn").click().run()
    assert set_anew() == {"search_source", "search_target"}


def test_other_methods_are_trained_from_here_and_the_shown_run_stays(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    assert texts(page).count("AP@100") == 2  # of the question, and of the shown method
    page.button(key="search_train_cvh").click().run()
    until(page, lambda: texts(page).count("AP@100") == 3)
    assert "search_train_cvh" not in keys(page, "button")
    assert "SMFH+ · 16 bits" in page.subheader[0].value
    assert page.session_state["shown"].key.method.name == "smfh-plus"


def test_a_wrong_link_falls_back_with_notes():
    wrong = {"row": "99999", "source": "<b>", "number": "13x", "page": "0", "radius": "-1", "why": "two"}
    page = until_trained(
        open_page(data="planted", bits="16", **{f"search.{name}": text for name, text in wrong.items()})
    )
    assert not page.exception
    assert "the usual is shown instead" in page.warning[0].value
    notes = next(text.value for text in page.text if "Unknown source '<b>'" in text.value).splitlines()
    assert len(notes) == len(wrong)
    assert len(answers(page)) == 12


def test_bits_flip_and_flip_back():
    page = until_trained(open_page(data="planted", bits="16"))
    usual, on = answers(page), set(code_of(page))
    page.pills(key="search_code").set_value(sorted(on ^ set(range(8)))).run()
    assert page.query_params["search.flips"] == "0,1,2,3,4,5,6,7"
    assert answers(page) != usual
    page.button(key="search_unflip").click().run()
    assert "search.flips" not in page.query_params
    assert answers(page) == usual
    assert set(code_of(page)) == on


def test_the_fewest_flips_mend_a_failed_query():
    query = {"data": "planted", "method": "pdh", "bits": "8", "search.ties": "database"}
    page = until_trained(open_page(**query))
    run = page.session_state["shown"].job.result
    failed = next(
        row
        for row in run.split.queries.tolist()
        if not answer(run.hasher, run.data, run.split, ask_item(run.data, "text", row), "image").relevance[0]
    )
    page = until_trained(open_page(**query, **{"search.row": str(failed)}))
    page.button(key="search_mend").click().run()
    assert not page.exception
    assert page.query_params["search.flips"]
    assert run.data.labels[answers(page)[0]] @ run.data.labels[failed]


def test_an_answer_that_is_none_cannot_be_explained():
    page = until_trained(open_page(data="planted", bits="16"))
    outside = next(row for row in range(400) if row not in page.session_state["shown"].loaded[1].train)
    again = until_trained(open_page(data="planted", bits="16", **{"search.why": str(outside)}))
    assert f"Item {outside} is not among the answers" in texts(again)
    assert not again.exception


def test_other_pages_open_a_query_here(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "2_Search.py").write_text(
        "import streamlit as st\nst.text(sorted(st.query_params.items()))"
    )
    start = tmp_path / "start.py"
    start.write_text(
        "import streamlit as st\nfrom smfh.ui.opening import open_query\n"
        "if st.button('go', key='go'):\n    open_query(3, 'image', 'text')"
    )
    page = AppTest.from_file(str(start), default_timeout=SECONDS).run()
    page.button(key="go").click().run()
    assert not page.exception
    told = [("search.row", "3"), ("search.source", "image"), ("search.target", "text")]
    assert page.text[0].value == str(told)


def planted_run(source: DatasetSource) -> Run:
    return find_or_train(None, source, SMFHPlus(bits=16, iterations=1), *source.load())


def test_a_link_says_what_is_unusual_and_is_read_back():
    run = planted_run(Planted(items=60))
    usual, part = usual_asked(run.data), asked_part(run)
    assert usual == Asked("text", "image")
    assert part.write(usual) == {}
    asked = Asked(
        "image", "text", row=3, database="unseen", ties="database", number=48, page=2, why=7, radius=3
    )
    assert part.read(part.write(asked)) == (asked, [])


def test_a_link_to_one_modality_twice_goes_to_another():
    run = planted_run(Planted(items=60, modalities=3))
    asked, notes = asked_part(run).read({"search.source": "image", "search.target": "image"})
    assert notes == []
    assert fitting(asked, run.data).source == "image"
    assert fitting(asked, run.data).target != "image"


def test_words_are_asked_in_the_language_that_knows_them(emoji):
    data, _ = Emoji(languages=("de",)).load()
    assert fitting(Asked("text", "image", words="Katze"), data) == Asked(
        "text (German)", "image", words="Katze"
    )
    assert fitting(Asked("text (German)", "image", words="cat"), data) == Asked("text", "image", words="cat")
    twice = fitting(Asked("text", "text (German)", words="Katze"), data)
    assert (twice.source, twice.target) == ("text (German)", "image")


def test_an_uploaded_picture_can_be_asked_again(emoji):
    page = until_trained(open_page(**emoji))
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    page.file_uploader(key=UPLOAD).set_value(("red.png", file.getvalue(), "image/png")).run()
    page.text_input(key="search_words").set_value("flag").run()
    assert "“flag”" in texts(page)
    page.button(key="search_upload_again").click().run()
    assert "Your picture" in texts(page)
    assert not page.exception


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ([0, 0, 3], "2 items share this code"),
        ([0, 1, 3], "one item has this code"),
        ([1, 1, 1], "3 items are nearest, 1 bit away"),
        ([2, 3, 3], "one item is nearest, 2 bits away"),
    ],
)
def test_ties_are_told_with_the_right_number_of_bits_and_items(codes, told):
    counts = DistanceCounts(np.bincount(codes, minlength=5)[None], np.zeros((1, 5), dtype=np.int64))
    run = planted_run(Planted(items=60))
    found = answer(run.hasher, run.data, run.split, pose(Asked("text", "image", row=3), run), "image")
    found = replace(found, distances=np.array(codes), counts=counts)
    assert nearest_in_words(found) == told
