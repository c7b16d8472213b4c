"""Search as a person uses it: words, pictures, a picture's words, why, and back."""

import re

from playwright.sync_api import Locator, Page, expect

TRAINED = 60_000  # milliseconds
WORDS = "Type any words"


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def open_search(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_text("nearest at distance")).to_be_visible(timeout=TRAINED)
    until_still(page)


def click(page: Page, button: Locator, effect: Locator) -> None:
    """Click until it shows: a click that meets a redraw can get lost."""
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


def test_words_find_pictures_a_picture_finds_words_and_the_way_back(page: Page, app: str):
    open_search(page, f"{app}/Search")
    page.get_by_placeholder(WORDS).fill("vehicle")
    page.get_by_placeholder(WORDS).press("Enter")
    expect(page.get_by_text("“vehicle”", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"show\.words=vehicle"))
    until_still(page)
    expect(results(page).locator("img")).to_have_count(12)
    vehicles = page.url
    clicked = results(page).locator("img").first.get_attribute("alt")

    item = page.get_by_text(re.compile("a training item"))
    click(page, results(page).get_by_role("button", name="Ask").first, item)
    expect(page).to_have_url(re.compile(r"show\.source=image"))
    expect(page.get_by_text(f"“{clicked}”", exact=False).first).to_be_visible()
    expect(results(page).get_by_text(clicked, exact=True).first).to_be_visible()  # its own words come first

    why = page.get_by_role("heading", name="Why did this match?")
    click(page, results(page).get_by_role("button", name="Why?").first, why)
    expect(page.get_by_text(re.compile(r"of 64 bits agree")).first).to_be_visible()
    expect(page.locator(".st-key-search_why .js-plotly-plot")).to_be_visible()
    expect(page.get_by_text("On in both")).to_be_visible()
    until_still(page)

    page.go_back()
    expect(why).to_have_count(0)
    until_still(page)
    page.go_back()
    expect(page.get_by_text("“vehicle”", exact=True)).to_be_visible()
    assert page.url == vehicles


def test_markup_is_shown_as_it_was_typed(page: Page, app: str):
    open_search(page, f"{app}/Search")
    typed = "<img src=x onerror=\"document.title='broken'\"> **dog** [x](javascript:alert(1))"
    page.get_by_placeholder(WORDS).fill(typed)
    page.get_by_placeholder(WORDS).press("Enter")
    expect(page.get_by_text(f"“{typed}”", exact=True)).to_be_visible()
    until_still(page)
    assert page.locator("img[src=x]").count() == 0
    assert "broken" not in page.title()
    expect(results(page).locator("img")).to_have_count(12)


def test_a_link_opens_the_same_answers_and_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    open_search(phone, f"{app}/Search?show.words=heart&show.number=24")
    expect(results(phone).locator("img")).to_have_count(24)
    expect(phone.get_by_placeholder(WORDS)).to_have_value("heart")
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    phone.context.close()
