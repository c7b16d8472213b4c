"""What work is handed, and the states it goes through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from smfh.jobs.processes import Call

State = Literal["queued", "running", "paused", "finished", "cancelled", "failed"]
OVER: tuple[State, ...] = ("finished", "cancelled", "failed")
T = TypeVar("T")


@dataclass(frozen=True)
class Course:
    """What work is handed, and must use: it tells how far it is, and hears when to halt or to end."""

    report: Callable[[Any], None]  # a step is done; it halts here while the job is paused
    check: Callable[..., None]  # between reports: a cancelled job ends here
    give_way: Callable[[], None]  # what somebody waits for goes first
    call: Call  # of a function, elsewhere where the queue has someone for it; it ends when the job does
    at_once: int = 1  # calls worth making at the same time


Work = Callable[[Course], T]


class Cancelled(BaseException):
    """Raised in the work to end it; no Exception, so that no work catches it by mistake."""
