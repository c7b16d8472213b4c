"""The Runs page in a browser: search, rename, open and delete a run; download and upload its model."""

import re

import pytest
from playwright.sync_api import Page, expect

from smfh.datasets.planted import Planted
from smfh.experiments.comparison import Comparison, Grid, train_grid
from smfh.hashing import CVH
from smfh.runs import RunStore

pytestmark = pytest.mark.slow
SOURCE = Planted(items=70, noise=0.0371)  # no other test uses it


def until_still(page: Page) -> None:
    """Wait until the page has been drawn."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


@pytest.fixture
def runs(app: str):
    """Two saved runs of the server."""
    store, grid = RunStore(), Grid(Comparison(SOURCE, (CVH(),), (8, 12), 1), *SOURCE.load())
    train_grid(grid, store)
    yield store, grid
    for record in grid.found(store).values():
        store.delete(record.id)


def choose(page: Page, app: str, what: str) -> None:
    page.goto(f"{app}/Runs?data=planted")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    until_still(page)
    search = page.get_by_role("textbox", name="Search")
    search.fill("0.0371")
    search.press("Enter")
    expect(page.get_by_text("2 of ")).to_be_visible()
    until_still(page)
    page.get_by_role("combobox", name="Run").click()
    page.get_by_role("option", name=re.compile(what)).click()
    expect(page.get_by_role("button", name="Open in Explore")).to_be_visible()
    until_still(page)


def explore_shows(page: Page, bits: int) -> None:
    expect(page.get_by_role("heading", name=f"CVH · {bits} bits · seed 0")).to_be_visible()
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    expect(page.get_by_role("slider", name=re.compile("Bits"))).to_have_attribute("aria-valuetext", str(bits))
    expect(page).to_have_url(re.compile(r"data\.noise=0\.0371"))


@pytest.mark.usefixtures("runs")
def test_a_run_is_renamed_and_opened_and_its_model_downloaded_and_uploaded(page: Page, app: str, tmp_path):
    choose(page, app, "12 bits")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Title").fill("my baseline")
    page.get_by_role("button", name="Save title").click()
    expect(page.get_by_text("“my baseline”")).to_be_visible()
    page.keyboard.press("Escape")
    until_still(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Model (.npz)").click()
    model = tmp_path / "model.npz"
    download.value.save_as(model)
    assert download.value.suggested_filename == "planted_cvh_12_0.npz"
    page.get_by_role("button", name="Open in Explore").click()
    explore_shows(page, 12)

    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Load a model")).to_be_visible()
    until_still(page)
    page.locator("input[type=file]").set_input_files(model)
    page.get_by_role("button", name="Open model in Explore").click()
    explore_shows(page, 12)


def test_a_run_is_deleted(page: Page, app: str, runs):
    store, grid = runs
    choose(page, app, "8 bits")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete run").click()
    expect(page.get_by_text("1 of ")).to_be_visible()
    assert [method.bits for method in grid.missing(store)] == [8]
