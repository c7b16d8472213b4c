"""Discrete Cross-modal Hashing (Xu, Shen, Yang, Shen & Li, IEEE TIP 2017).

    min ‖L − B G‖² + λ ‖G‖²   over G (bits, classes) and B ∈ {−1, 1}

A linear classifier G, shrunk by λ, should predict the labels L from the codes B. G is solved for in closed
form, B bit by bit, so the objective never rises. The hash functions are ridge regressions on B. As in the
authors' program, the fit of the hash functions has weight 0, so they do not influence B. Unlike in that
program, the B step is not relaxed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import StepReport
from smfh.hashing.blocks import gram, squared_norm
from smfh.hashing.configuration import Preset
from smfh.hashing.kernelised import SAME_FEATURES, SAME_VALUES, AlternatingMethod, Regressions, Search, signs
from smfh.hashing.solvers import Factor
from smfh.types import FloatArray, parameter

CLASSIFIER_HELP = (
    "How strongly the classifier is shrunk to 0. Higher: simpler and more stable. Lower: closer fit to the labels."
)
MAX_SWEEPS = 5  # maximum number of passes over all bits in a round


@dataclass(frozen=True)
class DCH(AlternatingMethod):
    """Codes from which a linear classifier predicts the labels."""

    name: ClassVar[str] = "dch"
    title: ClassVar[str] = "DCH"
    presets: ClassVar[Mapping[str, Preset]] = {
        SAME_FEATURES: Preset(SAME_VALUES),
        "strong": Preset(),
        "paper": Preset({"anchors": 0, "square_root": False}),
    }

    classifier_ridge: float = parameter(1.0, "λ", 1e-9, 1e6, CLASSIFIER_HELP, "log")

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Update the classifier G and the codes B in turn; return B."""
        B = signs(start)
        for _ in range(self.iterations):
            G = self.classifier(B, labels)
            B = choose_bits(B, G, labels)
            terms = {"classification": squared_norm(labels - B @ G), "ridge": self.classifier_ridge * squared_norm(G)}
            yield StepReport(terms, note=regressions.note)
        return B

    def classifier(self, B: FloatArray, labels: FloatArray) -> FloatArray:
        """Return the classifier G = (BᵀB + λI)⁻¹BᵀL."""
        return np.asarray(Factor.of(gram(B), self.classifier_ridge).solve(B.T @ labels).astype(B.dtype))


def choose_bits(B: FloatArray, G: FloatArray, labels: FloatArray) -> FloatArray:
    """Set B_k = sgn( (L Gᵀ)_k − Σ_{j≠k} B_j (G_j·G_k) ) for each bit k in turn until no bit changes."""
    B, pull, overlap = B.copy(), labels @ G.T, G @ G.T
    np.fill_diagonal(overlap, 0)
    for _ in range(MAX_SWEEPS):
        before = B.copy()
        for k in range(B.shape[1]):
            B[:, k] = signs(pull[:, k] - B @ overlap[:, k])
        if np.array_equal(B, before):
            break
    return B
