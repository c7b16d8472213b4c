"""Functions that run in a worker process: calls, which send reports as they run, and tasks.

Values are packed (pickled) so that read-only arrays stay read-only on the other side. Errors are described
without their messages, which may contain a visitor's input.
"""

import contextlib
import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import smfh
from smfh.plugins import load_plugins
from smfh.types import InputError

LARGE_BYTES = 1 << 14  # smallest array that is remembered
MAX_REMEMBERED = 16  # arrays
MAX_UNREAD = 4  # messages that a call may send before the engine has read them
ROOT = Path(__file__).parents[2]
NICENESS = 5  # lower priority than the pages
PUT_SECONDS = 0.2  # between two checks whether the call was cancelled
MEMORY_LIMIT = "SMFH_WORKER_BYTES"
MAX_FRAMES = 20  # of the trace of an error, innermost first
BEGUN, ENDED = "begun", "ended"  # sent by every call; other messages have the name of a callback


class StoppedError(BaseException):
    """Raised in a cancelled call; a BaseException, so that `except Exception` does not catch it."""


def dask_setup(worker: Any) -> None:
    """Set up a worker process on this machine; Dask calls this before the first task."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
    if limit := int(os.environ.get(MEMORY_LIMIT, "0")):
        import resource  # not available on every system

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    load_plugins()


def run_call(
    queue_name: str, client_version: str, function: Callable[..., Any], callbacks: Sequence[str], *arguments: Any
) -> tuple[str, Any]:
    """Call the function; return ("returned", value), ("raised", (error, trace)) or ("stopped", None).

    Value and error are packed; an error that cannot be pickled becomes a RuntimeError. Reports go through a
    queue of the scheduler as (name, number, packed values). The queue is short, so the function pauses while
    no reports are read. An error is returned instead of raised, because Dask would log its message, which may
    contain a visitor's input.
    """
    from distributed import Queue, get_worker

    worker, queue = get_worker(), Queue(queue_name, maxsize=MAX_UNREAD)
    task, memory, sent = worker.get_current_task(), ArrayMemory(), 0

    def send(name: str, number: int, values: Any) -> None:
        body, buffers, are_writeable = pack(values, memory)
        message = name, number, body, [bytes(buffer) for buffer in buffers], are_writeable
        while (state := worker.state.tasks.get(task)) is not None and state.state == "executing":
            with contextlib.suppress(TimeoutError):
                queue.put(message, timeout=PUT_SECONDS)
                return
        raise StoppedError

    def report(name: str, *values: Any) -> None:
        nonlocal sent
        send(name, sent, values)
        sent += 1

    try:
        send(BEGUN, os.getpid(), None)
        check_client_version(client_version)
        return "returned", pack(function(*arguments, **{name: partial(report, name) for name in callbacks}))
    except StoppedError:
        return "stopped", None
    except Exception as error:
        error_trace = trace(error)
        drop_frames(error)
        sent_error = InputError(out_of_memory()) if isinstance(error, MemoryError) else error
        try:
            packed = pack(sent_error)
            pickle.loads(packed.body, buffers=packed.buffers)  # noqa: S301, some errors fail only here
        except Exception:
            packed = pack(RuntimeError(f"{type(error).__name__}: {error}"))
        return "raised", (packed, error_trace)
    finally:
        with contextlib.suppress(Exception):  # the engine may be gone
            queue.put((ENDED, 0, b"", [], []), timeout=PUT_SECONDS)
        queue.close()


def out_of_memory() -> str:
    """Return the error message for a worker that ran out of memory."""
    limit = int(os.environ.get(MEMORY_LIMIT, "0"))
    allowed = f"more than the {limit / 1e9:g} GB that a worker may take" if limit else "too much memory"
    return f"This work needs {allowed}. Use a smaller data set or smaller parts, or allow a worker more memory."


def run_task(task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task of `Engine.map` and return its result; convert MemoryError to InputError."""
    try:
        return task(*arguments)
    except MemoryError as error:
        raise InputError(out_of_memory()) from error


class Packed(NamedTuple):
    """A pickled value with separate array buffers, so that pickling does not copy them."""

    body: bytes
    buffers: Sequence[Any]  # bytes or arrays of bytes
    are_writeable: Sequence[bool]  # one per buffer; compiled kernels depend on it


