"""What whoever keeps the server reads: a line for each run, upload, refusal and fault.

    2026-11-17T18:02:08Z INFO smfh.ui.log run visitor=3f2a91c0 state=finished seconds=1.28 method=smfh bits=64

No captions, no words that somebody typed, no names of files and studies, no cookies: of a visitor a hash.
"""

import hashlib
import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from smfh.comparison.grid import GridKey
from smfh.datasets import DatasetSource
from smfh.runs import CeilingKey, RunKey
from smfh.types import InputError

PLAIN = re.compile(r"[\w.+:/,<-]+", re.ASCII)  # what stands in a line without quotes
FRAMES = 3  # of a fault, the innermost ones
ROOT = Path(__file__).parents[2]

log = logging.getLogger(__name__)


def begin_log() -> None:
    """Let all that this program tells, from INFO on, go to the standard error, with the time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    form = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    form.converter = time.gmtime
    handler.setFormatter(form)
    ours = logging.getLogger("smfh")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(logging.INFO)


def short_id(visitor: str) -> str:
    """What the log calls a visitor: the same for a day, and no way back to the cookie."""
    return hashlib.sha256(f"log {visitor}".encode()).hexdigest()[:8] if visitor else "-"


def tell(event: str, visitors: str | Iterable[str] = "", **said: object) -> None:
    """One line, INFO: what happened, whose it is, and figures; never what a visitor wrote."""
    log.info("%s", line_of(event, visitors, **said))


def tell_job(
    state: str, key: Hashable, visitors: Iterable[str], seconds: float, error: BaseException | None
) -> None:
    """One line for each job that was taken to hand, or is over, or was refused; a queue calls this."""
    refused, what = isinstance(error, InputError), kind_of(key)
    if error is not None and not refused:  # whose traceback the job itself tells
        what |= {"error": type(error).__name__}
    told = {"state": "refused" if refused else state, "seconds": round(seconds, 3)}
    tell(str(what.pop("event")), visitors, **told | what)


@contextmanager
def told_refusal(what: str, visitor: str) -> Iterator[None]:
    """One line where what stands here refuses, with an InputError: limits before work, for example."""
    try:
        yield
    except InputError as error:
        tell("refusal", visitor, what=what, problems=len(error.problems))
        raise


def tell_upload(kind: str, visitor: str, size: int, seconds: float, problems: int = 0) -> None:
    """One line for a file that was read, of so many bytes, and whether it was refused."""
    state = "refused" if problems else "taken"
    tell("upload", visitor, state=state, seconds=round(seconds, 3), kind=kind, bytes=size, problems=problems)


@contextmanager
def told_upload(kind: str, visitor: str, size: int) -> Iterator[None]:
    """The same around the reading of it, which an InputError refuses."""
    began, problems = perf_counter(), 0
    try:
        yield
    except InputError as error:
        problems = len(error.problems)
        raise
    finally:
        tell_upload(kind, visitor, size, perf_counter() - began, problems)


def tell_fault(error: BaseException, visitors: str | Iterable[str] = "") -> None:
    """One line, ERROR: which exception, and where; its words may hold anything and are left out."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    where = "<".join(f"{_name(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
    log.error("%s", line_of("fault", visitors, error=type(error).__name__, at=where or "-"))


def line_of(event: str, visitors: str | Iterable[str] = "", **said: object) -> str:
    """`event visitor=… key=value …`; whatever a value is, it stays on its line and in its place."""
    names = [visitors] if isinstance(visitors, str) else sorted(visitors)
    who = ",".join(short_id(name) for name in names) or "-"
    return " ".join([event, f"visitor={who}", *(f"{key}={_quoted(value)}" for key, value in said.items())])


def kind_of(key: Hashable) -> dict[str, object]:
    """What the log says of a job: its kind, and what of its key is ours."""
    if isinstance(key, RunKey):
        return {"event": "run", "method": key.method.name, "bits": key.method.bits, "data": key.data[:8]}
    if isinstance(key, GridKey):
        cells = len(key.methods) * len(key.bits) * key.seeds
        return {"event": "grid", "cells": cells, "data": key.data[:8]}
    if isinstance(key, CeilingKey):
        return {"event": "ceiling", "data": key.data[:8]}
    if isinstance(key, DatasetSource):
        return {"event": "load", "data": key.name}
    if isinstance(key, tuple) and key and isinstance(key[0], str):
        return {"event": key[0]}
    return {"event": type(key).__name__.removesuffix("Key").lower()}


def _name(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _quoted(value: object) -> str:
    text = str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)
