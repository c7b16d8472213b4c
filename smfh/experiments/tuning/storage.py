"""Storage of studies in an SQLite, PostgreSQL or MySQL database that several programs can share."""

import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from smfh.folders import STUDIES_FILE, cache_folder
from smfh.types import InputError

DATABASES = ("sqlite", "postgresql", "mysql")
HEARTBEAT_SECONDS, GRACE_SECONDS = 10, 40  # without a heartbeat for GRACE_SECONDS, a worker counts as lost
LOCK_TIMEOUT_SECONDS = 30
RETRY_SECONDS, MAX_ATTEMPTS = 0.2, 5  # for creating the tables: two programs may try at once
CREATED_TWICE = ("already exists", "UNIQUE constraint", "duplicate key", "Duplicate entry")
REASONS = {  # part of a database error → explanation
    "locked": "another program has locked them. Nothing is lost: try again in a moment.",
    "disk i/o": "the disk cannot be written. Finished trials are saved: free some space and try again.",
    "full": "the disk is full. Finished trials are saved: free some space and try again.",
    "readonly": "the file is read-only. Nothing is lost: make it writable, or use another address.",
    "malformed": "the file is damaged. It was not changed: move it away, or use another address.",
    "utf-8": "the file is damaged: it has text that is not UTF-8. Move it away, or use another address.",
    "not a database": "the file is not a database. It was not changed: use another address.",
    "unable to open": "the file cannot be opened or created. Use another address.",
    "no such table": "the file was deleted or replaced while the program was running. Restart the program.",
    "record does not exist": "the study was deleted.",
    "schema": "they were written by a different version of Optuna, and were not changed.",
}

optuna.logging.set_verbosity(optuna.logging.WARNING)
warnings.filterwarnings("ignore", category=ExperimentalWarning)  # of Optuna's heartbeat, since 2021
_exclusive = threading.local()


def default_address() -> str:
    """Return the address of the study database: SMFH_STUDIES if set, else an SQLite file in the cache folder."""
    return os.environ.get("SMFH_STUDIES") or f"sqlite:///{cache_folder() / STUDIES_FILE}"


def open_storage(address: str, attempts: int = MAX_ATTEMPTS) -> RDBStorage:
    """Open the study database, and create its tables if needed; trials of lost workers are repeated."""
    options: dict[str, Any] = {"pool_pre_ping": True}
    if parse_address(address).get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": LOCK_TIMEOUT_SECONDS}
    try:
        if address == default_address():
            cache_folder().mkdir(parents=True, exist_ok=True)
        with errors_in_words(hide_password(address)):
            storage = RDBStorage(
                address,
                options,
                heartbeat_interval=HEARTBEAT_SECONDS,
                grace_period=GRACE_SECONDS,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
            )
            if storage.engine.dialect.name == "sqlite":
                event.listen(storage.engine, "begin", _begin)
                with storage.engine.connect() as connection:  # so that readers do not block a writer
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return storage
    except OSError as error:
        raise InputError(
            f"The studies folder cannot be created: {error.strerror or error}. Set SMFH_CACHE to "
            "another folder, or SMFH_STUDIES to a database."
        ) from error
    except InputError as error:
        if attempts == 1 or not any(sign in str(error.__cause__) for sign in CREATED_TWICE):
            raise
    time.sleep(RETRY_SECONDS)
    return open_storage(address, attempts - 1)


@contextmanager
def exclusive_writes() -> Iterator[None]:
    """Let Optuna check and change the state of a trial in one step.

    Optuna locks the row that it is about to change, but SQLite has no row locks. Inside this context, each
    transaction of the current thread locks the whole database when it begins.
    """
    _exclusive.active = True
    try:
        yield
    finally:
        _exclusive.active = False


def _begin(connection: Connection) -> None:
    if getattr(_exclusive, "active", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def parse_address(address: str) -> URL:
    """Parse a database address as a URL; raise InputError if this kind of database is not supported."""
    try:
        url = make_url(address)
        if url.get_backend_name() in DATABASES:
            return url
    except (ArgumentError, SQLAlchemyError, ValueError):
        pass
    raise InputError(
        "The address of a study database must look like sqlite:///studies.db, postgresql://user@host/name or "
        f"mysql://user@host/name; got {address[:80]!r}."
    )


def hide_password(address: str) -> str:
    """Return a database address for display, with *** instead of its password."""
    return parse_address(address).render_as_string(hide_password=True)


def is_absent(address: str) -> bool:
    """Whether a database address names an SQLite file that does not exist yet."""
    url = parse_address(address)
    return url.get_backend_name() == "sqlite" and bool(url.database) and not Path(str(url.database)).exists()


@contextmanager
def errors_in_words(where: str) -> Iterator[None]:
    """Convert database errors to an InputError with an explanation; `where` is an address.

    Visitors read the message, so it has the name of a database file without its folder.
    """
    if where.startswith("sqlite"):
        where = Path(where).name
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"The driver for {where} is not installed: python -m pip install psycopg2-binary (PostgreSQL) or "
            "pymysql (MySQL, with an address that begins with mysql+pymysql://)."
        ) from error
    except (SQLAlchemyError, StorageInternalError, RuntimeError, KeyError) as error:
        text = " ".join(str(cause) for cause in (error, error.__cause__) if cause).lower()
        reason = next((words for sign, words in REASONS.items() if sign in text), "")
        if isinstance(error, RuntimeError | KeyError) and not reason:
            raise
        first = str(error).splitlines()[0] if str(error) else "no reason given"
        raise InputError(
            f"The studies in {where} cannot be used: {reason or f'{type(error).__name__}: {first}'}"
        ) from error
