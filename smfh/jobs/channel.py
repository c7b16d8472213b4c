"""Values between two processes of this program, over a pipe; large arrays go over once.

Pickle is safe here: both ends are ours, and nothing from outside is ever read.
"""

import contextlib
import pickle
import weakref
from collections import deque
from collections.abc import Callable
from io import BytesIO
from threading import Lock
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from smfh.types import read_only

LARGE = 1 << 16  # bytes


class Channel:
    """One end. An array that the sender still holds is kept by the receiver, and only named the next time."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._reader, self._writer = reader, writer
        self._sent: dict[int, tuple[int, weakref.ref[Any]]] = {}  # by id: name and array
        self._gone: deque[int] = deque()  # names of arrays that the sender has let go
        self._kept: dict[int, Any] = {}  # arrays of the other end by name
        self._names = 0
        self._lock = Lock()

    def send(self, value: Any) -> None:
        """Whole, or where it cannot be written not at all, whichever thread calls."""
        with self._lock:
            arrays: list[tuple[int, Any]] = []
            body = self._write(value, arrays)
            gone = [self._gone.popleft() for _ in range(len(self._gone))]
            flags = [array.flags.writeable for _, array in arrays]
            pickle.dump((gone, arrays, flags), self._writer, protocol=5)
            self._writer.write(len(body).to_bytes(8, "little"))
            self._writer.write(body)
            self._writer.flush()

    def receive(self) -> Any:
        """The next value; EOFError where the other end is gone, be it in the middle of a value."""
        try:
            gone, arrays, flags = pickle.load(self._reader)  # noqa: S301
        except pickle.UnpicklingError as error:
            raise EOFError from error  # numbers and plain arrays: only their end can be missing
        for name in gone:
            self._kept.pop(name, None)
        for (name, array), is_writeable in zip(arrays, flags, strict=True):
            array.flags.writeable = is_writeable  # kernels are compiled for the one or the other
            self._kept[name] = array
        size = int.from_bytes(self._read(8), "little")
        return _Unpickler(BytesIO(self._read(size)), self._kept).load()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what was not sent is not wanted
            self._writer.close()
        self._reader.close()

    def _read(self, size: int) -> bytes:
        if len(found := self._reader.read(size)) < size:
            raise EOFError
        return found

    def _write(self, value: Any, arrays: list[tuple[int, Any]]) -> bytes:
        """The value with names for large arrays; those that the other end has not seen join `arrays`."""
        body = BytesIO()
        try:
            _Pickler(body, lambda array: self._name(array, arrays)).dump(value)
        except BaseException:
            for _, array in arrays:  # which the other end will not see
                del self._sent[id(array)]
            raise
        return body.getvalue()

    def _name(self, array: Any, arrays: list[tuple[int, Any]]) -> int:
        known = self._sent.get(id(array))
        if known is not None and known[1]() is array:
            return known[0]
        self._names += 1
        name, place = self._names, id(array)

        def let_go(reference: Any) -> None:
            self._gone.append(name)
            if self._sent.get(place, (0, None))[1] is reference:
                del self._sent[place]

        self._sent[place] = (name, weakref.ref(array, let_go))
        arrays.append((name, array))
        return name


class _Pickler(pickle.Pickler):
    """Names large arrays instead of writing them, and leaves read-only what is."""

    def __init__(self, file: IO[bytes], name_of: Callable[[Any], int]) -> None:
        super().__init__(file, protocol=5)
        self._name_of = name_of

    def persistent_id(self, value: Any) -> int | None:
        is_large = type(value) is np.ndarray and value.nbytes >= LARGE and not value.dtype.hasobject
        return self._name_of(value) if is_large else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return _proxy, (dict(value),)
        if type(value) is np.ndarray and not value.flags.writeable:
            return read_only, (value.copy(),)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], kept: dict[int, Any]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_load(self, name: Any) -> Any:
        return self._kept[name]


def _proxy(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)  # which cannot be named itself
