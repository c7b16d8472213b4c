"""axe-core finds no serious problem on any page, light and dark, on a desk and on a phone."""

import pytest
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.slow, pytest.mark.extra]
PAGES = ("", "Search", "Bits", "Tune", "Compare", "Learn", "Runs", "Paper", "Data")
SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(browser: Browser, app: str, scheme: str, width: int):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = []
    for name in PAGES:
        page = context.new_page()
        page.goto(f"{app}/{name}")
        expect(page.locator(".st-key-top h1")).to_be_visible(timeout=90_000)
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible(timeout=90_000)
        if name in ("", "Search", "Bits"):
            expect(page.get_by_test_id("stHeading").nth(1)).to_be_visible(timeout=90_000)  # the run is there
        page.wait_for_timeout(1_000)  # until what fades in is there
        for violation in axe.run(page).response["violations"]:
            if violation["impact"] in SERIOUS:
                found += [f"{name or 'Explore'}: {violation['id']}: {node['html']}" for node in violation["nodes"]]
        page.close()
    context.close()
    assert not found, "\n".join(found)
