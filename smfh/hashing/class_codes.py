"""Class codes: a baseline that learns hash functions only, not codes.

Each class has one balanced code that is far from the others, drawn at random; each hash function is a kernel
ridge regression on the codes of the items' classes. If a method is not clearly better than this baseline, its
codes are not worth the cost of learning them. If an item has several classes, each of its bits is that of
most of these classes; ties are broken at random, in the same way for items with the same classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import StepReport
from smfh.hashing.blocks import squared_norm
from smfh.hashing.configuration import ANCHORS_HELP, CHOSEN_RIDGE_HELP, WIDTH_HELP, Preset
from smfh.hashing.kernelised import SAME_FEATURES, KernelMethod, Regressions, Search, signs
from smfh.hashing.labels import class_codes
from smfh.types import FloatArray, parameter

TIE_SHARE = 1e-3  # the weights of votes differ by up to this share, which breaks ties


@dataclass(frozen=True)
class ClassCodes(KernelMethod):
    """One balanced code for each class, predicted by kernel ridge regression."""

    name: ClassVar[str] = "class-codes"
    title: ClassVar[str] = "Class codes"
    steps: ClassVar[int] = 1
    presets: ClassVar[Mapping[str, Preset]] = {SAME_FEATURES: Preset()}

    anchors: int = parameter(1600, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 2000))
    ridge: float = parameter(0.0, "ξ", 0.0, 1e6, CHOSEN_RIDGE_HELP, "log", typical=(1e-3, 10.0), kw_only=True)
    width: float = parameter(0.0, "σ", 0.0, 100.0, WIDTH_HELP, typical=(0.0, 2.0), kw_only=True)

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Return the signs of each item's summed class codes; random signs for items without a class."""
        codes = 2 * class_codes(labels.sum(axis=0), self.bits, rng) - 1
        votes = labels @ (codes * (1 + TIE_SHARE * rng.random(codes.shape)))
        B = signs(np.where(votes == 0, start, votes).astype(labels.dtype))
        W = regressions.solve(regressions.correlate(B))
        misfit = {t: squared_norm(B - B.mean(axis=0) - view.project(W[t])) for t, view in regressions.views.items()}
        yield StepReport({f"projection ({t})": error for t, error in misfit.items()}, note=regressions.note)
        return B
