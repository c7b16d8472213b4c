"""Back and Forward go from place to place: a small app of two pages on one address bar, in a real browser."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).parents[2]
SHARED = """
from dataclasses import dataclass, replace
import streamlit as st
from smfh.ui.address import *
from smfh.ui.address import SHARED

@dataclass(frozen=True)
class Settings:
    bits: int = told(32, whole(8, 128))

@dataclass(frozen=True)
class Asked:
    words: str | None = told(None, any_text(100))
    radius: int = told(2, whole(0, 8))

@dataclass(frozen=True)
class Chosen:
    bit: int = told(0, whole(0, 31))
    view: int = told(0, whole(0, 9))  # not a place of its own

USUAL = Settings()
SETTINGS = Part(SHARED, lambda query: decode(query, USUAL), lambda value: encode(value, USUAL, "", ["bits"]))
ASKED, CHOSEN = part_of(Asked(), "search."), part_of(Chosen(), "bits.")
PAGES = {"Search": ("streamlit_app.py", "search."), "Bits": ("pages/2_Bits.py", "bits.")}

def begin_with(key, value):
    st.session_state.setdefault(key, value)  # set at every run, it would set back a quick hand
    return key

def draw_sidebar():
    settings, notes = current(SETTINGS, "control_")
    draw_notes(notes)
    with st.sidebar:
        links = st.container()
        bits = st.slider("Length", 8, 128, step=8, key=begin_with("control_bits", settings.bits))
        keep(SETTINGS, replace(settings, bits=bits))
        for title, (script, prefix) in PAGES.items():
            links.page_link(script, label=title, query_params=told_by("", prefix))
        draw_history(["search.words", "bits.bit"])
    st.text(f"{bits} bits long")
"""
SEARCH = """
from shared import *

def ask():
    keep(ASKED, replace(asked, words=st.session_state["search_words"]))

draw_sidebar()
asked, notes = current(ASKED, "search_")
draw_notes(notes)
st.session_state["search_words"] = asked.words or ""
st.text_input("Words", key="search_words", on_change=ask)
radius = st.slider("Radius", 0, 8, key=begin_with("search_radius", asked.radius))
keep(ASKED, replace(asked, radius=radius))
st.text(f"Asked {asked.words} within {radius}")
"""
BITS = """
from shared import *

draw_sidebar()
chosen, notes = current(CHOSEN, "bits_")
draw_notes(notes)
keep(CHOSEN, chosen)
for bit in (3, 7):
    st.button(f"Bit {bit}", on_click=keep, args=(CHOSEN, Chosen(bit)))
if st.button("Ask"):
    go("streamlit_app.py", "search.", words="topic")
if st.button("Leave"):
    go("streamlit_app.py", "search.")
