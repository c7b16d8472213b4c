"""The other end: the program of a process that works for another one."""

import contextlib
import os
import sys
from typing import Any

from smfh.jobs.channel import Channel

AHEAD = 4  # callbacks that the work does not wait for
NICENESS = 5  # pages go first


class Stopped(BaseException):
    """Raised in the work when it is not wanted any more."""


def serve(channel: Channel) -> None:
    """Do what is called, one call after another, until the other end is gone."""
    while True:
        what, value = channel.receive()
        if what == "call":
            channel.send(_outcome(channel, *value))


def _outcome(channel: Channel, function: Any, arguments: tuple[Any, ...], names: tuple[str, ...]) -> Any:
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
        return "raised", None
    except Exception as error:
        error.__traceback__ = None  # whose frames hold the data
        return "raised", error


def main() -> None:
    """Speak over the pipes this was started with; whatever else is printed goes to the log."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    sys.stdin.close()
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        serve(channel)
    channel.close()
