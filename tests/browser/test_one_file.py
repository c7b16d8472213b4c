"""The exported page in a real browser: the same results as in Python, no network access, clicks.

SMFH_QUERIES=1000 runs this many queries instead of a hundred, and -s prints how long the page took to open:

    SMFH_QUERIES=1000 python -m pytest -n 0 -s tests/browser/test_one_file.py
"""

import os
import re
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from smfh.datasets import DATASETS, make_source
from smfh.export.page import search_page
from smfh.hashing import make_method
from smfh.retrieval.search import query_from_words, search
from smfh.types import InputError

pytestmark = pytest.mark.slow

QUERIES = int(os.environ.get("SMFH_QUERIES", "100"))
STRANGE = [*"🐶😀❤🚀🎉☂☃✈☎ßΣ½ﬁ№あ猫x🈯🈚🈁🈵℆㈪Ⓒ", " cat", " Dog", "e\u0301", "\u200d"]
JAPANESE = "text (Japanese)"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    data, split = DATASETS["emoji"]().load()
    hasher = make_method("smfh-plus", bits=64).fit(data.take(split.train))
    file = tmp_path_factory.mktemp("page") / "emoji.html"
    file.write_text(search_page(hasher, data, split), encoding="utf-8")
    return file, hasher, data, split


@pytest.fixture(scope="module")
def exported_japanese(tmp_path_factory):
    """Text without spaces between words, in which letters of symbols could be mistaken for words."""
    data, split = make_source("emoji", languages=("ja",)).load()
    hasher = make_method("smfh", bits=16, iterations=5).fit(data.take(split.train))
    file = tmp_path_factory.mktemp("page") / "japanese.html"
    file.write_text(search_page(hasher, data, split, JAPANESE, "image"), encoding="utf-8")
    return file, hasher, data, split


@pytest.fixture
def opened(exported, page):
    """The page, the addresses that it requested, and its console messages."""
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    open_file(page, exported[0])
    return page, asked, said


def open_file(page: Page, file: Path) -> None:
    """Open the file, wait for the first results, and print how long it took."""
    begun = time.perf_counter()
    page.goto(file.as_uri())
    expect(page.locator("#wall button")).to_have_count(100)
    size, seconds = file.stat().st_size / 1e6, time.perf_counter() - begun
    print(f"\n{file.name}: {size:.2f} MB, opened in {seconds:.2f} s")


def queries(data, split, bits, source="text"):
    """Names, words of the training data, and unusual characters; some with bits to flip."""
    rng = np.random.default_rng(0)
    known = data.encoders[source].vocabulary.tokens
    for k in range(QUERIES):
        words = (
            data.captions[rng.choice(split.queries)],
            rng.choice(known),
            " ".join(rng.choice(known, size=3)),
            data.captions[rng.integers(len(data))].upper() + "!?",
            "".join(rng.choice(STRANGE, size=4)),
        )[k % 5]
        yield str(words), [] if k % 3 else rng.choice(bits, size=4, replace=False).tolist()


def check_results(page: Page, exported, source: str, asked: list[tuple[str, list[int]]]) -> int:
    """Compare the results of the browser and Python item by item; returns how many queries had results."""
    _, hasher, data, split = exported
    ask, answered = "asked => asked.map(([words, flips]) => smfh.search(words, flips))", 0
    begun = time.perf_counter()
    given = page.evaluate(ask, asked)
    seconds = time.perf_counter() - begun
    for (words, flips), found in zip(asked, given, strict=True):
        try:
            query = query_from_words(data, source, words, interpret=False)
            expected = search(hasher, data, split, query, "image", flips=flips)
        except InputError:
            assert found is None, words
            continue
        answered += 1
        assert found["code"] == expected.code.tolist(), words
        assert split.train[found["items"]].tolist() == expected.rows.tolist(), words
        assert found["distances"] == pytest.approx(expected.distances.tolist(), abs=1e-4), words
    print(f"\n{len(asked)} queries in {source}, {answered} with results, as in Python; {seconds:.1f} s")
    return answered


def test_the_file_is_small_and_requests_nothing(exported, opened):
    page, asked, said = opened
    assert exported[0].stat().st_size < 8e6
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert said == []
    assert page.evaluate("fetch('data:,x').then(() => 'came', () => 'refused')") == "refused"


def test_the_browser_finds_the_same_results_as_python(exported, opened):
    asked = list(queries(*exported[2:], bits=64))
    assert check_results(opened[0], exported, "text", asked) > QUERIES / 2


def test_japanese_words_find_the_same_results(exported_japanese, page):
    open_file(page, exported_japanese[0])
    asked = list(queries(*exported_japanese[2:], bits=16, source=JAPANESE))
    asked += [(f"犬{symbol}", []) for symbol in STRANGE]  # so that each has a known word
    assert check_results(page, exported_japanese, JAPANESE, asked) > QUERIES / 3


def test_long_words_in_the_address_are_cut_between_characters(exported, opened):
    page, _, said = opened
    page.goto(f"{exported[0].as_uri()}#{quote('🐶' * 501)}")
    expect(page.get_by_label("Words")).to_have_value("🐶" * 500)
    page.goto(f"{exported[0].as_uri()}#{quote('a' * 499 + '🐶')}")
    expect(page.get_by_label("Words")).to_have_value("a" * 499 + "🐶")
    assert said == []


def test_words_find_pictures_and_a_click_shows_their_words(opened):
    page, _, said = opened
    page.get_by_label("Words").fill("boat qwertz")
    expect(page.locator("#notes")).to_have_text("Not in the training data: qwertz.")
    first = page.locator("#wall button").first
    expect(first).to_contain_text("boat")
    first.click()
    expect(page.locator("dialog")).to_be_visible()
    expect(page.locator("dialog #labels")).to_contain_text("Travel & Places")
    assert page.locator("dialog img").evaluate("picture => picture.decode().then(() => picture.naturalWidth)")
    page.locator("#tokens button").first.click()
    expect(page.locator("dialog")).to_be_hidden()
    assert page.get_by_label("Words").input_value() in page.locator("#query").inner_text()
    page.get_by_label("Words").fill("qwertz")
    expect(page.locator("#summary")).to_contain_text("None of these words occurs")
    expect(page.locator("#wall button")).to_have_count(0)
    assert said == []


def test_a_bit_can_be_flipped_and_restored(opened):
    page, _, _ = opened
    code = page.evaluate("smfh.search('smiling cat').code")
    page.get_by_role("switch", name="bit 3", exact=True).click()
    bit = page.get_by_role("switch", name="bit 3", exact=True)
    expect(bit).to_have_attribute("aria-checked", str(not code[3]).lower())
    expect(page.locator("#wall .away").first).to_have_text(re.compile(r"^\d+(\.\d\d)? bits?$"))
    page.get_by_role("button", name="Undo flips").click()
    expect(page.locator("#wall .away").first).to_have_text("same code")


def test_the_address_contains_the_words(exported, opened):
    page = opened[0]
    page.goto(f"{exported[0].as_uri()}#red%20heart")
    expect(page.locator("#query")).to_have_text("“red heart” as 64 bits")
