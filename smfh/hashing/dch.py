"""Discrete Cross-modal Hashing (Xu, Shen, Yang, Shen & Li, IEEE Transactions on Image Processing 2017).

    min ‖L − B G‖² + λ ‖G‖²   over G (bits, classes) and B ∈ {−1, 1}

Codes are good if a linear classifier reads the labels from them. G is solved for in closed form, B bit by
bit, each the best while the others stay: O never rises. The hash functions are ridge regressions on B. The
weight of their fit, by which they might bend B, is 0 in the public program, and so it is here. That program
also relaxes the discrete step which gives the method its name; here the step is as published.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import Progress
from smfh.hashing.configuration import Preset
from smfh.hashing.kernelised import KernelMethod, Regressions, Search, signs
from smfh.hashing.positive import Factor
from smfh.hashing.products import gram, squared_norm
from smfh.types import FloatArray, parameter

SWEEPS = 5  # over the bits in a round, unless none changes any more


@dataclass(frozen=True)
class DCH(KernelMethod):
    """Codes from which a linear classifier reads the labels."""

    name: ClassVar[str] = "dch"
    title: ClassVar[str] = "DCH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "strong": Preset(),
        "paper": Preset({"anchors": 0, "square_root": False}),
    }

    classifier_ridge: float = parameter(1.0, "λ", 1e-9, 1e6, "Shrinks the classifier.", "log")
    ridge: float = parameter(0.01, "ξ", 1e-9, 1e6, "Shrinks the hash functions.", "log")

    @property
    def shrinkage(self) -> float:
        return self.ridge

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Classifier, then codes, in turn."""
        B = signs(start)
        for _ in range(self.iterations):
            G = self.classifier(B, labels)
            B = choose_bits(B, G, labels)
            terms = {
                "classification": squared_norm(labels - B @ G),
                "ridge": self.classifier_ridge * squared_norm(G),
            }
            yield Progress(terms, note=regressions.note)
        return B

    def classifier(self, B: FloatArray, labels: FloatArray) -> FloatArray:
        """G = (BᵀB + λI)⁻¹BᵀL"""
        G: FloatArray = Factor.of(gram(B), self.classifier_ridge).solve(B.T @ labels).astype(B.dtype)
        return G


def choose_bits(B: FloatArray, G: FloatArray, labels: FloatArray) -> FloatArray:
    """B_k = sgn( (L Gᵀ)_k − Σ_{j≠k} B_j (G_j·G_k) ) for every bit k in turn, until none changes."""
    B, pull, overlap = B.copy(), labels @ G.T, G @ G.T
    np.fill_diagonal(overlap, 0)
    for _ in range(SWEEPS):
        before = B.copy()
        for k in range(B.shape[1]):
            B[:, k] = signs(pull[:, k] - B @ overlap[:, k])
        if np.array_equal(B, before):
            break
    return B
