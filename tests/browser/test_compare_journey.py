"""Compare in a browser: train, change the view, export, reload, open a run."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from smfh.metrics import AP_DEFINITIONS

pytestmark = pytest.mark.slow
# data of its own, so that nothing of it is in the store
DATA = f"data=planted&data.items=150&data.data_seed={time.time_ns() % 2**31}"
TINY = "compare.methods=smfh,cvh&compare.bits=8,16&compare.seeds=2"
FIGURES = 11


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def until_there(page: Page, figures: int = FIGURES) -> None:
    expect(page.get_by_role("button", name="All 8 runs are done")).to_be_visible(timeout=60_000)
    expect(page.locator(".js-plotly-plot")).to_have_count(figures)
    until_still(page)


def test_a_comparison_from_the_first_click_to_the_report(page: Page, app: str, browser, tmp_path: Path):
    page.goto(f"{app}/Compare?{DATA}&{TINY}")
    run = page.get_by_role("button", name="Train 8 runs")
    expect(run).to_be_visible(timeout=60_000)
    until_still(page)
    run.click()
    expect(page.get_by_test_id("stProgress").get_by_text(re.compile(r"\d of 8"))).to_be_visible()
    until_there(page)
    expect(
        page.get_by_text(re.compile(r"at 16 bits, text → image: .* over \d+ queries, 2 seeds")).first
    ).to_be_visible()

    page.get_by_role("combobox", name="Metric").click()
    page.get_by_role("option", name="mAP@100 / all relevant").click()
    expect(page.locator(".katex").first).to_be_visible()  # the formula of the definition
    expect(page).to_have_url(re.compile("compare.definition=all"))
    expect(page.get_by_role("button", name="All 8 runs are done")).to_be_visible()
    until_still(page)

    with page.expect_download() as handed_out:
        page.get_by_role("button", name="Report (HTML)").click()
    handed_out.value.save_as(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "plotly.js v" in report
    assert AP_DEFINITIONS["all"].words in report
    assert "<math" in report  # its formula

    other = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    other.goto(page.url)
    until_there(other, FIGURES + 1)  # this metric beside the three that are always told
    expect(other.locator(".katex").first).to_be_visible()
    other.get_by_role("button", name="Open in Explore").click()
    expect(other.get_by_role("heading", name=re.compile(" · 8 bits · .*seed 0"))).to_be_visible()
    expect(other).to_have_url(re.compile("bits=8"))
    other.context.close()

    alone = browser.new_context(offline=True).new_page()
    alone.goto((tmp_path / "report.html").as_uri())
    expect(alone.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(alone.locator(".js-plotly-plot")).to_have_count(FIGURES + 1)
    alone.context.close()


def test_a_click_on_a_point_opens_that_run(page: Page, app: str):
    page.goto(f"{app}/Compare?{DATA}&{TINY}")
    run = page.get_by_role("button", name=re.compile("Train 8 runs|All 8 runs"))
    expect(run).to_be_visible(timeout=60_000)
    until_still(page)
    if run.is_enabled():
        run.click()
    until_there(page)
    chart = page.locator(".js-plotly-plot").first
    points = chart.locator(".scatterlayer .trace path.point")
    expect(points.first).to_be_visible()
    points.nth(1).click(force=True)  # a layer for dragging lies over all points
    expect(page.get_by_role("heading", name=re.compile(" · 16 bits · .*seed 0"))).to_be_visible()
    expect(page).to_have_url(re.compile("bits=16"))


def test_it_fits_a_phone(app: str, browser):
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.goto(f"{app}/Compare?{DATA}&{TINY}")
    expect(phone.get_by_role("button", name=re.compile("runs"))).to_be_visible(timeout=60_000)
    until_still(phone)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    phone.context.close()
