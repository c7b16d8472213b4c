"""Run functions in worker processes of this machine, or of a Dask cluster at an address.

    engine = Engine()
    hasher = engine.call(fit, method, data, split, on_step=context.report, check=context.check)

Callbacks run in this process, in order; an exception in a callback ends the call. A call can only be a few
reports ahead of its callbacks, so a callback that waits pauses the call. Local workers and clusters are used
through the same Dask client; the only difference is who starts the scheduler.
"""

import atexit
import ipaddress
import logging
import os
import secrets
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeVar
from urllib.parse import urlsplit

from smfh.engine.worker import (
    BEGUN,
    ENDED,
    MAX_UNREAD,
    MEMORY_LIMIT,
    ROOT,
    ArrayMemory,
    Packed,
    program_version,
    run_call,
    run_task,
    unpack,
)
from smfh.memory import free_memory
from smfh.plugins import load_text, plugin_files
from smfh.types import InputError, MultimodalDataset

Result = TypeVar("Result")
Call = Callable[..., Any]  # calls a function with arguments, and callbacks by name: Engine.call or `here`
WAIT_SECONDS = 30  # for the first worker on this machine, which may have to start
CLUSTER_WAIT_SECONDS = 4  # for the scheduler of a cluster, and then for its first worker
STOP_SECONDS = 2.0  # for a cancelled call to end; then its worker process is killed
IDLE_SECONDS = 0.02  # between two checks for an idle worker
POLL_SECONDS = 0.2  # between two checks whether a call was cancelled
WORKER_CHECK_SECONDS, NO_WORKER_SECONDS = 1.0, 4.0  # between two checks of a cluster; without a worker
MAX_LOCAL_WORKERS = 12  # five jobs, some of them paused, four data sets, and pages that read files
CALL_ATTEMPTS = 2  # to run a call, if its worker is killed
START_ATTEMPTS = 10  # to start it, if a worker or its data was lost just before
TASK_ATTEMPTS = 20  # to run a task of `map`, which may be one of thousands
SETTINGS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",  # arguments of calls may be large
    "distributed.comm.timeouts.connect": "10s",  # after which the scheduler counts as lost
    "distributed.admin.tick.interval": "1s",  # less work for an idle server
}
WORKER_LOST = (
    "The worker process of this job has ended, most likely because the machine has too little memory. "
    "Use a smaller data set, fewer anchors or fewer bits, and try again."
)
NO_WORKER = "No worker of the cluster is left. Start a worker, then try again."
SCHEDULER_LOST = "The connection to the workers was lost. Try again to reconnect."


def here(function: Callable[..., Result], *arguments: Any, **callbacks: Any) -> Result:
    """Call the function in this process and return its result."""
    return function(*arguments, **callbacks)


