"""Base classes of DCH, SCRATCH, BATCH and class codes: one code per item, from kernel features.

Items are rows: K_t (items, dimensions) are the centred features of modality t, L (items, classes) the labels,
and B (items, bits) the codes in {−1, 1}. The hash functions are ridge regressions on B, or on real numbers
whose signs are B. By default, features are square roots with unit rows, mapped to RBF features with 500
anchors; the presets "paper" use the features of the publication. With the presets SAME_FEATURES, anchors,
width and ridge are chosen in the same way as for SMFH+, so that any difference from SMFH+ comes from the
codes.
"""

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smfh.features.maps import FeatureMap, finite_norms
from smfh.features.ridge import ridges_of
from smfh.hamming import pack
from smfh.hashing.base import HashMethod, Model, StepReport, Trace, Training
from smfh.hashing.configuration import ANCHORS_HELP, CHOSEN_RIDGE_HELP, WIDTH_HELP
from smfh.hashing.function import shared_codes
from smfh.hashing.labels import RARITY_HELP, rarity_weights
from smfh.hashing.solvers import RidgeSolver, warnings_of
from smfh.hashing.views import View, view_modalities
from smfh.types import BoolArray, FloatArray, MultimodalDataset, parameter

ROOT_HELP = "Whether to take the square root of the features and scale each row to length 1. Off: features unchanged."
ROUNDS_HELP = "Number of rounds of updates. Higher: closer to the optimum, slower. Lower: faster."
SQUARE_ROOT = FeatureMap(power=0.5, unit_rows=True)
SAME_FEATURES = "same features as SMFH+"  # name of a preset of every kernel method
SAME_VALUES: Mapping[str, Any] = {"anchors": 1600, "width": 0.0, "ridge": 0.0}

Search = Generator[StepReport, None, FloatArray]


@dataclass(frozen=True)
class KernelMethod(HashMethod):
    """A method that learns one code per item from the kernel features of all modalities."""

    anchors: int = parameter(500, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 1000))
    square_root: bool = parameter(True, "√", False, True, ROOT_HELP)
    width: float = parameter(1.0, "σ", 0.0, 100.0, WIDTH_HELP, typical=(0.0, 2.0), neutral=1.0, kw_only=True)
    ridge: float = parameter(0.01, "ξ", 0.0, 1e6, CHOSEN_RIDGE_HELP, "log", kw_only=True)

    @property
    def shrinkage(self) -> float:
        """The ridge ξ of the hash functions; 0 if it is chosen for each modality."""
        return self.ridge

    @abstractmethod
    def search(
        self, start: FloatArray, regressions: "Regressions", labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Learn codes; return real numbers, (items, bits), whose signs are the codes.

        `start` is Gaussian noise of the same shape, from which the search can begin.
        """

    def weigh(self, labels: BoolArray, dtype: np.dtype[Any]) -> FloatArray:
        """Return the label matrix L."""
        return labels.astype(dtype)

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        start = rng.standard_normal((len(train), self.bits)).astype(train.dtype)
        scaling = SQUARE_ROOT if self.square_root else FeatureMap()
        for x in train.modalities.values():
            finite_norms(scaling.scale(x), x)
        views = view_modalities(train, self.anchors, rng, scaling, self.width)
        maps = {view.modality: view.feature_map for view in views}
        ridges, chosen = ridges_of(self.shrinkage, maps, train.modalities, train.labels, rng)
        regressions = Regressions.of(views, ridges, chosen)
        targets = yield from self.search(start, regressions, self.weigh(train.labels, train.dtype), rng)
        W = regressions.solve(regressions.correlate(targets))
        functions = {t: view.hash_function(W[t]) for t, view in regressions.views.items()}
        return Model(functions, shared_codes(tuple(functions), pack(targets > 0)))


@dataclass(frozen=True)
class AlternatingMethod(KernelMethod):
    """A kernel method that updates its unknowns in turn, in a number of rounds."""

    best: ClassVar[str] = SAME_FEATURES

    rarity: float = parameter(0.0, "p", 0.0, 10.0, RARITY_HELP, typical=(0.0, 1.0), neutral=0.0, kw_only=True)
    iterations: int = parameter(5, "T", 1, 1000, ROUNDS_HELP, typical=(1, 50), kw_only=True)

    @property
    def steps(self) -> int:
        return self.iterations

    def weigh(self, labels: BoolArray, dtype: np.dtype[Any]) -> FloatArray:
        """Return the labels L with column k times √w_k, so that rare labels weigh more; the paper has w = 1."""
        unlabelled = int(np.count_nonzero(~labels.any(axis=1)))
        w = rarity_weights(labels.sum(axis=0), self.rarity, unlabelled, len(labels))
        return np.asarray(labels * np.sqrt(w).astype(dtype))


@dataclass(frozen=True, eq=False)
class Regressions:
    """Ridge regressions W_t = (K_tᵀK_t + ξ_tI)⁻¹K_tᵀY on the features K_t of each modality."""

    views: Mapping[str, View]
    solvers: Mapping[str, RidgeSolver]
    ridges: Mapping[str, float]  # ξ_t
    chosen: str  # a note if the ridges were chosen from the training rows

    @staticmethod
    def of(views: Sequence[View], ridges: Mapping[str, float], chosen: str) -> "Regressions":
        solvers = {v.modality: RidgeSolver(v.gram, ridges[v.modality] + v.rounding) for v in views}
        return Regressions({v.modality: v for v in views}, solvers, ridges, chosen)

    @property
    def note(self) -> str:
        warnings = warnings_of(solver.factor for solver in self.solvers.values())
        return "; ".join(filter(None, (self.chosen, warnings)))

    def correlate(self, Y: FloatArray) -> dict[str, FloatArray]:
        """Return the products of features and targets, K_tᵀY, for every modality t."""
        return {t: view.correlate(Y) for t, view in self.views.items()}

    def solve(self, KtY: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the regression weights W_t = (K_tᵀK_t + ξ_tI)⁻¹K_tᵀY for every modality t."""
        return {t: solver.solve(KtY[t]) for t, solver in self.solvers.items()}


def signs(Z: FloatArray) -> FloatArray:
    """Return 1 where Z > 0, else −1."""
    return np.where(Z > 0, 1, -1).astype(Z.dtype)
