"""Data types of a search: counts by distance, ranked results, and points of a comparison."""

from dataclasses import dataclass

import numpy as np

from smfh.types.arrays import BoolArray, Distances, IntArray, read_only


@dataclass(frozen=True, eq=False)
class DistanceCounts:
    """Number of database items, and of relevant ones, at each distance from each query, nearest first.

    The columns are the Hamming distances from 0 to the number of bits, or the distinct asymmetric distances
    of each query. The row of a query with fewer distinct distances ends with zeros.
    """

    items: IntArray  # (queries, distances)
    relevant: IntArray  # (queries, distances)

    def __post_init__(self) -> None:
        for name in ("items", "relevant"):  # signed, because differences of counts may be negative
            object.__setattr__(self, name, read_only(getattr(self, name).astype(np.int64)))

    @property
    def total_relevant(self) -> IntArray:
        """R = Σ_d relevant_d: the number of relevant items in the database, for each query."""
        return np.asarray(self.relevant.sum(axis=1))

    @property
    def queries_without_relevant(self) -> int:
        """The number of queries without a relevant item in the database."""
        return int(np.count_nonzero(self.total_relevant == 0))


@dataclass(frozen=True, eq=False)
class Results:
    """Search results of several queries: the nearest items, nearest first, ties in database order."""

    rows: IntArray  # (queries, depth), row numbers in the data set
    distances: Distances  # (queries, depth)
    relevance: BoolArray  # (queries, depth), whether the item shares a label with the query


@dataclass(frozen=True)
class Point:
    """A point of a chart: the measured values of a method at one position on the axis, one per seed."""

    method: str  # name of the method, which determines the colour
    title: str  # distinguishes several settings of a method
    direction: str  # for example "text → image"
    at: float  # value on the axis, such as the number of bits
    values: tuple[float, ...]  # one per seed
    ties: tuple[float, float] | None = None  # worst and best over all orders of ties, means over seeds
    chance: float | None = None  # value of a random order

    @property
    def mean(self) -> float:
        """Mean of the values over seeds."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Sample standard deviation of the values over seeds; 0 for a single seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0
