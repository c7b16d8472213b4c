"""Bits in a real browser: choose a bit, brush the map, move the radius, open a query."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

TRAINED_MS = 60_000


def until_still(page: Page) -> None:
    """Wait until the page is drawn, as a person does before a click."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def open_bits(page: Page, app: str, query: str = "") -> None:
    page.goto(f"{app}/Bits?data=emoji&bits=32{query}")
    expect(page.get_by_role("tab", name="Map of codes")).to_be_visible(timeout=TRAINED_MS)
    expect(tile(page, 0)).to_be_visible(timeout=TRAINED_MS)
    until_still(page)


def tile(page: Page, number: int) -> Locator:
    label = re.compile(rf"^{number}( ≈.*)?$")  # ≈ a correlated bit
    return page.locator(".st-key-bit_tiles text.bartext").get_by_text(label)


def click_tile(page: Page, number: int) -> None:
    """Click by position: Plotly has a layer above the tiles."""
    until_still(page)
    box = tile(page, number).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("heading", name=f"Bit {number}", exact=True)).to_be_visible()
    until_still(page)


def pictures(page: Page, gallery: str) -> Locator:
    return page.locator(f".st-key-gallery_{gallery} img")


def names(page: Page, gallery: str) -> list[str]:
    return [picture.get_attribute("alt") for picture in pictures(page, gallery).all()]


def test_a_clicked_bit_shows_words_and_pictures_and_has_a_link(page: Page, app: str, browser):
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
    expect(other.get_by_role("heading", name="Bit 9", exact=True)).to_be_visible(timeout=TRAINED_MS)
    other.context.close()


def open_map(page: Page) -> Locator:
    page.get_by_role("tab", name="Map of codes").click()
    canvas = page.locator(".st-key-picture_map canvas")
    expect(canvas).to_be_visible()
    expect(page.get_by_text("Drag over the map")).to_be_visible()
    until_still(page)
    canvas.scroll_into_view_if_needed()
    return canvas


def drag(page: Page, canvas: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag between two positions, in shares of the canvas."""
    box = canvas.bounding_box()
    there = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*there[0])
    page.mouse.down()
    page.mouse.move(*there[1], steps=5)
    page.mouse.up()


def coloured(canvas: Locator) -> int:
    """Number of drawn pixels of the map."""
    return canvas.evaluate(
        """c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data
            .reduce((sum, v, k) => sum + (k % 4 === 3 && v > 0), 0)"""
    )


def test_the_map_shows_pictures_and_brushed_items(page: Page, app: str):
    open_bits(page, app)
    canvas = open_map(page)
    expect(canvas).to_have_attribute("aria-label", re.compile("1,391 items of the database, placed by PCA"))
    page.wait_for_function("window.smfhSheet !== undefined")
    assert coloured(canvas) > 10_000
    drag(page, canvas, (0.01, 0.01), (0.99, 0.99))
    expect(page.get_by_text(re.compile(r"^1,391 items, first 12 shown"))).to_be_visible()
    expect(pictures(page, "brushed")).to_have_count(12)
    until_still(page)

    slider = page.get_by_role("slider", name="Hamming radius (bits)")
    slider.focus()
    slider.press("End")
    expect(page.get_by_text(re.compile("finds 1,391 items within radius 32"))).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").get_by_text("100%")).to_be_visible()
    expect(pictures(page, "brushed")).to_have_count(12)

    canvas.focus()
    canvas.press("Escape")
    expect(page.get_by_text("Drag over the map")).to_be_visible()


def test_the_map_zooms_and_moves(page: Page, app: str):
    open_bits(page, app)
    canvas = open_map(page)
    for _ in range(4):
        page.get_by_role("button", name="Zoom in", exact=True).last.click()
    drag(page, canvas, (0.01, 0.01), (0.99, 0.99))
    brushed = page.get_by_text(re.compile(r"^[\d,]+ items?(, first 12 shown)?: "))
    expect(brushed).to_be_visible()
    assert int(brushed.inner_text().split()[0].replace(",", "")) < 1391
    until_still(page)
    before = brushed.inner_text()
    page.get_by_role("button", name="Move", exact=True).click()
    drag(page, canvas, (0.5, 0.5), (0.6, 0.6))
    expect(brushed).to_have_text(before)  # moving does not change the selection
    page.get_by_role("button", name="Whole map").click()
    page.get_by_role("button", name="Brush", exact=True).click()
    drag(page, canvas, (0.01, 0.01), (0.99, 0.99))
    expect(page.get_by_text(re.compile("^1,391 items, first"))).to_be_visible()


def test_the_worst_query_opens_in_search(page: Page, app: str):
    open_bits(page, app)
    page.get_by_role("tab", name="Worst and best queries").click()
    table = page.locator(".st-key-query_table canvas").first
    expect(table).to_be_visible()
    until_still(page)
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 52)  # the first row, below the header
    expect(page.get_by_role("heading", name="Search", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"search\.row=\d+"))
    expect(page.get_by_text(re.compile(r"item \d+, a held-out query"))).to_be_visible()
    until_still(page)
    page.go_back()
    expect(page.get_by_role("heading", name="Bits", exact=True)).to_be_visible()
    expect(tile(page, 0)).to_be_visible()
    until_still(page)
    expect(page).to_have_url(re.compile(r"/Bits\?"))


def test_it_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.set_default_timeout(30_000)
    open_bits(phone, app)
    width = phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
    phone.context.close()
