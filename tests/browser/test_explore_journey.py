"""Explore in a real browser: open, type, train, pause, cancel, share, present."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow
SLOW = "?data=emoji&method=smfh&bits=64&seed=0&iterations=10000"
QUICK = "?data=planted&bits=16&iterations=5"


def until_scores(page: Page) -> None:
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=90_000)


def until_still(page: Page) -> None:
    """Wait until the page is drawn, as a person does before a click."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def wall(page: Page) -> Locator:
    return page.locator(".st-key-wall img")


def captions(page: Page) -> list[str]:
    return wall(page).evaluate_all("pictures => pictures.map((picture) => picture.alt)")


def until_captions(page: Page, wanted: Callable[[list[str]], bool]) -> None:
    """Wait until the wall, which is drawn picture by picture, has the expected captions."""
    end = time.monotonic() + 30
    while not wanted(captions(page)):
        assert time.monotonic() < end, captions(page)
        page.wait_for_timeout(100)


def press(page: Page, button: str, effect: Locator) -> None:
    """Click, and click again if a redraw on a busy machine has swallowed the click."""
    page.get_by_role("button", name=button).first.click()
    try:
        expect(effect.first).to_be_visible(timeout=15_000)
    except AssertionError:
        until_still(page)
        page.get_by_role("button", name=button).first.click()
        expect(effect.first).to_be_visible()


def step_of(text: str) -> int:
    return int(re.search(r"iteration ([\d,]+) of", text)[1])


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_the_first_visit_shows_the_wall_without_scrolling(browser, app: str, width: int, height: int):
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(app)
    until_scores(page)
    until_still(page)
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("smiling cat")
    pictures = wall(page)
    expect(pictures.nth(7)).to_be_visible()
    for picture in pictures.all()[:8]:
        box = picture.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height
        assert box["x"] + box["width"] <= width
        assert picture.get_attribute("alt")
    for control in ("Bits", "Graph weight", "Projection weight", "Graph sample"):
        box = page.get_by_role("slider", name=re.compile(control)).bounding_box()
        assert box["y"] + box["height"] <= height
    train = page.locator(".st-key-train button").bounding_box()
    assert train["y"] + train["height"] <= height
    page.context.close()


def test_typing_changes_the_wall_and_back_restores_it(page: Page, app: str):
    page.goto(app)
    until_scores(page)
    until_still(page)
    first = page.locator(".st-key-wall img").first
    box = page.get_by_role("textbox", name="Type words")
    expect(first).to_have_attribute("alt", re.compile("cat"))
    box.fill("flag")
    box.press("Enter")
    expect(first).to_have_attribute("alt", re.compile("flag"))
    expect(page).to_have_url(re.compile("search.words=flag"))
    page.go_back()
    expect(first).to_have_attribute("alt", re.compile("cat"))
    expect(box).to_have_value("smiling cat")
    page.go_forward()
    expect(first).to_have_attribute("alt", re.compile("flag"))
    expect(box).to_have_value("flag")


def test_a_click_searches_with_a_picture_and_flips_a_bit(page: Page, app: str, browser):
    page.goto(app)
    until_scores(page)
    until_still(page)
    typed, clicked = captions(page), page.locator(".st-key-wall li button").nth(2)
    name = clicked.locator("img").get_attribute("alt")
    clicked.hover()
    expect(page.locator(".st-key-wall .compared")).to_contain_text(name)
    clicked.click()
    until_captions(page, lambda now: now != typed)
    expect(page).to_have_url(re.compile(r"search\.row=\d+"))
    expect(page.locator(".st-key-wall .asked")).to_contain_text(name)
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("")
    assert name not in captions(page)  # an item does not find itself
    until_still(page)
    by_picture = captions(page)

    bit = page.get_by_role("button", name="bit 5", exact=True)
    before = bit.get_attribute("aria-pressed")
    page.get_by_role("button", name="bit 4", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"search\.flips=5"))
    expect(bit).not_to_have_attribute("aria-pressed", before)
    until_still(page)
    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_role("button", name="Undo 1 flip")).to_be_visible(timeout=60_000)
    until_captions(other, lambda now: now == captions(page))
    other.context.close()
    page.get_by_role("button", name="Undo 1 flip").click()
    until_captions(page, lambda now: now == by_picture)
    until_still(page)
    page.go_back()
    until_captions(page, lambda now: now == typed)
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("smiling cat")

    page.get_by_text("Map of codes with this query").click()
    canvas = page.locator(".st-key-explore_codes canvas")
    expect(canvas).to_be_visible()
    until_still(page)
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # the page scrolls smoothly
    box = canvas.bounding_box()
    for place in range(1, 20):  # until an item is near
        page.mouse.click(box["x"] + box["width"] * place / 20, box["y"] + box["height"] / 2)
        page.wait_for_timeout(300)
        if "search.row" in page.url:
            break
    until_captions(page, lambda now: now != typed)


