"""The Search page in AppTest: every available data set and kind of query, hostile words, wrong links."""

import hashlib
import io
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

import app_pages
import numpy as np
import pytest
from app_pages import texts, until
from PIL import Image
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS, Emoji, Planted
from smfh.hashing import SMFHPlus
from smfh.retrieval.search import search
from smfh.runs import Run, find_or_train
from smfh.ui import search_state
from smfh.ui.search_state import (
    UPLOAD,
    SearchState,
    adapt_state,
    default_search_state,
    describe_nearest,
    make_query,
    search_state_part,
)

pytestmark = pytest.mark.slow

open_page = partial(app_pages.open_page, "pages/2_Search.py")
SMALL = {"synthetic": {"data.items": "500"}, "planted": {}}
QUICK = {"data": "emoji", "bits": "16", "iterations": "5", "rounds": "1"}
MARKUP = "<img src=x onerror=alert(1)> **dog** $x$ :material/home: [a](javascript:alert(1))"


def until_trained(page: AppTest) -> AppTest:
    """Rerun the page until the run is finished and the form is drawn."""
    return until(page, lambda: "search_source" in keys(page, "selectbox"))


def keys(page: AppTest, kind: str) -> list[str]:
    return [element.key for element in page.get(kind)]


def result_rows(page: AppTest) -> list[int]:
    """The rows of the cards, in order."""
    names = [key for key in keys(page, "button") if key and key.startswith("search_with_")]
    return [int(name.removeprefix("search_with_")) for name in names]


@pytest.fixture
def emoji() -> dict[str, str]:
    if missing := DATASETS["emoji"]().missing():
        pytest.skip(missing[0])
    return QUICK


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_results_or_says_which_files_are_missing(name):
    page = open_page(data=name, bits="16", **SMALL.get(name, {}))
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
        assert not page.run().exception
        return
    until_trained(page)
    again = page.run()
    assert not again.exception
    assert len(result_rows(again)) == 12
    assert "within radius 8" in texts(again)
    assert "a held-out query" in texts(again)
    assert again.image  # pictures, or features as tiles
    assert again.get("plotly_chart")


def test_words_find_pictures_and_a_picture_finds_words(emoji):
    page = until_trained(open_page(**emoji))
    page.text_input(key="search_words").set_value("flag").run()
    assert page.query_params["search.words"] == "flag"
    assert "“flag”" in texts(page)
    assert "Relevant: items of a class named in your words (Flags, " in texts(page)
    assert texts(page).count("flag: ") >= 9
    row = result_rows(page)[0]
    page.button(key=f"search_with_{row}").click().run()
    assert page.query_params["search.row"] == str(row)
    assert page.selectbox(key="search_source").value == "image"
    assert page.selectbox(key="search_target").value == "text"
    assert f"item {row}, a training item" in texts(page)
    assert page.text_input(key="search_words").value == ""


def test_why_shows_both_codes_and_the_meaning_of_bits(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "flag"}))
    row = result_rows(page)[2]
    page.button(key=f"search_why_{row}").click().run()
    assert not page.exception
    assert page.query_params["search.why"] == str(row)
    assert any(heading.value == "Why did this match?" for heading in page.subheader)
    assert "Same group: Flags" in texts(page)
    assert "differs from the query's code in" in texts(page) or "Its code equals that of the query." in texts(page)
    assert "of 16 bits agree" in texts(page)
    assert any(text.value.startswith(("bit ", "bits ")) for text in page.text)
    assert [text.value for text in page.text].count("“flag”") == 2  # above, and beside the result
    page.button(key="search_why_close").click().run()
    assert "search.why" not in page.query_params
    assert "of 16 bits agree" not in texts(page)
    query = int(page.session_state["shown"].loaded[1].queries[0])
    other = until_trained(open_page(**emoji, **{"search.why": str(query), "search.database": "training"}))
    assert f"Item {query} is not among the results" in texts(other)


@pytest.mark.parametrize("words", [MARKUP, "‮dog كلب", "🐶", "dog " * 100])
def test_hostile_words_have_results_and_are_plain_text(emoji, words):
    page = until_trained(open_page(**emoji, **{"search.words": words}))
    assert not page.exception
    assert len(result_rows(page)) == 12
    assert f"“{words}”" in texts(page)
    shown = [element.value for element in (*page.markdown, *page.caption)]
    shown += [button.label or "" for button in page.button]
    assert not any(words in text or "onerror" in text for text in shown)


@pytest.mark.parametrize(("words", "why"), [("!?", "The query has no words"), ("a" * 3_000, "at most 500 characters")])
def test_invalid_words_say_why(emoji, words, why):
    page = until_trained(open_page(**emoji, **{"search.words": words}))
    assert not page.exception
    assert why in texts(page)
    assert not result_rows(page)
    page.text_input(key="search_words").set_value("dog").run()
    assert len(result_rows(page)) == 12


def test_letters_without_meaning_find_guesses_and_say_so(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "zzxqj"}))
    assert "No close match; these are guesses." in texts(page)
    assert result_rows(page)


