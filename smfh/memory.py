"""Values that are made once and remembered, the least recently used ones forgotten first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class GivenUpError(Exception):
    """Who made a value was ended before it was done."""


class Memory(Generic[K, V]):
    """At most `most` values by their keys, shared by any number of threads.

    Who asks for a value that is being made waits for it; nobody waits for a value of another key.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[K, Future[V]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of the key: remembered, or made now; what cannot be made is not remembered.

        Where somebody else gives up making it, it is made here.
        """
        with self._lock:
            value = self._values.get(key)
            is_new = value is None
            if value is None:
                value = self._values[key] = Future()
            self._values.move_to_end(key)
            while len(self._values) > self.most:
                self._values.popitem(last=False)
        if is_new:
            try:
                value.set_result(make())
            except BaseException as error:
                self.forget(key)
                value.set_exception(error if isinstance(error, Exception) else GivenUpError())
                raise
        try:
            return value.result()
        except GivenUpError:
            return self.get(key, make)

    def peek(self, key: K) -> V | None:
        """What is remembered already; None where it is not, or still being made."""
        value = self._values.get(key)
        return value.result() if value is not None and value.done() and not value.exception() else None

    def forget(self, key: K) -> None:
        with self._lock:
            self._values.pop(key, None)

    def forget_where(self, unwanted: Callable[[K], bool]) -> None:
        """Forget every value whose key is unwanted."""
        with self._lock:
            for key in [key for key in self._values if unwanted(key)]:
                del self._values[key]
