"""Run a function on blocks of rows in parallel threads, with BLAS limited to one thread.

Threads run in parallel only while the function has released the GIL, as NumPy and Numba do.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Name = TypeVar("Name")
Result = TypeVar("Result")


def over_rows(work: Callable[[slice], Result], rows: int, block: int) -> list[Result]:
    """Call `work` on consecutive blocks of rows in parallel; return the results in order.

    The blocks do not depend on the number of cores, so that sums over them agree between machines.
    """
    return list(each_block(work, rows, block))


def each_block(work: Callable[[slice], Result], rows: int, block: int) -> Iterator[Result]:
    """Call `work` on blocks of rows like `over_rows`, but yield the results one by one to save memory."""
    slices = [slice(start, min(start + block, rows)) for start in range(0, rows, block)]
    return map(work, slices) if len(slices) < 2 else _pool().map(work, slices)


def side_by_side(work: Callable[[Name], Result], names: Iterable[Name]) -> dict[Name, Result]:
    """Call `work` on each name in parallel; return the results by name.

    `work` must not use the functions of this module, which share one pool of threads.
    """
    named = list(names)
    return dict(zip(named, over_rows(lambda rows: work(named[rows.start]), len(named), 1), strict=True))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="smfh-rows")


class _BlasLimit:
    """The limit on BLAS threads that all runs in this process share."""

    lock = Lock()
    users = 0
    limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, because rounding depends on how BLAS divides work among threads.

    Blocks of rows run in parallel instead. If several threads are in such a block at the same time, the first
    one sets the limit and the last one lifts it.
    """
    with _BlasLimit.lock:
        _BlasLimit.users += 1
        if _BlasLimit.users == 1:
            _BlasLimit.limiter = _limiting_thread().submit(_blas().limit, limits=1).result()
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.users -= 1
            if _BlasLimit.users == 0:
                _limiting_thread().submit(_BlasLimit.limiter.restore_original_limits).result()


@cache
def _limiting_thread() -> ThreadPoolExecutor:
    """Return a pool of one thread that sets and lifts the limit: threadpoolctl must do both in the same thread."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="smfh-blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
