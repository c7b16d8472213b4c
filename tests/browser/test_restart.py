"""A restarted server: the page reloads by itself, with what was on it."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
LINK = "/Bits?data=planted&data.items=120&method=cvh&bits=16&seed=3"


def shows_the_run(page: Page) -> None:
    expect(page.get_by_role("heading", name="CVH · 16 bits · seed 3")).to_be_visible(timeout=120_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    page.wait_for_function("window.smfhStarted !== undefined")


def test_a_page_reloads_after_a_restart_of_the_server(page: Page, start_server):
    server = start_server()
    page.goto(server.address + LINK)
    shows_the_run(page)
    page.evaluate("window.isSamePage = true")
    server.process.kill()
    server.process.wait()
    start_server(port=int(server.address.rsplit(":", 1)[1]))
    page.wait_for_function("window.isSamePage === undefined", timeout=120_000)
    shows_the_run(page)
    expect(page).to_have_url(server.address + LINK)


def test_a_page_does_not_reload_again_and_again(page: Page, app: str):
    """Two servers that take turns behind one address cause one reload."""
    other = '{"ready": true, "started": "another"}'
    page.route(re.compile("/health"), lambda route: route.fulfill(body=other, content_type="application/json"))
    loads = []
    page.on("load", lambda: loads.append(1))
    page.goto(app + LINK)
    page.wait_for_function("window.smfhStarted !== undefined", timeout=120_000)
    page.evaluate("window.isSamePage = true")
    page.wait_for_function("window.isSamePage === undefined", timeout=120_000)
    shows_the_run(page)
    page.wait_for_timeout(12_000)
    assert len(loads) == 2