class ThisProcess:
    """An engine without workers, which runs one task after another in this process."""

    count, dashboard = 1, ""

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        return [task(*given) for given in arguments]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Engine:
    """Local worker processes or a cluster, started or connected on first use, and again if they are lost.

    Parameters
    ----------
    address
        Address of a Dask scheduler: `tls://HOST:PORT`, or `tcp://` on this machine. Empty: local processes.
    workers
        Number of local processes that stay ready; more are started while all are busy.
    worker_bytes
        Memory limit of each local process.
    on_count
        Called with the number of worker threads whenever a cluster is used.
    """

    def __init__(
        self,
        address: str = "",
        workers: int = 1,
        worker_bytes: int | None = None,
        on_count: Callable[[int], None] = lambda count: None,
    ) -> None:
        self.address, self.workers = address, workers
        self._worker_bytes, self._on_count = worker_bytes, on_count
        self._client: Any = None
        self._process: subprocess.Popen[str] | None = None  # the scheduler, if it runs on this machine
        self._busy: set[str] = set()  # addresses of local workers
        self._calls = 0
        self._data: dict[tuple[str, bool], Any] = {}  # Dask futures of data sets that were sent
        self._lock, self._data_lock, self._is_open = Lock(), Lock(), True
        atexit.register(self.close)

    @property
    def is_connected(self) -> bool:
        """Whether the engine is connected to its workers now; does not start or wait for them."""
        return self._client is not None and self._client.status == "running"

    @property
    def count(self) -> int:
        """The number of threads of all workers."""
        return int(max(1, sum(self.connect().nthreads().values())))

    @property
    def at_once(self) -> int:
        """The number of calls that a job should make at the same time; 1 locally, where a run uses all cores."""
        return self.count if self.address else 1

    @property
    def dashboard(self) -> str:
        """Address of the Dask dashboard of a cluster; may be empty."""
        return str(self.connect().dashboard_link or "") if self.address else ""

    def connect(self) -> Any:
        """Return the Dask client; start the workers or connect to them first if needed."""
        with self._lock:
            self._check_open()
            if not self.is_connected:
                self._disconnect()
                self._client = open_client(self.address or self._start_processes(), is_local=not self.address)
            client = self._client
        if self.address:
            self._on_count(int(max(1, sum(client.nthreads().values()))))
        return client

    def call(self, function: Callable[..., Result], *arguments: Any, **callbacks: Any) -> Result:
        """Run a function in a worker process; return its result or raise its error.

        A callback named `check` is called in this process several times a second; it raises an exception to
        cancel the call. A call whose worker is killed is retried once; its reports are not repeated.
        """
        check_cancelled = callbacks.pop("check", None)
        named = {name: callback for name, callback in callbacks.items() if callback is not None}
        reported = begun = 0
        for _ in range(START_ATTEMPTS):
            with self._working(check_cancelled) as (client, check), self._reserve_worker(client, check) as worker:
                call = _RemoteCall(client, function)
                try:
                    call.submit(worker, tuple(named), [self._send_once(client, worker, one) for one in arguments])
                    for number, name, values in call.reports(check):
                        if number == reported:
                            reported += 1
                            named[name](*values)
                    result: Result = call.result(check)
                    return result
                except _WorkerLostError:
                    begun += call.has_begun
                    if begun == CALL_ATTEMPTS:
                        break
                    sleep(POLL_SECONDS)  # until the scheduler has noticed
                except BaseException:
                    call.stop(STOP_SECONDS if self._is_open else 0.0)
                    raise
                finally:
                    call.close()
        raise InputError(WORKER_LOST)

    def map(self, task: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Run a task in parallel for each tuple of arguments; return the results in order.

        A task must return the same result each time it runs, because it is retried if its worker is killed.
        """
        from distributed import KilledWorker

        def wait_for(future: Any) -> Any:
            for _ in range(TASK_ATTEMPTS):
                try:
                    return _wait_for(future, check)
                except KilledWorker:
                    future.retry()
                except CancelledError as error:
                    raise InputError(SCHEDULER_LOST) from error
            raise InputError(
                f"Workers were killed {TASK_ATTEMPTS} times while running the same task. "
                "Check that there is enough memory."
            )

        with self._working() as (client, check):
            futures = [client.submit(run_task, task, *given, pure=False) for given in arguments]
            try:
                return [wait_for(future) for future in futures]
            finally:
                if client.status == "running":
                    client.cancel(futures)

    def trim(self) -> None:
        """End the extra workers that were started while all were busy; idle ones give freed memory back."""
        idle: list[str] = []
        with self._lock:
            client = self._client
            if self._process is not None and self.is_connected:
                if not self._busy:
                    self._scale(self.workers)
                with suppress(InputError), _scheduler_errors():  # a lost scheduler is noticed elsewhere
                    idle = [worker for worker in _ready_workers(client) if worker not in self._busy]
        if idle:
            with suppress(Exception):  # a worker may end meanwhile
                client.run(free_memory, workers=idle, on_error="ignore")

    def restart(self) -> None:
        """End idle local workers to free their memory; the next call starts new ones."""
        with self._lock:
            if self._process is not None and not self._calls:
                self._disconnect()

    def close(self) -> None:
        """Close the connection and end the local worker processes, even if they are busy."""
        self._is_open = False
        until = monotonic() + STOP_SECONDS
        while self._calls and monotonic() < until:  # running calls check `_is_open` and end
            sleep(IDLE_SECONDS)
        with self._lock:
            self._disconnect()

    def _check_open(self) -> None:
        if not self._is_open:
            raise InputError("The program is shutting down and accepts no new work.")

    @contextmanager
    def _working(self, check_cancelled: Callable[[], object] | None = None) -> Iterator[tuple[Any, Callable[[], None]]]:
        """Connect, count the call as active, and yield the Dask client and a check to be called while waiting.

        The check raises InputError if the program ends or the cluster has no worker, or what `check_cancelled` raises.
        """
        client, last_seen = self.connect(), monotonic()  # when the cluster had a worker

        def check() -> None:
            nonlocal last_seen
            self._check_open()
            if check_cancelled is not None:
                check_cancelled()
            if self.address and monotonic() - last_seen > WORKER_CHECK_SECONDS:
                with _scheduler_errors():
                    if client.nthreads():
                        last_seen = monotonic()
                    elif monotonic() - last_seen > NO_WORKER_SECONDS:
                        raise InputError(NO_WORKER)

        with self._lock:
            self._calls += 1
        try:
            yield client, check
        finally:
            with self._lock:
                self._calls -= 1

    def _start_processes(self) -> str:
        """Start the scheduler and the workers on this machine; return the scheduler's address."""
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path, MEMORY_LIMIT: str(self._worker_bytes or 0)}
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-W", "ignore", "-m", "smfh.engine.local", str(self.workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C ends this process, which then ends the scheduler
        )
        address = self._process.stdout.readline().strip()  # type: ignore[union-attr]
        if not address:
            raise InputError("The worker processes could not be started; the log says why.")
        return address

    def _disconnect(self) -> None:
        if self._client is not None:
            with suppress(Exception):  # a lost scheduler cannot be closed
                self._client.close(timeout=STOP_SECONDS)
            self._client.status = "closed"  # also after a timeout, so that nothing reconnects
        if (process := self._process) is not None:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr] # then it ends, with its workers
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()  # type: ignore[union-attr]
        self._client = self._process = None
        self._data.clear()
        self._busy.clear()

    def _scale(self, workers: int) -> None:
        with suppress(OSError):  # a lost scheduler is noticed elsewhere
            print(workers, file=self._process.stdin, flush=True)  # type: ignore[union-attr]

    @contextmanager
    def _reserve_worker(self, client: Any, check: Callable[[], Any]) -> Iterator[str | None]:
        """Reserve and yield an idle local worker for one call; None on a cluster, where Dask chooses.

        A paused call occupies its worker, so the scheduler must not send another call to it.
        """
        if self.address:
            yield None
            return
        worker = ""
        while not worker:
            check()
            with self._lock, _scheduler_errors():
                idle = [one for one in _ready_workers(client) if one not in self._busy]
                if idle:
                    worker = str(idle[0])
                    self._busy.add(worker)
                else:
                    self._scale(min(max(self.workers, len(self._busy) + 1), MAX_LOCAL_WORKERS))
            if not worker:
                sleep(IDLE_SECONDS)
        try:
            yield worker
        finally:
            with self._lock:
                self._busy.discard(worker)

    def _send_once(self, client: Any, worker: str | None, argument: Any) -> Any:
        """Send a data set to the workers once, and return its Dask future; return other arguments unchanged.

        The workers free the data set when this process does.
        """
        if not isinstance(argument, MultimodalDataset):
            return argument
        key = argument.fingerprint, argument.captions is None
        with self._data_lock, _scheduler_errors():
            if key not in self._data or self._data[key].status != "finished":  # or lost with its worker
                try:
                    self._data[key] = client.scatter(argument, workers=worker and [worker], hash=False)
                except TimeoutError as error:
                    if worker:  # it was killed, and another one is starting
                        raise _WorkerLostError from error
                    if client.nthreads():
                        raise
                    raise InputError(NO_WORKER) from error
                except OSError as error:  # the worker was killed a moment ago, or the scheduler is lost
                    if client.status == "running":
                        raise _WorkerLostError from error
                    raise
                weakref.finalize(argument.labels, self._data.pop, key, None).atexit = False
            return self._data[key]


