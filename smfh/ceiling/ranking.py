"""Items ranked by how well their classes fit those of a query."""

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from smfh.features.maps import FeatureMap
from smfh.metrics import AP_DEFINITIONS, APDefinition, average_precision
from smfh.types import BoolArray, FloatArray

MOST_QUERIES = 2_000
BLOCK = 1 << 22  # similarities at once


class Similarity(StrEnum):
    """Of a query's posteriors p and an item's q."""

    PRODUCT = "p·q, the expected number of common classes"
    COSINE = "p·q/‖q‖"


def rank_classes(
    P: FloatArray,
    Q: FloatArray,
    query_labels: BoolArray,
    database_labels: BoolArray,
    similarity: Similarity,
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    own: bool = False,
) -> dict[str, float]:
    """The mean over queries of every score, when items with posteriors Q are ranked for queries with P.

    Ties stand in database order. With `own` the queries are the database, and none finds itself. Of many
    queries some are drawn.
    """
    if similarity is Similarity.COSINE:
        Q = np.asarray(FeatureMap(unit_rows=True).scale(Q))
    rows = np.arange(len(P))
    if len(rows) > MOST_QUERIES:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_QUERIES, replace=False))
    sums = dict.fromkeys(definitions, 0.0)
    for block in np.array_split(rows, -(-len(rows) * len(Q) // BLOCK)):
        fit = P[block] @ Q.T
        relevant = query_labels[block].astype(np.float32) @ database_labels.T.astype(np.float32) > 0
        if own:
            fit[np.arange(len(block)), block], relevant[np.arange(len(block)), block] = -np.inf, False
        ranked = np.take_along_axis(relevant, np.argsort(-fit, axis=1, kind="stable"), axis=1)
        for name, definition in definitions.items():
            sums[name] += float(average_precision(ranked, relevant.sum(axis=1), definition).sum())
    return {name: total / len(rows) for name, total in sums.items()}


def rank_whole(P: FloatArray, Q: FloatArray, labels: BoolArray, similarity: Similarity) -> float:
    """mAP over the whole ranking of items that ask for each other."""
    return rank_classes(P, Q, labels, labels, similarity, {"full": AP_DEFINITIONS["full"]}, own=True)["full"]
