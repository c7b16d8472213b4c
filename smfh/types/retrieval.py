"""What a search yields: rankings, counts by distance, scores with their definition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smfh.types.arrays import BoolArray, FloatArray, IntArray, read_only
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


@dataclass(frozen=True)
class Scores:
    """Means over all queries, with what is needed to read them."""

    label: str  # such as mAP@100
    definition: str  # in words
    formula: str
    mean_average_precision: float  # ties in database order
    tie_aware: float  # expected over random order within ties
    best: float  # that the ties allow
    worst: float
    chance: float  # the same score for a random order
    precision_at_100: float  # at the database's size where that is smaller
    chance_precision: float
    queries: int
    queries_without_relevant: int  # they count as 0


@dataclass(frozen=True, eq=False)
class Ranking:
    """The nearest items of every query, and what is known of the whole database: enough for any score."""

    indices: IntArray  # (queries, depth), rows of the data set, nearest first
    distances: IntArray  # (queries, depth)
    relevance: BoolArray  # (queries, depth)
    counts: DistanceCounts  # over the whole database
    sum_precisions: Callable[[], FloatArray]  # Σ_k P@k · rel(k) over the whole ranking of every query

    @cached_property
    def full_average_precision(self) -> FloatArray:
        """(queries,); only where it is asked for, since it takes a pass over all items in their order."""
        return self.sum_precisions() / np.maximum(self.counts.total_relevant, 1)


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """All that a figure or a gallery needs of one direction of search."""

    source: str  # modality of the queries
    target: str  # modality that is searched
    protocol: str  # "training" or "unseen"
    bits: int
    ranking: Ranking
    average_precision: FloatArray  # (queries,), by the scores' definition
    precision_curve: FloatArray  # (depth,), mean over queries of precision at 1 … depth
    recall_curve: FloatArray  # (depth,)
    scores: Scores
