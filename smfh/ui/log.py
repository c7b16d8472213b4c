"""The server's log: one line for each job, upload, refusal and error.

    2026-11-17T18:02:08Z INFO smfh.ui.log run visitor=3f2a91c0 state=finished seconds=1.28 method=smfh bits=64

It never contains captions, typed words, names of files or studies, or cookies; visitors appear as hashes.
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

from smfh.datasets import DatasetSource
from smfh.experiments.comparison import GridKey
from smfh.runs import ClassifierLevelKey, RunKey
from smfh.types import InputError
from smfh.ui.visitor import PrivateKey

UNQUOTED = re.compile(r"[\w.+:/,<-]+", re.ASCII)
MAX_FRAMES = 3  # of a traceback, innermost first
ROOT = Path(__file__).parents[2]

log = logging.getLogger(__name__)


def set_up_log() -> None:
    """Write this package's log lines, at INFO and above, to standard error, with UTC times."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("smfh")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def short_id(visitor: str) -> str:
    """Return the short hash that identifies a visitor in the log."""
    return hashlib.sha256(f"log {visitor}".encode()).hexdigest()[:8] if visitor else "-"


def log_event(event: str, visitors: str | Iterable[str] = "", **values: object) -> None:
    """Log an event in one line at INFO; never pass texts that a visitor wrote."""
    log.info("%s", line_of(event, visitors, **values))


def log_job(state: str, key: Hashable, visitors: Iterable[str], seconds: float, error: BaseException | None) -> None:
    """Log one line for a job that started, ended or was refused; the queues call this."""
    is_refused, about = isinstance(error, InputError), describe_job(key)
    if error is not None and not is_refused:  # the job itself logs the traceback
        about |= {"error": type(error).__name__}
    event = str(about.pop("event"))
    log_event(event, visitors, state="refused" if is_refused else state, seconds=round(seconds, 3), **about)


@contextmanager
def logging_upload(kind: str, visitor: str, size: int) -> Iterator[list[str]]:
    """Log an upload when this `with` block ends: as refused if the block raised an error or filled `problems`."""
    started, problems = perf_counter(), list[str]()
    try:
        yield problems
    except InputError as error:
        problems += error.problems
        raise
    finally:
        about = {"seconds": round(perf_counter() - started, 3), "kind": kind, "bytes": size}
        state = "refused" if problems else "accepted"
        log_event("upload", visitor, state=state, **about, problems=len(problems))


@contextmanager
def logging_refusal(what: str, visitor: str) -> Iterator[None]:
    """Log one line if this `with` block, such as a check of limits, raises InputError."""
    try:
        yield
    except InputError as error:
        log_event("refusal", visitor, what=what, problems=len(error.problems))
        raise


def log_error(error: BaseException, visitors: str | Iterable[str] = "") -> None:
    """Log an exception in one line at ERROR, with its type and source lines but without its message."""
    lines = []
    for frame in reversed(traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]):
        path = Path(frame.filename)
        path = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
        lines.append(f"{path}:{frame.lineno}")
    log.error("%s", line_of("fault", visitors, error=type(error).__name__, at="<".join(lines) or "-"))


def line_of(event: str, visitors: str | Iterable[str] = "", **values: object) -> str:
    """Return a log line `event visitor=… key=value …`; values are quoted, so that none can imitate a field."""
    names = [visitors] if isinstance(visitors, str) else sorted(visitors)
    who = ",".join(short_id(name) for name in names) or "-"
    texts = {key: str(value) for key, value in values.items()}
    quoted = {key: text if UNQUOTED.fullmatch(text) else json.dumps(text) for key, text in texts.items()}
    return " ".join([event, f"visitor={who}", *(f"{key}={text}" for key, text in quoted.items())])


def describe_job(key: Hashable) -> dict[str, object]:
    """Return the kind of a job for the log, and the parts of its key that contain no text from a visitor."""
    if isinstance(key, PrivateKey):
        key = key.key
    if isinstance(key, RunKey):
        return {"event": "run", "method": key.method.name, "bits": key.method.bits, "data": key.data[:8]}
    if isinstance(key, GridKey):
        return {"event": "grid", "cells": len(key.methods) * len(key.bits) * key.seeds, "data": key.data[:8]}
    if isinstance(key, ClassifierLevelKey):
        return {"event": "classifiers", "data": key.data[:8]}
    if isinstance(key, DatasetSource):
        return {"event": "load", "data": key.name}
    if isinstance(key, tuple) and key and isinstance(key[0], str):
        return {"event": key[0]}
    return {"event": type(key).__name__.removesuffix("Key").lower()}
