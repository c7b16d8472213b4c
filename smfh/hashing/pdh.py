"""Predictable Dual-View Hashing (Rastegari, Choi, Fakhraei, Daumé & Davis, ICML 2013).

A bit is good if the other view can predict it. It starts as the sign of a mix of canonical directions. Each
round decorrelates the bits of the second view, trains max-margin classifiers of the first view, one for each
bit, and then classifiers of the second view for what those say:

    min ½‖w‖² + C Σ_i max(0, 1 − b_i x_i·w)²   for every bit b ∈ {−1, 1}ᴺ, without a bias.

On unit rows as they are it comes nearest to the published table, which it does not match in full. Centred
features suit classifiers without a bias better. "strong" was chosen on validation parts of Wiki, Emoji and
made-up sets with signed features, each kind counting the same: with C = 100 Wiki gains (.34 for .31), but
signed features lose more (.49 for .58, and .57 with "paper").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import Learning, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.positive import told
from smfh.hashing.views import ANCHORS, PairMethod, View, learnt_directions, view_modalities
from smfh.hashing.whitening import CanonicalPairs
from smfh.types import EPS, BoolArray, FloatArray, MultimodalDataset, parameter

STEPS = 200  # at the most, for one set of classifiers
TOLERANCE = 1e-3  # share by which answers may still move when training ends
FLAT = 1e-6  # share of the largest variance below which bits count as copies of each other


@dataclass(frozen=True)
class PDH(PairMethod):
    """Bits that max-margin classifiers of either view predict from the other."""

    name: ClassVar[str] = "pdh"
    title: ClassVar[str] = "PDH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"rounds": 2, "margin_weight": 3.0, "centred": True, "ridge": 3.0, "anchors": 500}),
    }

    rounds: int = parameter(3, "T", 1, 1000, "Rounds of prediction, to one view and back.", typical=(1, 10))
    margin_weight: float = parameter(1.0, "C", 1e-6, 1e6, "Weight of items on the wrong side.", "log")
    centred: bool = parameter(False, "m", False, True, "Take the training mean off the features.")
    ridge: float = parameter(
        1e-6, "ε", 1e-9, 1e6, "Shrinks the canonical directions of the start.", "log", typical=(1e-6, 10.0)
    )
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS, typical=(0, 1000))

    @property
    def steps(self) -> int:
        return self.rounds

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """The rounds; each modality of `train` is a database of its own codes."""
        views = view_modalities(train, self.anchors, rng)
        pairs = CanonicalPairs.of(views, self.ridge, at_most=self.bits)
        bits = self.start(pairs, views[1], rng)
        if not self.centred:
            views = [view.uncentred() for view in views]
        first, second = (MaxMargin(view, self.margin_weight) for view in views)
        A, B = first.untrained(self.bits), second.untrained(self.bits)
        note = told((*(w.factor for w in pairs.whitenings), first.factor, second.factor))
        for _ in range(self.rounds):
            A = first.train(decorrelate(bits), A)
            predicted = views[0].project(A) > 0
            B = second.train(predicted, B)
            bits = views[1].project(B) > 0
            yield Progress({"agreement": float(np.mean(predicted == bits))}, "prediction", note)
        return learnt_directions(views, (A, B), train)

    def start(self, pairs: CanonicalPairs, view: View, rng: np.random.Generator) -> BoolArray:
        """Bits of the second view: which side of Gaussian mixes of its canonical directions."""
        _, B = pairs.mix(rng.standard_normal((len(pairs.correlations), self.bits)))
        return view.project(B) > 0


def decorrelate(bits: BoolArray) -> BoolArray:
    """Z(ZᵀZ)^-½ > 0 with Z the centred bits: the uncorrelated bits nearest to these, in their order."""
    B = bits.astype(np.float32)
    B -= B.mean(axis=0)
    variances, E = np.linalg.eigh((B.T @ B).astype(np.float64))
    variances = np.maximum(variances, max(FLAT * variances[-1], EPS))
    uncorrelated: FloatArray = B @ ((E / np.sqrt(variances)) @ E.T).astype(B.dtype)
    return uncorrelated > 0


class MaxMargin:
    """Linear classifiers of one view without a bias, one for each bit, by the squared hinge."""

    def __init__(self, view: View, margin_weight: float) -> None:
        self.view = view
        self.factor = view.factor(1 / (2 * margin_weight))  # of XᵀX + I/2C

    def untrained(self, bits: int) -> FloatArray:
        return np.zeros((len(self.view.mean), bits))

    def train(self, bits: BoolArray, W: FloatArray) -> FloatArray:
        """min ½‖w‖² + C Σ_i max(0, 1 − b_i x_i·w)² for every column of bits at once, beginning at W.

        Nesterov's method on W ← (XᵀX + I/2C)⁻¹XᵀT with T as below: the ridge fit to T bounds the loss and
        touches it where it is, so one factor serves all bits and all steps.
        """
        signs = np.where(bits, 1, -1).astype(self.view.features.dtype)
        ahead, speed = W, np.ones(W.shape[1])
        for _ in range(STEPS):
            targets = hinge_targets(self.view.project(ahead), signs)
            updated = self.factor.solve(self.view.correlate(targets))
            step = updated - W
            uphill = np.sum((ahead - updated) * step, axis=0) > 0
            speed[uphill] = 1.0  # momentum that leads the wrong way starts anew
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            ahead, W, speed = updated + (speed - 1) / faster * step, updated, faster
            if np.all(self.lengths(step) <= TOLERANCE * self.lengths(W)):
                break
        return W

    def lengths(self, W: FloatArray) -> FloatArray:
        """‖X_c w‖ of every column: what counts is how far a classifier's answers move, not its numbers."""
        squares = np.einsum("ij,ij->j", W, self.view.gram @ W)
        lengths: FloatArray = np.sqrt(np.maximum(squares, 0))
        return lengths


def hinge_targets(F: FloatArray, signs: FloatArray) -> FloatArray:
    """T = F + M∘max(0, 1 − M∘F): where a margin is missed its edge, elsewhere F itself."""
    shortfall = 1 - signs * F
    np.maximum(shortfall, 0, out=shortfall)
    shortfall *= signs
    return F + shortfall
