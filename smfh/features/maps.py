"""Feature maps of hash functions: powers, unit rows and RBF features."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from smfh.parallel import side_by_side
from smfh.types import EPS, FloatArray, InputError, Matrix, read_only

MAX_DISTANCE_ROWS = 4096  # rows from which the mean distance is estimated
SHARES = (1.0, 1.4, 0.7, 0.5)  # factors of the width; with smaller ones, rare words are far from every anchor
RIDGES = 10.0 ** np.arange(-2, 2, 0.5)
MAX_WIDTH_ROWS = 800  # training rows used for leave-one-out validation


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The map x → xᵖ → x/‖x‖ → exp(−‖x − a‖² / 2σ²) for every anchor a; each step is optional.

    Signs are kept: xᵖ is sgn(x) |x|ᵖ. With `split_signs`, x → [max(x, 0), max(−x, 0)] is the first step.
    """

    power: float = 1.0  # p
    unit_rows: bool = False
    anchors: FloatArray | None = None  # the vectors a, (anchors, dimensions), after the first two steps
    width: float = 1.0  # σ
    split_signs: bool = False

    def __post_init__(self) -> None:
        if self.anchors is not None:
            object.__setattr__(self, "anchors", read_only(self.anchors))

    def __call__(self, X: Matrix) -> Matrix:
        X = self.scale(X)
        if self.anchors is None:
            return X
        K = squared_distances(X, self.anchors)
        K *= X.dtype.type(-0.5 / self.width**2)
        return np.exp(K, out=K)

    def scale(self, X: Matrix) -> Matrix:
        """Apply all steps before the RBF features; rows of zeros are unchanged."""
        scaled = X = split_signs(X) if self.split_signs else X
        if self.power != 1.0:
            values = X.data if sparse.issparse(X) else X
            raised = np.abs(values)
            raised = np.sqrt(raised) if self.power == 0.5 else np.power(raised, self.power)  # sqrt is faster
            np.copysign(raised, values, out=raised)
            scaled = sparse.csr_array((raised, X.indices, X.indptr), X.shape) if sparse.issparse(X) else raised
        if not self.unit_rows:
            return scaled
        factors = 1.0 / np.maximum(finite_norms(scaled, X), EPS)
        if scaled is X or sparse.issparse(scaled):
            return scale_rows(scaled, factors)
        scaled *= factors.astype(scaled.dtype)[:, None]  # a new array, so it may be changed
        return scaled


def split_signs(X: Matrix) -> Matrix:
    """Return [max(X, 0), max(−X, 0)], which has no negative values and the same information as X."""
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X.maximum(0), (-X).maximum(0)]))
    return np.asarray(np.hstack([np.maximum(X, 0), np.maximum(-X, 0)]))


def is_signed(X: Matrix) -> bool:
    """Whether X has negative values."""
    return X.shape[0] > 0 and bool(X.min() < 0)


def magnitude(X: Matrix) -> float:
    """Return the largest absolute value max |x_ij| of a matrix without copying it."""
    return max(float(X.max()), -float(X.min()))


def fit_rbf(X: Any, scaling: FeatureMap, anchors: int, rng: np.random.Generator, width: float = 1.0) -> FeatureMap:
    """Return an RBF map with random rows of X as anchors; σ is `width` times the mean distance to anchors.

    X is a matrix, or any object with a shape from which rows can be read.
    """
    drawn = scaling.scale(X[np.sort(rng.choice(X.shape[0], size=min(anchors, X.shape[0]), replace=False))])
    dense = np.asarray(drawn.toarray() if isinstance(drawn, sparse.csr_array) else drawn)
    rows = scaling.scale(X[rng.choice(X.shape[0], size=min(MAX_DISTANCE_ROWS, X.shape[0]), replace=False)])
    return FeatureMap(scaling.power, scaling.unit_rows, dense, width * mean_distance(rows, dense))


def mean_distance(X: Matrix, anchors: FloatArray) -> float:
    return max(float(np.sqrt(squared_distances(X, anchors)).mean(dtype=np.float64)), EPS)


def choose_width(features: FeatureMap, X: Any, labels: Any, rng: np.random.Generator) -> FeatureMap:
    """Return the RBF map with the best width among SHARES times the given width, using training rows only.

    The best width is the one with which ridge regression on the features predicts the labels best. For signed
    features, the same map without the power is tried as well.

    No single width suits all data: the best one is half of the mean distance for texts described by ten
    topics, and the whole mean distance for a bag of a thousand words.
    """
    rows = np.sort(rng.choice(X.shape[0], size=min(MAX_WIDTH_ROWS, X.shape[0]), replace=False))
    L = labels[rows].astype(np.float64)
    L /= np.maximum(row_norms(L), 1)[:, None]
    x, offered = X[rows], [features]
    if features.power != 1.0 and features.unit_rows and is_signed(x):
        offered.append(without_power(features, x))
    candidates = [replace(one, width=share * one.width) for one in offered for share in SHARES]
    errors = side_by_side(lambda k: left_out_error(np.asarray(candidates[k](x)), L), range(len(candidates)))
    return candidates[min(errors, key=errors.__getitem__)]


def without_power(features: FeatureMap, x: Matrix) -> FeatureMap:
    """Return the map x → x/‖x‖ → RBF with the same anchors; σ is the mean distance of the rows x to them."""
    unpowered, powered = replace(features, power=1.0, anchors=None), np.asarray(features.anchors)
    raw = np.copysign(np.abs(powered) ** (1 / features.power), powered)
    anchors = np.asarray(unpowered.scale(raw))
    return replace(unpowered, anchors=anchors, width=mean_distance(unpowered.scale(x), anchors))


def left_out_error(K: FloatArray, L: FloatArray) -> float:
    """Return the leave-one-out error min_γ Σ_i ‖l_i − l̂_i‖² of predicting labels L from features K.

    l̂_i is predicted by ridge regression (weight γ, with an intercept) on all n rows except i. For centred K
    and L, and K Kᵀ = Q Λ Qᵀ, l_i − l̂_i = (Q C QᵀL)_i / ((Q C Qᵀ)_ii − 1/n) with C = γ (Λ + γI)⁻¹.
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


def squared_distances(X: Matrix, anchors: FloatArray) -> FloatArray:
    """Return max(0, ‖x‖² − 2 x·a + ‖a‖²) for every row x and anchor a."""
    D: FloatArray = X @ anchors.T
    D *= -2
    D += (row_norms(X) ** 2)[:, None]
    D += (row_norms(anchors) ** 2)[None, :]
    return np.maximum(D, 0, out=D)


def finite_norms(X: Matrix, given: Matrix) -> FloatArray:
    """Return ‖x‖ of every row; on overflow, raise an InputError that quotes the unscaled features `given`."""
    with np.errstate(over="ignore"):
        norms = row_norms(X)
    if not np.isfinite(norms).all():
        raise InputError(
            f"The features are too large, up to {magnitude(given):.3g}: their squares overflow {X.dtype}. "
            "Scale the features, for example to a largest value of 1."
        )
    return norms


def row_norms(X: Matrix) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.asarray(np.sqrt(squares))


def scale_rows(X: Matrix, factors: FloatArray) -> Matrix:
    """Return diag(factors) X: row i multiplied by factors[i]."""
    factors = factors.astype(X.dtype)
    if sparse.issparse(X):
        return sparse.csr_array(X.multiply(factors[:, None]))
    return np.asarray(X * factors[:, None])