def test_an_empty_box_shows_the_default_query(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "   "}))
    default = result_rows(page)
    page.text_input(key="search_words").set_value("dog").run()
    assert result_rows(page) != default
    page.text_input(key="search_words").set_value("").run()
    assert result_rows(page) == default
    assert "search.words" not in page.query_params


def test_only_results_that_are_not_relevant_are_marked(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "flag", "search.number": "48"}))
    run: Run = page.session_state["shown"].job.result
    state = SearchState("text", "image", words="flag")
    found = search(run.hasher, run.data, run.split, make_query(state, run), "image", "all")
    marked = sum(text.value.startswith("✗ ") for text in page.text)
    cards, row_of_method = found.relevance[:24], found.relevance[:8]
    assert marked == np.count_nonzero(~cards) + np.count_nonzero(~row_of_method)
    explained = any(caption.value.endswith(" ✗: not relevant.") for caption in page.caption[:4])
    assert explained == (not cards.all())


def test_an_unknown_word_can_be_replaced_by_a_suggestion(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "red vehikle"}))
    assert "vehikle: interpreted as vehicle" in texts(page)
    page.button(key="search_interpret").click().run()
    assert "“vehikle” does not occur in the training data. Did you mean" in texts(page)
    page.button(key="search_instead_0_vehicle").click().run()
    assert page.query_params["search.words"] == "red vehicle"


def test_an_interpreted_word_is_shown_and_can_be_turned_off(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "sedan"}))
    assert "sedan: interpreted as car, " in texts(page)
    assert len(result_rows(page)) == 12
    page.button(key="search_interpret").click().run()
    assert page.query_params["search.interpret"] == "False"
    assert "“sedan” does not occur in the training data." in texts(page)
    assert not result_rows(page)
    page.text_input(key="search_words").set_value("dog").run()
    page.button(key="search_interpret").click().run()
    assert "search.interpret" not in page.query_params
    page.text_input(key="search_words").set_value("the").run()
    assert "No close match; these are guesses." in texts(page)


def test_an_uploaded_picture_is_searched_with_and_a_bad_one_refused(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "dog"}))
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    with patch.object(search_state, "derive", wraps=search_state.derive) as shared:
        page.file_uploader(key=UPLOAD).set_value(("red.png", file.getvalue(), "image/png")).run()
    assert not page.exception
    assert "Your picture" in texts(page)
    assert hashlib.sha256(file.getvalue()).hexdigest() not in str(shared.call_args_list)  # not for others
    assert page.selectbox(key="search_source").value == "image"
    assert len(result_rows(page)) == 12
    page.text_input(key="search_words").set_value("-flag").run()  # words to exclude belong to the picture
    assert "“-flag” and Your picture" in texts(page)
    assert "Excluded: items with flag" in texts(page)
    assert len(result_rows(page)) == 12
    page.text_input(key="search_words").set_value("flag").run()
    assert "“flag”" in texts(page)
    page.button(key="search_upload_again").click().run()
    assert "Your picture" in texts(page)
    page.file_uploader(key=UPLOAD).set_value(("bad.png", b"<svg onload=alert(1)>", "image/png")).run()
    assert "is not a picture that can be read" in texts(page)
    assert not page.exception


def test_pictures_are_combined_with_words_and_items(emoji):
    page = until_trained(open_page(**emoji, **{"search.words": "flag"}))
    alone = result_rows(page)
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    page.toggle(key="search_combine").set_value(True).run()
    page.file_uploader(key=UPLOAD).set_value([("red.png", file.getvalue(), "image/png")]).run()
    assert not page.exception
    assert "“flag” and Your picture" in texts(page)
    assert result_rows(page) != alone
    page.toggle(key="search_combine").set_value(False).run()
    assert result_rows(page) == alone
    row = alone[3]
    page.button(key=f"search_add_{row}").click().run()
    assert page.query_params["search.also"] == str(row)
    assert row not in result_rows(page)
    combined = result_rows(page)
    other = until_trained(open_page(**emoji, **{"search.words": "flag", "search.also": str(row)}))
    assert result_rows(other) == combined
    page.button(key=f"search_remove_{row}").click().run()
    assert result_rows(page) == alone


