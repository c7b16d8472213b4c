"""What a search yields: counts by distance over the whole database, and the answers somebody looks at."""

from dataclasses import dataclass

import numpy as np

from smfh.types.arrays import BoolArray, IntArray, read_only
from smfh.types.errors import InputError


@dataclass(frozen=True, eq=False)
class DistanceCounts:
    """How many database items, and how many relevant ones, lie at each distance from each query."""

    items: IntArray  # (queries, bits + 1)
    relevant: IntArray  # (queries, bits + 1)

    def __post_init__(self) -> None:
        if problems := _count_problems(self.items, self.relevant):
            raise InputError(problems)
        for what in ("items", "relevant"):  # signed: differences of counts may be negative
            object.__setattr__(self, what, read_only(getattr(self, what).astype(np.int64)))

    @property
    def total_relevant(self) -> IntArray:
        """R = Σ_d relevant_d of every query."""
        R: IntArray = self.relevant.sum(axis=1)
        return R

    @property
    def queries_without_relevant(self) -> int:
        """The number of queries that no item of the database could answer."""
        return int(np.count_nonzero(self.total_relevant == 0))


def _count_problems(items: IntArray, relevant: IntArray) -> list[str]:
    problems = [
        f"Counts of {what} must be whole numbers, queries × distances; got {x.dtype} of shape {x.shape}."
        for what, x in (("items", items), ("relevant items", relevant))
        if x.ndim != 2 or x.size == 0 or not np.issubdtype(x.dtype, np.integer)
    ]
    if problems:
        return problems
    if items.shape != relevant.shape:
        return [f"Counts of items {items.shape} and of relevant items {relevant.shape} must have one shape."]
    if bad := np.count_nonzero((relevant < 0) | (relevant > items)):
        problems.append(f"Relevant items must number from 0 to all items at a distance; {bad} counts do not.")
    return problems


@dataclass(frozen=True, eq=False)
class Answers:
    """The nearest items of some queries, nearest first; equal distances in database order."""

    rows: IntArray  # (queries, depth), of the data set
    distances: IntArray  # (queries, depth)
    relevance: BoolArray  # (queries, depth), do they share a label with the query?
