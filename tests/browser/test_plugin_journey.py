"""A method outside the package, the example of the guide, in a browser: trained, compared, listed."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow
GUIDE = Path(__file__).parents[2] / "assets" / "guide" / "library.md"


def test_a_plug_in_is_trained_in_explore_and_compared(page: Page, start_server, tmp_path):
    texts = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    mine, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    mine.write_text(next(text for text in texts if "HashMethod)" in text), encoding="utf-8")
    broken.write_text("import sys\nsys.exit(1)", encoding="utf-8")
    server = start_server(SMFH_PLUGINS=os.pathsep.join(map(str, (mine, broken))), SMFH_CACHE=str(tmp_path / "cache"))

    page.goto(f"{server.address}/?data=planted&data.items=150&method=random-codes&bits=16")
    expect(page.get_by_test_id("stMetric").first).to_be_visible(timeout=150_000)
    expect(page.get_by_text("Random codes").first).to_be_visible()

    page.goto(
        f"{server.address}/Compare?data=planted&data.items=150&compare.methods=random-codes,cvh&compare.bits=8,16"
    )
    page.get_by_role("button", name="Train 11 runs").click(timeout=90_000)  # one is that of Explore
    expect(page.get_by_role("button", name="All 12 runs are done")).to_be_visible(timeout=150_000)
    expect(page.get_by_text(re.compile(r"Random codes .*over \d+ queries")).first).to_be_visible()
    expect(page.get_by_text("python -m smfh --plugin mine.py compare planted").first).to_be_visible()

    page.goto(f"{server.address}/Data")
    expect(page.get_by_text("Plug-in mine.py: random-codes")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Plug-in broken.py: skipped. SystemExit: 1")).to_be_visible()
