"""The other end: the program of a process that works for another one."""

import contextlib
import os
import sys
from threading import Thread
from time import sleep
from typing import Any

from smfh.jobs.channel import Channel
from smfh.jobs.faults import drop_frames, sendable, trace

AHEAD = 4  # callbacks that the work does not wait for
NICENESS = 5  # pages go first
GLANCE = 1.0  # seconds between two looks at whether the other one lives


class Stopped(BaseException):
    """Raised in the work when it is not wanted any more."""


def serve(channel: Channel) -> None:
    """Do what is called, one call after another, until the other end is gone."""
    while True:
        what, value = _next(channel)
        if what == "call":
            _answer(channel, _outcome(channel, *value))
        elif what == "tidy":
            channel.send(("tidied", None))  # which also tells what has been let go of here


def _next(channel: Channel) -> tuple[str, Any]:
    """What the other end says; a call that cannot be read, of a function unknown here, is answered so."""
    try:
        what, value = channel.receive()
        return what, value
    except (EOFError, OSError, MemoryError):
        raise
    except Exception as error:
        channel.send(_raised(error))
        return "unread", None


def _answer(channel: Channel, outcome: tuple[str, Any]) -> None:
    """Send it, or why it cannot be sent: nothing is on its way before all of it is written."""
    try:
        channel.send(outcome)
    except OSError:
        raise
    except Exception as error:
        channel.send(_raised(error))


def _outcome(
    channel: Channel, function: Any, arguments: tuple[Any, ...], names: tuple[str, ...]
) -> tuple[str, Any]:
    waiting = 0

    def callback(name: str) -> Any:
        def tell(*told: Any) -> None:
            nonlocal waiting
            channel.send((name, told))
            waiting += 1
            while waiting > AHEAD:
                if channel.receive()[0] == "stop":
                    raise Stopped
                waiting -= 1

        return tell

    try:
        result = "returned", function(*arguments, **{name: callback(name) for name in names})
        for _ in range(waiting):
            if channel.receive()[0] == "stop":
                raise Stopped
        return result
    except Stopped:
        return "stopped", None
    except Exception as error:
        return _raised(error)


def _raised(error: Exception) -> tuple[str, Any]:
    """The error, and where it came from in words: its frames hold the data and stay here."""
    place = trace(error)
    drop_frames(error)
    return "raised", (sendable(error), place)


def _end_with(parent: int) -> None:
    """In a thread: end soon after the process that this one works for, however long a call takes."""
    while os.getppid() == parent:
        sleep(GLANCE)
    os._exit(1)


def main(parent: int) -> None:
    """Speak over the pipes this was started with; whatever else is printed goes to the log."""
    Thread(target=_end_with, args=(parent,), name="watching the other process", daemon=True).start()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    sys.stdin.close()
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        serve(channel)
    channel.close()
