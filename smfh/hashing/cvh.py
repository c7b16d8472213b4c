"""Cross-View Hashing (Kumar & Udupa, IJCAI 2011) in its form for pairs: canonical correlation analysis.

    max tr(Aᵀ XᵀY B)   with   Aᵀ(XᵀX + εI)A = I   and   Bᵀ(YᵀY + εI)B = I

over the centred views X and Y; a bit says on which side of a direction an item lies. Only q = min(d_x, d_y)
pairs of directions exist. Longer codes are filled with whitened directions that no pair uses, drawn for each
view alone. Those bits say nothing about the other view, which is why the published scores do not grow with
the length. Mixing the q pairs into all bits, each pair weighted by its correlation, does better.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import Learning, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.views import ANCHORS, PairMethod, learnt_directions, view_modalities
from smfh.hashing.whitening import CanonicalPairs
from smfh.types import FloatArray, MultimodalDataset, parameter


@dataclass(frozen=True)
class CVH(PairMethod):
    """Canonical directions of two views, as bits."""

    name: ClassVar[str] = "cvh"
    title: ClassVar[str] = "CVH"
    steps: ClassVar[int] = 1
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"mixed": True, "ridge": 1.0, "anchors": 500}),
    }

    mixed: bool = parameter(
        False, "G", False, True, "Every bit mixes all canonical pairs, instead of one pair a bit."
    )
    ridge: float = parameter(
        1e-6, "ε", 1e-9, 1e6, "Shrinks directions in which a view hardly varies.", "log", typical=(1e-6, 10.0)
    )
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS, typical=(0, 1000))

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """One singular value decomposition; each modality of `train` is a database of its own codes."""
        views = view_modalities(train, self.anchors, rng)
        pairs = CanonicalPairs.of(views, self.ridge, at_most=self.bits)
        directions = mix_pairs(pairs, self.bits, rng) if self.mixed else fill_up(pairs, self.bits, rng)
        learnt = learnt_directions(views, directions, train)
        yield Progress({"correlation": float(pairs.correlations.sum())}, "closed form", pairs.note)
        return learnt


def mix_pairs(pairs: CanonicalPairs, bits: int, rng: np.random.Generator) -> list[FloatArray]:
    """G = diag(ρ) times Gaussian noise, shared by both views: a pair counts as much as it correlates."""
    rho = pairs.correlations
    return pairs.mix(rho[:, None] * rng.standard_normal((len(rho), bits)))


def fill_up(pairs: CanonicalPairs, bits: int, rng: np.random.Generator) -> list[FloatArray]:
    """One pair a bit, then whitened directions at random, for each view alone."""
    return pairs.directions([np.hstack([U, spare_directions(U, bits, rng)]) for U in pairs.bases])


def spare_directions(U: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """Unit vectors for the bits that U leaves, orthogonal to it where it does not span the whole view."""
    dimensions, pairs = U.shape
    spare = rng.standard_normal((dimensions, bits - pairs))
    if pairs < dimensions:
        spare -= U @ (U.T @ spare)
    unit: FloatArray = spare / np.linalg.norm(spare, axis=0)
    return unit
