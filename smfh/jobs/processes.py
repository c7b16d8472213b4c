"""Work in processes of its own: whoever draws pages keeps the interpreter, and lives when the work dies.

    processes = Processes()
    learnt = processes.call(learn, method, data, split, on_step=course.report, check=course.check)

What is called is named, not sent: it stands in a module of this program. Callbacks are called here, in the
order of the calls there; what they raise ends the work there. The work is a few calls ahead of them at most,
so that a callback that halts halts the work.
"""

import atexit
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, TypeVar

from smfh.jobs.channel import Channel
from smfh.types import InputError

ROOT = Path(__file__).parents[2]
COMMAND = "import sys; sys.path.insert(0, sys.argv[1]); from smfh.jobs.worker import main; main()"
GLANCE = 0.2  # seconds between two looks at whether the work is still wanted
GRACE = 2.0  # seconds that unwanted work has to end by itself
ENDS = ("returned", "raised")
T = TypeVar("T")
Call = Callable[..., Any]  # of a function, its arguments, and callbacks by name
LOST = (
    "The process that did this work has ended, most likely because the machine has too little memory. "
    "Take a smaller data set, fewer anchors or fewer bits, and try again."
)


def here(function: Callable[..., T], *arguments: Any, **callbacks: Any) -> T:
    """The same call, in this process."""
    return function(*arguments, **callbacks)


class Processes:
    """As many as are at work at the same time, `most` of them; an idle one waits for the next call."""

    def __init__(self, most: int = 64) -> None:
        self._places = BoundedSemaphore(most)
        self._idle: list[_Process] = []
        self._open = True
        self._lock = Lock()
        atexit.register(self.close)

    def call(self, function: Callable[..., T], *arguments: Any, **callbacks: Callable[..., Any] | None) -> T:
        """What the function returns, or raises, in another process.

        A callback called `check` is asked here, again and again, whether the result is still wanted.
        """
        check = callbacks.pop("check", None) or (lambda: None)
        while not self._places.acquire(timeout=GLANCE):
            check()
        try:
            process = self._take()
            try:
                return process.call(function, arguments, callbacks, check)  # type: ignore[no-any-return]
            finally:
                self._take_back(process)
        finally:
            self._places.release()

    def prepare(self) -> None:
        """Start one that waits, for a first call that need not."""
        with self._lock:
            if not self._idle:
                self._idle.append(_Process())

    def tidy(self) -> None:
        """Let idle processes forget what is held here no more."""
        with self._lock:
            for process in self._idle:
                process.tidy()

    def close(self) -> None:
        """End those that wait, and take none back."""
        with self._lock:
            self._open, idle, self._idle = False, self._idle, []
        for process in idle:
            process.end()

    def _take(self) -> "_Process":
        with self._lock:
            while self._idle:
                if (process := self._idle.pop()).is_alive:
                    return process
        return _Process()

    def _take_back(self, process: "_Process") -> None:
        with self._lock:
            is_kept = process.is_alive and self._open and not self._idle
            if is_kept:
                self._idle.append(process)
                process.tidy()
        if not is_kept:
            process.end()


class _Process:
    """One of them, seen from here."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", COMMAND, str(ROOT)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        reader, writer = self._process.stdout, self._process.stdin
        assert reader is not None  # noqa: S101, as asked for
        assert writer is not None  # noqa: S101
        self._channel = Channel(reader, writer)
        self._told: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.is_alive = True
        Thread(target=self._listen, name="listening to a process", daemon=True).start()

    def call(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        callbacks: dict[str, Callable[..., Any] | None],
        check: Callable[[], Any],
    ) -> Any:
        wanted = {name: callback for name, callback in callbacks.items() if callback is not None}
        self._send("call", (function, arguments, tuple(wanted)))
        try:
            while (told := self._hear(check))[0] not in ENDS:
                what, value = told
                wanted[what](*value)
                self._send("heard", None)
        except BaseException:
            self._stop()
            raise
        if told[0] == "raised":
            raise told[1]
        return told[1]

    def tidy(self) -> None:
        self._send("tidy", None)

    def end(self) -> None:
        self.is_alive = False
        self._process.kill()
        self._process.wait()

    def _hear(self, check: Callable[[], Any]) -> tuple[str, Any]:
        while True:
            check()
            try:
                return self._told.get(timeout=GLANCE)
            except Empty:
                continue

    def _listen(self) -> None:
        """In a thread: everything that the process tells, until it has ended."""
        try:
            while True:
                self._told.put(self._channel.receive())
        except (EOFError, OSError, ValueError, UnpicklingError):
            self.is_alive = False
            self._told.put(("raised", InputError(LOST)))
            self._process.wait()
            self._channel.close()

    def _send(self, what: str, value: Any) -> None:
        try:
            self._channel.send((what, value))
        except (OSError, ValueError):
            """It has ended, which is heard."""

    def _stop(self) -> None:
        """End the work: kindly, so that the process can be used again, or with the process."""
        self._send("stop", None)
        try:
            while self._told.get(timeout=GRACE)[0] not in ENDS:
                self._send("stop", None)
        except Empty:
            self.end()
