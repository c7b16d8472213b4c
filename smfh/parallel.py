"""Blocks of rows over threads, for work that releases the GIL."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Name = TypeVar("Name")
Result = TypeVar("Result")


def over_rows(work: Callable[[slice], Result], rows: int, block: int) -> list[Result]:
    """Call `work` on consecutive blocks of rows; the results in order.

    The blocks do not depend on the number of cores, so sums over them agree between machines.
    """
    return list(each_block(work, rows, block))


def each_block(work: Callable[[slice], Result], rows: int, block: int) -> Iterator[Result]:
    """The same, one result after another, so that not all of them need be held."""
    slices = [slice(start, min(start + block, rows)) for start in range(0, rows, block)]
    return map(work, slices) if len(slices) < 2 else _pool().map(work, slices)


def side_by_side(work: Callable[[Name], Result], names: Iterable[Name]) -> dict[Name, Result]:
    """What `work` makes of each name, over threads; it must not go over threads itself."""
    named = list(names)
    return dict(zip(named, over_rows(lambda rows: work(named[rows.start]), len(named), 1), strict=True))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="smfh-rows")
