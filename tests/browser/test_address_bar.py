"""The address bar in a real browser: a slow or lagging connection never sets a control back."""

import re
import time

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

pytestmark = pytest.mark.slow
LINK = "Tune?data=planted&method=smfh-plus&bits=64&graph_weight=20.0"
STILL = "[data-testid=stApp][data-test-script-state=notRunning]"


class Lag:
    """Holds back the messages of the server until `let_go`."""

    def __init__(self, page: Page) -> None:
        self.held: list[bytes] = []
        self.holds = False
        page.route_web_socket(re.compile("_stcore/stream"), self._join)

    def _join(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        socket.connect_to_server().on_message(self._pass)

    def _pass(self, message: bytes) -> None:
        if self.holds:
            self.held.append(message)
        else:
            self._socket.send(message)

    def runs(self) -> int:
        """How many script runs have finished since."""
        return sum(ForwardMsg.FromString(message).HasField("script_finished") for message in self.held)

    def let_go(self) -> None:
        self.holds = False
        for message in self.held:
            self._socket.send(message)


@pytest.mark.parametrize(
    ("name", "symbol", "shown", "parameter"),
    [("Bits", "r", "32", "bits=32"), ("Graph weight", "α", "5", "graph_weight=5.0")],
)
def test_old_values_of_a_lagging_browser_are_not_taken_for_changes(
    page: Page, app: str, name: str, symbol: str, shown: str, parameter: str
):
    """The number field and the preset follow a slider: the browser sends their old values with its change."""
    lag = Lag(page)
    page.goto(f"{app}/{LINK}")
    slider = page.get_by_role("slider", name=name)
    expect(page.locator(STILL)).to_be_visible()
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
    expect(page.get_by_role("textbox", name=f"{name} ({symbol}): exact value")).to_have_value(shown)
    expect(page).to_have_url(re.compile(rf"[?&]{parameter}(&|$)"))


def test_quick_key_presses_are_not_set_back(page: Page, app: str):
    page.goto(f"{app}/{LINK}")
    expect(page.locator(STILL)).to_be_visible()
    slider = page.get_by_role("slider", name="Bits")
    for _ in range(4):
        slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "256")
    expect(page).to_have_url(re.compile(r"[?&]bits=256(&|$)"))