st.text(f"Chosen bit {chosen.bit}")
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the small app."""
    folder = tmp_path_factory.mktemp("little")
    (folder / "pages").mkdir()
    for name, text in {"shared.py": SHARED, "streamlit_app.py": SEARCH, "pages/2_Bits.py": BITS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    command += [f"--server.port={port}", "--server.address=127.0.0.1"]
    command += ["--browser.gatherUsageStats=false", "--client.showSidebarNavigation=false"]
    log = folder / "log.txt"
    with log.open("w") as output:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        server = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=environment)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
                break
            except OSError:
                assert server.poll() is None, log.read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=20)


def at(page: Page, *texts: str, address: str) -> None:
    """The page says these, and the address ends so."""
    for text in texts:
        expect(page.get_by_text(text, exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(f"{re.escape(address)}$"))
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def ask(page: Page, words: str) -> None:
    page.get_by_label("Words").fill(words)
    page.get_by_label("Words").press("Enter")
    expect(page.get_by_text(f"Asked {words} within")).to_be_visible()


def slide(page: Page, name: str, presses: str, said: str) -> None:
    """One key press at a time, so that each is a change of its own."""
    for _ in presses:
        before = page.get_by_role("slider", name=name).get_attribute("aria-valuetext")
        page.get_by_role("slider", name=name).press("ArrowRight")
        expect(page.get_by_role("slider", name=name)).not_to_have_attribute("aria-valuetext", before or "")
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(page.get_by_text(said)).to_be_visible()


def settled(page: Page) -> None:
    """The small script of the address bar is at work."""
    page.wait_for_function("window.history.smfh !== undefined")


def test_back_goes_to_where_the_person_was(page: Page, little: str):
    page.goto(little)
    at(page, "Asked None within 2", address="/")
    settled(page)
    ask(page, "flag")
    ask(page, "horse")
    page.get_by_role("link", name="Bits").click()
    at(page, "Chosen bit 0", address="/Bits")
    page.go_back()
    at(page, "Asked horse within 2", address="/?search.words=horse")
    expect(page.get_by_label("Words")).to_have_value("horse")
    page.go_back()
    at(page, "Asked flag within 2", address="/?search.words=flag")
    expect(page.get_by_label("Words")).to_have_value("flag")
    page.go_back()
    at(page, "Asked None within 2", address="/")
    page.go_forward()
    page.go_forward()
    at(page, "Asked horse within 2", address="/?search.words=horse")
    page.go_forward()
    at(page, "Chosen bit 0", address="/Bits")


def test_a_slider_moved_three_times_takes_no_step_of_its_own(page: Page, little: str):
    page.goto(f"{little}/Bits")
    settled(page)
    for bit in (3, 7):
        page.get_by_role("button", name=f"Bit {bit}").click()
        at(page, f"Chosen bit {bit}", address=f"/Bits?bits.bit={bit}")
    steps = page.evaluate("history.length")
    slide(page, "Length", "→→→", "56 bits long")
    expect(page).to_have_url(f"{little}/Bits?bits.bit=7&bits=56")
    assert page.evaluate("history.length") == steps
    page.go_back()
    at(page, "Chosen bit 3", "32 bits long", address="/Bits?bits.bit=3")
    expect(page.get_by_role("slider", name="Length")).to_have_attribute("aria-valuetext", "32")
    page.go_forward()
    at(page, "Chosen bit 7", "56 bits long", address="/Bits?bits.bit=7&bits=56")
    page.get_by_role("link", name="Search").click()
    at(page, "Asked None within 2", "56 bits long", address="/?bits=56")


def test_what_was_left_is_found_again_by_the_link_and_by_a_reload(page: Page, little: str):
    page.goto(f"{little}/?search.words=flag")
    settled(page)
    slide(page, "Radius", "→→→", "Asked flag within 5")
    page.get_by_role("link", name="Bits").click()
    at(page, "Chosen bit 0", address="/Bits")
    page.get_by_role("link", name="Search").click()
    at(page, "Asked flag within 5", address="/?search.words=flag&search.radius=5")
    page.reload()
    at(page, "Asked flag within 5", address="/?search.words=flag&search.radius=5")
    page.goto(f"{little}/?search.words=pasted&bits=64")
    at(page, "Asked pasted within 2", "64 bits long", address="/?search.words=pasted&bits=64")


@pytest.mark.parametrize("told", ["bits.bit=7", "bits.view=2"])
@pytest.mark.parametrize(
    ("button", "asked", "address"), [("Ask", "topic", "/?search.words=topic"), ("Leave", "None", "/")]
)
def test_a_page_that_sends_on_is_left_in_one_step(
    page: Page, little: str, told: str, button: str, asked: str, address: str
):
    bit = 7 if "7" in told else 0
    page.goto(f"{little}/Bits?{told}")
    at(page, f"Chosen bit {bit}", address=f"/Bits?{told}")
    settled(page)
    steps = page.evaluate("history.length")
    page.get_by_role("button", name=button).click()
    at(page, f"Asked {asked} within 2", address=address)
    assert page.evaluate("history.length") == steps + 1
    page.go_back()
    at(page, f"Chosen bit {bit}", address=f"/Bits?{told}")
    page.go_forward()
    at(page, f"Asked {asked} within 2", address=address)


def test_a_quick_hand_is_not_set_back(page: Page, little: str):
    page.goto(f"{little}/?bits=16")
    settled(page)
    for _ in range(8):
        page.get_by_role("slider", name="Length").press("ArrowRight")
    at(page, "80 bits long", address="/?bits=80")


class Lag:
    """Keeps from the browser what the server says, until it is let go."""

    def __init__(self, page: Page) -> None:
        self.kept: list[bytes] = []
        self.holds = False
        page.route_web_socket(re.compile("_stcore/stream"), self._join)

    def _join(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        socket.connect_to_server().on_message(self._pass)

    def _pass(self, said: bytes) -> None:
        if self.holds:
            self.kept.append(said)
        else:
            self._socket.send(said)

    def runs(self) -> int:
        """How many runs of the script have come to their end meanwhile."""
        return sum(ForwardMsg.FromString(said).HasField("script_finished") for said in self.kept)

    def let_go(self) -> None:
        self.holds = False
        for said in self.kept:
            self._socket.send(said)


@pytest.mark.parametrize(
    ("name", "symbol", "shown", "told"),
    [("Bits", "r", "32", "bits=32"), ("Graph weight", "α", "5", "graph_weight=5.0")],
)
def test_what_a_lagging_browser_still_shows_is_not_taken_for_the_persons_word(
    page: Page, app: str, name: str, symbol: str, shown: str, told: str
):
    """Beside a slider, its number and the preset follow it: they were sent as they had been before."""
    lag = Lag(page)
    page.goto(f"{app}/Runs?data=planted&method=smfh-plus&bits=64&graph_weight=20.0")
    slider = page.get_by_role("slider", name=name)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(slider).to_be_visible()
    lag.holds = True
    for press in (1, 2):
        slider.press("ArrowLeft")
        end = time.monotonic() + 30
        while lag.runs() < press:
            assert time.monotonic() < end
            page.wait_for_timeout(50)
    lag.let_go()
    expect(slider).to_have_attribute("aria-valuetext", shown)
    expect(page.get_by_role("textbox", name=f"{name} · {symbol}, typed")).to_have_value(shown)
    expect(page).to_have_url(re.compile(rf"[?&]{told}(&|$)"))


def test_a_wrong_link_says_so_and_shows_the_usual(page: Page, little: str):
    page.goto(f"{little}/Bits?bits.bit=99&bits={'9' * 4_400}&bits.bit=<b>x</b>&bits.no=1")
    expect(page.get_by_text("bit must be a whole number from 0 to 31; got '<b>x</b>'.")).to_be_visible()
    expect(page.get_by_text("bits must have at most 4,000 characters; got 4,400.")).to_be_visible()
    expect(page.get_by_text("Chosen bit 0")).to_be_visible()
    expect(page.get_by_text("32 bits long")).to_be_visible()
