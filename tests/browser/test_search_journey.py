"""Search in a real browser: words find pictures, pictures find words, why, Back and Forward."""

import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

TRAINED_MS = 60_000
WORDS = "Type words"


def until_still(page: Page) -> None:
    """Wait until the page is drawn, as a person does before a click."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def open_search(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".st-key-search_question")).to_be_visible(timeout=TRAINED_MS)
    until_still(page)


def click(page: Page, button: Locator, effect: Locator) -> None:
    """Click until there is an effect: a redraw can swallow a click."""
    for _ in range(3):
        until_still(page)
        button.click()
        try:
            expect(effect.first).to_be_visible(timeout=10_000)
            return
        except AssertionError:
            continue
    expect(effect.first).to_be_visible()


def results(page: Page) -> Locator:
    return page.locator(".st-key-search_results")


def type_words(page: Page, words: str) -> None:
    page.get_by_placeholder(WORDS).fill(words)
    page.get_by_placeholder(WORDS).press("Enter")
    expect_query(page, words)


def expect_query(page: Page, words: str) -> None:
    """Check the query, the field and the address."""
    expect(page.get_by_text(f"“{words}”", exact=True)).to_be_visible()
    expect(page.get_by_placeholder(WORDS)).to_have_value(words)
    expect(page).to_have_url(re.compile(rf"/Search\?.*search\.words={words}(&|$)"))
    until_still(page)


def slide(page: Page, slider: Locator, key: str) -> None:
    """Press a key and wait for the new value."""
    before = slider.get_attribute("aria-valuetext")
    slider.press(key)
    expect(slider).not_to_have_attribute("aria-valuetext", before)
    until_still(page)


def test_words_find_pictures_a_picture_finds_words_and_back(page: Page, app: str):
    open_search(page, f"{app}/Search")
    type_words(page, "vehicle")
    expect(results(page).locator("img")).to_have_count(12)
    vehicles = page.url
    clicked = results(page).locator("img").first.get_attribute("alt")

    item = page.get_by_text(re.compile("a training item"))
    click(page, results(page).get_by_role("button", name="Use #1", exact=True), item)
    expect(page).to_have_url(re.compile(r"search\.source=image"))
    expect(page.get_by_text(f"“{clicked}”", exact=False).first).to_be_visible()
    expect(results(page).get_by_text(re.compile("vehicle")).first).to_be_visible()  # words of its kind

    why = page.get_by_role("heading", name="Why did this match?")
    click(page, results(page).get_by_role("button", name="Why #1?"), why)
    page.locator(".st-key-search_why summary").first.click()
    expect(page.get_by_text(re.compile(r"of 64 bits agree")).first).to_be_visible()
    expect(page.locator(".st-key-search_why .js-plotly-plot")).to_be_visible()
    expect(page.get_by_text("Bits on in both codes")).to_be_visible()
    until_still(page)

    page.go_back()
    expect(why).to_have_count(0)
    until_still(page)
    page.go_back()
    expect(page.get_by_text("“vehicle”", exact=True)).to_be_visible()
    assert page.url == vehicles


def test_back_returns_to_earlier_queries_and_pages(page: Page, app: str):
    open_search(page, f"{app}/Search")
    type_words(page, "flag")
    type_words(page, "heart")
    steps = page.evaluate("history.length")
    page.get_by_role("link", name="Bits").click()
    expect(page.get_by_role("heading", name="Bits", exact=True)).to_be_visible()
    expect(page.get_by_role("tab", name="Map of codes")).to_be_visible(timeout=TRAINED_MS)
    until_still(page)
    assert page.evaluate("history.length") == steps + 1
    page.go_back()
    expect_query(page, "heart")
    page.go_back()
    expect_query(page, "flag")
    page.go_forward()
    expect_query(page, "heart")
    page.go_forward()
    expect(page.get_by_role("heading", name="Bits", exact=True)).to_be_visible()


def test_back_undoes_a_setting_and_keeps_the_query(page: Page, app: str):
    open_search(page, f"{app}/Search")
    type_words(page, "flag")
    type_words(page, "heart")
    steps = page.evaluate("history.length")
    radius = page.get_by_role("slider", name="Radius")
    for _ in range(3):
        slide(page, radius, "ArrowLeft")
    expect(page).to_have_url(re.compile(r"search\.radius=5"))
    assert page.evaluate("history.length") == steps  # how results are shown is no step
    length = page.get_by_role("slider", name="Bits")
    for bits in (48, 32):
        slide(page, length, "ArrowLeft")
        expect(page).to_have_url(re.compile(rf"bits={bits}&"))
    assert page.evaluate("history.length") == steps + 2
    for bits in (48, 64):
        page.go_back()
        expect(length).to_have_attribute("aria-valuetext", str(bits))
        expect_query(page, "heart")
        expect(radius).to_have_attribute("aria-valuetext", "5")
    page.go_back()
    expect_query(page, "flag")
    expect(radius).to_have_attribute("aria-valuetext", "8")


def test_a_link_opens_the_same_results_and_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    open_search(phone, f"{app}/Search?search.words=heart&search.number=24")
    expect(results(phone).locator("img")).to_have_count(24)
    expect(phone.get_by_placeholder(WORDS)).to_have_value("heart")
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    phone.context.close()


def button_names(page: Page) -> list[str]:
    """As a screen reader reads them, without the buttons that Streamlit adds to pictures."""
    buttons = page.locator("[data-testid^=stBaseButton]:visible").and_(page.get_by_role("button"))
    said = [re.search(r'button "(.*)"', button.aria_snapshot()) for button in buttons.all()]
    names = ["" if name is None else name[1] for name in said]
    return sorted(name for name in names if not name.startswith("Fullscreen"))


@pytest.mark.parametrize("address", ["/Search?search.number=24", "/Search?search.words=flag", "/"])
def test_every_button_has_a_unique_name(page: Page, app: str, address: str):
    page.goto(f"{app}{address}")
    finished = "stMetric" if address == "/" else "stPlotlyChart"
    expect(page.get_by_test_id(finished).first).to_be_visible(timeout=TRAINED_MS)
    until_still(page)
    end = time.monotonic() + 20
    while (names := button_names(page)) != sorted(set(names)) or len(names) < 4:
        assert time.monotonic() < end, names  # elements of the last run stay for a moment
        page.wait_for_timeout(300)
    assert all(names)


def test_cards_are_equally_tall_and_rows_are_full(page: Page, app: str):
    open_search(page, f"{app}/Search?search.words=flag")
    pictures = "[...document.querySelectorAll('.st-key-search_results img')].filter(image => image.complete)"
    page.wait_for_function(f"{pictures}.length === 12")
    expect(results(page).get_by_role("button", name="Why")).to_have_count(12)
    until_still(page)
    boxes = [card.bounding_box() for card in results(page).locator("> *").all()]
    assert len(boxes) == 12
    assert len({round(box["height"]) for box in boxes}) == 1
    rows = [round(box["y"]) for box in boxes]
    assert {rows.count(y) for y in rows} == {6}


def test_the_search_is_exported_as_one_file(app, page, tmp_path):
    open_search(page, f"{app}/Search?data=emoji&method=cvh&bits=16")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export this search as one HTML file").click()
    assert download.value.suggested_filename == "smfh_emoji_16_bits.html"
    download.value.save_as(tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.get_by_role("switch")).to_have_count(16)
    expect(page.locator("#wall button")).to_have_count(100)
