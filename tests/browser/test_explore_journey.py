"""Explore as a person uses it: open, train, watch, cancel, share, come back."""

import re

from playwright.sync_api import Locator, Page, expect

SLOW = "?data=emoji&method=smfh&bits=64&seed=0&iterations=5000"


def until_scores(page: Page) -> None:
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=60_000)


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def press(page: Page, button: str, effect: Locator) -> None:
    """Click, and once more where a busy machine drew the button anew under the click."""
    page.get_by_role("button", name=button).first.click()
    try:
        expect(effect.first).to_be_visible(timeout=15_000)
    except AssertionError:
        until_still(page)
        page.get_by_role("button", name=button).first.click()
        expect(effect.first).to_be_visible()


def test_the_first_visit_shows_a_trained_example_without_a_click(page: Page, app: str):
    page.goto(app)
    until_scores(page)
    expect(page.get_by_text("SMFH+ · 64 bits · seed 0").first).to_be_visible()
    expect(page.get_by_text("same label").first).to_be_visible()
    pictures = page.get_by_test_id("stImage").locator("img")
    expect(pictures.first).to_be_visible()
    assert pictures.count() == 12
    assert pictures.first.get_attribute("alt")
    before = page.get_by_text("“").first.inner_text()
    page.get_by_role("button", name="Another").click()
    expect(page.get_by_text(before, exact=True)).to_have_count(0)


def test_a_run_can_be_watched_paused_stepped_and_cancelled(page: Page, app: str):
    page.goto(f"{app}/{SLOW}")
    progress = page.get_by_test_id("stProgress").get_by_text("Iteration").first
    expect(progress).to_be_visible(timeout=60_000)
    first = iteration(progress.inner_text())
    expect(progress).not_to_have_text(re.compile(rf"Iteration {first} of"), timeout=30_000)
    assert iteration(progress.inner_text()) > first

    press(page, "Pause", page.get_by_role("button", name="Resume"))
    paused = page.get_by_test_id("stProgress").get_by_text("· paused").last
    halted = iteration(paused.inner_text())
    press(page, "Step", page.get_by_text(f"Iteration {halted + 1} of"))
    expect(paused).to_contain_text(f"Iteration {halted + 1} of")
    press(page, "Resume", page.get_by_role("button", name="Pause"))
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    press(page, "Cancel", page.get_by_text("Cancelled. The settings are kept"))
    expect(page.get_by_role("button", name="Train")).to_be_enabled()


def test_a_copied_link_opens_the_same_state(page: Page, app: str, browser):
    page.goto(app)
    until_scores(page)
    slider = page.get_by_role("slider", name=re.compile("Bits"))
    slider.focus()
    slider.press("ArrowLeft")
    expect(page.get_by_text("Settings changed — press Train")).to_be_visible()
    expect(page).to_have_url(re.compile("bits=48"))
    until_still(page)
    page.get_by_role("button", name="Train").click()
    expect(page.get_by_role("heading", name="Scores: SMFH+ · 48 bits")).to_be_visible()
    until_scores(page)
    until_still(page)
    scores = page.get_by_test_id("stMetricValue").all_inner_texts()

    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_role("heading", name="Scores: SMFH+ · 48 bits")).to_be_visible(timeout=60_000)
    until_scores(other)
    until_still(other)
    assert other.get_by_test_id("stMetricValue").all_inner_texts() == scores
    other.context.close()


def test_settings_survive_a_look_at_another_page(page: Page, app: str):
    page.goto(f"{app}/?data=planted&method=smfh&bits=24&seed=3&graph_weight=5.0")
    until_scores(page)
    page.get_by_role("link", name="Data").click()
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("graph_weight=5.0"))
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="Scores: SMFH · 24 bits · seed 3")).to_be_visible()
    until_scores(page)
    expect(page).to_have_url(re.compile("graph_weight=5.0"))


def test_it_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.goto(app)
    until_scores(phone)
    width = phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
    phone.context.close()


def iteration(text: str) -> int:
    return int(re.search(r"Iteration ([\d,]+) of", text)[1])
