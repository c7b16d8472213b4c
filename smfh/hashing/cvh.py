"""Cross-View Hashing (Kumar & Udupa, IJCAI 2011) for two views: canonical correlation analysis.

    max tr(Aᵀ XᵀY B)   with   Aᵀ(XᵀX + εI)A = I   and   Bᵀ(YᵀY + εI)B = I

over the centred views X and Y, with d_x and d_y dimensions and a small ridge ε; a bit is the sign of a
projection on a column of A or B. There are only q = min(d_x, d_y) pairs of directions. The other bits of longer
codes use random whitened directions, drawn for each view separately. These bits say nothing about the other
view, so the published scores do not improve with longer codes. Mixing the q pairs into all bits, weighted by
their correlations, works better.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import StepReport, Trace, Training
from smfh.hashing.configuration import ANCHORS_HELP, DIRECTION_HELP, Preset
from smfh.hashing.solvers import warnings_of
from smfh.hashing.views import CanonicalPairs, PairMethod, directional_model, view_modalities
from smfh.types import FloatArray, MultimodalDataset, parameter


@dataclass(frozen=True)
class CVH(PairMethod):
    """Codes whose bits are signs of projections on the canonical directions of two views."""

    name: ClassVar[str] = "cvh"
    title: ClassVar[str] = "CVH"
    steps: ClassVar[int] = 1
    uses_labels: ClassVar[bool] = False
    best: ClassVar[str] = "strong"
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"mixed": True, "ridge": 1.0, "anchors": 500}),
    }

    mixed: bool = parameter(
        False, "G", False, True, "Whether every bit mixes all canonical directions. Off: one direction per bit."
    )
    ridge: float = parameter(1e-6, "ε", 1e-9, 1e6, DIRECTION_HELP, "log", typical=(1e-6, 10.0))
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 1000))

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Find all directions by one singular value decomposition; each modality has its own codes."""
        views = view_modalities(train, self.anchors, rng)
        pairs = CanonicalPairs.of(views, self.ridge, at_most=self.bits)
        rho = pairs.correlations
        if self.mixed:  # Gaussian mixtures, shared by both views, with pairs weighted by their correlation
            directions = pairs.mix(rho[:, None] * rng.standard_normal((len(rho), self.bits)))
        else:  # one pair per bit, then random whitened directions for each view separately
            spare = [np.hstack([U, spare_directions(U, self.bits, rng)]) for U in pairs.bases]
            directions = pairs.directions(spare)
        model = directional_model(views, directions, train)
        yield StepReport({"correlation": float(rho.sum())}, "closed form", warnings_of(pairs.factors))
        return model


def spare_directions(U: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """Return random unit vectors for the bits beyond the columns of U, orthogonal to U unless U spans the view."""
    dimensions, pairs = U.shape
    spare = rng.standard_normal((dimensions, bits - pairs))
    if pairs < dimensions:
        spare -= U @ (U.T @ spare)
    return np.asarray(spare / np.linalg.norm(spare, axis=0))
