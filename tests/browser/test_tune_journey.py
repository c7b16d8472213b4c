"""Tune as a person uses it: sweep, click a point, open it; search, use what was found, come back."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
# data of its own, so that nothing of it is in the storage
DATA = f"data=planted&data.items=120&data.data_seed={time.time_ns() % 2**31}"
TINY = "method=smfh&bits=8&iterations=3&tune.parts=2"
RANGES = "tune.ranges=graph_weight=0.1:10:3"


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def run_study(page: Page, trials: int) -> None:
    """Press Run, and wait until all is there."""
    run = page.get_by_role("button", name=re.compile(f"Run {trials} trials"))
    expect(run).to_be_visible(timeout=60_000)
    until_still(page)
    run.click()
    expect(page.get_by_text(f"{trials} trials ({trials} complete)")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    until_still(page)


def test_a_sweep_of_three_values_and_one_of_them_in_explore(page: Page, app: str):
    page.goto(f"{app}/Tune?{DATA}&{TINY}&{RANGES}")
    run_study(page, 4)  # three values and the start
    expect(page.get_by_text("validation parts of the training rows, never on the queries")).to_be_visible()
    points = page.locator(".js-plotly-plot").first.locator(".scatterlayer .trace path.point")
    expect(points.first).to_be_visible()
    points.nth(3).click(force=True)  # a layer for dragging lies over all points
    expect(page).to_have_url(re.compile("tune.trial=3"))
    expect(page.get_by_role("combobox", name="Chosen trial")).to_have_value(re.compile("α 10 "))
    until_still(page)
    points.nth(0).click(force=True)
    expect(page).to_have_url(re.compile("tune.trial=1"))
    until_still(page)
    page.get_by_role("button", name="Open in Explore").click()
    expect(page.get_by_role("heading", name="Explore", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("graph_weight=0.1"))


def test_a_search_is_used_and_is_there_after_a_reload(page: Page, app: str, browser):
    page.goto(f"{app}/Tune?{DATA}&{TINY}&tune.way=search&tune.trials=6&tune.tuned=graph_weight,ridge")
    run = page.get_by_role("button", name=re.compile("Run 6 trials"))
    expect(run).to_be_visible(timeout=60_000)
    until_still(page)
    run.click()
    expect(page.get_by_text(re.compile(r"^6 trials \("))).to_be_visible()
    until_still(page)
    chosen = page.get_by_role("combobox", name="Chosen trial")
    chosen.click()
    page.get_by_role("option").last.click()
    expect(page).to_have_url(re.compile(r"tune.trial=\d"))
    until_still(page)
    use = page.get_by_role("button", name="Use these")
    if use.is_disabled():  # the start is what is set already
        chosen.click()
        page.get_by_role("option").first.click()
        until_still(page)
    use.click()
    expect(use).to_be_disabled()
    expect(page).to_have_url(re.compile("graph_weight=.*ridge="))
    address = page.url
    page.reload()
    expect(page.get_by_text(re.compile(r"^6 trials \("))).to_be_visible(timeout=60_000)
    expect(page).to_have_url(address)
    expect(page.locator(".js-plotly-plot")).to_have_count(7)
    other = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    other.goto(f"{app}/Tune?{DATA}&{TINY}")
    expect(other.get_by_text("All studies")).to_be_visible(timeout=60_000)
    until_still(other)
    assert other.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    other.context.close()
