"""Tune in a browser: sweep, overlay, refine, test twice; search, apply, reload; restart and continue."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as BrowserTimeoutError

pytestmark = pytest.mark.slow
# data of its own, so that nothing of it is in the storage
DATA = f"data=planted&data.items=120&data.data_seed={time.time_ns() % 2**31}"
TINY = "method=smfh&bits=8&iterations=3&tune.parts=2"
RANGES = "tune.ranges=graph_weight=0.1:10:3"
MILLISECONDS = 120_000  # for a single step, on a machine with other work; an idle one needs about one second


@pytest.fixture(autouse=True)
def _patient(page: Page) -> Iterator[None]:
    page.set_default_timeout(MILLISECONDS)
    expect.set_options(timeout=MILLISECONDS)
    yield
    expect.set_options(timeout=30_000)


def until_still(page: Page) -> None:
    """A person does not click while the page is being drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def run_study(page: Page, trials: int) -> None:
    """Press Run, and wait until all is there."""
    run = page.get_by_role("button", name=re.compile(f"Run {trials} trials"))
    expect(run).to_be_visible()
    until_still(page)
    run.click()
    until_done(page, f"{trials} complete trials")


def test_sweep_click_and_open_in_explore(page: Page, app: str):
    page.goto(f"{app}/Tune?{DATA}&{TINY}&{RANGES}")
    run_study(page, 4)  # three values and the start
    expect(page.get_by_text("scored on validation folds, never on the held-out queries")).to_be_visible()
    plot = page.locator(".js-plotly-plot").first
    # the first points belong to the marks of the best and the start, then come those of the goal
    points = plot.locator(".subplot.xy .scatterlayer .trace").nth(4).locator("path.point")
    expect(points).to_have_count(4)
    points.nth(3).click(force=True)  # a layer for dragging lies over all points
    expect(page).to_have_url(re.compile("tune.trial=3"))
    expect(page.get_by_role("combobox", name="Selected trial")).to_have_value(re.compile("α 10 "))
    until_still(page)
    points.nth(0).click(force=True)
    expect(page).to_have_url(re.compile("tune.trial=1"))
    until_still(page)
    page.get_by_role("button", name="Open in Explore").click()
    expect(page.get_by_role("heading", name="Explore", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("graph_weight=0.1"))


def test_search_apply_and_reload(page: Page, app: str, browser):
    page.goto(f"{app}/Tune?{DATA}&{TINY}&tune.way=search&tune.trials=6&tune.tuned=graph_weight,ridge")
    run = page.get_by_role("button", name=re.compile("Run 6 trials"))
    expect(run).to_be_visible()
    until_still(page)
    run.click()
    until_done(page, re.compile(r"^6 (complete )?trials on"))
    chosen = page.get_by_role("combobox", name="Selected trial")
    chosen.click()
    page.get_by_role("option").last.click()
    expect(page).to_have_url(re.compile(r"tune.trial=\d"))
    until_still(page)
    use = page.get_by_role("button", name="Apply to sidebar")
    if use.is_disabled():  # the start is what is set already
        chosen.click()
        page.get_by_role("option").first.click()
        until_still(page)
    use.click()
    expect(use).to_be_disabled()
    expect(page).to_have_url(re.compile("graph_weight=.*ridge="))
    address = page.url
    page.reload()
    expect(page.get_by_text(re.compile(r"^6 (complete )?trials on"))).to_be_visible()
    expect(page).to_have_url(address)
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
    other = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    other.set_default_timeout(MILLISECONDS)
    other.goto(f"{app}/Tune?{DATA}&{TINY}")
    expect(other.get_by_text("All studies")).to_be_visible()
    until_still(other)
    assert other.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    other.context.close()


def open_page_at(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", name="Tune", exact=True)).to_be_visible()
    until_still(page)


def until_done(page: Page, text: str | re.Pattern[str]) -> None:
    """Wait for the text as long as trials go on; fail if nothing on the page changes while one waits for a step."""
    seen, target = "", page.get_by_text(text).first
    while not target.is_visible():
        try:
            expect(target).to_be_visible()
        except AssertionError:
            now = page.get_by_test_id("stMain").inner_text()
            if now == seen:
                raise
            seen = now
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)  # then the page is drawn once more
    until_still(page)


def test_from_a_slider_to_a_decision_with_a_restart_in_the_middle(page: Page, start_server):
    """Sweep from a slider, refine, test twice, sweep other data, lose the server, continue, overlay."""
    server, seed = start_server(), time.time_ns() % 2**31
    port = int(server.address.rsplit(":", 1)[1])
    tiny = f"data.items=100&data.data_seed={seed}&method=smfh&bits=8"
    page.goto(f"{server.address}/?data=planted&iterations=3&{tiny}")
    button = page.locator(".st-key-sweep_graph_weight").get_by_role("button")
    expect(button).to_be_visible()
    until_still(page)
    button.click()  # one click from a slider to the answer
    expect(page.get_by_role("heading", name="Tune", exact=True)).to_be_visible()
    until_done(page, "9 complete trials")
    expect(page.get_by_text(re.compile("^Highest balanced score at α.*start")).first).to_be_visible()
    expect(page.get_by_text("of 8 relevant")).to_have_count(5)
    first = re.sub("&tune.trial=[0-9]+", "", page.url)
    page.get_by_role("button", name=re.compile("^More points from")).click()
    until_done(page, re.compile("^1[1-9] complete trials"))
    for count, trial in (("1st", 1), ("2nd", 2)):
        open_page_at(page, f"{first}&tune.trial={trial}")
        page.get_by_role("button", name=f"Test on held-out queries ({count} test of this study)").click()
        until_done(page, "Each direction")

    link = f"/Tune?data=synthetic&iterations=300&{tiny}&tune.parts=2&tune.ranges=graph_weight=0.1:10:4"
    open_page_at(page, f"{server.address}{link}")
    page.get_by_role("button", name=re.compile(r"Run 5 trials · about \d")).click()
    page.get_by_role("button", name="Pause", exact=True).click()  # the server is lost in the middle, at any speed
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    study = re.search("tune.study=[^&]+", page.url).group()
    page.goto("about:blank")  # an open page would load itself again when the server is back
    server.process.kill()
    server.process.wait()
    again = start_server(port=port)
    open_page_at(page, f"{again.address}{link}&{study}")
    expect(page.get_by_text(re.compile(r"^Interrupted after [0-4] of 5 trials"))).to_be_visible()
    page.get_by_role("button", name="Continue", exact=True).click()
    until_done(page, "5 complete trials")
    legend = page.locator(".js-plotly-plot").first.locator(".legendtext")
    expect(legend.first).to_be_visible()
    option = page.get_by_role("option").filter(has_text="SMFH on Planted").first
    for _ in range(10):  # a menu closes when the page above it changes its height
        page.get_by_role("combobox", name="Overlay studies").click()
        with suppress(BrowserTimeoutError):
            option.wait_for(timeout=5_000)
            break
    option.click()
    page.keyboard.press("Escape")
    expect(legend.filter(has_text="SMFH on Planted").first).to_be_visible()

    open_page_at(page, first)
    expect(page.get_by_text("2 tests on the held-out queries, so each interval is wider")).to_be_visible()
    expect(page.get_by_role("button", name="(3rd test of this study)")).to_be_visible()
