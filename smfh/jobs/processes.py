"""Work in processes of its own: whoever draws pages keeps the interpreter, and lives when the work dies.

    processes = Processes()
    learnt = processes.call(learn, method, data, split, on_step=course.report, check=course.check)

What is called is named, not sent: it stands in a module of this program. Callbacks are called here, in the
order of the calls there; what they raise ends the work there. The work is a few calls ahead of them at most,
so that a callback that halts halts the work.
"""

import atexit
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Protocol, TypeVar

from smfh.jobs.channel import Channel
from smfh.jobs.faults import note_elsewhere, trace
from smfh.types import InputError

ROOT = Path(__file__).parents[2]
COMMAND = (
    "import os, sys; parent = os.getppid(); sys.path.insert(0, sys.argv[1]); "
    "from smfh.jobs.worker import main; main(parent)"
)
GLANCE = 0.2  # seconds between two looks at whether the work is still wanted
GRACE = 2.0  # seconds that unwanted work has to end by itself
ENDS = ("returned", "raised", "stopped")
T = TypeVar("T")
Call = Callable[..., Any]  # of a function, its arguments, and callbacks by name
LOST = (
    "The process that did this work has ended, most likely because the machine has too little memory. "
    "Take a smaller data set, fewer anchors or fewer bits, and try again."
)
UNREAD = (
    "What the process that did this work has answered cannot be read. That is a fault of this program, not "
    "of the data; whoever keeps the server finds it in the log."
)
CLOSED = "This program is about to end, and begins no new work."

log = logging.getLogger(__name__)


class Caller(Protocol):
    """Who has functions called elsewhere, and how many at the same time for one job."""

    @property
    def at_once(self) -> int: ...

    def call(self, function: Callable[..., T], *arguments: Any, **callbacks: Any) -> T: ...


def here(function: Callable[..., T], *arguments: Any, **callbacks: Any) -> T:
    """The same call, in this process."""
    return function(*arguments, **callbacks)


class Processes:
    """As many as are at work at the same time, `most` of them; an idle one waits for the next call."""

    at_once = 1  # a training takes all cores of this machine

    def __init__(self, most: int = 64) -> None:
        self._places = BoundedSemaphore(most)
        self._living: set[_Process] = set()
        self._idle: list[_Process] = []  # of them
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
                self._idle.append(self._start())

    def tidy(self) -> None:
        """Let idle processes forget what is held here no more, and tell what they hold no more."""
        with self._lock:
            for process in self._idle:
                process.tidy()

    def rest(self) -> None:
        """End idle ones that have worked, with all that they hold; the next call starts a new one."""
        with self._lock:
            used = [process for process in self._idle if process.has_worked]
            self._idle = [process for process in self._idle if not process.has_worked]
            self._living.difference_update(used)
        for process in used:
            process.end()

    def close(self) -> None:
        """End all of them, whatever they do, and start none any more."""
        with self._lock:
            self._open, self._idle = False, []
            living, self._living = self._living, set()
        for process in living:
            process.end()

    def _take(self) -> "_Process":
        with self._lock:
            while self._idle:
                if (process := self._idle.pop()).is_alive:
                    return process
                self._living.discard(process)
            return self._start()

    def _start(self) -> "_Process":
        """With the lock held, so that none is started behind the back of `close`."""
        if not self._open:
            raise InputError(CLOSED)
        process = _Process()
        self._living.add(process)
        return process

    def _take_back(self, process: "_Process") -> None:
        with self._lock:
            is_kept = process.is_alive and self._open and not self._idle
            if is_kept:
                self._idle.append(process)
                process.tidy()
            else:
                self._living.discard(process)
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
        self.is_alive, self.has_worked = True, False
        Thread(target=self._listen, name="listening to a process", daemon=True).start()

    def call(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        callbacks: dict[str, Callable[..., Any] | None],
        check: Callable[[], Any],
    ) -> Any:
        self.has_worked = True
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
            error, place = told[1]
            if place:
                note_elsewhere(error, place)
            raise error
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
        """In a thread: everything that the process tells, until it has ended or cannot be understood."""
        try:
            while True:
                self._listen_once()
        except (EOFError, OSError, MemoryError):
            lost = LOST
        except Exception as error:
            log.error("What a process told cannot be read: %s", trace(error))
            lost = UNREAD
        self.end()
        self._told.put(("raised", (InputError(lost), "")))
        self._channel.close()

    def _listen_once(self) -> None:
        """A function of its own, so that nothing here holds what was told until more is told."""
        told = self._channel.receive()
        if told[0] != "tidied":  # which the channel alone has to hear
            self._told.put(told)

    def _send(self, what: str, value: Any) -> None:
        try:
            self._channel.send((what, value))
        except OSError:
            """It has ended, which is heard."""
        except ValueError:
            if self.is_alive:  # not a closed pipe: the value cannot be written
                raise

    def _stop(self) -> None:
        """End the work: kindly, so that the process can be used again, or with the process."""
        self._send("stop", None)
        try:
            while self._told.get(timeout=GRACE)[0] not in ENDS:
                self._send("stop", None)
        except Empty:
            self.end()
