"""Calls on the workers of a cluster, whose callbacks are called here: what jobs' Processes do, from afar.

A worker tells through a queue of the scheduler and is a few calls ahead at most, so that a callback that
halts halts the work. Where a worker dies, another does the work again; what was told once is not told twice,
since the same call tells the same. A worker sees by itself that a call is not wanted, or its client gone.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from threading import Lock
from typing import Any, TypeVar

from smfh.cluster.program import check_program, program
from smfh.cluster.workers import ATTEMPTS, DaskWorkers
from smfh.hashing import FittedHasher
from smfh.jobs.channel import Channel
from smfh.jobs.worker import AHEAD, Stopped
from smfh.memory import Memory
from smfh.types import InputError

Result = TypeVar("Result")
GLANCE = 0.2  # seconds between two looks at whether the work is still wanted
SETS = 32  # data sets, parts of them and splits that the cluster is asked to hold
LOST = "The cluster lost this work: its scheduler has ended, or no worker lives through it. Try again."


class ClusterCalls:
    """A cluster that may come and go: found when it is needed, and looked for again where it was lost."""

    def __init__(self, address: str, on_count: Callable[[int], None] = lambda count: None) -> None:
        self.address = address
        self._on_count = on_count  # hears how many workers there are whenever one is needed
        self._workers: DaskWorkers | None = None
        self._data: Memory[str, Any] = Memory(SETS)
        self._lock = Lock()

    @property
    def at_once(self) -> int:
        return self.find().count

    @property
    def found(self) -> DaskWorkers | None:
        """Its workers, if they were needed and are there; nobody is waited for."""
        workers = self._workers
        return workers if workers is not None and workers.client.status == "running" else None

    def find(self) -> DaskWorkers:
        """The cluster's workers; InputError where nobody answers."""
        with self._lock:
            if (workers := self.found) is None:
                self.close()
                workers = self._workers = DaskWorkers(self.address)
        self._on_count(workers.count)
        return workers

    def call(self, function: Callable[..., Result], *arguments: Any, **callbacks: Any) -> Result:
        """What the function returns, or raises, on a worker.

        A callback called `check` is asked here, again and again, whether the result is still wanted. The same
        call by several clients, none of whom listens or may end it, is one task: its key decides its outcome.
        """
        check = callbacks.pop("check", None)
        wanted = {name: callback for name, callback in callbacks.items() if callback is not None}
        client = self.find().client
        given = [self._held(client, one) for one in arguments]
        key = f"{function.__name__}-{hashlib.sha256(_identity(arguments).encode()).hexdigest()}"
        if wanted or check:
            key += f"-{secrets.token_hex(8)}"
        with self._until_lost(client), Letters(client, key, wanted) as letters:
            for number in range(ATTEMPTS):
                task = (do_call, function, tuple(wanted), key, program(), *given)
                future = client.submit(*task, key=f"{key}-{number}" if number else key)
                try:
                    result: Result = letters.follow(future, check or (lambda: None))
                    return result
                except _killed():
                    continue
        raise InputError(LOST)

    def close(self) -> None:
        if self._workers is not None:
            self._workers.close()
        self._workers, self._data = None, Memory(SETS)

    @contextmanager
    def _until_lost(self, client: Any) -> Iterator[None]:
        """What Dask says of a cluster that is gone, in words; the next call looks for it anew."""
        from distributed.comm import CommClosedError

        try:
            yield
        except (OSError, CancelledError) as error:
            is_gone = client.status != "running"
            if not is_gone and not isinstance(error, (CommClosedError, CancelledError)):
                raise  # what the function or a callback has met
            with self._lock:
                if is_gone and self._workers is not None and self._workers.client is client:
                    self.close()
            raise InputError(LOST) from error

    def _held(self, client: Any, given: Any) -> Any:
        """Data go over once, as a task of their own, which the scheduler does again where they are lost."""
        if not hasattr(given, "fingerprint"):
            return given
        key = f"{type(given).__name__}-{given.fingerprint}"
        return self._data.get(key, lambda: client.submit(_same, given, key=key))


class Letters:
    """What the callbacks of one call are told, in order, whoever does the call in the end."""

    def __init__(self, client: Any, key: str, wanted: Mapping[str, Callable[..., Any]]) -> None:
        from distributed import Queue

        self._wanted = wanted
        self._queue = Queue(key, client=client, maxsize=AHEAD) if wanted else None
        self._heard = 0  # calls that were made here
        self._attempts: dict[str, Attempt] = {}

    def __enter__(self) -> "Letters":
        return self

    def __exit__(self, *_: object) -> None:
        if self._queue is not None:
            self._queue.close()

    def follow(self, future: Any, check: Callable[[], Any]) -> Any:
        """What the call comes to; it ends there where it is not wanted any more."""
        try:
            while not future.done():
                check()
                if future.client.status != "running":
                    raise CancelledError
                self._hear(future)
            while self._queue is not None and self._queue.qsize():
                self._open(*self._queue.get())
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _hear(self, future: Any) -> None:
        """Make the next call that is told within a moment, if there is one."""
        letter = None
        with suppress(TimeoutError):
            if self._queue is None:
                future.exception(timeout=GLANCE)
            else:
                letter = self._queue.get(timeout=GLANCE)
        if letter is not None:
            self._open(*letter)

    def _open(self, attempt: str, written: bytes) -> None:
        told = self._attempts.setdefault(attempt, Attempt())
        name, value = told.read(written)
        if told.count > self._heard:
            self._heard += 1
            self._wanted[name](*value)


class Attempt:
    """What one worker has told of a call; another may have told the beginning before."""

    def __init__(self) -> None:
        self.count = 0
        self._letter = BytesIO()
        self._channel = Channel(self._letter, self._letter)

    def read(self, written: bytes) -> Any:
        _put(self._letter, written)
        self.count += 1
        return self._channel.receive()


def do_call(
    function: Callable[..., Result], names: Sequence[str], key: str, client: str, *arguments: Any
) -> Result:
    """On a worker: call the function with callbacks that tell the client."""
    check_program(client)
    if not names:
        return function(*arguments)
    from distributed import Queue, get_worker

    worker, queue, attempt = get_worker(), Queue(key, maxsize=AHEAD), secrets.token_hex(8)
    task, letter = worker.get_current_task(), BytesIO()
    channel = Channel(letter, letter)

    def tell(name: str, *told: Any) -> None:
        _put(letter, b"")
        channel.send((name, told))
        while (state := worker.state.tasks.get(task)) is not None and state.state == "executing":
            with suppress(TimeoutError):
                queue.put((attempt, letter.getvalue()), timeout=GLANCE)
                return
        raise Stopped

    try:
        return function(*arguments, **{name: partial(tell, name) for name in names})
    finally:
        queue.close()


def _put(letter: BytesIO, written: bytes) -> None:
    """Let this be all that the letter says, to be read from its beginning."""
    letter.seek(0)
    letter.truncate()
    letter.write(written)
    letter.seek(0)


def _same(given: Result) -> Result:
    return given


def _killed() -> type[Exception]:
    """What Dask raises of a call at which several workers died."""
    from distributed import KilledWorker

    killed: type[Exception] = KilledWorker
    return killed


def _identity(arguments: Sequence[Any]) -> str:
    """Configurations by their fields, data by their fingerprints, a hasher by its method and its data."""
    told = []
    for given in arguments:
        if isinstance(given, FittedHasher):
            told.append(f"{given.method!r} on {given.trained_on}")
        else:
            told.append(getattr(given, "fingerprint", None) or repr(given))
    return "\n".join(told)
