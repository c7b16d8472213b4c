"""Supervised Multimodal Hashing (Zhang & Li, AAAI 2014): semantic correlation maximisation.

    min ‖ Σ_k sgn(Xa_k) sgn(Yb_k)ᵀ − r S ‖²,   S = 2 L̃L̃ᵀ − 11ᵀ,   L̃ the labels as unit rows

over directions a_k, b_k of the centred views X and Y, which have d_x and d_y dimensions; r is the number of
bits. Codes should be as similar as the labels. Without the signs, the best whitened directions are singular
vectors of R = r XᵀSY. The sequential form uses the first pair of singular vectors for a bit, and then subtracts
the contribution of that bit from R. The orthogonal form uses all pairs of one decomposition; longer codes
repeat them, as there are only min(d_x, d_y) pairs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd
from scipy.sparse.linalg import svds

from smfh.hashing.base import StepReport, Trace, Training
from smfh.hashing.blocks import inner, squared_norm
from smfh.hashing.configuration import ANCHORS_HELP, DIRECTION_HELP, Preset
from smfh.hashing.solvers import warnings_of
from smfh.hashing.views import PairMethod, View, directional_model, view_modalities, whiten_both
from smfh.types import BoolArray, FloatArray, MultimodalDataset, parameter

SEED_HELP = "Random seed of the anchors; nothing else is random. Higher or lower: other anchors, equally good."
FEW_DIMENSIONS = 64  # up to this size, a full decomposition is as fast as finding one pair


@dataclass(frozen=True)
class SMH(PairMethod):
    """Codes of two views whose inner products approximate the label similarity."""

    name: ClassVar[str] = "smh"
    title: ClassVar[str] = "SMH"
    best: ClassVar[str] = "strong"
    presets: ClassVar[Mapping[str, Preset]] = {"paper": Preset(), "strong": Preset({"ridge": 0.01, "anchors": 500})}

    sequential: bool = parameter(
        True,
        "seq",
        False,
        True,
        "On: each bit is fitted to what the previous bits do not explain yet. Off: all bits are fitted together.",
    )
    ridge: float = parameter(1e-6, "ε", 1e-9, 1e6, DIRECTION_HELP, "log", typical=(1e-6, 10.0))
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 1000))
    seed: int = parameter(0, "seed", 0, 2**32 - 1, SEED_HELP, typical=(0, 99), kw_only=True)

    @property
    def steps(self) -> int:
        return self.bits

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Learn one bit after another; each modality has its own database codes."""
        views = view_modalities(train, self.anchors, rng)
        similarity = Similarity.of(train.labels, train.dtype)
        bits = BitPairs(views, similarity, self.ridge, self.bits)
        note = warnings_of(bits.factors)
        for u, v in islice(self.pairs(bits), self.bits):
            bits.add(u, v)
            yield StepReport({"similarity residual": bits.residual}, "bits", note)
        return directional_model(views, bits.directions, train)

    def pairs(self, bits: "BitPairs") -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield whitened directions: the top pair of the current R, or all pairs of R in turn."""
        if self.sequential:
            while True:
                yield top_pair(bits.R)
        U, _, Vt = svd(bits.R, full_matrices=False, check_finite=False)
        yield from cycle(zip(U.T, Vt, strict=True))


@dataclass(frozen=True, eq=False)
class Similarity:
    """The label similarity S = 2 L̃L̃ᵀ − 11ᵀ: 1 for equal labels, −1 for none in common; never formed."""

    labels: FloatArray  # L̃, (items, classes); an item without labels has a row of zeros

    @staticmethod
    def of(labels: BoolArray, dtype: np.dtype[np.floating[Any]]) -> "Similarity":
        lengths = np.sqrt(labels.sum(axis=1, keepdims=True))
        return Similarity((labels / np.maximum(lengths, 1)).astype(dtype))

    def between(self, x: View, y: View) -> FloatArray:
        """Return the similarity-weighted covariance of two views, X_cᵀSY_c = 2 (X_cᵀL̃)(Y_cᵀL̃)ᵀ, as X_cᵀ1 = 0."""
        return np.asarray(2 * (x.correlate(self.labels) @ y.correlate(self.labels).T))

    def agreement(self, h: FloatArray, g: FloatArray) -> float:
        """Return how well two bits h, g agree with the labels, hᵀSg = 2 (L̃ᵀh)·(L̃ᵀg) − (1ᵀh)(1ᵀg)."""
        return 2 * inner(self.labels.T @ h, self.labels.T @ g) - float(h.sum()) * float(g.sum())

    @cached_property
    def squared(self) -> float:
        """The squared norm ‖S‖² = 4 ‖L̃ᵀL̃‖² − 4 ‖L̃ᵀ1‖² + N²."""
        L = self.labels
        return 4 * squared_norm(L.T @ L) - 4 * squared_norm(L.sum(axis=0)) + float(len(L)) ** 2


class BitPairs:
    """State of learning bit by bit: the bits so far, and the whitened residual of R = r X_cᵀSY_c."""

    def __init__(self, views: Sequence[View], similarity: Similarity, ridge: float, bits: int) -> None:
        self.views, self.similarity, self.bits, self.count = views, similarity, bits, 0
        self.factors = [view.factor(ridge) for view in views]
        self.R = whiten_both(bits * similarity.between(*views), *self.factors)
        self.directions = [np.empty((len(view.mean), bits)) for view in views]
        self.signs = [np.empty((len(view), bits), view.features.dtype, order="F") for view in views]
        self.agreement = 0.0  # ⟨Σ_k h_k g_kᵀ, S⟩
        self.squared = 0.0  # ‖Σ_k h_k g_kᵀ‖²

    def add(self, *whitened: FloatArray) -> None:
        """Add the bits h = sgn(X_ca), g = sgn(Y_cb) of a pair; subtract (X_cᵀh)(Y_cᵀg)ᵀ, whitened, from R."""
        k, self.count = self.count, self.count + 1
        for view, factor, u, A, H in zip(self.views, self.factors, whitened, self.directions, self.signs, strict=True):
            A[:, k] = factor.directions(u)
            H[:, k] = np.where(view.project(A[:, k : k + 1])[:, 0] > 0, 1, -1)
        h, g = (H[:, k] for H in self.signs)
        overlaps = [H[:, : k + 1].T @ H[:, k] for H in self.signs]
        # the new ‖h_kg_kᵀ‖² is added once, the product with each earlier pair twice
        self.squared += 2 * inner(*overlaps) - float(len(h)) ** 2
        self.agreement += self.similarity.agreement(h, g)
        explained = [
            w.whiten(v.correlate(H[:, k : k + 1])) for v, w, H in zip(self.views, self.factors, self.signs, strict=True)
        ]
        self.R -= np.outer(*explained)

    @property
    def residual(self) -> float:
        """The relative error ‖Σ_k h_k g_kᵀ − r S‖² / (r N)² of the bits k learnt so far."""
        error = self.squared - 2 * self.bits * self.agreement + self.bits**2 * self.similarity.squared
        return error / (self.bits * float(len(self.signs[0]))) ** 2


def top_pair(R: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the unit vectors u and v that maximise uᵀRv."""
    if min(R.shape) <= FEW_DIMENSIONS or not R.any():  # svds cannot start from a zero vector
        U, _, Vt = svd(R, full_matrices=False, check_finite=False)
        return U[:, 0], Vt[0]
    M = R.astype(np.float64, copy=False)
    along = M if M.shape[0] <= M.shape[1] else M.T
    # starting from the longest column, the same R always gives the same pair
    start = along[:, np.argmax(np.einsum("ij,ij->j", along, along))]
    U, _, Vt = svds(M, k=1, v0=start)
    return U[:, 0], Vt[0]
