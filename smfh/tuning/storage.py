"""Where studies are kept: a database that several programs and machines may share, or memory alone."""

import os
import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import Event, Thread
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import DateTime, column, table
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from smfh.datasets.cache import cache_folder
from smfh.types import InputError

KINDS = ("sqlite", "postgresql", "mysql")
BEAT, GRACE = 10, 40  # seconds between two signs of life, and without one until a worker counts as gone
PATIENCE = 30  # seconds that a writer waits for another before it gives up
SAID = ("schema", "Record does not exist")  # by Optuna, of another version and of what was deleted
PUT_BACK, WORKER = "put_back", "worker"  # attributes of a trial: why it had to wait again, who does it
AGAIN = 0.2  # seconds until the next attempt at making the tables, which two programs may begin at once
BEGUN_AT_ONCE = ("already exists", "UNIQUE constraint", "duplicate key", "Duplicate entry")

TRIALS = table("trials", column("trial_id"), column("state"), column("datetime_start", DateTime))  # Optuna's

optuna.logging.set_verbosity(optuna.logging.WARNING)


def usual_address() -> str:
    """SMFH_STUDIES if set, else a file of the cache folder."""
    return os.environ.get("SMFH_STUDIES") or f"sqlite:///{cache_folder() / 'studies.db'}"


def open_storage(address: str, attempts: int = 5) -> RDBStorage:
    """The database at this address, made where there is none; tried again where another makes it too."""
    shown = shown_address(address)
    waits: dict[str, Any] = {"pool_pre_ping": True}
    is_file = make_url(address).get_backend_name() == "sqlite"
    if is_file:
        waits["connect_args"] = {"timeout": PATIENCE}
    try:
        if address == usual_address():
            cache_folder().mkdir(parents=True, exist_ok=True)
        with errors_in_words(shown), warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            storage = RDBStorage(address, waits, heartbeat_interval=BEAT, grace_period=GRACE)
            if is_file:  # readers and a writer do not wait for each other
                with storage.engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return storage
    except OSError as error:
        raise InputError(
            f"The folder of studies cannot be made: {error.strerror or error}. Name another with SMFH_CACHE, "
            "or a database with SMFH_STUDIES."
        ) from error
    except InputError as error:
        if attempts == 1 or not any(sign in str(error.__cause__) for sign in BEGUN_AT_ONCE):
            raise
    time.sleep(AGAIN)
    return open_storage(address, attempts - 1)


def shown_address(address: str) -> str:
    """The address without its password, if it is one of a database that studies can be kept in."""
    try:
        url = make_url(address)
        known = url.get_backend_name() in KINDS
    except (ArgumentError, SQLAlchemyError, ValueError):
        known = False
    if not known:
        raise InputError(
            "Studies are kept at an address such as sqlite:///studies.db, postgresql://user@host/name or "
            f"mysql://user@host/name; got {address[:80]!r}."
        )
    return url.render_as_string(hide_password=True)


@contextmanager
def errors_in_words(where: str) -> Iterator[None]:
    """What a database can refuse, as an InputError; nothing was lost by it."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"The driver for {where} is not installed: python -m pip install psycopg2-binary (PostgreSQL) or "
            "pymysql (MySQL, with an address that begins with mysql+pymysql://)."
        ) from error
    except (SQLAlchemyError, StorageInternalError, RuntimeError, KeyError) as error:
        if isinstance(error, RuntimeError | KeyError) and not any(sign in str(error) for sign in SAID):
            raise
        raise InputError(f"The studies in {where} cannot be used: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    text = " ".join(str(cause) for cause in (error, error.__cause__) if cause).lower()
    for sign, words in (
        ("locked", "another program holds them for long. Nothing is lost: try again in a moment."),
        ("disk i/o", "the disk takes no more. What is finished is kept: make room and try again."),
        ("full", "the disk is full. What is finished is kept: make room and try again."),
        (
            "readonly",
            "the file may only be read. Nothing is lost: make it writable, or name another address.",
        ),
        ("malformed", "the file is damaged. It was not touched: move it away, or name another address."),
        ("not a database", "the file is no database. It was not touched: name another address."),
        ("unable to open", "the file cannot be opened or made. Name another address."),
        ("record does not exist", "the study was deleted."),
        ("schema", "they were written by another version of Optuna, and were not touched."),
    ):
        if sign in text:
            return words
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"


# Optuna's heartbeat is for its own loop: it fails a killed worker's trial and adds another. Here the trial
# itself goes back into the line, in one step that nobody can be killed in the midst of; its number stays.
# For this the ids are needed, which Optuna keeps to itself.


def claim(study: optuna.Study, storage: BaseStorage) -> optuna.Trial | None:
    """The first waiting trial, now this worker's own; None where none waits."""
    for frozen in study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        beat(
            storage, frozen._trial_id
        )  # before it runs: a trial at work without a beat would never be missed
        with suppress(UpdateFinishedTrialError):
            if _take(storage, frozen._trial_id):
                storage.set_trial_user_attr(frozen._trial_id, WORKER, f"{platform.node()} {os.getpid()}")
                return optuna.Trial(study, frozen._trial_id)
    return None


def _take(storage: BaseStorage, trial_id: int) -> bool:
    """Whether this worker is the one that the trial now runs with.

    Optuna reads and then writes, under a lock that SQLite has not; there one statement does both.
    """
    if not isinstance(storage, RDBStorage) or storage.engine.dialect.name != "sqlite":
        return bool(storage.set_trial_state_values(trial_id, TrialState.RUNNING))
    waiting = (TRIALS.c.trial_id == trial_id) & (TRIALS.c.state == TrialState.WAITING.name)
    taken = TRIALS.update().where(waiting)
    with storage.engine.begin() as connection:
        now = {"state": TrialState.RUNNING.name, "datetime_start": datetime.now()}
        return connection.execute(taken.values(now)).rowcount == 1


def put_back(storage: BaseStorage, trial: optuna.Trial | FrozenTrial, why: str) -> None:
    """Let a trial at work wait again, with what it has reached; finished ones stay as they are."""
    with suppress(UpdateFinishedTrialError):
        storage.set_trial_user_attr(trial._trial_id, PUT_BACK, why)
        storage.set_trial_state_values(trial._trial_id, TrialState.WAITING)


@contextmanager
def given_back(storage: BaseStorage, trial: optuna.Trial) -> Iterator[None]:
    """Let the trial wait again where this does not come to its end."""
    try:
        yield
    except BaseException:
        put_back(storage, trial, "it was stopped")
        raise


def put_back_lost(study: optuna.Study, storage: BaseStorage) -> int:
    """Let the trials of workers that give no sign of life wait again; how many there were."""
    if not isinstance(storage, RDBStorage):
        return 0
    lost = set(storage._get_stale_trial_ids(study._study_id))
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    for frozen in (found := [one for one in running if one._trial_id in lost]):
        put_back(storage, frozen, "its worker was gone")
    return len(found)


def beat(storage: BaseStorage, trial_id: int) -> None:
    """Tell that the worker of this trial is alive."""
    if isinstance(storage, RDBStorage):
        storage.record_heartbeat(trial_id)


@contextmanager
def beating(storage: BaseStorage, trial: optuna.Trial) -> Iterator[None]:
    """Signs of life as long as this lasts, also while the work is paused."""
    over = Event()

    def go_on() -> None:
        while not over.wait(BEAT):
            with suppress(SQLAlchemyError, StorageInternalError):  # the next one may get through
                beat(storage, trial._trial_id)

    thread = Thread(target=go_on, name="heartbeat of a trial", daemon=True)
    if not isinstance(storage, InMemoryStorage):
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
