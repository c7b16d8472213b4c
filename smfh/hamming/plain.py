"""The ranking as it reads, in NumPy: it answers while the kernels are being compiled, once on a machine."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.codes import distances
from smfh.types import FloatArray, IntArray, Words

MOST_PAIRS = 1 << 23  # of a query and an item: half a second, and 230 MB
_conditions: list[Callable[[], bool]] = []  # one at the most


def rank_plainly_while(is_time: Callable[[], bool]) -> None:
    """As long as this says so, small searches of this process are answered here and wait for no compiler."""
    _conditions[:] = [is_time]


def is_plain(pairs: int) -> bool:
    """Whether a search of so many pairs is one of them."""
    return pairs <= MOST_PAIRS and any(is_time() for is_time in _conditions)


def rank(queries: Words, database: Words, depth: int) -> tuple[IntArray, NDArray[np.uint16]]:
    """The `depth` nearest items and their distances: a stable sort, so that ties keep database order."""
    d = distances(queries, database)
    order = np.argsort(d, axis=1, kind="stable")[:, :depth]
    return order.astype(np.int32), np.take_along_axis(d, order, axis=1)


def tally(
    queries: Words, database: Words, query_labels: Words, database_labels: Words, bits: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Items and relevant items at each distance, and Σ_k P@k · rel(k) over the ranking of all items."""
    d = distances(queries, database)
    relevant = (query_labels[:, None, :] & database_labels[None]).any(axis=2)
    cells = d + (bits + 1) * np.arange(len(queries))[:, None]
    items_at, relevant_at = (
        np.bincount(which.ravel(), minlength=len(queries) * (bits + 1)).reshape(len(queries), bits + 1)
        for which in (cells, cells[relevant])
    )
    in_order = np.take_along_axis(relevant, np.argsort(d, axis=1, kind="stable"), axis=1)
    precision = in_order.cumsum(axis=1) / np.arange(1, len(database) + 1)
    return items_at, relevant_at, (precision * in_order).sum(axis=1)
