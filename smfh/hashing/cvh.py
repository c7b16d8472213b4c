"""Cross-View Hashing (Kumar & Udupa, IJCAI 2011) in its form for pairs: canonical correlation analysis.

    max tr(Aᵀ XᵀY B)   with   Aᵀ(XᵀX + εI)A = I   and   Bᵀ(YᵀY + εI)B = I

over the centred views X and Y; a bit says on which side of a direction an item lies. Only q = min(d_x, d_y)
pairs of directions exist. Longer codes are filled with whitened directions that no pair uses, drawn for each
view alone. Those bits say nothing about the other view, which is why the published scores do not grow with
the length. Mixing the q pairs into all bits, each pair weighted by its correlation, does better.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from smfh.hashing.hasher import FittedHasher, check_method
from smfh.hashing.products import blas_threads
from smfh.hashing.views import check_pair, view_modalities
from smfh.hashing.whitening import CanonicalPairs
from smfh.types import FloatArray, MultimodalDataset, OnStep, TrainingStep, parameter


@dataclass(frozen=True)
class CVH:
    """Canonical directions of two views, as bits."""

    name: ClassVar[str] = "cvh"
    title: ClassVar[str] = "CVH"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": MappingProxyType({"mixed": False, "ridge": 1e-6, "anchors": 0}),
            "strong": MappingProxyType({"mixed": True, "ridge": 1.0, "anchors": 500}),
        }
    )

    bits: int = parameter(64, "r", 1, 1024, "Length of the code.")
    mixed: bool = parameter(
        False, "G", False, True, "Every bit mixes all canonical pairs, instead of one pair a bit."
    )
    ridge: float = parameter(1e-6, "ε", 1e-9, 1e6, "Shrinks directions in which a view hardly varies.", "log")
    anchors: int = parameter(
        0, "a", 0, 10_000, "RBF anchors drawn from the training items; 0: linear features."
    )
    seed: int = parameter(0, "seed", 0, 2**32 - 1, "The same seed gives the same codes.")

    def __post_init__(self) -> None:
        check_method(self)

    def fit(self, train: MultimodalDataset, on_step: OnStep | None = None) -> FittedHasher:
        """One singular value decomposition; each modality of `train` is a database of its own codes."""
        check_pair(self, train)
        with blas_threads(len(train)):
            started = perf_counter()
            rng = np.random.default_rng(self.seed)
            views = view_modalities(train, self.anchors, rng)
            pairs = CanonicalPairs.of(views, self.ridge, at_most=self.bits)
            directions = mix_pairs(pairs, self.bits, rng) if self.mixed else fill_up(pairs, self.bits, rng)
            functions = {v.modality: v.hash_function(W) for v, W in zip(views, directions, strict=True)}
            codes = {t: functions[t].encode(train.modalities[t]) for t in functions}
            terms = {"correlation": float(pairs.correlations.sum())}
            trace = [TrainingStep(1, terms, perf_counter() - started, "closed form")]
        if on_step is not None:
            on_step(trace[-1])
        return FittedHasher(self, functions, codes, trace, train.fingerprint)


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
