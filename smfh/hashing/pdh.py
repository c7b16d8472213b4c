"""Predictable Dual-View Hashing (Rastegari, Choi, Fakhraei, Daumé & Davis, ICML 2013).

Each bit should be predictable from the other view. The initial bits are signs of projections on mixtures of
canonical directions. Each round decorrelates the bits of the second view, trains max-margin classifiers on
the first view to predict them, and then classifiers on the second view to reproduce these predictions:

    min ½‖w‖² + C Σ_i max(0, 1 − b_i x_i·w)²   for every bit b ∈ {−1, 1}ᴺ, without a bias,

where x_i are the features of item i in the view that the classifier w uses, and C weighs misclassified items.

Uncentred unit rows come nearest to the published table, which was not reproduced fully. Classifiers without a
bias work better on centred features. The preset "strong" was chosen on validation folds of Wiki, Emoji and
synthetic sets with signed features: C = 100 helps Wiki (.34 instead of .31) but hurts signed features more
(.49 instead of .58; .57 with "paper").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import StepReport, Trace, Training
from smfh.hashing.configuration import ANCHORS_HELP, DIRECTION_HELP, Preset
from smfh.hashing.solvers import warnings_of
from smfh.hashing.views import CanonicalPairs, PairMethod, View, directional_model, view_modalities
from smfh.types import EPS, BoolArray, FloatArray, MultimodalDataset, parameter

MAX_STEPS = 200  # limit for training the classifiers of one view
TOLERANCE = 1e-3  # relative change of the predictions at which training ends
MIN_VARIANCE_SHARE = 1e-6  # of the largest variance; smaller variances are raised to it


@dataclass(frozen=True)
class PDH(PairMethod):
    """Codes whose bits in one view can be predicted by linear classifiers on the other view."""

    name: ClassVar[str] = "pdh"
    title: ClassVar[str] = "PDH"
    uses_labels: ClassVar[bool] = False
    best: ClassVar[str] = "strong"
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"rounds": 2, "margin_weight": 3.0, "centred": True, "ridge": 3.0, "anchors": 500}),
    }

    rounds: int = parameter(
        3,
        "T",
        1,
        1000,
        "Number of training rounds. Each round predicts the codes of either modality from the other. "
        "Higher: better agreement, slower. Lower: faster.",
        typical=(1, 10),
    )
    margin_weight: float = parameter(
        1.0,
        "C",
        1e-6,
        1e6,
        "Weight of misclassified items. Higher: fewer training errors. Lower: wider margins.",
        "log",
    )
    centred: bool = parameter(False, "m", False, True, "Whether to subtract the training mean from the features.")
    ridge: float = parameter(1e-6, "ε", 1e-9, 1e6, DIRECTION_HELP, "log", typical=(1e-6, 10.0))
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 1000))

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Train classifiers on the two views in turn; each modality has its own database codes."""
        views = view_modalities(train, self.anchors, rng)
        pairs = CanonicalPairs.of(views, self.ridge, at_most=self.bits)
        bits = self.start(pairs, views[1], rng)
        if not self.centred:
            views = [view.uncentred() for view in views]
        first, second = (MaxMargin(view, self.margin_weight) for view in views)
        A, B = first.untrained(self.bits), second.untrained(self.bits)
        note = warnings_of((*pairs.factors, first.factor, second.factor))
        for _ in range(self.rounds):
            A = first.train(decorrelate(bits), A)
            predicted = views[0].project(A) > 0
            B = second.train(predicted, B)
            bits = views[1].project(B) > 0
            yield StepReport({"agreement": float(np.mean(predicted == bits))}, "prediction", note)
        return directional_model(views, (A, B), train)

    def start(self, pairs: CanonicalPairs, view: View, rng: np.random.Generator) -> BoolArray:
        """Return initial bits of the second view: signs of random mixtures of canonical projections."""
        _, B = pairs.mix(rng.standard_normal((len(pairs.correlations), self.bits)))
        return view.project(B) > 0


def decorrelate(bits: BoolArray) -> BoolArray:
    """Return nearly uncorrelated bits close to the given ones: Z(ZᵀZ)^-½ > 0 for the centred bits Z."""
    B = bits.astype(np.float32)
    B -= B.mean(axis=0)
    variances, E = np.linalg.eigh((B.T @ B).astype(np.float64))
    variances = np.maximum(variances, max(MIN_VARIANCE_SHARE * variances[-1], EPS))
    uncorrelated: FloatArray = B @ ((E / np.sqrt(variances)) @ E.T).astype(B.dtype)
    return uncorrelated > 0


class MaxMargin:
    """Linear classifiers on one view with the squared hinge loss and without a bias, one per bit."""

    def __init__(self, view: View, margin_weight: float) -> None:
        self.view = view
        self.factor = view.factor(1 / (2 * margin_weight))  # of XᵀX + I/2C

    def untrained(self, bits: int) -> FloatArray:
        return np.zeros((len(self.view.mean), bits))

    def train(self, bits: BoolArray, W: FloatArray) -> FloatArray:
        """Return the w that minimise ½‖w‖² + C Σ_i max(0, 1 − b_i x_i·w)² for all bits, starting from W.

        Each step is W ← (XᵀX + I/2C)⁻¹XᵀT with T from `hinge_targets`, accelerated by Nesterov's method. The
        step minimises an upper bound of the loss. All bits and steps use the same Cholesky factor.
        """
        signs = np.where(bits, 1, -1).astype(self.view.features.dtype)
        ahead, speed = W, np.ones(W.shape[1])
        for _ in range(MAX_STEPS):
            targets = hinge_targets(self.view.project(ahead), signs)
            updated = self.factor.solve(self.view.correlate(targets))
            step = updated - W
            uphill = np.sum((ahead - updated) * step, axis=0) > 0
            speed[uphill] = 1.0  # reset momentum that points uphill
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            ahead, W, speed = updated + (speed - 1) / faster * step, updated, faster
            if np.all(self.lengths(step) <= TOLERANCE * self.lengths(W)):
                break
        return W

    def lengths(self, W: FloatArray) -> FloatArray:
        """Return ‖X_c w‖ for every column w of W: the size of each classifier's predictions."""
        squares = np.einsum("ij,ij->j", W, self.view.gram @ W)
        return np.asarray(np.sqrt(np.maximum(squares, 0)))


def hinge_targets(F: FloatArray, signs: FloatArray) -> FloatArray:
    """Return T = F + M∘max(0, 1 − M∘F) for signs M: M where the margin M∘F is below 1, else F."""
    shortfall = 1 - signs * F
    np.maximum(shortfall, 0, out=shortfall)
    shortfall *= signs
    return F + shortfall
