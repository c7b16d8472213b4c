"""What DCH, SCRATCH and BATCH share: kernel features K_t of any number of modalities, one code for an item.

Items are rows: K_t (items, dimensions) is centred, L (items, classes) are the labels, and B (items, bits) the
codes in {−1, 1}. Whatever such a method learns, a query is asked with a ridge regression on B, or on what B
is the sign of. The features are square roots on unit rows seen from 500 RBF anchors, unless the preset
"paper" asks for those of the publication.
"""

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.features.maps import FeatureMap, finite_norms
from smfh.hamming import pack
from smfh.hashing.base import HashMethod, Learning, Learnt, Progress, Trace
from smfh.hashing.factorisation import RidgeSolver
from smfh.hashing.function import shared_codes
from smfh.hashing.positive import told
from smfh.hashing.views import ANCHORS, View, view_modalities
from smfh.types import FloatArray, MultimodalDataset, parameter

ROOT = "Square root of the features, unit rows; else the features as they are."
ROUNDS = "Rounds in which each unknown is solved for once."
SQUARE_ROOT = FeatureMap(power=0.5, unit_rows=True)

Search = Generator[Progress, None, FloatArray]


@dataclass(frozen=True)
class KernelMethod(HashMethod):
    """A method that learns one code for an item from the kernel features of all its modalities."""

    anchors: int = parameter(500, "a", 0, 10_000, ANCHORS, typical=(0, 1000))
    square_root: bool = parameter(True, "√", False, True, ROOT)
    iterations: int = parameter(5, "T", 1, 1000, ROUNDS, typical=(1, 50), kw_only=True)

    @property
    def steps(self) -> int:
        return self.iterations

    @property
    @abstractmethod
    def shrinkage(self) -> float:
        """ξ of the ridge regressions."""

    @abstractmethod
    def search(
        self, start: FloatArray, regressions: "Regressions", labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """From Gaussian noise to what the codes are the signs of, both (items, bits), a progress a round."""

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        start = rng.standard_normal((len(train), self.bits)).astype(train.dtype)
        scaling = SQUARE_ROOT if self.square_root else FeatureMap()
        for x in train.modalities.values():
            finite_norms(scaling.scale(x), x)
        views = view_modalities(train, self.anchors, rng, scaling)
        regressions = Regressions.of(views, self.shrinkage)
        targets = yield from self.search(start, regressions, train.labels.astype(train.dtype), rng)
        W = regressions.solve(regressions.correlate(targets))
        functions = {t: view.hash_function(W[t]) for t, view in regressions.views.items()}
        return Learnt(functions, shared_codes(tuple(functions), pack(targets > 0)))


@dataclass(frozen=True, eq=False)
class Regressions:
    """K_t of every modality, and its regression W_t = (K_tᵀK_t + ξI)⁻¹K_tᵀY on any Y."""

    views: Mapping[str, View]
    solvers: Mapping[str, RidgeSolver]

    @staticmethod
    def of(views: Sequence[View], shrinkage: float) -> "Regressions":
        solvers = {v.modality: RidgeSolver(v.gram, shrinkage + v.rounding) for v in views}
        return Regressions({v.modality: v for v in views}, solvers)

    @property
    def note(self) -> str:
        return told(solver.factor for solver in self.solvers.values())

    def correlate(self, Y: FloatArray) -> dict[str, FloatArray]:
        """K_tᵀY"""
        return {t: view.correlate(Y) for t, view in self.views.items()}

    def solve(self, KtY: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """W_t"""
        return {t: solver.solve(KtY[t]) for t, solver in self.solvers.items()}


def signs(Z: FloatArray) -> FloatArray:
    """sgn Z, with −1 for 0"""
    return np.where(Z > 0, 1, -1).astype(Z.dtype)
