"""Means over all queries along the answers looked at, K = 1 … depth, or along the radius, ρ = 0 … bits."""

from dataclasses import dataclass

import numpy as np

from smfh.types import BoolArray, DistanceCounts, FloatArray, InputError, IntArray


def precision_curve(relevance: BoolArray) -> FloatArray:
    """mean_q Σ_(i≤k) rel_q(i) / k for k = 1 … depth: the mean over queries of P@k."""
    check_ranking(relevance)
    queries, depth = relevance.shape
    precision: FloatArray = np.cumsum(relevance.sum(axis=0)) / (queries * np.arange(1, depth + 1))
    return precision


def recall_curve(relevance: BoolArray, total_relevant: IntArray) -> FloatArray:
    """mean_q Σ_(i≤k) rel_q(i) / R_q for k = 1 … depth: the mean over queries of R@k, 0 where R_q = 0."""
    check_ranking(relevance, total_relevant)
    # einsum: a product would turn the whole matrix into floats first
    return np.cumsum(np.einsum("q,qk->k", 1 / np.maximum(total_relevant, 1), relevance)) / len(relevance)


@dataclass(frozen=True, eq=False)
class RadiusCurve:
    """Means over queries of a look-up within radius ρ = 0 … bits; each (bits + 1,)."""

    items: FloatArray  # found
    hits: FloatArray  # share of queries that find something relevant
    precision: FloatArray  # 0 where nothing is found: a failed look-up counts as zero
    recall: FloatArray  # 0 where nothing is relevant


def radius_curve(counts: DistanceCounts) -> RadiusCurve:
    """items = Σ_(d≤ρ) items_d, precision = Σ_(d≤ρ) relevant_d / items, recall = Σ_(d≤ρ) relevant_d / R."""
    items, relevant = np.cumsum(counts.items, axis=1), np.cumsum(counts.relevant, axis=1)
    return RadiusCurve(
        items=items.mean(axis=0),
        hits=np.mean(relevant > 0, axis=0),
        precision=np.mean(relevant / np.maximum(items, 1), axis=0),
        recall=np.mean(relevant / np.maximum(relevant[:, -1:], 1), axis=0),
    )


def check_ranking(relevance: BoolArray, total_relevant: IntArray | None = None) -> None:
    """Refuse what is no ranked relevance, or does not fit the number of relevant items."""
    problems = []
    if relevance.ndim != 2 or relevance.dtype != np.bool_ or relevance.size == 0:
        problems.append(
            "Ranked relevance must be a boolean queries × depth matrix with something in it; "
            f"got {relevance.dtype} of shape {relevance.shape}."
        )
    if total_relevant is not None:
        if total_relevant.shape != relevance.shape[:1] or not np.issubdtype(total_relevant.dtype, np.integer):
            problems.append(
                f"total_relevant must be a whole number for each of {len(relevance)} queries; "
                f"got {total_relevant.dtype} of shape {total_relevant.shape}."
            )
        elif not problems and (bad := np.count_nonzero(relevance.sum(axis=1) > total_relevant)):
            problems.append(
                f"{bad} queries find more relevant items than total_relevant says there are; "
                "it counts the whole database."
            )
    if problems:
        raise InputError(problems)
