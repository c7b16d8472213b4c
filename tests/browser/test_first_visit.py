"""A journey for the quick tests: open the app, search, follow a link that trains, turn a page."""

import re

from playwright.sync_api import Page, expect


def test_visitor_searches_trains_and_turns_pages(page: Page, app: str):
    page.goto(app)
    words = page.get_by_role("textbox", name="Type words")
    expect(words).to_have_value("smiling cat", timeout=90_000)
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=90_000)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=60_000)  # once the wall is drawn
    pictures = page.locator(".st-key-wall img")
    first_results = pictures.evaluate_all("images => images.map((image) => image.alt)")
    words.fill("dog")
    words.press("Enter")
    expect(page).to_have_url(re.compile("dog"))
    expect(pictures.first).not_to_have_attribute("alt", first_results[0])

    page.goto(f"{app}?data=planted&bits=16&iterations=5")  # a link trains what it describes
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Compare").first.click()
    expect(page.get_by_role("heading", name="Compare").first).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
