"""Bounded caches for several threads, a limit on the memory of a call, and giving freed memory back."""

import ctypes
import gc
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

MAX_ARENAS = 2  # of the C library; threads that share them leave fewer gaps
OWN_PAGES_BYTES = 1 << 20  # from this size on, a block has pages of its own, which are freed with it
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # options of mallopt

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache of at most `max_values` values; the least recently used one is dropped first.

    If one thread is computing a value, other threads that request it wait; requests for other keys do not.
    `forget_caches` empties this cache, unless `lasts` is set.
    """

    def __init__(self, max_values: int, lasts: bool = False) -> None:
        self._futures: LRUCache[K, Future[V]] = LRUCache(max_values)
        self._lock = Lock()
        if not lasts:
            with _caches_lock:
                _caches.add(self)

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


_caches: WeakSet[BoundedCache[Any, Any]] = WeakSet()
_caches_lock = Lock()


def forget_caches() -> None:
    """Empty every cache of this process whose values can be computed again."""
    with _caches_lock:
        caches = list(_caches)
    for cache in caches:
        cache.forget_where()


def limit_arenas() -> None:
    """Limit the memory that this process keeps after freeing it; call this before it starts threads.

    By default, each thread gets an arena, and the C library keeps blocks of up to 32 MB in it. After many
    visitors, a server then held three times the memory that it used, in gaps that cannot be given back.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)  # not every C library has it
        set_option(M_ARENA_MAX, MAX_ARENAS)
        set_option(M_MMAP_THRESHOLD, OWN_PAGES_BYTES)


def free_memory() -> None:
    """Collect garbage, which also closes files, and give freed memory back to the system."""
    gc.collect()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)(0)


def call_limited(more_bytes: int, function: Callable[..., V], *arguments: Any, **callbacks: Any) -> V:
    """Call a function with a limit of `more_bytes` on the additional memory; beyond it, raise MemoryError.

    There is no limit if `more_bytes` is 0. Only Linux can limit the memory of a process; other systems have no limit.
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