Workers = Engine | ThisProcess


def find_workers(workers: int | None = None, cluster: str | None = None, worker_bytes: int | None = None) -> Workers:
    """Return `workers` processes of this machine (0: this process), or the workers of a cluster.

    The default is the cluster in SMFH_CLUSTER if set, else one process per core. `worker_bytes` limits the
    memory of each process of this machine.
    """
    if cluster is not None and (workers is not None or worker_bytes is not None):
        raise InputError("Set the number and memory of workers on the cluster itself, not here.")
    if cluster is None and workers is None and worker_bytes is None:
        cluster = os.environ.get("SMFH_CLUSTER")
    if cluster:
        return Engine(cluster)
    count = os.cpu_count() or 1 if workers is None else workers
    if count < 0:
        raise InputError(f"Use one worker or more, or 0 for this process; got {count}.")
    if worker_bytes is not None:
        if worker_bytes < 1:
            raise InputError(f"The memory limit of a worker must be positive; got {worker_bytes / 1e9:g} GB.")
        if count == 0:
            raise InputError("A memory limit needs worker processes: use one worker or more.")
        if find_spec("resource") is None:
            raise InputError("This operating system cannot limit the memory of a worker. Use Linux, or set no limit.")
    return Engine(workers=count, worker_bytes=worker_bytes) if count else ThisProcess()


