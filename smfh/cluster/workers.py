"""Who does the tasks: processes of this machine, or the workers of a Dask cluster.

A task is a plain function of small values that reads and writes files and keeps nothing: whoever does it, and
however often, it comes to the same. So a worker that is killed costs its own tasks, which others do again.
"""

import ipaddress
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from smfh.cluster.program import program
from smfh.jobs.processes import LOST, Processes
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


def find_workers(
    workers: int | None = None, cluster: str | None = None, most_bytes: int | None = None
) -> Workers:
    """So many processes of this machine (None: one for each core; 0: this process), or those of a cluster.

    Where neither is said, SMFH_CLUSTER may name one. Processes of this machine may be held to so many bytes.
    """
    if cluster is not None and (workers is not None or most_bytes is not None):
        raise InputError("A cluster has workers of its own: how many, and how large, is said to them.")
    if cluster is None and workers is None and most_bytes is None:
        cluster = os.environ.get("SMFH_CLUSTER")
    if cluster:
        return DaskWorkers(cluster)
    check_bytes(workers, most_bytes)
    if workers == 0:
        return ThisProcess()
    count = os.cpu_count() or 1 if workers is None else workers
    if count < 0:
        raise InputError(f"There must be one worker or more, or 0 for this process itself; got {count}.")
    return LocalWorkers(count, most_bytes)


def check_bytes(workers: int | None, most_bytes: int | None) -> None:
    """Refuse a limit that cannot be kept."""
    if most_bytes is None:
        return
    if most_bytes < 1:
        raise InputError(f"A worker must be let take some memory; got {most_bytes / 1e9:g} GB.")
    if workers == 0:
        raise InputError("This process itself has no limit of memory: take one worker or more.")
    if find_spec("resource") is None:
        raise InputError("This system knows no limit of a process's memory; Linux does.")


class ThisProcess:
    """Nobody else: one task after another, here."""

    count, dashboard = 1, ""

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        return [task(*given) for given in arguments]

    def close(self) -> None:
        """Nothing is open."""


class LocalWorkers:
    """Processes of this machine: one that dies takes no other with it, and its task is done again."""

    dashboard = ""

    def __init__(self, count: int, most_bytes: int | None = None) -> None:
        self.count, self.most_bytes = count, most_bytes
        self._lanes = [Processes(1) for _ in range(count)]  # a process each, which stays for the next task
        self._idle: SimpleQueue[Processes] = SimpleQueue()
        for lane in self._lanes:
            self._idle.put(lane)
        self._threads = ThreadPoolExecutor(count, "smfh-worker")

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        futures = [self._threads.submit(self._do, task, given) for given in arguments]
        try:
            return [future.result() for future in futures]
        except Exception:
            wait([future for future in futures if not future.cancel()])  # nothing is written after this
            raise
        except BaseException:
            self.close()  # Ctrl-C ends the processes too: none may be taken for killed, and started again
            raise

    def _do(self, task: Callable[..., Result], given: tuple[Any, ...]) -> Result:
        """What the task makes of it; it is done again by a new process where one dies at it."""
        lane = self._idle.get()  # there are as many as threads
        try:
            for _ in range(ATTEMPTS):
                try:
                    result: Result = lane.call(do_within, self.most_bytes, task, given)
                    return result
                except InputError as error:
                    if error.problems != (LOST,):
                        raise
            raise InputError(f"A worker was killed {ATTEMPTS} times at one task; is there memory enough?")
        finally:
            self._idle.put(lane)

    def close(self) -> None:
        """End the processes, whatever they do; none is started any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for lane in self._lanes:
            lane.close()
        self._threads.shutdown()


def do_within(most_bytes: int | None, task: Callable[..., Result], given: tuple[Any, ...]) -> Result:
    """Do a task in a process that takes no more than so many bytes of data: then the task fails instead of
    slowing the machine."""
    if most_bytes is None:
        return task(*given)
    import resource  # which not every system has

    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    try:
        return task(*given)
    except MemoryError as error:
        raise InputError(
            f"A task needs more than the {most_bytes / 1e9:g} GB that a worker may take; let it take more, "
            "or write shards with fewer rows in a part."
        ) from error


class DaskWorkers:
    """The workers of a scheduler at a `tls://` address, or at a `tcp://` one of this machine."""

    def __init__(self, address: str) -> None:
        check_address(address)
        self.client = connect(address)
        try:
            self.client.wait_for_workers(1, timeout=WAIT)
            self._check_programs()
        except BaseException as error:
            self.client.close()
            if isinstance(error, OSError):  # time that ran out as well
                raise InputError(f"No scheduler with a worker answers at {address}: {error}.") from error
            raise

    def _check_programs(self) -> None:
        """Refuse workers without this program, or with another version of it."""
        found: dict[str, Any] = self.client.run(find_spec, "smfh")
        found["the scheduler"] = self.client.run_on_scheduler(find_spec, "smfh")
        if without := [who for who, where in found.items() if where is None]:
            raise InputError(
                f"smfh-explorer is not installed on {', '.join(without)}; all need the same version."
            )
        programs = self.client.run(program, on_error="return").items()  # an old one cannot even tell
        others = [
            f"{who} runs {other if isinstance(other, str) else f'another version ({other})'}"
            for who, other in programs
            if other != program()
        ]
        if others:
            raise InputError(
                f"This is {program()}, but {', '.join(others)}: install the same version everywhere."
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
            return self.client.submit(task, *given, pure=False)

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

    def close(self) -> None:
        self.client.close()


def connect(address: str) -> Any:
    """Dask's client of the scheduler there; what is sent may be large."""
    try:
        import dask
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
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
    try:
        return Client(address, security=security, timeout=WAIT, set_as_default=False)
    except OSError as error:
        raise InputError(f"No scheduler answers at {address}: {error}.") from error


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
