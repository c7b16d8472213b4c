"""A bounded cache of values for several threads, and a limit on the memory that a block of code may use."""

import sys
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache of at most `max_values` values; the least recently used one is dropped first.

    If one thread is computing a value, other threads that request it wait; requests for other keys do not.
    """

    def __init__(self, max_values: int) -> None:
        self._futures: LRUCache[K, Future[V]] = LRUCache(max_values)
        self._lock = Lock()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the value of a key, computed on first use; if `compute` raises, nothing is cached."""
        with self._lock:
            future = self._futures.get(key)
            if is_missing := future is None:
                future = self._futures[key] = Future()
        if is_missing:
            try:
                future.set_result(compute())
            except BaseException:
                self.forget_where(lambda other: other == key)
                future.cancel()
                raise
        try:
            return future.result()
        except CancelledError:
            return self.get(key, compute)

    def peek(self, key: K) -> V | None:
        """Return the cached value; None if it is missing or still being computed."""
        with self._lock:
            future = self._futures.get(key)
        return future.result() if future is not None and future.done() and not future.cancelled() else None

    def forget_where(self, is_unwanted: Callable[[K], bool] = lambda key: True) -> None:
        """Drop every value whose key is unwanted; by default drop all values."""
        with self._lock:
            for key in [key for key in self._futures if is_unwanted(key)]:
                del self._futures[key]


def call_limited(more_bytes: int, function: Callable[..., V], *arguments: Any, **callbacks: Any) -> V:
    """Call the function; it gets a MemoryError if this process then needs more than `more_bytes` additional bytes.

    There is no limit if `more_bytes` is 0. Only Linux can limit the memory of a process; elsewhere there is none.
    """
    if not more_bytes or not sys.platform.startswith("linux"):
        return function(*arguments, **callbacks)
    import resource

    import psutil

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = (psutil.Process().memory_info().data + more_bytes, soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (min(one for one in limits if one != resource.RLIM_INFINITY), hard))
    try:
        return function(*arguments, **callbacks)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
