"""Who does the tasks: processes of this machine, or the workers of a Dask cluster.

A task is a plain function of small values that reads and writes files and keeps nothing: whoever does it, and
however often, it comes to the same. So a worker that is killed costs its own tasks, which others do again.
"""

import hashlib
import ipaddress
import multiprocessing
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from smfh.hashing import FittedHasher
from smfh.types import InputError

Result = TypeVar("Result")
ATTEMPTS = 20  # at a task whose worker is killed every time
WAIT = 30  # seconds for the first worker of a cluster


class Workers(Protocol):
    """Some who do tasks side by side."""

    @property
    def count(self) -> int: ...

    @property
    def dashboard(self) -> str:
        """Where a browser can watch them; nothing where that is not so."""

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """What the task makes of each arguments, in their order."""

    def close(self) -> None: ...


def find_workers(workers: int | None = None, cluster: str | None = None) -> Workers:
    """So many processes of this machine (None: one for each core; 0: this process), or those of a cluster.

    Where neither is said, SMFH_CLUSTER may name one.
    """
    if cluster is None and workers is None:
        cluster = os.environ.get("SMFH_CLUSTER")
    if cluster:
        return DaskWorkers(cluster)
    if workers == 0:
        return ThisProcess()
    count = os.cpu_count() or 1 if workers is None else workers
    if count < 0:
        raise InputError(f"There must be one worker or more, or 0 for this process itself; got {count}.")
    return Processes(count)


class ThisProcess:
    """Nobody else: one task after another, here."""

    count, dashboard = 1, ""

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        return [task(*given) for given in arguments]

    def close(self) -> None:
        """Nothing is open."""


