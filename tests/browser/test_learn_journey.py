"""Learn as a class uses it: an iteration by hand, a lesson from its link, the film, and a flipped bit."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from smfh.lessons.iteration import ABOUT

pytestmark = pytest.mark.slow

TRAINED = 90_000  # milliseconds


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def heading(page: Page, iteration: int, step: str) -> Locator:
    number = list(ABOUT).index(step) + 1
    return page.get_by_role("heading", name=f"Iteration {iteration}, step {number}: {ABOUT[step].title}")


def press(page: Page, slider: str, key: str) -> None:
    until_still(page)
    page.locator(f".st-key-{slider} input").press(key)


def names(pictures: Locator) -> list[str]:
    return [picture.get_attribute("alt") for picture in pictures.all()]


def test_a_whole_iteration_is_walked_and_an_entry_shows_its_numbers(page: Page, app: str, browser):
    page.goto(f"{app}/Learn?learn.part=iteration")
    for place, step in enumerate([*ABOUT, "bases"]):
        iteration = 1 + place // len(ABOUT)
        expect(heading(page, iteration, step)).to_be_visible(timeout=TRAINED)
        expect(page.locator(".st-key-learn_matrices button.lit").first).to_be_attached()
        if place < len(ABOUT):
            until_still(page)
            page.get_by_role("button", name="Forward").click()
    expect(page).to_have_url(re.compile(r"learn\.iteration=2"))

    until_still(page)
    cell = page.get_by_role("button", name=re.compile(r"^U text, face, bit 1: "))
    cell.click()
    update = page.locator(".st-key-learn_entry")
    expect(update).to_contain_text("U of text, face, bit 1")
    expect(page).to_have_url(re.compile(r"learn\.entry=basis(:|%3A)text(:|%3A)1(:|%3A)1"))
    expect(cell).to_have_class(re.compile("chosen"))
    shown, told = cell.inner_text(), re.search(r"bit 1: ([\d.]+)", update.inner_text())
    assert float(told[1]) == pytest.approx(float(shown), abs=0.0051)

    page.get_by_role("button", name="Play").click()
    expect(heading(page, 2, "sample")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()

    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_role("heading", name=re.compile("^Iteration 2, step"))).to_be_visible(timeout=TRAINED)
    other.context.close()


def test_a_lesson_from_its_link_answers_the_slider_and_hides_its_answer(page: Page, app: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{app}/Learn?present=true&learn.lesson=two-truths&learn.at=2")
    expect(page.get_by_text("α = 5:")).to_be_visible(timeout=TRAINED)
    expect(page.get_by_role("radiogroup", name="Part")).to_have_count(0)
    pictures = page.locator(".st-key-lesson_walls li img")
    expect(pictures.first).to_be_visible()
    before = names(pictures)
    press(page, "learn_at", "End")
    expect(page.get_by_text("α = 400:")).to_be_visible()
    expect(page).to_have_url(re.compile(r"learn\.at=8"))
    until_still(page)
    assert names(pictures) != before
    answer = page.get_by_text(re.compile("whole ranking at α = "))
    expect(answer).not_to_be_visible()
    page.get_by_text("The answer", exact=True).click()
    expect(answer).to_be_visible()


def test_the_film_goes_from_noise_to_order_and_a_bit_can_be_flipped(page: Page, app: str):
    page.goto(f"{app}/Learn?learn.part=film")
    title = page.locator(".st-key-film_ranking h4")
    expect(title).to_be_visible(timeout=TRAINED)
    expect(page.locator(".st-key-film_map canvas")).to_be_visible()
    last = int(re.search(r"find (\d+) of 12", title.inner_text())[1])
    press(page, "learn_frame", "Home")
    expect(page).to_have_url(re.compile(r"learn\.frame=1(&|$)"))
    expect(page.get_by_text(re.compile("^Iteration 1: the objective is at 100"))).to_be_visible()
    until_still(page)
    first = int(re.search(r"find (\d+) of 12", title.inner_text())[1])
    assert last > first

    page.goto(f"{app}/Search?data=emoji&search.words=cat")
    editor = page.get_by_text("Edit the code", exact=True)
    expect(editor).to_be_visible(timeout=TRAINED)
    until_still(page)
    editor.click()
    page.locator(".st-key-search_code").get_by_role("button", name="3", exact=True).click()
    expect(page).to_have_url(re.compile(r"search\.flips=3"))
    expect(page.get_by_text(re.compile("Edit the code · 1 bit flipped"))).to_be_visible()
