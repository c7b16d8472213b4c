"""What a visitor sees four times a second, and how far the layout moves, from the first visit to Back."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from smfh.datasets import DATASETS

pytestmark = pytest.mark.slow
FRAME_MILLISECONDS = 250
MAX_SHIFT = 0.1
MAX_RESPONSE_MILLISECONDS = 200
WATCH = """() => {
  window.frames_seen = []
  window.shifts = { without_input: 0, with_input: 0 }
  new PerformanceObserver((entries) => {
    for (const entry of entries.getEntries())
      window.shifts[entry.hadRecentInput ? "with_input" : "without_input"] += entry.value
  }).observe({ type: "layout-shift", buffered: true })
  window.acknowledged = {}  // milliseconds from a press to its visible confirmation
  let pressed
  window.addEventListener("click", () => (pressed = performance.now()), true)
  new MutationObserver((changes) => {
    for (const { target } of changes)
      if (target.dataset.pressed) window.acknowledged[target.dataset.pressed] = performance.now() - pressed
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-pressed"] })
  let last
  setInterval(() => {
    const cards = [...document.querySelectorAll(".st-key-wall .cards button")].map((card) => {
      const [image, caption] = card.children
      return [image.alt, caption.textContent, image.complete && image.naturalWidth ? image.src : "no picture"]
    })
    const frame = { cards, query: document.querySelector(".st-key-wall .asked")?.textContent ?? "",
      scores: document.querySelectorAll("[data-testid=stMetric]").length }
    const now = JSON.stringify(frame)
    if (now !== last) window.frames_seen.push(frame)
    last = now
  }, MILLISECONDS)
}""".replace("MILLISECONDS", str(FRAME_MILLISECONDS))


@dataclass
class Watched:
    """A page whose frames are recorded, from its first one."""

    page: Page
    pictures: dict[str, str] = field(default_factory=dict)  # by name

    def until_done(self) -> None:
        """Wait until the scores are there, no run trains, and nothing is drawn."""
        expect(self.page.get_by_test_id("stMetric").first).to_be_visible(timeout=180_000)
        expect(self.page.get_by_test_id("stProgress")).to_have_count(0, timeout=180_000)
        expect(self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
        self.page.wait_for_timeout(2 * FRAME_MILLISECONDS)

    def check(self, *queries: str, has_begun: bool = True) -> None:
        """Check the frames and shifts since the last call."""
        seen: list[dict[str, Any]] = self.page.evaluate("window.frames_seen.splice(0)")
        shifts = self.page.evaluate("window.shifts")
        self.page.evaluate("window.shifts = { without_input: 0, with_input: 0 }")
        print(f"{len(seen)} different frames, layout shift {shifts}")
        frames = seen if has_begun else [frame for frame in seen if frame["cards"]]
        for frame in frames:
            assert frame["query"] in queries
            assert len(frame["cards"]) == 24
            assert frame["scores"] or not has_begun
            for name, caption, picture in frame["cards"]:
                start = re.sub("^✗ ", "", caption).split("…")[0]
                assert name.startswith(start)
                assert picture != "no picture"
                assert self.pictures.setdefault(name, picture) == picture, f"another picture above {name}"
        assert shifts["without_input"] < MAX_SHIFT, shifts


@pytest.fixture
def watched(browser: Browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(f"({WATCH})()")
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield Watched(page)
    context.close()


CAT = "text “smiling cat” → image"


def test_the_first_visit_on_an_empty_cache_moves_little(watched: Watched, start_server, tmp_path):
    server = start_server(SMFH_CACHE=str(tmp_path / "smfh"), NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    watched.page.goto(server.address)
    watched.until_done()
    watched.check(CAT, has_begun=False)


def test_the_wall_stays_while_settings_train_are_cancelled_and_dragged(watched: Watched, app: str):
    page = watched.page
    page.goto(f"{app}/?data=emoji&method=smfh-plus&bits=64&seed=4242")
    watched.until_done()
    watched.check(CAT, has_begun=False)
    train = page.locator(".st-key-train button")

    page.get_by_role("slider", name=re.compile("Bits")).press("ArrowLeft")
    train.click()
    expect(page.get_by_role("heading", name=" 48 bits")).to_be_visible(timeout=180_000)
    watched.until_done()
    watched.check(CAT)

    page.get_by_text("More parameters").click()
    page.get_by_role("slider", name=re.compile("Iterations")).press("End")  # long enough to be cancelled
    train.click()
    for name in ("Pause", "Step", "Cancel"):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_timeout(2_000)
    expect(page.get_by_text("Cancelled; press Train to start again")).to_be_visible()
    acknowledged = page.evaluate("window.acknowledged")
    print(f"milliseconds from a press to its confirmation: {acknowledged}")
    assert acknowledged.keys() == {"pausing …", "one more step …", "cancelling …"}
    assert max(acknowledged.values()) < MAX_RESPONSE_MILLISECONDS
    watched.until_done()
    watched.check(CAT)
    page.get_by_role("slider", name=re.compile("Iterations")).press("Home")

    page.get_by_text("Train while I move the sliders").click()
    for _ in range(3):
        page.get_by_role("slider", name=re.compile("Graph weight")).press("ArrowLeft")
        page.wait_for_timeout(1_000)
    watched.until_done()
    watched.check(CAT)

    words = page.get_by_role("textbox", name="Type words")
    words.fill("flag")
    words.press("Enter")
    expect(page.locator(".st-key-wall .asked")).to_contain_text("flag")
    page.go_back()
    expect(page.locator(".st-key-wall .asked")).to_contain_text("smiling cat")
    watched.until_done()
    watched.check(CAT, "text “flag” → image")


def test_another_data_set_replaces_pictures_captions_and_query_together(watched: Watched, app: str):
    if DATASETS["wiki"]().missing():
        pytest.skip("the files of Wiki are missing")
    page = watched.page
    page.goto(f"{app}/?data=emoji&method=smfh-plus&bits=64&seed=0")
    watched.until_done()
    watched.check(CAT, has_begun=False)
    for data in ("Wiki", "Emoji"):
        page.get_by_role("combobox", name="Data", exact=True).click()
        page.get_by_role("option", name=re.compile(f"^{data}")).click()
        expect(page.get_by_role("heading", name=re.compile(f"^{data} · "))).to_be_visible(timeout=180_000)
        watched.until_done()
        now = page.locator(".st-key-wall .asked").inner_text()
        watched.check(CAT, now)