def test_the_iteration_slider_shows_earlier_results(page: Page, app: str):
    page.goto(f"{app}/?data=emoji&method=smfh&bits=32&seed=4711&iterations=30")
    until_scores(page)
    until_still(page)
    final = captions(page)
    slider = page.locator(".st-key-wall_iteration").get_by_role("slider")
    slider.focus()
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "1")
    until_captions(page, lambda now: len(now) == len(final) and now != final)
    until_still(page)
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "30")
    until_captions(page, lambda now: now == final)


def test_a_run_can_be_paused_stepped_and_cancelled_after_a_reload(page: Page, app: str):
    page.goto(f"{app}/{SLOW}")
    progress = page.get_by_test_id("stProgress").get_by_text("iteration").first
    expect(progress).to_be_visible(timeout=60_000)
    first = step_of(progress.inner_text())
    expect(progress).not_to_have_text(re.compile(rf"iteration {first} of"), timeout=60_000)
    assert step_of(progress.inner_text()) > first

    press(page, "Pause", page.get_by_role("button", name="Resume"))
    paused = page.get_by_test_id("stProgress").get_by_text("· paused").last
    halted = step_of(paused.inner_text())
    press(page, "Step", page.get_by_text(f"iteration {halted + 1} of"))
    expect(paused).to_contain_text(f"iteration {halted + 1} of")
    press(page, "Resume", page.get_by_role("button", name="Pause"))

    page.reload()
    press(page, "Cancel", page.get_by_text("Cancelled; press Train to start again"))
    expect(page.locator(".st-key-train button")).to_be_enabled()


def test_a_shared_link_opens_the_same_state(page: Page, app: str, browser):
    page.goto(f"{app}/{QUICK}")
    until_scores(page)
    until_still(page)
    expect(page.get_by_test_id("stMetricValue")).to_have_count(4)
    scores = page.get_by_test_id("stMetricValue").all_inner_texts()
    page.get_by_role("button", name="Share").click()
    shared = page.get_by_test_id("stCode").first
    expect(shared).to_contain_text(f"{app}/?data=planted&method=smfh-plus")
    expect(page.get_by_alt_text("QR code of the link")).to_be_visible()

    other = browser.new_context().new_page()
    other.goto(shared.inner_text().strip())
    until_scores(other)
    expect(other.get_by_test_id("stMetricValue")).to_have_text(scores)
    other.context.close()


def test_a_link_can_start_paused_in_presentation_mode(page: Page, app: str):
    page.goto(f"{app}/{QUICK}&start=paused&present=true")
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("link", name="Compare")).to_be_hidden()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") > 18
    until_still(page)
    page.get_by_role("button", name="Resume").click()
    until_scores(page)
    page.get_by_role("button", name="End presentation").click()
    expect(page.get_by_role("link", name="Compare")).to_be_visible()


def test_settings_survive_a_visit_to_another_page(page: Page, app: str):
    page.goto(f"{app}/?data=planted&method=smfh&bits=24&seed=3&graph_weight=5.0")
    until_scores(page)
    page.get_by_role("link", name="Data").click()
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("graph_weight=5.0"))
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="SMFH · 24 bits · α 5")).to_be_visible()
    until_scores(page)
    expect(page).to_have_url(re.compile("graph_weight=5.0"))


def test_it_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page()
    phone.goto(f"{app}/{QUICK}")
    until_scores(phone)
    until_still(phone)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    phone.get_by_test_id("stExpandSidebarButton").tap()
    expect(phone.get_by_test_id("stSidebar").get_by_text("Bits (r)", exact=True)).to_be_in_viewport()
    expect(phone.locator(".st-key-train button")).to_be_in_viewport()
    phone.context.close()
