"""The Paper page in a browser: published numbers, measuring a table, figures, errata."""

import re

import pytest
from playwright.sync_api import Page, expect

from smfh.paper import ERRATA, STAND_IN, runnable
from smfh.runs import RunStore

pytestmark = pytest.mark.slow
DATA = STAND_IN if runnable("wiki") else "wiki"
LINK = f"Paper?data=planted&paper.data={DATA}&paper.methods=smfh&paper.seeds=1"


@pytest.fixture
def nothing_measured(cache_folder: None) -> None:
    """Delete the runs of earlier tests, so that there is something to measure."""
    store = RunStore()
    for record in store.records():
        if (record.source.name, record.method.name) == (DATA, "smfh"):
            store.delete(record.id)


def until_still(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def open_tab(page: Page, name: str) -> None:
    until_still(page)
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name, selected=True)).to_be_visible()
    until_still(page)


def test_published_numbers_are_shown_with_and_without_the_files(page: Page, app: str):
    page.goto(f"{app}/Paper?data=planted&paper.data=nus-wide")
    expect(page.get_by_role("table").first).to_contain_text("0.663", timeout=60_000)
    if runnable("nus-wide"):
        expect(page.get_by_text("The files of this data set are missing")).to_be_visible()


@pytest.mark.usefixtures("nothing_measured")
def test_a_table_is_measured_and_its_numbers_appear(page: Page, app: str):
    page.goto(f"{app}/{LINK}")
    first = page.get_by_role("table").first
    expect(first).to_be_visible(timeout=60_000)
    if DATA == "wiki":
        expect(first).to_contain_text("0.604")
    expect(page.get_by_role("table").nth(2)).to_contain_text("–")  # seconds: none are shipped
    until_still(page)
    page.get_by_role("button", name=re.compile("Measure 3 ")).click()
    expect(page.get_by_text(re.compile("^All 3 "))).to_be_visible(timeout=90_000)
    expect(first).not_to_contain_text("–")
    expect(first).to_contain_text(re.compile(r"0\.\d{3}"))
    expect(page.get_by_text(re.compile("^All 2 "))).to_be_visible()  # Table 2 shares them
    expect(page).to_have_url(re.compile(rf"paper\.data={DATA}"))

    open_tab(page, "Figures")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    row = page.locator(".st-key-part_figure-4a")
    row.get_by_role("button", name="Measure").click()
    expect(row.get_by_text(re.compile("of 10 "))).to_be_visible()
    until_still(page)
    row.get_by_role("button", name="Cancel").click()
    expect(row.get_by_text(re.compile("^Cancelled"))).to_be_visible()
    expect(row.get_by_role("button", name="Measure")).to_be_enabled()

    open_tab(page, "Errata")
    expect(page.get_by_text(ERRATA[0].where, exact=True)).to_be_visible()
    formulas = page.locator(".katex")
    expect(formulas.first).to_be_visible()
    assert formulas.count() >= 2 * len(ERRATA)
    assert page.locator(".katex-error").count() == 0


def test_the_page_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.goto(f"{app}/{LINK}")
    expect(phone.get_by_role("table").first).to_be_visible(timeout=60_000)
    open_tab(phone, "Errata")
    width = phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= 390
    phone.context.close()
