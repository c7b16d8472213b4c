"""Open the app's first page in Chromium and wait for its pictures: python .ci/first_page.py ADDRESS"""

import shutil
import sys

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(sys.argv[1])
    page.locator("[data-testid=stMain] img").first.wait_for(timeout=120_000)
    print("the first page shows", page.locator("[data-testid=stMain] img").count(), "pictures")
    browser.close()
