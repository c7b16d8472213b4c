"""Clusters of similar items within each class, as extra labels where the given labels are coarse."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap, row_norms
from smfh.types import BoolArray, FloatArray, IntArray, Matrix

SCALING = FeatureMap(power=0.5, unit_rows=True)
ITERATIONS = 20  # of k-means


def cluster_labels(
    modalities: Mapping[str, Matrix], labels: BoolArray, clusters: int, rng: np.random.Generator
) -> BoolArray:
    """Divide classes into clusters; return whether each item is in each cluster, (items, clusters).

    The clusters of all modalities are columns of the result. Each modality has about `clusters` clusters,
    which the classes share in proportion to their numbers of items. An item with several labels counts for
    the rarest one. A class that would get fewer than 1½ clusters is not divided.
    """
    sizes = labels.sum(axis=0)
    rarest = np.where(labels, sizes, len(labels) + 1).argmin(axis=1)
    columns: list[BoolArray] = []
    for X in map(SCALING.scale, modalities.values()):
        for k in range(labels.shape[1]):
            rows = np.flatnonzero((rarest == k) & labels[:, k])
            parts = min(round(clusters * len(rows) / len(labels)), len(rows))
            if parts < 2:
                continue
            nearest = k_means(X[rows], parts, rng)
            for part in np.unique(nearest):
                column = np.zeros(len(labels), dtype=np.bool_)
                column[rows[nearest == part]] = True
                columns.append(column)
    return np.stack(columns, axis=1) if columns else np.zeros((len(labels), 0), dtype=np.bool_)


def k_means(X: Matrix, clusters: int, rng: np.random.Generator) -> IntArray:
    """Cluster the rows of X by k-means, starting from random rows; return the number of the nearest centre of each.

    k-means lowers Σ_i min_k ‖x_i − c_k‖² for the rows x_i of X and the centres c_k, the rows of C.
    """
    rows = np.arange(X.shape[0])
    C = dense(X[np.sort(rng.choice(rows, size=clusters, replace=False))])
    for _ in range(ITERATIONS):
        nearest: IntArray = np.argmax(X @ C.T - 0.5 * row_norms(C) ** 2, axis=1)
        counts = np.bincount(nearest, minlength=clusters)[:, None]
        members = sparse.csr_array((np.ones(len(rows)), (nearest, rows)), (clusters, len(rows)))
        before, C = C, np.where(counts > 0, dense(members @ X) / np.maximum(counts, 1), C)
        if np.array_equal(before, C):
            break
    return nearest


def dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if isinstance(X, sparse.csr_array) else X, dtype=np.float64)
