"""Feature maps that a hash function carries with it: row scaling and RBF anchors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smfh.types import EPS, FloatArray, InputError, Matrix, read_only


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """x → xᵖ → x/‖x‖ → exp(−‖x − a‖² / 2σ²) for every anchor a; what is not asked for is left out."""

    power: float = 1.0  # p
    unit_rows: bool = False
    anchors: FloatArray | None = None  # a, (anchors, dimensions), already scaled
    width: float = 1.0  # σ

    def __post_init__(self) -> None:
        if self.anchors is not None:
            object.__setattr__(self, "anchors", read_only(self.anchors))

    def __call__(self, X: Matrix) -> Matrix:
        X = self.scale(X)
        return X if self.anchors is None else rbf(X, self.anchors, self.width)

    def scale(self, X: Matrix) -> Matrix:
        """x → xᵖ → x/‖x‖; a row of zeros stays one."""
        scaled = X if self.power == 1.0 else element_power(X, self.power)
        if not self.unit_rows:
            return scaled
        factors = 1.0 / np.maximum(finite_norms(scaled, X), EPS)
        if scaled is X or sparse.issparse(scaled):
            return scale_rows(scaled, factors)
        scaled *= factors.astype(scaled.dtype)[:, None]  # it is our own
        return scaled


def fit_rbf(
    X: Any, scaling: FeatureMap, anchors: int, rng: np.random.Generator, width: float = 1.0
) -> FeatureMap:
    """Draw anchors from the training rows; σ is `width` times the mean distance of an item to an anchor.

    X is a matrix, or anything else with a shape of which rows can be had.
    """
    drawn = scaling.scale(X[np.sort(rng.choice(X.shape[0], size=min(anchors, X.shape[0]), replace=False))])
    dense = np.asarray(drawn.toarray() if isinstance(drawn, sparse.csr_array) else drawn)
    rows = scaling.scale(X[rng.choice(X.shape[0], size=min(4096, X.shape[0]), replace=False)])
    distance = float(np.sqrt(squared_distances(rows, dense)).mean(dtype=np.float64))
    return FeatureMap(scaling.power, scaling.unit_rows, dense, max(width * distance, EPS))


def element_power(X: Matrix, power: float) -> Matrix:
    """x → xᵖ, element by element"""

    def raised(values: FloatArray) -> FloatArray:
        """A root is the same as the power ½, in a fifth of the time."""
        return np.asarray(np.sqrt(values) if power == 0.5 else np.power(values, power))

    if not isinstance(X, sparse.csr_array):
        return raised(X)
    result = X.copy()
    result.data = raised(X.data)
    return result


def rbf(X: Matrix, anchors: FloatArray, width: float) -> FloatArray:
    """exp(−‖x − a‖² / 2σ²)"""
    K = squared_distances(X, anchors)
    K *= X.dtype.type(-0.5 / width**2)
    return np.exp(K, out=K)


def squared_distances(X: Matrix, anchors: FloatArray) -> FloatArray:
    """‖x‖² − 2 x·a + ‖a‖², at least 0"""
    D: FloatArray = X @ anchors.T
    D *= -2
    D += (row_norms(X) ** 2)[:, None]
    D += (row_norms(anchors) ** 2)[None, :]
    return np.maximum(D, 0, out=D)


def finite_norms(X: Matrix, given: Matrix) -> FloatArray:
    """‖x‖ of every row; refused where its square is too large a number, in terms of what was given."""
    with np.errstate(over="ignore"):
        norms = row_norms(X)
    if not np.isfinite(norms).all():
        raise InputError(
            f"Sums of squares of the features overflow {X.dtype}: the largest value is {given.max():.3g}. "
            "Scale the features, such as to a largest value of 1."
        )
    return norms


def row_norms(X: Matrix) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    norms: FloatArray = np.sqrt(squares)
    return norms


def scale_rows(X: Matrix, factors: FloatArray) -> Matrix:
    """diag(factors) X"""
    factors = factors.astype(X.dtype)
    if sparse.issparse(X):
        return sparse.csr_array(X.multiply(factors[:, None]))
    scaled: FloatArray = X * factors[:, None]
    return scaled
