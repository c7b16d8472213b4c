"""A server that hangs or is killed: the page says so, and comes back by itself with what was on it."""

import re
import signal
import time

import pytest
from playwright.sync_api import Page, expect

from smfh.datasets.own import example_archive
from smfh.ui.touch import LOST

pytestmark = pytest.mark.slow
LINK = "/Bits?data=planted&data.items=120&method=cvh&bits=16&seed=3"


def shows_the_run(page: Page) -> None:
    expect(page.get_by_role("heading", name="CVH · 16 bits · seed 3")).to_be_visible(timeout=120_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    page.wait_for_function("window.smfhTouch !== undefined")  # its part of the page has come


def test_a_hanging_server_is_told_and_the_page_goes_on_when_it_answers(page: Page, start_server):
    server = start_server()
    page.goto(server.address + LINK)
    shows_the_run(page)
    page.evaluate("window.stillTheSame = true")
    banner = page.get_by_text(LOST)
    server.process.send_signal(signal.SIGSTOP)
    expect(banner).to_be_visible(timeout=120_000)
    server.process.send_signal(signal.SIGCONT)
    expect(banner).to_have_count(0)
    assert page.evaluate("window.stillTheSame")  # it is the same server: nothing is opened again
    shows_the_run(page)


def test_a_page_comes_back_from_a_server_that_began_anew(page: Page, browser, start_server):
    server = start_server()
    owner = browser.new_context().new_page()
    owner.goto(f"{server.address}/Data?data=planted")
    owner.get_by_role("tab", name="Bring your own").click()
    archive = {"name": "mine.zip", "mimeType": "application/zip", "buffer": example_archive()}
    owner.locator("input[type=file]").set_input_files([archive])
    owner.get_by_role("button", name="Use this data").click()
    owner.get_by_role("button", name="Train on it").click()
    expect(owner).to_have_url(re.compile(r"/\?.*data=own"))
    expect(owner.get_by_test_id("stMetric").first).to_be_visible(timeout=120_000)
    page.goto(server.address + LINK)
    shows_the_run(page)
    page.evaluate("window.stillTheSame = true")

    server.process.kill()
    expect(page.get_by_text(LOST)).to_be_visible(timeout=120_000)
    start_server(port=int(server.address.rsplit(":", 1)[1]))
    page.wait_for_function("window.stillTheSame === undefined", timeout=120_000)
    shows_the_run(page)
    expect(page).to_have_url(server.address + LINK)
    expect(page.get_by_text(LOST)).to_have_count(0)
    expect(owner.get_by_text("Your own data is not here").first).to_be_visible(timeout=120_000)
    owner.context.close()


def test_the_page_is_not_opened_again_and_again(page: Page, app: str):
    """Two servers behind one address, which take turns: one reload, then peace."""
    others = '{"ready": true, "started": "another"}'
    page.route(
        re.compile("/health"), lambda route: route.fulfill(body=others, content_type="application/json")
    )
    loads = []
    page.on("load", lambda: loads.append(time.monotonic()))
    page.goto(app + LINK)
    shows_the_run(page)
    page.wait_for_timeout(12_000)
    assert len(loads) == 2