class ArrayMemory:
    """Numbered large arrays that the sender and the receiver of messages both hold.

    Each array is sent once; later messages carry only its number. Both sides use the arrays in the same order, so
    both forget the same, least recently used ones.
    """

    def __init__(self) -> None:
        self.arrays: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._sent = 0

    def number_of(self, array: NDArray[Any]) -> tuple[int, NDArray[Any] | None]:
        """Return the number of an array, and the array if the receiver does not have it yet, else None."""
        for number, known in self.arrays.items():
            if known is array:
                self.use(number, None)
                return number, None
        self._sent += 1
        self.use(self._sent, array)
        return self._sent, array

    def use(self, number: int, array: NDArray[Any] | None) -> NDArray[Any]:
        """Return the array with this number; `array` is None if the receiver has it already."""
        if array is not None:
            self.arrays[number] = array
        self.arrays.move_to_end(number)
        if len(self.arrays) > MAX_REMEMBERED:
            self.arrays.popitem(last=False)
        return self.arrays[number]


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, buffers: list[pickle.PickleBuffer], memory: ArrayMemory | None) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._memory, self._is_naming = memory, False

    def persistent_id(self, value: Any) -> Any:
        if self._memory is None or type(value) is not np.ndarray or value.nbytes < LARGE_BYTES:
            return None
        if self._is_naming:  # the new array inside the (number, array) pair below
            self._is_naming = False
            return None
        number, array = self._memory.number_of(value)
        self._is_naming = array is not None
        return number, array

    def reducer_override(self, value: Any) -> Any:  # pickle cannot import the type of a proxy under its name
        return (_proxy, (dict(value),)) if isinstance(value, MappingProxyType) else NotImplemented


class _Unpickler(pickle.Unpickler):
    memory: ArrayMemory | None = None

    def persistent_load(self, name: Any) -> Any:
        if self.memory is None:
            raise pickle.UnpicklingError("This message refers to arrays that were not sent to this process.")
        return self.memory.use(*name)


def _proxy(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


def pack(value: Any, memory: ArrayMemory | None = None) -> Packed:
    """Pickle a value; the buffers share memory with its arrays."""
    file, buffers = BytesIO(), list[pickle.PickleBuffer]()
    _Pickler(file, buffers, memory).dump(value)
    raw = [buffer.raw() for buffer in buffers]
    arrays = [np.frombuffer(one, np.uint8) for one in raw]
    return Packed(file.getvalue(), arrays, tuple(not one.readonly for one in raw))


def unpack(packed: Packed, memory: ArrayMemory | None = None) -> Any:
    """Return the value that `pack` pickled in another process of this program."""
    buffers = []
    for content, is_writeable in zip(packed.buffers, packed.are_writeable, strict=True):
        view = memoryview(content)
        if not is_writeable:
            buffers.append(view.toreadonly())
        else:
            buffers.append(memoryview(bytearray(view)) if view.readonly else view)
    unpickler = _Unpickler(BytesIO(packed.body), buffers=buffers)
    unpickler.memory = memory
    return unpickler.load()


@cache
def program_version() -> str:
    """Return the version of this program: a checksum of all its modules, and NumPy's version."""
    root, digest = Path(smfh.__file__).parent, hashlib.sha256()
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in root.rglob("*.py")):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return f"smfh {digest.hexdigest()[:12]} with NumPy {np.__version__}"


def check_client_version(client: str) -> None:
    """Raise InputError if a client has a different version of the program; "" stands for a local client."""
    if client and client != (worker := program_version()):
        raise InputError(f"A worker runs {worker}, the client {client}: install the same version on both.")


def trace(error: BaseException) -> str:
    """Describe an error and its causes by type and file:line:function, innermost frame first.

    The attribute `worker_trace` of an error is its trace in a worker process.
    """
    described = []
    for one in _chain(error):
        frames = []
        for frame, line in walk_tb(one.__traceback__):
            path = Path(frame.f_code.co_filename)
            file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
            frames.append(f"{file}:{line}:{frame.f_code.co_qualname}")
        text = f"{type(one).__name__} at {' < '.join(reversed(frames[-MAX_FRAMES:])) or '-'}"
        worker_trace = getattr(one, "worker_trace", "")
        described.append(f"{text}; in a worker process: {worker_trace}" if worker_trace else text)
    return ", after ".join(described)


def drop_frames(error: BaseException | None) -> None:
    """Remove the tracebacks of an error and its causes, whose frames keep data in memory."""
    for one in _chain(error):
        one.__traceback__ = None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
