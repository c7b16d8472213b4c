"""Explore as a person uses it: open, type, train, watch, cancel, share, come back."""

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
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def wall(page: Page) -> Locator:
    return page.locator(".st-key-wall img")


def captions(page: Page) -> list[str]:
    return wall(page).evaluate_all("pictures => pictures.map((picture) => picture.alt)")


def until_captions(page: Page, wanted: Callable[[list[str]], bool]) -> None:
    """The wall is drawn picture by picture; a person looks until it is whole."""
    end = time.monotonic() + 30
    while not wanted(captions(page)):
        assert time.monotonic() < end, captions(page)
        page.wait_for_timeout(100)


def press(page: Page, button: str, effect: Locator) -> None:
    """Click, and once more where a busy machine drew the button anew under the click."""
    page.get_by_role("button", name=button).first.click()
    try:
        expect(effect.first).to_be_visible(timeout=15_000)
    except AssertionError:
        until_still(page)
        page.get_by_role("button", name=button).first.click()
        expect(effect.first).to_be_visible()


def step_of(text: str) -> int:
    return int(re.search(r"Step ([\d,]+) of", text)[1])


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720)])
def test_the_first_visit_shows_a_wall_above_the_fold(browser, app: str, width: int, height: int):
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(app)
    until_scores(page)
    until_still(page)
    expect(page.get_by_role("textbox", name="Type words")).to_have_value("smiling cat")
    pictures = wall(page)
    assert pictures.count() >= 8
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


def test_typing_changes_the_wall_and_back_and_forward_go_between(page: Page, app: str):
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


def test_the_slider_goes_back_to_noise_and_forward_to_order(page: Page, app: str):
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


def test_train_as_i_move_trains_when_a_slider_is_let_go(page: Page, app: str):
    page.goto(f"{app}/{QUICK}")
    until_scores(page)
    until_still(page)
    page.get_by_text("Train as I move").click()
    until_still(page)
    slider = page.get_by_role("slider", name=re.compile("Bits"))
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_role("heading", name="24 bits")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("pinned").first).to_be_visible()
    expect(page).to_have_url(re.compile("bits=24"))


def test_a_number_is_typed_and_a_wrong_one_says_why(page: Page, app: str):
    page.goto(f"{app}/{QUICK}")
    until_scores(page)
    until_still(page)
    typed = page.get_by_role("textbox", name="Graph weight · α, typed")
    typed.fill("42")
    typed.press("Enter")
    expect(page).to_have_url(re.compile("graph_weight=42.0"))
    slider = page.get_by_role("slider", name=re.compile("Graph weight"))
    expect(slider).to_have_attribute("aria-valuetext", "42")
    until_still(page)
    typed.fill("a lot")
    typed.press("Enter")
    expect(page.get_by_text("got 'a lot'")).to_be_visible()
    slider.focus()
    slider.press("ArrowRight")
    expect(typed).to_have_value("50")
    expect(page.get_by_text("got 'a lot'")).to_have_count(0)
    until_still(page)
    slider.press("ArrowRight")
    expect(typed).to_have_value("100")


def test_a_run_can_be_watched_paused_stepped_and_cancelled_even_after_a_reload(page: Page, app: str):
    page.goto(f"{app}/{SLOW}")
    progress = page.get_by_test_id("stProgress").get_by_text("Step").first
    expect(progress).to_be_visible(timeout=60_000)
    first = step_of(progress.inner_text())
    expect(progress).not_to_have_text(re.compile(rf"Step {first} of"), timeout=60_000)
    assert step_of(progress.inner_text()) > first

    press(page, "Pause", page.get_by_role("button", name="Resume"))
    paused = page.get_by_test_id("stProgress").get_by_text("· paused").last
    halted = step_of(paused.inner_text())
    press(page, "Step", page.get_by_text(f"Step {halted + 1} of"))
    expect(paused).to_contain_text(f"Step {halted + 1} of")
    press(page, "Resume", page.get_by_role("button", name="Pause"))

    page.reload()
    press(page, "Cancel", page.get_by_text("Cancelled. The settings are kept"))
    expect(page.locator(".st-key-train button")).to_be_enabled()


def test_a_shared_link_opens_the_same_state_and_is_a_picture_too(page: Page, app: str, browser):
    page.goto(f"{app}/{QUICK}")
    until_scores(page)
    until_still(page)
    expect(page.get_by_test_id("stMetricValue")).to_have_count(2)
    scores = page.get_by_test_id("stMetricValue").all_inner_texts()
    page.get_by_role("button", name="Share").click()
    shared = page.get_by_test_id("stCode").first
    expect(shared).to_contain_text(f"{app}/?data=planted&method=smfh-plus")
    expect(page.get_by_alt_text("The link as a QR code")).to_be_visible()

    other = browser.new_context().new_page()
    other.goto(shared.inner_text().strip())
    until_scores(other)
    expect(other.get_by_test_id("stMetricValue")).to_have_text(scores)
    other.context.close()


def test_a_teachers_link_waits_for_the_class_in_large_type(page: Page, app: str):
    page.goto(f"{app}/{QUICK}&start=paused&present=true")
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("link", name="Compare")).to_be_hidden()
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") > 18
    until_still(page)
    page.get_by_role("button", name="Resume").click()
    until_scores(page)
    page.get_by_role("button", name="End the presentation").click()
    expect(page.get_by_role("link", name="Compare")).to_be_visible()


def test_settings_survive_a_look_at_another_page(page: Page, app: str):
    page.goto(f"{app}/?data=planted&method=smfh&bits=24&seed=3&graph_weight=5.0")
    until_scores(page)
    page.get_by_role("link", name="Data").click()
    expect(page.get_by_role("heading", name="Data", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("graph_weight=5.0"))
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="SMFH · 24 bits · α 5")).to_be_visible()
    until_scores(page)
    expect(page).to_have_url(re.compile("graph_weight=5.0"))


def test_on_a_phone_it_fits_and_the_settings_are_one_tap_away(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page()
    phone.goto(f"{app}/{QUICK}")
    until_scores(phone)
    until_still(phone)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    phone.get_by_test_id("stExpandSidebarButton").tap()
    expect(phone.get_by_test_id("stSidebar").get_by_text("Bits · r", exact=True)).to_be_in_viewport()
    expect(phone.locator(".st-key-train button")).to_be_in_viewport()
    phone.context.close()
