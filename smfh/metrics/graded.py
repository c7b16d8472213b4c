"""Graded relevance, pair retrieval and number of codes.

NDCG rewards rankings with items that share many labels with the query before items that share few. R@K and
the median rank measure where one item is ranked: the query's partner, the same item in the other modality. A
few distinct codes can score well, although then a search cannot tell most items apart.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from smfh.types import BoolArray, FloatArray, InputError, IntArray, Words

NDCG_DEPTH = 100
MAX_BLOCK_CELLS = 1 << 20  # gains in memory at once
RECALL_DEPTHS = (1, 5, 10)  # values of K for which R@K of the partner is computed
PAIR_RETRIEVAL = (*(f"recall_at_{k}" for k in RECALL_DEPTHS), "median_rank")
GRADED: Mapping[str, tuple[str, str]] = MappingProxyType(  # name → label and definition
    {
        f"ndcg_at_{NDCG_DEPTH}": (
            f"NDCG@{NDCG_DEPTH}",
            f"Σ_(k≤{NDCG_DEPTH}) gain(k) / log₂(k + 1), divided by its value for the best order; the gain is "
            "the number of labels in common with the query",
        ),
        **{
            f"recall_at_{k}": (
                f"R@{k}",
                f"share of queries with their partner (the same item in the other modality) in the first {k} results",
            )
            for k in RECALL_DEPTHS
        },
        "median_rank": (
            "median rank",
            "median over queries of the rank of their partner (the same item in the other modality)",
        ),
        "distinct_codes": (
            "distinct codes",
            "number of different codes in the searched database; items with identical codes are tied",
        ),
    }
)


def ranked_gains(
    order: IntArray, query_labels: BoolArray, database_labels: Words, label_gains: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the gains of the first results of each query, and the highest gains in the database.

    Parameters
    ----------
    order : int array (queries, depth)
        Ranked positions in the database; the first NDCG_DEPTH are used.
    query_labels : bool array (queries, classes)
    database_labels : packed labels (items, words), as from `pack`
    label_gains : float array (classes,), optional
        Gain of each label that a query and an item share, at least 0; default: 1.

    Returns
    -------
    tuple of float arrays
        Gains in ranked order, (queries, at most NDCG_DEPTH), and the gains in the best order.
    """
    gains = np.ones(query_labels.shape[1]) if label_gains is None else np.asarray(label_gains, dtype=float)
    if gains.shape != query_labels.shape[1:] or not np.all(np.isfinite(gains) & (gains >= 0)):
        raise InputError(f"There must be a gain of 0 or more for each of {query_labels.shape[1]} labels; got {gains}.")
    # items with the same labels have the same gain, so each set of labels is compared once
    packed, kind, sizes = np.unique(database_labels, axis=0, return_inverse=True, return_counts=True)
    octets = np.ascontiguousarray(packed, dtype="<u8").view(np.uint8)
    kinds = np.unpackbits(octets, axis=1, count=len(gains), bitorder="little").T.astype(np.float64)
    kind = kind.ravel()
    order = order[:, :NDCG_DEPTH]
    ranked, ideal = np.zeros(order.shape), np.zeros(order.shape)
    step = max(1, MAX_BLOCK_CELLS // max(len(sizes), 1))
    for rows in (slice(start, start + step) for start in range(0, len(order), step)):
        table = (query_labels[rows] * gains) @ kinds
        ranked[rows] = np.take_along_axis(table, kind[order[rows]], axis=1)
        for best, gain in zip(ideal[rows], table, strict=True):
            highest = np.argsort(-gain)[: len(best)]
            best[:] = np.repeat(gain[highest], np.minimum(sizes[highest], len(best)))[: len(best)]
    return ranked, ideal


def ndcg(ranked: FloatArray, ideal: FloatArray) -> FloatArray:
    """Return NDCG: Σ_k gain(k) / log₂(k + 1) divided by the same sum for the ideal order.

    NDCG is 0 if the sum for the ideal order is 0.
    """
    discounts = 1 / np.log2(np.arange(2, ranked.shape[1] + 2))
    found, best = ranked @ discounts, ideal @ discounts
    return np.divide(found, best, out=np.zeros_like(found), where=best > 0)
