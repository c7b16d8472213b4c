"""Two servers and a command share one folder of saved runs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from smfh.datasets import DATASETS
from smfh.experiments.comparison import Comparison, Grid
from smfh.hashing import make_method
from smfh.runs import RunStore

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
# new data, of which no run is saved
SEED = time.time_ns() % 2**31
DATA = f"data=planted&data.items=150&data.data_seed={SEED}"
OPTIONS = ["--option", "items=150", "--option", f"data_seed={SEED}"]


def train_all(page: Page, app: str, bits: str) -> None:
    """Start the grid of these code lengths, unless the other programs have finished it."""
    tiny = f"compare.methods=smfh,cvh&compare.bits={bits}&compare.seeds=2"
    page.goto(f"{app}/Compare?{DATA}&{tiny}")
    button = page.get_by_test_id("stBaseButton-primary").filter(has_text="Train")
    there = page.get_by_role("button", name="All 8 runs are done")
    expect(button.or_(there).first).to_be_visible(timeout=60_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    if button.is_visible():
        button.click()


def test_two_servers_and_a_command_share_the_store(page: Page, app: str, browser, start_server):
    second = start_server().address
    other = browser.new_context().new_page()
    order = [sys.executable, "-m", "smfh", "compare", "planted", *OPTIONS, "--methods", "smfh", "cvh"]
    order += ["--bits", "8", "16", "32", "--seeds", "2", "--json"]
    train_all(page, app, "8,16")
    with subprocess.Popen(order, cwd=ROOT, stdout=subprocess.DEVNULL) as command:
        train_all(other, second, "16,32")
        assert command.wait(timeout=120) == 0
    for visitor in (page, other):
        expect(visitor.get_by_role("button", name="All 8 runs are done")).to_be_visible(timeout=60_000)
    other.context.close()

    source = DATASETS["planted"](items=150, data_seed=SEED)
    methods = (make_method("smfh"), make_method("cvh"))
    store = RunStore()
    assert Grid(Comparison(source, methods, (8, 16, 32), 2), *source.load()).missing(store) == []
    assert store.listing().damaged == ()
