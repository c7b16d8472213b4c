"""A modality as CVH, PDH, CMFH and SMH see it: unit rows or RBF features, less their mean.

The mean is taken off by corrections of rank one, so that sparse data stay sparse. The presets "paper" use
linear features, the presets "strong" 500 RBF anchors, with weights chosen on validation parts of training
data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from smfh.features.maps import FeatureMap, fit_rbf
from smfh.hashing.base import HashMethod, Learnt
from smfh.hashing.function import HashFunction
from smfh.hashing.positive import Factor
from smfh.hashing.products import column_means, cross_product, times, transposed_times
from smfh.types import EPS, FloatArray, Matrix, MultimodalDataset

ANCHORS = "RBF anchors drawn from the training items, all of them where there are fewer; 0: linear features."
UNIT_ROWS = FeatureMap(unit_rows=True)


@dataclass(frozen=True)
class PairMethod(HashMethod):
    """A method that pairs the views of exactly two modalities."""

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        problems, there = super().training_problems(train), train.modalities
        if len(there) > 2:
            problems.append(
                f"{self.title} pairs exactly two modalities; {train.name!r} has {len(there)} "
                f"({', '.join(there)}). Keep two of them, or choose a method that takes any number."
            )
        return problems


@dataclass(frozen=True, eq=False)
class View:
    """X_c = X − 1mᵀ, where X = φ(x)."""

    modality: str
    dimensions: int  # of x
    feature_map: FeatureMap  # φ
    features: Matrix  # X, (items, dimensions of φ)
    mean: FloatArray  # m, (dimensions of φ,)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def uncentred(self) -> "View":
        """The same features with m = 0."""
        return replace(self, mean=np.zeros_like(self.mean))

    @cached_property
    def gram(self) -> FloatArray:
        """X_cᵀX_c = XᵀX − N m mᵀ"""
        return cross_covariance(self, self)

    @property
    def rounding(self) -> float:
        """A share of the Gram matrix's trace that, on its diagonal, outweighs what rounding takes away."""
        return EPS * float(np.trace(self.gram))

    def factor(self, ridge: float) -> Factor:
        """Of X_cᵀX_c + εI."""
        return Factor.of(self.gram, ridge + self.rounding)

    def project(self, W: FloatArray) -> FloatArray:
        """X_cW = XW − 1(mW)"""
        projected = times(self.features, W.astype(self.features.dtype))
        projected -= (self.mean @ W).astype(projected.dtype)
        return projected

    def correlate(self, Y: FloatArray) -> FloatArray:
        """X_cᵀY = XᵀY − m(1ᵀY)"""
        XtY = transposed_times(self.features, Y.astype(self.features.dtype, copy=False))
        return XtY - np.outer(self.mean, Y.sum(axis=0, dtype=np.float64))

    def hash_function(self, W: FloatArray, thresholds: FloatArray | float = 0.0) -> HashFunction:
        """Bit k is on where (φ(x) − m)·w_k > threshold_k."""
        dtype = self.features.dtype
        return centred_function(
            self.modality, self.dimensions, self.feature_map, self.mean, W, dtype, thresholds
        )


def centred_function(
    modality: str,
    dimensions: int,
    feature_map: FeatureMap,
    mean: FloatArray,
    W: FloatArray,
    dtype: Any,
    thresholds: FloatArray | float = 0.0,
) -> HashFunction:
    """Bit k is on where (φ(x) − m)·w_k > threshold_k, that is φ(x)·w_k > threshold_k + m·w_k."""
    lifted = (thresholds + mean @ W).astype(dtype)
    return HashFunction(modality, dimensions, feature_map, W.astype(dtype), lifted)


def view_modalities(
    train: MultimodalDataset, anchors: int, rng: np.random.Generator, scaling: FeatureMap = UNIT_ROWS
) -> list[View]:
    """Every modality, centred, in the order of the data set; without anchors the features are linear."""
    views = []
    for modality, x in train.modalities.items():
        feature_map = fit_rbf(x, scaling, anchors, rng) if anchors else scaling
        X = feature_map(x)
        views.append(View(modality, x.shape[1], feature_map, X, column_means(X)))
    return views


def learnt_directions(
    views: Sequence[View], directions: Sequence[FloatArray], train: MultimodalDataset
) -> Learnt:
    """Hash functions along these directions; each modality is a database of its own codes."""
    functions = {v.modality: v.hash_function(W) for v, W in zip(views, directions, strict=True)}
    return Learnt(functions, {t: functions[t].encode(train.modalities[t]) for t in functions})


def cross_covariance(x: View, y: View) -> FloatArray:
    """X_cᵀY_c = XᵀY − N m_x m_yᵀ; both views centred, or neither."""
    return cross_product(x.features, y.features) - len(x) * np.outer(x.mean, y.mean)
