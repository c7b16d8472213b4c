"""Scores: the one value of a search by all queries that is stored, charted, tested and reported."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smfh.metrics.curves import RadiusCurve, precision_curve, radius_curve, recall_curve
from smfh.metrics.definitions import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.precision import average_precision, chance, chance_average_precision, tied_average_precision
from smfh.types import BoolArray, DistanceCounts, FloatArray


@dataclass(frozen=True, eq=False)
class APScore:
    """A ranking's worth by one definition, beside what ties and chance would give; means over queries."""

    definition: APDefinition
    by_query: FloatArray  # (queries,), ties in database order
    tie_aware: float  # expected over random order within ties
    best: float  # that the ties allow
    worst: float
    chance: float  # the same score for a random order

    @property
    def mean(self) -> float:
        """mAP"""
        return float(self.by_query.mean())


@dataclass(frozen=True, eq=False)
class Scores:
    """How the queries of one modality did in a search of another, over the whole ranking."""

    source: str  # modality of the queries
    target: str  # modality that is searched
    protocol: str  # what the database is: "training" or "unseen"
    average_precision: Mapping[str, APScore]  # by the name of its definition
    precision: FloatArray  # (depth,), P@K for K = 1 … depth
    recall: FloatArray  # (depth,), R@K
    chance_precision: float  # of P@K, at any K
    within: RadiusCurve  # look-up by radius
    queries: int
    queries_without_relevant: int  # nothing could answer them; they count as 0

    @property
    def direction(self) -> str:
        return f"{self.source} → {self.target}"

    @property
    def bits(self) -> int:
        return len(self.within.items) - 1

    @property
    def mean_average_precision(self) -> float:
        """As in the paper: over the first 100, divided by the relevant items found there."""
        return self.average_precision["found"].mean

    @property
    def precision_at_100(self) -> float:
        """At the database's size where that is smaller."""
        return self.average_precision["precision"].mean

    @property
    def headline(self) -> dict[str, float]:
        """What is told together: mAP@100, mAP of the whole ranking, P@100, by their definition's name."""
        return {name: self.average_precision[name].mean for name in HEADLINE}


def score(
    source: str,
    target: str,
    protocol: str,
    relevance: BoolArray,
    counts: DistanceCounts,
    precision_sums: FloatArray,
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
) -> Scores:
    """All scores of a search: from the ranked relevance (queries, depth) of its first answers, the counts by
    distance of its whole database, and Σ_k P@k · rel(k) over the whole ranking, (queries,)."""
    random = chance(counts)
    return Scores(
        source=source,
        target=target,
        protocol=protocol,
        average_precision={
            name: score_precision(relevance, counts, precision_sums, definition)
            for name, definition in definitions.items()
        },
        precision=precision_curve(relevance),
        recall=recall_curve(relevance, counts.total_relevant),
        chance_precision=float(np.mean(random.relevant / np.maximum(random.items, 1))),
        within=radius_curve(counts),
        queries=len(relevance),
        queries_without_relevant=counts.queries_without_relevant,
    )


def score_precision(
    relevance: BoolArray, counts: DistanceCounts, precision_sums: FloatArray, definition: APDefinition
) -> APScore:
    """The average precision of every query by one definition, with ties and chance."""
    by_query: FloatArray
    if definition.top is None:
        by_query = precision_sums / np.maximum(counts.total_relevant, 1)
    else:
        by_query = average_precision(relevance, counts.total_relevant, definition)
    tied = tied_average_precision(counts, definition)
    return APScore(
        definition=definition,
        by_query=by_query,
        tie_aware=float(tied.expected.mean()),
        best=float(tied.best.mean()),
        worst=float(tied.worst.mean()),
        chance=float(chance_average_precision(counts, definition).mean()),
    )
