"""A server without a cache to write to, and one whose data vanishes: a sentence, and the rest goes on."""

import re
import shutil

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
SMALL = "data=planted&data.items=60&method=cvh&bits=8"
NOWHERE = "/proc/smfh"  # which can be written by nobody, root included


def until_still(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def test_without_a_cache_pages_train_and_say_what_is_not_saved(page: Page, start_server):
    server = start_server(SMFH_CACHE=NOWHERE)
    page.goto(f"{server.address}/?{SMALL}")
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=60_000)
    page.goto(f"{server.address}/Compare?{SMALL}&compare.methods=cvh&compare.bits=8&compare.seeds=1")
    page.get_by_test_id("stBaseButton-primary").filter(has_text="1 run").click()
    expect(page.get_by_text("set SMFH_CACHE").first).to_be_attached()
    page.goto(f"{server.address}/Runs?{SMALL}")
    expect(page.get_by_text("The last run could not be saved")).to_be_visible()
    expect(page.get_by_text("set SMFH_CACHE")).to_be_visible()
    page.goto(f"{server.address}/Tune?{SMALL}")
    expect(page.get_by_role("heading", name="Tune").first).to_be_visible()  # drawing writes nothing
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert "Traceback" not in server.log.read_text()


def test_a_data_folder_that_disappears(page: Page, start_server, illustrated_wiki):
    server = start_server()
    page.goto(f"{server.address}/Data?data=wiki")
    page.get_by_role("tab", name="Browse pairs").click()
    expect(page.get_by_role("img").first).to_be_visible()
    until_still(page)
    shutil.rmtree(illustrated_wiki / "images")
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_text("Restore the data folder").first).to_be_visible(timeout=60_000)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    shutil.rmtree(illustrated_wiki)
    page.get_by_role("link", name="Bits").click()
    expect(page.get_by_text("Choose another data set in the sidebar")).to_be_visible()
    page.goto(f"{server.address}/Search?{SMALL}")
    expect(page.get_by_role("heading", name=re.compile("CVH · 8 bits"))).to_be_visible()
    assert " error=InputError at=smfh/datasets/wiki.py" in server.log.read_text()
