"""Supervised Multimodal Hashing (Zhang & Li, AAAI 2014): semantic correlation maximisation.

    min ‖ Σ_k sgn(Xa_k) sgn(Yb_k)ᵀ − r S ‖²,   S = 2 L̃L̃ᵀ − 11ᵀ,   L̃ the labels as unit rows

over directions a_k, b_k of the centred views X and Y: two codes should agree as far as the labels do. Without
the signs the best whitened directions are singular vectors of R = r XᵀSY. The sequential form takes the
strongest pair for a bit and leaves to the next bits what that bit does not explain. The orthogonal form takes
all pairs from one decomposition; there are only min(d_x, d_y), so longer codes repeat them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import svd
from scipy.sparse.linalg import svds

from smfh.hashing.base import Learning, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.positive import told
from smfh.hashing.products import inner, squared_norm
from smfh.hashing.views import ANCHORS, PairMethod, View, learnt_directions, view_modalities
from smfh.hashing.whitening import Whitening, whiten_both
from smfh.types import BoolArray, FloatArray, MultimodalDataset, parameter

SEED = "Draws the anchors; nothing else is left to chance."
FEW_DIMENSIONS = 64  # up to which a whole decomposition is as quick as one pair of it


@dataclass(frozen=True)
class SMH(PairMethod):
    """Bits whose agreement reproduces the similarity of labels."""

    name: ClassVar[str] = "smh"
    title: ClassVar[str] = "SMH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"ridge": 0.01, "anchors": 500}),
    }

    sequential: bool = parameter(
        True, "seq", False, True, "Each bit explains what the bits before it left; else all bits at once."
    )
    ridge: float = parameter(
        1e-6, "ε", 1e-9, 1e6, "Shrinks directions in which a view hardly varies.", "log", typical=(1e-6, 10.0)
    )
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS, typical=(0, 1000))
    seed: int = parameter(0, "seed", 0, 2**32 - 1, SEED, typical=(0, 99), kw_only=True)

    @property
    def steps(self) -> int:
        return self.bits

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """Bit after bit; each modality of `train` is a database of its own codes."""
        views = view_modalities(train, self.anchors, rng)
        similarity = Similarity.of(train.labels, train.dtype)
        learnt = LearntBits(views, similarity, self.ridge, self.bits)
        note = told(whitening.factor for whitening in learnt.whitenings)
        for u, v in islice(self.pairs(learnt), self.bits):
            learnt.add(u, v)
            yield Progress({"similarity residual": learnt.residual}, "bits", note)
        return learnt_directions(views, learnt.directions, train)

    def pairs(self, learnt: "LearntBits") -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened directions without end: of what is left of R, or of the whole R in turn."""
        if self.sequential:
            while True:
                yield top_pair(learnt.R)
        U, _, Vt = svd(learnt.R, full_matrices=False, check_finite=False)
        yield from cycle(zip(U.T, Vt, strict=True))


@dataclass(frozen=True, eq=False)
class Similarity:
    """S = 2 L̃L̃ᵀ − 11ᵀ, never formed: 1 for equal labels, −1 for none in common."""

    labels: FloatArray  # L̃, (items, classes); an item without labels has a row of zeros

    @staticmethod
    def of(labels: BoolArray, dtype: np.dtype[np.floating[Any]]) -> "Similarity":
        lengths = np.sqrt(labels.sum(axis=1, keepdims=True))
        return Similarity((labels / np.maximum(lengths, 1)).astype(dtype))

    def between(self, x: View, y: View) -> FloatArray:
        """X_cᵀSY_c = 2 (X_cᵀL̃)(Y_cᵀL̃)ᵀ, since X_cᵀ1 = 0"""
        product: FloatArray = 2 * (x.correlate(self.labels) @ y.correlate(self.labels).T)
        return product

    def agreement(self, h: FloatArray, g: FloatArray) -> float:
        """hᵀSg = 2 (L̃ᵀh)·(L̃ᵀg) − (1ᵀh)(1ᵀg)"""
        return 2 * inner(self.labels.T @ h, self.labels.T @ g) - float(h.sum()) * float(g.sum())

    @cached_property
    def squared(self) -> float:
        """‖S‖² = 4 ‖L̃ᵀL̃‖² − 4 ‖L̃ᵀ1‖² + N²"""
        L = self.labels
        return 4 * squared_norm(L.T @ L) - 4 * squared_norm(L.sum(axis=0)) + float(len(L)) ** 2


class LearntBits:
    """The bits so far, what they leave of R = r X_cᵀSY_c (whitened), and how far they are from S."""

    def __init__(self, views: Sequence[View], similarity: Similarity, ridge: float, bits: int) -> None:
        self.views, self.similarity, self.bits, self.count = views, similarity, bits, 0
        self.whitenings = [Whitening.of(view, ridge) for view in views]
        self.R = whiten_both(bits * similarity.between(*views), *self.whitenings)
        self.directions = [np.empty((len(view.mean), bits)) for view in views]
        self.signs = [np.empty((len(view), bits), view.features.dtype, order="F") for view in views]
        self.agreement = 0.0  # ⟨Σ_k h_k g_kᵀ, S⟩
        self.squared = 0.0  # ‖Σ_k h_k g_kᵀ‖²

    def add(self, *whitened: FloatArray) -> None:
        """The bits h = sgn(X_ca), g = sgn(Y_cb) of one pair; R ← R − (X_cᵀh)(Y_cᵀg)ᵀ, whitened."""
        k, self.count = self.count, self.count + 1
        for view, whitening, u, A, H in zip(
            self.views, self.whitenings, whitened, self.directions, self.signs, strict=True
        ):
            A[:, k] = whitening.directions(u)
            H[:, k] = np.where(view.project(A[:, k : k + 1])[:, 0] > 0, 1, -1)
        h, g = (H[:, k] for H in self.signs)
        overlaps = [H[:, : k + 1].T @ H[:, k] for H in self.signs]
        # h_kg_kᵀ itself stands once in the sum, its product with each earlier pair twice
        self.squared += 2 * inner(*overlaps) - float(len(h)) ** 2
        self.agreement += self.similarity.agreement(h, g)
        explained = [
            w.whiten(v.correlate(H[:, k : k + 1]))
            for v, w, H in zip(self.views, self.whitenings, self.signs, strict=True)
        ]
        self.R -= np.outer(*explained)

    @property
    def residual(self) -> float:
        """‖Σ_k h_k g_kᵀ − r S‖² / (r N)², for the k so far"""
        error = self.squared - 2 * self.bits * self.agreement + self.bits**2 * self.similarity.squared
        return error / (self.bits * float(len(self.signs[0]))) ** 2


def top_pair(R: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The u, v of unit length that maximise uᵀRv."""
    if min(R.shape) <= FEW_DIMENSIONS or not R.any():  # an iteration cannot start from nothing
        U, _, Vt = svd(R, full_matrices=False, check_finite=False)
        return U[:, 0], Vt[0]
    M = R.astype(np.float64, copy=False)
    along = M if M.shape[0] <= M.shape[1] else M.T
    # starting from the longest column, the same R always gives the same pair
    start = along[:, np.argmax(np.einsum("ij,ij->j", along, along))]
    U, _, Vt = svds(M, k=1, v0=start)
    return U[:, 0], Vt[0]
