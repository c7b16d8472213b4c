"""The width of RBF features, chosen by what it tells of the labels.

Half of the mean distance serves the ten topics of a text, all of it a bag of a thousand words: no share of it
is right for every modality. So each has the width from which ridge regression predicts its labels best.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from smfh.features.maps import FeatureMap, row_norms
from smfh.parallel import side_by_side
from smfh.types import EPS, FloatArray

SHARES = (1.0, 1.4, 0.7, 0.5)  # of the mean distance; less would leave a word alone far from every anchor
RIDGES = 10.0 ** np.arange(-2, 2, 0.5)
ROWS = 800  # that are left out one by one


def choose_width(features: FeatureMap, X: Any, labels: Any, rng: np.random.Generator) -> FeatureMap:
    """The same features with the best of some widths around their own, by training rows alone."""
    rows = np.sort(rng.choice(X.shape[0], size=min(ROWS, X.shape[0]), replace=False))
    L = labels[rows].astype(np.float64)
    L /= np.maximum(row_norms(L), 1)[:, None]
    x, candidates = X[rows], {share: replace(features, width=share * features.width) for share in SHARES}
    errors = side_by_side(lambda share: left_out_error(np.asarray(candidates[share](x)), L), SHARES)
    return candidates[min(errors, key=errors.__getitem__)]


def left_out_error(K: FloatArray, L: FloatArray) -> float:
    """min_γ Σ_i ‖l_i − l̂_i‖², with l̂_i by ridge regression (γ, and an intercept) on all rows but i.

    For K and L less their means, and K Kᵀ = Q Λ Qᵀ, no regression has to be done again for a row:
    l_i − l̂_i = (Q C QᵀL)_i / ((Q C Qᵀ)_ii − 1/n) with C = γ (Λ + γI)⁻¹.
    """
    K, L = K - K.mean(axis=0, dtype=np.float64).astype(K.dtype), L - L.mean(axis=0)
    eigenvalues, Q = np.linalg.eigh(K @ K.T)
    QtL, squares = Q.T @ L, Q**2
    errors = []
    for ridge in RIDGES:
        C = ridge / (np.maximum(eigenvalues, 0) + ridge)
        residuals = Q @ (C[:, None] * QtL) / np.maximum(squares @ C - 1 / len(K), EPS)[:, None]
        errors.append(float(np.sum(residuals**2)))
    return min(errors)