class Processes:
    """Processes of this machine, each on a pipe of its own: one that dies takes no other with it."""

    dashboard = ""

    def __init__(self, count: int, most_bytes: int | None = None) -> None:
        self.count = count
        self._lanes = [Lane(most_bytes) for _ in range(count)]

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        results: list[Any] = [None] * len(arguments)
        waiting, problems, lock = list(range(len(arguments)))[::-1], list[BaseException](), Lock()

        def work(lane: Lane) -> None:
            while not problems:
                with lock:
                    if not waiting:
                        return
                    number = waiting.pop()
                try:
                    results[number] = lane.do(task, arguments[number])
                except BaseException as error:
                    problems.append(error)

        threads = [Thread(target=work, args=(lane,), daemon=True) for lane in self._lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        return results

    @property
    def pids(self) -> list[int]:
        """Of those that live."""
        return [pid for lane in self._lanes if (pid := lane.pid) is not None]

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()


class Lane:
    """One process and the pipe to it; a new one is started where it has died."""

    def __init__(self, most_bytes: int | None) -> None:
        self.most_bytes, self.began_again = most_bytes, -1
        self._process: Any = None
        self._pipe: Any = None

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def do(self, task: Callable[..., Result], given: tuple[Any, ...]) -> Result:
        """What the task makes of it; it is done again by a new process where one dies at it."""
        for _ in range(ATTEMPTS):
            try:
                if self._process is None:
                    self._start()
                self._pipe.send((task, given))
                is_done, value = self._pipe.recv()
            except (EOFError, OSError):
                self.close()
                continue
            if not is_done:
                raise value
            result: Result = value
            return result
        raise InputError(f"A worker was killed {ATTEMPTS} times at the same task; is there memory enough?")

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, there = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(there, self.most_bytes), daemon=True)
        self._process.start()
        there.close()  # so that the end of the process is the end of the pipe
        self.began_again += 1

    def close(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._process = None


def serve(pipe: Any, most_bytes: int | None) -> None:
    """Do one task after another until the other end is gone; in a process of its own.

    It takes no more than so many bytes of data: then it fails instead of slowing the machine.
    """
    if most_bytes is not None:
        import resource  # which not every system has

        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            task, given = pipe.recv()
            try:
                answer = True, task(*given)
            except Exception as error:
                answer = False, error
            pipe.send(answer)


class DaskWorkers:
    """The workers of a scheduler at a `tls://` address, or at a `tcp://` one of this machine."""

    def __init__(self, address: str) -> None:
        check_address(address)
        try:
            from distributed import Client, Security
        except ImportError as error:
            raise InputError(
                "A cluster needs Dask, which is not installed: "
                'python -m pip install "smfh-explorer[cluster]". Without it, --workers N uses this machine.'
            ) from error
        security = Security(require_encryption=True) if address.startswith("tls://") else None
        if security is not None and security.get_connection_args("client")["ssl_context"] is None:
            names = "CA_FILE, CLIENT__CERT and CLIENT__KEY"
            raise InputError(
                f"{address} needs certificates: set {names}, each behind DASK_DISTRIBUTED__COMM__TLS__."
            )
        try:
            self.client = Client(address, security=security, timeout=WAIT, set_as_default=False)
            self.client.wait_for_workers(1, timeout=WAIT)
            found: dict[str, Any] = self.client.run(find_spec, "smfh")
            found["the scheduler"] = self.client.run_on_scheduler(find_spec, "smfh")
        except (OSError, TimeoutError) as error:
            raise InputError(f"No scheduler with a worker answers at {address}: {error}.") from error
        if without := [who for who, where in found.items() if where is None]:
            self.client.close()
            raise InputError(
                f"smfh-explorer is not installed on {', '.join(without)}; all need the same version."
            )

    @property
    def count(self) -> int:
        return int(max(1, sum(self.client.nthreads().values())))

    @property
    def dashboard(self) -> str:
        return str(self.client.dashboard_link or "")

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        from distributed import KilledWorker

        def submit(given: tuple[Any, ...]) -> Any:
            return self.client.submit(task, *given, pure=False, retries=ATTEMPTS)

        futures = [submit(given) for given in arguments]
        results: list[Result] = []
        try:
            for number, given in enumerate(arguments):
                for _ in range(ATTEMPTS):
                    try:
                        results.append(futures[number].result())
                        break
                    except KilledWorker:
                        futures[number] = submit(given)
                else:
                    raise InputError(f"Workers were killed {ATTEMPTS} times and more at the same task.")
        finally:
            self.client.cancel(futures[len(results) :])
        return results

    def call(self, function: Callable[..., Result], *arguments: Any, **callbacks: Any) -> Result:
        """What the function returns, or raises, on a worker; callbacks stay here and are not called.

        The same call by several clients is one task: its key is what decides its outcome.
        """
        key = f"{function.__name__}-{hashlib.sha256(_identity(arguments).encode()).hexdigest()}"
        future: Any = self.client.submit(function, *arguments, key=key, retries=ATTEMPTS)
        result: Result = future.result()
        return result

    def close(self) -> None:
        self.client.close()


def _identity(arguments: Sequence[Any]) -> str:
    """Configurations by their fields, data by their fingerprints, a hasher by its method and its data."""
    told = []
    for given in arguments:
        if isinstance(given, FittedHasher):
            told.append(f"{given.method!r} on {given.trained_on}")
        else:
            told.append(getattr(given, "fingerprint", None) or repr(given))
    return "\n".join(told)


def check_address(address: str) -> None:
    """Refuse an address at which data and programs would travel unencrypted to another machine."""
    parts = urlsplit(address)
    if parts.scheme == "tls" and parts.hostname:
        return
    if parts.scheme != "tcp" or not parts.hostname:
        raise InputError(f"A cluster's address is tls://HOST:PORT, or tcp://127.0.0.1:PORT; got {address}.")
    try:
        is_here = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise InputError(
            f"{address} is another machine, and tcp:// is not encrypted: whoever listens reads the data, and "
            "whoever reaches the port runs programs. Use tls:// with certificates, or tcp:// on this machine."
        )
