"""Bits as a person uses it: choose one, brush the map, move the radius, open a query that failed."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

TRAINED = 60_000  # milliseconds


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def open_bits(page: Page, app: str, query: str = "") -> None:
    page.goto(f"{app}/Bits?data=emoji&bits=32{query}")
    expect(page.get_by_role("tab", name="The space of codes")).to_be_visible(timeout=TRAINED)
    expect(tile(page, 0)).to_be_visible(timeout=TRAINED)
    until_still(page)


def tile(page: Page, number: int) -> Locator:
    return page.locator(".st-key-bit_tiles text.bartext").get_by_text(str(number), exact=True)


def click_tile(page: Page, number: int) -> None:
    """Click as a person does: Plotly's own layer lies above the tiles."""
    until_still(page)
    box = tile(page, number).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("heading", name=f"Bit {number}", exact=True)).to_be_visible()
    until_still(page)


def pictures(page: Page, gallery: str) -> Locator:
    return page.locator(f".st-key-gallery_{gallery} img")


def names(page: Page, gallery: str) -> list[str]:
    return [picture.get_attribute("alt") for picture in pictures(page, gallery).all()]


def test_a_clicked_bit_shows_its_words_and_pictures_and_a_link_opens_it(page: Page, app: str, browser):
    open_bits(page, app)
    click_tile(page, 3)
    words = page.locator(".st-key-chart_bit_words")
    before = (names(page, "bit"), words.inner_text())
    click_tile(page, 9)
    expect(page).to_have_url(re.compile(r"bits\.bit=9"))
    expect(page.get_by_text("switches bit 9 on most")).to_be_visible()
    after = (names(page, "bit"), words.inner_text())
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert len(after[0]) == 6

    page.get_by_role("spinbutton", name="Bit").fill("3")
    page.get_by_role("spinbutton", name="Bit").press("Enter")
    expect(page.get_by_role("heading", name="Bit 3", exact=True)).to_be_visible()
    click_tile(page, 9)

    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.get_by_role("heading", name="Bit 9", exact=True)).to_be_visible(timeout=TRAINED)
    other.context.close()


def test_brushed_points_show_their_pictures_and_the_radius_widens_what_is_found(page: Page, app: str):
    open_bits(page, app)
    page.get_by_role("tab", name="The space of codes").click()
    drag = page.locator(".st-key-code_map .nsewdrag").first
    expect(drag).to_be_visible()
    expect(page.get_by_text("Drag over the map")).to_be_visible()
    until_still(page)
    drag.scroll_into_view_if_needed()
    box = drag.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=5)
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"^[\d,]+ items, the first 12 of them here"))).to_be_visible()
    expect(pictures(page, "brushed")).to_have_count(12)
    until_still(page)

    slider = page.get_by_role("slider", name="Hamming radius (bits)")
    slider.focus()
    slider.press("End")
    expect(page.get_by_text(re.compile("finds 1,391 items within radius 32"))).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").get_by_text("100%")).to_be_visible()
    expect(pictures(page, "brushed")).to_have_count(12)


def test_the_worst_query_opens_in_search(page: Page, app: str):
    open_bits(page, app)
    page.get_by_role("tab", name="Worst and best queries").click()
    table = page.locator(".st-key-query_table canvas").first
    expect(table).to_be_visible()
    until_still(page)
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 52)  # the first row, under the names
    expect(page.get_by_role("heading", name="Search", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"search\.row=\d+"))


def test_it_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.set_default_timeout(30_000)
    open_bits(phone, app)
    width = phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
    phone.context.close()