class _WorkerLostError(Exception):
    """Raised when the worker of a call was killed."""


class _RemoteCall:
    """One attempt at a call in a worker process, with its reports and its result."""

    def __init__(self, client: Any, function: Callable[..., Any]) -> None:
        from distributed import Queue

        self._client, self._function = client, function
        self._name = f"{getattr(function, '__name__', 'call')}-{secrets.token_hex(8)}"
        self._memory = ArrayMemory()
        self._future: Any = None
        self._worker: str | None = None  # address of the worker of this machine that runs the call
        self._local_pid = 0  # its process
        self._has_ended = False
        self.has_begun = False  # whether a worker has started to run it
        with _scheduler_errors():
            self._queue = Queue(self._name, client=client, maxsize=MAX_UNREAD)

    def submit(self, worker: str | None, callbacks: Sequence[str], arguments: Sequence[Any]) -> None:
        """Start the call on the given worker of this machine, or on any worker of a cluster (None)."""
        self._worker = worker
        where = {"workers": [worker]} if worker else {}
        given = (self._name, "" if worker else program_version(), self._function, callbacks, *arguments)
        try:
            self._future = self._client.submit(run_call, *given, key=self._name, pure=False, **where)
        except CancelledError as error:  # a data set was lost with its worker a moment ago
            raise _WorkerLostError from error

    def reports(self, check: Callable[[], None]) -> Iterator[tuple[int, str, Any]]:
        """Yield each report of the call as (number, callback name, values), until the call has ended."""
        while not self._has_ended:
            check()
            is_done = self._future.done()  # then all its messages are in the queue
            message = self._receive(POLL_SECONDS)
            if message is None:
                self._has_ended = is_done
                if not is_done and not self.has_begun and self._is_worker_lost():
                    raise _WorkerLostError
            elif message[0] not in (BEGUN, ENDED):
                name, number, *packed = message
                yield number, name, unpack(Packed(*packed), self._memory)

    def result(self, check: Callable[[], None]) -> Any:
        """Return the result of the function, or raise its error."""
        from distributed import KilledWorker

        try:
            kind, value = _wait_for(self._future, check)
        except KilledWorker as error:
            raise _WorkerLostError from error
        except CancelledError as error:  # also raised if data was lost with a killed worker
            if self._client.status == "running":
                raise _WorkerLostError from error
            raise InputError(SCHEDULER_LOST) from error
        if kind == "returned":
            return unpack(value)
        packed, worker_trace = value
        raised = unpack(packed)
        raised.worker_trace = worker_trace  # for `errors.trace`
        raise raised

    def stop(self, seconds: float) -> None:
        """Cancel the call in a worker; kill a local worker that does not stop within `seconds`.

        A call whose process is not known yet may be about to begin, so its first message is waited for, too.
        """
        until = monotonic() + seconds
        with suppress(Exception):  # a lost scheduler has no calls to stop
            self._future.cancel()
            while self._worker and not self._has_ended:
                if (left := until - monotonic()) <= 0:
                    if self._local_pid:
                        os.kill(self._local_pid, signal.SIGKILL)
                    return
                self._receive(left)

    def close(self) -> None:
        """Release the queue and the result of this call on the scheduler."""
        with suppress(Exception):
            self._queue.close()
            self._future.release()

    def _is_worker_lost(self) -> bool:
        """Whether the reserved worker has ended; then the scheduler would keep the call forever."""
        with _scheduler_errors():
            return self._worker is not None and self._worker not in _ready_workers(self._client)

    def _receive(self, seconds: float) -> Any:
        """Return the next message, or None if no message came in time."""
        with _scheduler_errors():
            if self._client.status != "running":
                raise CancelledError
            try:
                message = self._queue.get(timeout=seconds)
            except TimeoutError:
                return None
        if message[0] == BEGUN:
            self.has_begun = True
            self._local_pid, self._memory = message[1], ArrayMemory()  # the scheduler may restart the call
        self._has_ended = message[0] == ENDED
        return message


