"""Hostile texts in a real browser: they are shown as text, and nothing becomes an element or runs."""

import os
import re
import shutil
from pathlib import Path

import pytest
from hostile_texts import MODALITIES, TEXTS, hostile_upload
from playwright.sync_api import Page, expect

from smfh.datasets.planted import Planted
from smfh.hashing import CVH
from smfh.runs import RunStore, ensure_saved

pytestmark = pytest.mark.slow

# what one of the texts would become if it were markup
ELEMENTS = [
    *("b:text-is('bold')", "i:text-is('tag')", "strong:text-is('strong')", "em:text-is('slanted')"),
    *(
        "a[href^='http'][href*='.invalid']",
        "a[href^='javascript']",
        "a[href^='mailto']",
        "img[src='x']",
        "img[src*='invalid']",
    ),
    *(
        "h1:text-is('heading')",
        ".katex",
        "code:text-is('code')",
        "[data-testid=stMarkdownContainer] li",
        "script:text('ran')",
    ),
    *("[data-testid=stIconMaterial]:text-is('home')", ":text('😄')", "span:text-is('coloured')"),
    *("span:text-is('badge')", "text:text-is('hover')"),
]
AWAY = re.compile(r"\w+://[^/?]*invalid")
QUICK = "method=smfh-plus&bits=8&iterations=2&rounds=1&anchors=20"


@pytest.fixture
def watched(page: Page):
    """A page on which requests to other servers and dialogs fail the test."""
    strange: list[str] = []
    page.on("request", lambda request: AWAY.match(request.url) and strange.append(request.url))
    page.on("dialog", lambda dialog: (strange.append(dialog.message), dialog.dismiss()))
    yield page
    assert strange == []
    assert page.title() != "ran"


def expect_plain_text(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    found = {sign: page.locator(sign) for sign in ELEMENTS}
    assert not {sign: one.first.evaluate("e => e.outerHTML") for sign, one in found.items() if one.count()}


def test_plain_texts_are_shown_unchanged(watched: Page, start_server, tmp_path):
    here, root = Path(__file__).parent, tmp_path / "plain"
    root.mkdir()
    shutil.copy(here / "plain_page.py", root / "streamlit_app.py")
    paths = os.pathsep.join(map(str, (here.parent, here.parents[1])))
    watched.goto(start_server(root=root, PYTHONPATH=paths).address)
    expect(watched.get_by_text("tag link").last).to_be_visible()
    expect_plain_text(watched)
    said = [words.replace("\u2060", "") for words in watched.get_by_test_id("stCaptionContainer").all_inner_texts()]
    for text in (*TEXTS, *MODALITIES):
        line = " ".join("".join(c if c >= " " else " " for c in text).split())
        assert line in said
    watched.get_by_role("button", name="tag link").hover()
    expect(watched.get_by_test_id("stTooltipContent")).to_be_visible()
    expect_plain_text(watched)


def test_an_upload_with_hostile_texts_is_shown_as_text(watched: Page, app: str, tmp_path):
    name, content = hostile_upload()
    (tmp_path / name).write_bytes(content)
    watched.goto(f"{app}/Data?data=planted&{QUICK}")
    watched.get_by_role("tab", name="Upload").click()
    watched.locator("input[type=file]").set_input_files(tmp_path / name)
    expect(watched.get_by_text("60 items")).to_be_visible()
    expect_plain_text(watched)
    watched.get_by_role("button", name="Use this data").click()
    watched.get_by_role("button", name="Browse this data").click()
    expect(watched.get_by_text("Your data: 1 to 24 of 60 items")).to_be_visible()
    expect(watched.get_by_text(TEXTS[0]).first).to_be_visible()
    expect_plain_text(watched)
    for place in ("Explore", "Search", "Bits"):
        watched.get_by_role("link", name=place, exact=True).click()
        expect(watched.get_by_role("heading", name=place, exact=True)).to_be_visible()
        expect(watched.locator(".js-plotly-plot").last).to_be_visible(timeout=60_000)
        expect_plain_text(watched)


def test_a_run_with_a_hostile_title_and_a_hostile_link(watched: Page, app: str):
    source, store = Planted(items=70, noise=0.0817), RunStore()
    record = ensure_saved(store, source, CVH(bits=8), *source.load())
    store.rename(record.id, (TEXTS[2] + TEXTS[5])[:80])
    try:
        watched.goto(f"{app}/Runs?data=planted&tune.study=x")
        expect(watched.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        watched.get_by_role("textbox", name="Search").fill("0.0817")
        watched.get_by_role("textbox", name="Search").press("Enter")
        expect(watched.get_by_text("1 of ")).to_be_visible()
        expect_plain_text(watched)
        watched.get_by_role("combobox", name="Run").click()
        watched.get_by_role("option", name=re.compile("CVH")).click()
        expect(watched.get_by_text(f"“{TEXTS[2][:12]}")).to_be_visible()
        expect_plain_text(watched)
    finally:
        store.delete(record.id)
    watched.goto(f"{app}/Search?data=planted&bits={TEXTS[2]}&method={TEXTS[5]}&search.words={TEXTS[4]}")
    expect(watched.get_by_text("Part of the link is not valid").first).to_be_visible()
    expect_plain_text(watched)
