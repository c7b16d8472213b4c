"""Views: the centred features of each modality for CVH, PDH and SMH, and their correlations.

Centring is a rank-one correction of products, so that sparse features stay sparse. The presets "paper" use
linear features, the presets "strong" 500 RBF anchors and weights chosen on folds of the training rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import svd

from smfh.features.maps import FeatureMap, choose_width, fit_rbf
from smfh.hashing.base import HashMethod, Model
from smfh.hashing.blocks import column_means, cross_product, times, transposed_times
from smfh.hashing.function import HashFunction
from smfh.hashing.solvers import Factor
from smfh.types import EPS, FloatArray, Matrix, MultimodalDataset

UNIT_ROWS = FeatureMap(unit_rows=True)


@dataclass(frozen=True)
class PairMethod(HashMethod):
    """A method for exactly two modalities."""

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        problems, names = super().training_problems(train), train.modalities
        if len(names) > 2:
            problems.append(
                f"{self.title} needs exactly two modalities; {train.name!r} has {len(names)} "
                f"({', '.join(names)}). Select two of them, or choose a method for any number."
            )
        return problems


@dataclass(frozen=True, eq=False)
class View:
    """The centred features X_c = X − 1mᵀ of one modality; the rows of X are φ(x)."""

    modality: str
    dimensions: int  # of x
    feature_map: FeatureMap  # φ
    features: Matrix  # X, (items, dimensions of φ)
    mean: FloatArray  # m, (dimensions of φ,)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def uncentred(self) -> "View":
        """Return a view of the same features without centring (m = 0)."""
        return replace(self, mean=np.zeros_like(self.mean))

    @cached_property
    def gram(self) -> FloatArray:
        """The Gram matrix of the centred features, X_cᵀX_c = XᵀX − N m mᵀ."""
        return cross_covariance(self, self)

    @property
    def rounding(self) -> float:
        """A small ridge that is larger than the rounding errors of the Gram matrix."""
        return EPS * float(np.trace(self.gram))

    def factor(self, ridge: float) -> Factor:
        """Return the Cholesky factor of X_cᵀX_c + εI, where ε is `ridge` plus `rounding`."""
        return Factor.of(self.gram, ridge + self.rounding)

    def project(self, W: FloatArray) -> FloatArray:
        """Return the projections of the centred features, X_cW = XW − 1(mW)."""
        projected = times(self.features, W.astype(self.features.dtype))
        projected -= (self.mean @ W).astype(projected.dtype)
        return projected

    def correlate(self, Y: FloatArray) -> FloatArray:
        """Return the product of centred features with Y, X_cᵀY = XᵀY − m(1ᵀY)."""
        XtY = transposed_times(self.features, Y.astype(self.features.dtype, copy=False))
        return XtY - np.outer(self.mean, Y.sum(axis=0, dtype=np.float64))

    def hash_function(self, W: FloatArray, thresholds: FloatArray | float = 0.0) -> HashFunction:
        """Return the hash function whose bit k is 1 if (φ(x) − m)·w_k > threshold_k."""
        dtype = self.features.dtype
        lifted = (thresholds + self.mean @ W).astype(dtype)
        return HashFunction(self.modality, self.dimensions, self.feature_map, W.astype(dtype), lifted)


def view_modalities(
    train: MultimodalDataset,
    anchors: int,
    rng: np.random.Generator,
    scaling: FeatureMap = UNIT_ROWS,
    width: float = 1.0,
) -> list[View]:
    """Return the view of each modality in the data set's order; linear features if `anchors` is 0.

    `width` is a fraction of the mean distance to the anchors; if it is 0, the width that best predicts the
    labels is chosen.
    """
    views = []
    for modality, x in train.modalities.items():
        feature_map = fit_rbf(x, scaling, anchors, rng, width or 1.0) if anchors else scaling
        if anchors and not width:
            feature_map = choose_width(feature_map, x, train.labels, rng)
        X = feature_map(x)
        views.append(View(modality, x.shape[1], feature_map, X, column_means(X)))
    return views


def directional_model(views: Sequence[View], directions: Sequence[FloatArray], train: MultimodalDataset) -> Model:
    """Return a model with hash functions along these directions and separate codes per modality."""
    functions = {v.modality: v.hash_function(W) for v, W in zip(views, directions, strict=True)}
    return Model(functions, {t: functions[t].encode(train.modalities[t]) for t in functions})


def cross_covariance(x: View, y: View) -> FloatArray:
    """Return X_cᵀY_c = XᵀY − N m_x m_yᵀ for two views that are both centred or both uncentred."""
    return cross_product(x.features, y.features) - len(x) * np.outer(x.mean, y.mean)


def whiten_both(R: FloatArray, x: Factor, y: Factor) -> FloatArray:
    """Whiten a matrix R on both sides: L_x⁻¹ R L_y⁻ᵀ with the roots L_x and L_y of the factors x and y."""
    return y.whiten(x.whiten(R).T).T


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """Canonical correlation analysis: L_x⁻¹ X_cᵀY_c L_y⁻ᵀ = U diag(ρ) Vᵀ with L_xL_xᵀ = X_cᵀX_c + εI."""

    factors: tuple[Factor, Factor]
    bases: tuple[FloatArray, FloatArray]  # U and V, (dimensions of the view, pairs)
    correlations: FloatArray  # ρ, (pairs,), descending

    @staticmethod
    def of(views: Sequence[View], ridge: float, at_most: int) -> "CanonicalPairs":
        """Return the `at_most` most correlated canonical pairs of two views, or all pairs if there are fewer."""
        x, y = views
        factors = x.factor(ridge), y.factor(ridge)
        R = whiten_both(cross_covariance(x, y), *factors)
        U, rho, Vt = svd(R, full_matrices=False, check_finite=False)
        return CanonicalPairs(factors, (U[:, :at_most], Vt[:at_most].T), rho[:at_most])

    def directions(self, combinations: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the directions A = L_x⁻ᵀP and B = L_y⁻ᵀQ of the whitened directions P and Q."""
        return [factor.directions(P) for factor, P in zip(self.factors, combinations, strict=True)]

    def mix(self, weights: FloatArray) -> list[FloatArray]:
        """Return mixed directions A = L_x⁻ᵀUG and B = L_y⁻ᵀVG, with the same weights G (pairs, bits) in both views."""
        return self.directions([basis @ weights for basis in self.bases])
