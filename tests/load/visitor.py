"""A visitor without a browser: speaks the server's own protocol, and draws nothing."""

import asyncio
import secrets
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

Path = tuple[int, ...]
MAX_BYTES = 1 << 26  # of a message


@dataclass
class Visitor:
    """What one tab would know: the elements on its page, and the fragments that ask to be drawn again."""

    address: str  # such as 127.0.0.1:8501
    name: str = field(default_factory=lambda: secrets.token_hex(16))  # the cookie
    elements: dict[Path, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)  # what the page itself showed as an exception
    _socket: Any = None
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _pages: dict[str, str] = field(default_factory=dict)  # hashes of scripts by the page's name
    _page: str = ""
    _session: str = ""
    _urls: Any = None  # where to send a file
    _query: str = ""
    _drawn: int = 0  # finished drawings of the whole page
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _reader: asyncio.Task[None] | None = None

    async def open(self, page: str = "", query: str = "") -> None:
        """A new tab: fetch the page, connect, and wait until it is drawn once."""
        await asyncio.to_thread(_fetch, f"http://{self.address}/{page}")
        self._socket = await websockets.connect(
            f"ws://{self.address}/_stcore/stream",
            subprotocols=["streamlit"],
            additional_headers={"Cookie": f"smfh_visitor={self.name}"},
            max_size=MAX_BYTES,
            open_timeout=120,
        )
        self._reader = asyncio.create_task(self._read())
        self._query = query
        await self._ask_and_wait(page_name=page)

    async def turn_to(self, page: str) -> None:
        """Another page of the same visit; Explore is the one without a name."""
        self._states.clear()
        await self._ask_and_wait(page_script_hash=self._pages[page])

    async def press(self, label: str) -> None:
        """A click on this button, and the page drawn again."""
        state = WidgetState(id=self.find("button", label).id, trigger_value=True)
        await self._ask_and_wait(state)

    async def enter(self, kind: str, label: str, value: Any) -> None:
        """A value typed into this box or set with this slider, and the page drawn again."""
        name = self.find(kind, label).id
        field = "string_value" if kind == "text_input" else "int_value"
        self._states[name] = WidgetState(id=name, **{field: value})
        await self._ask_and_wait()

    async def upload(self, label: str, name: str, content: bytes) -> None:
        """A file dropped on this uploader, sent as a browser sends it, and the page drawn again."""
        uploader, message = self.find("file_uploader", label).id, BackMsg()
        message.file_urls_request.request_id = secrets.token_hex(8)
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self._session
        self._urls = None
        await self._socket.send(message.SerializeToString())
        await self.until(lambda visitor: visitor._urls is not None)
        urls = self._urls
        await asyncio.to_thread(_send, self.address, urls.upload_url, name, content)
        state = WidgetState(id=uploader)
        sent = state.file_uploader_state_value.uploaded_file_info.add(name=name, size=len(content))
        sent.file_id = urls.file_id
        sent.file_urls.CopyFrom(urls)
        self._states[uploader] = state
        await self._ask_and_wait()

    async def until(self, seen: Callable[["Visitor"], bool]) -> None:
        """Until the page shows this."""
        async with self._changed:
            await self._changed.wait_for(lambda: seen(self))

    def find(self, kind: str, label: str) -> Any:
        """The element of this kind and label."""
        labelled = self.all(kind)
        for element in labelled:
            if element.label == label:
                return element
        raise LookupError(f"No {kind} {label!r}; there are {[element.label for element in labelled]}.")

    def all(self, kind: str) -> list[Any]:
        """The elements of this kind, in no special order."""
        return [getattr(e, kind) for e in self.elements.values() if e.WhichOneof("type") == kind]

    def texts(self) -> list[str]:
        """All that is written on the page outside of controls."""
        return [t.body for kind in ("markdown", "text", "heading", "alert") for t in self.all(kind)]

    async def close(self) -> None:
        """The tab is closed."""
        self._stop_timers()
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            await self._socket.close()

    async def _ask_and_wait(self, trigger: WidgetState | None = None, **what: Any) -> None:
        before = self._drawn
        await self._ask(trigger, **what)
        async with self._changed:
            await self._changed.wait_for(lambda: self._drawn > before)

    async def _ask(self, trigger: WidgetState | None = None, **what: Any) -> None:
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string = self._query
        for name, value in ({"page_script_hash": self._page} | what).items():
            setattr(rerun, name, value)
        rerun.widget_states.widgets.extend([*self._states.values(), *([trigger] if trigger else [])])
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for payload in self._socket:
                message = ForwardMsg()
                message.ParseFromString(payload)
                self._take(message)
                async with self._changed:
                    self._changed.notify_all()
        except websockets.ConnectionClosed as error:
            self.faults.append(f"The connection was lost: {error}")

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            new = message.new_session
            self._page, self._session = new.page_script_hash, new.initialize.session_id or self._session
            if not message.metadata.run.fragment_ids:
                self._stop_timers()
                self.elements.clear()
        elif kind == "file_urls_response":
            self._urls = message.file_urls_response.file_urls[0]
        elif kind == "navigation":
            self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            self.elements[tuple(message.metadata.delta_path)] = element
            if element.WhichOneof("type") == "exception":
                self.faults.append(f"{element.exception.type}: {element.exception.message}")
        elif kind == "auto_rerun":
            told = message.auto_rerun
            if (before := self._timers.pop(told.fragment_id, None)) is not None:
                before.cancel()
            timer = asyncio.create_task(self._again(told.fragment_id, told.interval))
            self._timers[told.fragment_id] = timer
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                if (timer := self._timers.pop(fragment, None)) is not None:
                    timer.cancel()
        elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            self._drawn += 1

    async def _again(self, fragment: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._ask(fragment_id=fragment, is_auto_rerun=True)

    def _stop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


def _send(address: str, path: str, name: str, content: bytes) -> None:
    """Send a file in the form of a browser, with the token against requests of other sites."""
    with urllib.request.urlopen(f"http://{address}/_stcore/health", timeout=120) as answer:
        token = SimpleCookie(answer.headers["Set-Cookie"])["_streamlit_xsrf"].value
    head = f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=XX", "X-Xsrftoken": token}
    headers["Cookie"] = f"_streamlit_xsrf={token}"
    body = head.encode() + content + b"\r\n--XX--\r\n"
    request = urllib.request.Request(f"http://{address}{path}", body, headers, method="PUT")
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        answer.read()


def _fetch(address: str) -> None:
    with urllib.request.urlopen(address, timeout=120) as answer:  # noqa: S310, our own server
        answer.read()
