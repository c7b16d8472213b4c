"""One search of a run, kept as what a score needs: which answers were relevant, and counts by distance."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smfh.evaluation import DEPTH, score
from smfh.files import Array
from smfh.metrics import (
    APDefinition,
    RadiusCurve,
    look_up,
    precision_curve,
    radius_curve,
    recall_curve,
)
from smfh.store.record import Direction, RunRecord
from smfh.study import Trained
from smfh.types import DistanceCounts, FloatArray, InputError, Ranking, RetrievalResult, Scores

SUMS = "sums_of_precisions"  # the array that has a row for each search


@dataclass(frozen=True, eq=False)
class Judged:
    """What charts and tests want of one search, small enough to be kept in memory by the hundred."""

    scores: Scores
    average_precision: FloatArray  # (queries,), by the scores' definition
    precision_curve: FloatArray  # (depth,)
    recall_curve: FloatArray  # (depth,)
    by_radius: RadiusCurve
    hit_rate: float  # of the look-up within RADIUS


RADIUS = 2


def judgement_names(number: int) -> tuple[str, str]:
    """The names of the two arrays of a search; a file may have a thousand arrays, and 15 modalities 420."""
    return f"judged.{number}.relevance", f"judged.{number}.counts"


def judgement_arrays(trained: Trained) -> dict[str, Array]:
    """All searches of a run in the order of its results."""
    arrays: dict[str, Array] = {}
    for number, result in enumerate(trained.results.values()):
        ranking = result.ranking
        counts = np.vstack([ranking.counts.items, ranking.counts.relevant])
        relevance, by_distance = judgement_names(number)
        arrays[relevance] = np.packbits(ranking.relevance, axis=1)
        arrays[by_distance] = counts.astype(np.min_scalar_type(int(counts.max())))
    return arrays | {SUMS: np.stack([result.ranking.sum_precisions() for result in trained.results.values()])}


def ranking_of(record: RunRecord, number: int, arrays: Mapping[str, Array]) -> Ranking:
    """What `evaluation.score` needs. It tells which places were right, not which items stood there."""
    packed, counts, sums = (arrays[name] for name in (*judgement_names(number), SUMS))
    queries, bits = record.queries, record.method.bits
    if counts.shape != (2 * queries, bits + 1) or not np.issubdtype(counts.dtype, np.integer):
        raise InputError(
            f"Its counts should be {(2 * queries, bits + 1)}; got {counts.dtype} {counts.shape}."
        )
    by_distance = DistanceCounts(counts[:queries], counts[queries:])
    depth = min(DEPTH, int(by_distance.items[0].sum()))
    if packed.shape != (queries, -(-depth // 8)) or packed.dtype != np.uint8:
        raise InputError(
            f"Its relevance should be uint8 {(queries, -(-depth // 8))}; got {packed.dtype} {packed.shape}."
        )
    if sums.shape != (len(record.scores), queries) or not np.isfinite(sums).all():
        raise InputError(f"Its sums of precisions should be {(len(record.scores), queries)}, all finite.")
    nobody = np.empty((queries, 0), dtype=np.int32)
    return Ranking(
        indices=nobody,
        distances=nobody.astype(np.uint16),
        relevance=np.unpackbits(packed, axis=1, count=depth).view(np.bool_),
        counts=by_distance,
        sum_precisions=lambda: sums[number],
    )


def result_of(
    record: RunRecord, direction: Direction, ranking: Ranking, definition: APDefinition
) -> RetrievalResult:
    """The search as `evaluate` returns it, save the items that were found."""
    scores, per_query = score(ranking, definition)
    source, target, protocol = direction
    return RetrievalResult(
        source=source,
        target=target,
        protocol=protocol,
        bits=record.method.bits,
        ranking=ranking,
        average_precision=per_query,
        precision_curve=precision_curve(ranking.relevance),
        recall_curve=recall_curve(ranking.relevance, ranking.counts.total_relevant),
        scores=scores,
    )


def judged_of(result: RetrievalResult) -> Judged:
    counts = result.ranking.counts
    return Judged(
        scores=result.scores,
        average_precision=result.average_precision,
        precision_curve=result.precision_curve,
        recall_curve=result.recall_curve,
        by_radius=radius_curve(counts),
        hit_rate=look_up(counts, min(RADIUS, result.bits)).hit_rate,
    )