def test_a_held_out_query_in_both_directions_and_databases(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    row = int(page.selectbox(key="search_pick").options[3].rsplit(" ", 1)[1])
    page.selectbox(key="search_pick").set_value(row).run()
    assert f"item {row}, a held-out query" in texts(page)
    assert "items (all items) searched" in texts(page)
    page.selectbox(key="search_database").set_value("training").run()
    before = result_rows(page)
    page.button(key="search_turn").click().run()
    assert page.selectbox(key="search_source").value == "image"
    assert page.query_params["search.row"] == str(row)
    page.selectbox(key="search_database").set_value("unseen").run()
    assert f"item {row}, a held-out query; its matching item is in the data" in texts(page)
    assert not set(before) & set(result_rows(page))  # training items against held-out ones
    page.selectbox(key="search_ties").set_value("database").run()
    page.button(key="search_any").click().run()
    assert not page.exception
    assert len(result_rows(page)) == 12


def test_many_results_are_split_into_pages_and_the_radius_counts_items(planted):
    link = {"data": "planted", "bits": "16", "search.number": "48", "search.radius": "16"}
    link["search.database"] = "training"
    page = until_trained(open_page(**link))
    assert "300 within radius 16" in texts(page)
    second = until_trained(open_page(**link, **{"search.page": "2"}))
    assert "Results 25 to 48 of 48" in "\n".join(caption.value for caption in second.caption)
    assert len({*result_rows(page), *result_rows(second)}) == 48


def test_a_control_is_set_only_when_its_value_changes(planted):
    page = until_trained(open_page(data="planted", bits="16"))

    def set_anew() -> set[str]:
        """Controls that the browser has to set, even if the person is moving them."""
        controls = [*page.selectbox, *page.slider, *page.text_input]
        return {c.key for c in controls if c.key.startswith("search_") and c.proto.set_value}

    page.run()
    assert set_anew() == set()
    page.slider(key="search_radius_16").set_value(3).run()
    assert set_anew() == set()
    page.button(key="search_turn").click().run()
    assert set_anew() == {"search_source", "search_target"}


def test_the_radius_stays_when_the_number_of_bits_changes(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    page.slider(key="search_radius_16").set_value(3).run()
    page.session_state["control_smfh-plus_bits"] = 24
    page.run().button(key="train").click().run()
    until(page, lambda: "24 bits" in page.subheader[0].value)
    assert page.slider(key="search_radius_24").value == 3


def test_other_methods_can_be_trained_and_the_current_run_stays(planted):
    page = until_trained(open_page(data="planted", bits="16"))
    assert texts(page).count("AP@100") == 2  # of the query, and of the current method
    page.button(key="search_train_cvh").click().run()
    until(page, lambda: texts(page).count("AP@100") == 3)
    assert "search_train_cvh" not in keys(page, "button")
    assert "SMFH+ · 16 bits" in page.subheader[0].value
    assert page.session_state["shown"].key.method.name == "smfh-plus"


def test_bits_can_be_flipped_and_restored():
    page = until_trained(open_page(data="planted", bits="16"))
    default, on = result_rows(page), set(page.pills(key="search_code").value)
    page.pills(key="search_code").set_value(sorted(on ^ set(range(8)))).run()
    assert page.query_params["search.flips"] == "0,1,2,3,4,5,6,7"
    assert result_rows(page) != default
    page.button(key="search_unflip").click().run()
    assert "search.flips" not in page.query_params
    assert result_rows(page) == default
    assert set(page.pills(key="search_code").value) == on


def test_the_fewest_flips_fix_a_failed_query():
    query = {"data": "planted", "method": "pdh", "bits": "8", "search.ties": "database"}
    query["search.database"] = "training"
    page = until_trained(open_page(**query))
    run = page.session_state["shown"].job.result
    failed = int(run.split.queries[~run.results("text", "image").relevance[:, 0]][0])
    page = until_trained(open_page(**query, **{"search.row": str(failed)}))
    page.button(key="search_mend").click().run()
    assert page.query_params["search.flips"]
    assert run.data.labels[result_rows(page)[0]] @ run.data.labels[failed]


def test_a_link_contains_changes_only_and_is_read_back():
    source = Planted(items=60)
    run = find_or_train(None, source, SMFHPlus(bits=16, iterations=1), *source.load())
    default, part = default_search_state(run.data), search_state_part(run)
    assert default == SearchState("text", "image")
    assert part.write(default) == {}
    state = SearchState(
        "image", "text", row=3, also=(5, 6), database="unseen", ties="database", number=48, page=2, why=7, radius=3
    )
    assert part.read(part.write(state)) == (state, [])
    assert adapt_state(SearchState("image", "image"), run.data).target == "text"
    wrong = {"row": "99999", "source": "<b>", "number": "13x", "page": "0", "radius": "-1", "why": "two"}
    state, notes = part.read({f"search.{name}": text for name, text in wrong.items()})
    assert (state, len(notes)) == (default, len(wrong))


def test_words_are_searched_in_the_language_that_knows_them(emoji):
    data, _ = Emoji(languages=("de",)).load()
    german, english = SearchState("text (German)", "image", "Katze"), SearchState("text", "image", "cat")
    assert adapt_state(replace(german, source="text"), data) == german
    assert adapt_state(replace(english, source="text (German)"), data) == english
    assert adapt_state(SearchState("text", "text (German)", "Katze"), data) == german


def test_the_nearest_items_are_counted():
    for distances, text in {
        (0, 0, 3): "2 items have the query's code",
        (0, 1, 3): "1 item has the query's code",
        (1, 1, 1): "3 nearest items, 1 bit away by Hamming distance",
        (2, 3, 3): "1 nearest item, 2 bits away by Hamming distance",
        (0.25, 0.25, 3): "2 nearest items, at asymmetric distance 0.25",
    }.items():
        found = SimpleNamespace(
            counts=SimpleNamespace(items=np.bincount(np.ceil(distances).astype(int))[None]),
            distances=np.array(distances),
            tied=np.array([distances.count(distance) for distance in distances]),
            distance="asymmetric" if 0.25 in distances else "hamming",
        )
        assert describe_nearest(found) == text