def _ready_workers(client: Any) -> dict[str, int]:
    """Return the threads of the workers that accept calls; a worker that is still starting does not."""
    ready: dict[str, int] = client.sync(client.scheduler.ncores_running)
    return ready


def _wait_for(future: Any, check: Callable[[], None]) -> Any:
    """Return the result of a Dask future; raise CancelledError if it or the scheduler is lost."""
    while True:
        check()
        try:
            return future.result(timeout=POLL_SECONDS)
        except (TimeoutError, UnboundLocalError):  # Dask raises the latter if its own wait is cancelled
            if future.client.status != "running" or future.status == "cancelled":
                raise CancelledError from None


@contextmanager
def _scheduler_errors() -> Iterator[None]:
    """Convert Dask's errors about a lost scheduler to InputError."""
    try:
        yield
    except (OSError, CancelledError) as error:
        raise InputError(SCHEDULER_LOST) from error


def open_client(address: str, is_local: bool = False) -> Any:
    """Return a Dask client of the scheduler; wait for a worker; in a cluster, check that versions agree."""
    import dask
    from distributed import Client, Security

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # important problems are raised as errors
    dask.config.set(SETTINGS)
    check_address(address)
    security = Security(require_encryption=True) if address.startswith("tls://") else None
    if security is not None and security.get_connection_args("client")["ssl_context"] is None:
        names = "CA_FILE, CLIENT__CERT and CLIENT__KEY"
        raise InputError(
            f"{address} needs certificates: set {names}, each prefixed with DASK_DISTRIBUTED__COMM__TLS__."
        )
    client: Any = None
    seconds = WAIT_SECONDS if is_local else CLUSTER_WAIT_SECONDS
    try:
        client = Client(
            address, security=security, timeout=seconds, set_as_default=False, direct_to_workers=is_local or None
        )
        client.wait_for_workers(1, timeout=seconds)
        if not is_local:
            check_versions(client)
            send_plugins(client)
    except BaseException as error:
        if client is not None:
            client.close()
        if isinstance(error, OSError):  # includes timeouts
            raise InputError(f"No scheduler with a worker answers at {address}: {error}.") from error
        raise
    return client


def check_versions(client: Any) -> None:
    """Raise InputError if a worker of the cluster lacks this program or has a different version of it."""
    found: dict[str, Any] = client.run(find_spec, "smfh")
    found["the scheduler"] = client.run_on_scheduler(find_spec, "smfh")
    if without := [worker for worker, spec in found.items() if spec is None]:
        raise InputError(f"smfh-explorer is not installed on {', '.join(without)}; install the same version.")
    versions = client.run(program_version, on_error="return")  # an old version may not have the function
    others = [
        f"{worker} runs {other if isinstance(other, str) else f'another version ({other})'}"
        for worker, other in versions.items()
        if other != program_version()
    ]
    if others:
        raise InputError(f"This is {program_version()}, but {', '.join(others)}: install the same version everywhere.")


def send_plugins(client: Any) -> None:
    """Send plug-in files to the scheduler and all workers of a cluster, now and when a worker joins later."""
    from distributed import WorkerPlugin

    class PluginFiles(WorkerPlugin):
        name = "smfh-plugins"

        def __init__(self, texts: dict[str, str]) -> None:
            self.texts = texts

        def setup(self, worker: Any) -> None:
            for name, text in self.texts.items():
                load_text(name, text)

    if texts := {path.name: path.read_text(encoding="utf-8") for path in plugin_files() if path.is_file()}:
        for name, text in texts.items():
            client.run_on_scheduler(load_text, name, text)
        client.register_plugin(PluginFiles(texts))


def check_address(address: str) -> None:
    """Raise InputError if data and code would be sent to this address unencrypted over a network."""
    parts = urlsplit(address)
    if parts.scheme == "tls" and parts.hostname:
        return
    if parts.scheme != "tcp" or not parts.hostname:
        raise InputError(f"The address of a cluster is tls://HOST:PORT, or tcp://127.0.0.1:PORT; got {address}.")
    try:
        is_here = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise InputError(
            f"{address} is another machine, and tcp:// is not encrypted: anyone on the network could read "
            "the data or run programs there. Use tls:// with certificates, or tcp:// on this machine."
        )
