"""Hostile texts in a real browser: they are read, and nothing of them becomes an element or runs."""

import os
import re
import shutil
from pathlib import Path

import pytest
from hostile_texts import MODALITIES, TEXTS, own_file
from playwright.sync_api import Page, expect

from smfh.datasets.planted import Planted
from smfh.hashing import CVH
from smfh.runs import RunStore, find_or_keep

pytestmark = pytest.mark.slow

# what one of the texts would become, if anything read it
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
    """A page that lets nobody out, and tells who tried."""
    strange: list[str] = []
    page.on("request", lambda request: AWAY.match(request.url) and strange.append(request.url))
    page.on("dialog", lambda dialog: (strange.append(dialog.message), dialog.dismiss()))
    yield page
    assert strange == []
    assert page.title() != "ran"


def nothing_became_of_it(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    found = {sign: page.locator(sign) for sign in ELEMENTS}
    assert not {sign: one.first.evaluate("e => e.outerHTML") for sign, one in found.items() if one.count()}


def test_what_is_made_plain_is_read_as_it_is(watched: Page, start_server, tmp_path):
    here, root = Path(__file__).parent, tmp_path / "plain"
    root.mkdir()
    shutil.copy(here / "plain_page.py", root / "streamlit_app.py")
    paths = os.pathsep.join(map(str, (here.parent, here.parents[1])))
    watched.goto(start_server(root=root, PYTHONPATH=paths).address)
    expect(watched.get_by_text("tag link").last).to_be_visible()
    nothing_became_of_it(watched)
    said = [
        words.replace("\u2060", "")
        for words in watched.get_by_test_id("stCaptionContainer").all_inner_texts()
    ]
    for text in (*TEXTS, *MODALITIES):
        line = " ".join("".join(c if c >= " " else " " for c in text).split())
        assert line in said
    watched.get_by_role("button", name="tag link").hover()
    expect(watched.get_by_test_id("stTooltipContent")).to_be_visible()
    nothing_became_of_it(watched)


def test_own_data_of_hostile_texts_is_shown_as_text(watched: Page, app: str, tmp_path):
    name, content = own_file()
    (tmp_path / name).write_bytes(content)
    watched.goto(f"{app}/Data?data=planted&{QUICK}")
    watched.get_by_role("tab", name="Bring your own").click()
    watched.locator("input[type=file]").set_input_files(tmp_path / name)
    expect(watched.get_by_text("60 items")).to_be_visible()
    nothing_became_of_it(watched)
    watched.get_by_role("button", name="Use this data").click()
    watched.get_by_role("button", name="Browse it").click()
    expect(watched.get_by_text("Own data: 1 to 24 of 60 items")).to_be_visible()
    expect(watched.get_by_text(TEXTS[0]).first).to_be_visible()
    nothing_became_of_it(watched)
    for place in ("Explore", "Search", "Bits"):
        watched.get_by_role("link", name=place, exact=True).click()
        expect(watched.get_by_role("heading", name=place, exact=True)).to_be_visible()
        expect(watched.locator(".js-plotly-plot").last).to_be_visible(timeout=60_000)
        nothing_became_of_it(watched)


def test_a_run_with_a_hostile_title_and_a_hostile_link(watched: Page, app: str):
    source, store = Planted(items=70, noise=0.0817), RunStore()
    record = find_or_keep(store, source, CVH(bits=8), *source.load())
    store.rename(record.id, (TEXTS[2] + TEXTS[5])[:80])
    try:
        watched.goto(f"{app}/Runs?data=planted&tune.study=x")
        expect(watched.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        watched.get_by_role("textbox", name="Search").fill("0.0817")
        watched.get_by_role("textbox", name="Search").press("Enter")
        expect(watched.get_by_text("1 of ")).to_be_visible()
        nothing_became_of_it(watched)
        watched.get_by_role("combobox", name="Run").click()
        watched.get_by_role("option", name=re.compile("CVH")).click()
        expect(watched.get_by_text(f"“{TEXTS[2][:12]}")).to_be_visible()
        nothing_became_of_it(watched)
    finally:
        store.delete(record.id)
    watched.goto(f"{app}/Search?data=planted&bits={TEXTS[2]}&method={TEXTS[5]}&search.words={TEXTS[4]}")
    expect(watched.get_by_text("A part of the link cannot be used").first).to_be_visible()
    nothing_became_of_it(watched)
