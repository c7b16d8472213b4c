"""BATCH, scalable asymmetric discrete hashing (Wang, Luo, Nie, Song, Zhang & Xu, IEEE TKDE 2020).

    O = ‖r G Gᵀ − B Vᵀ‖² + ω ‖B − V‖² + Σ_s η_s { ‖Z_s − V U_sᵀ‖² + ε ‖U_s‖² }

over U_s, B ∈ {−1, 1}, and V with VᵀV = N I and 1ᵀV = 0. The sources Z_s are the features K_t of every
modality and the labels L; G are the labels as unit rows. Codes meet balanced, uncorrelated numbers V rather
than themselves in the similarity of labels, which keeps every step in closed form: O never rises. The hash
functions are ridge regressions on B.

The public program draws 500 anchors of pictures and 1,000 of texts; the preset "paper" 1,000 of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import svd

from smfh.hashing.base import Progress
from smfh.hashing.configuration import Preset
from smfh.hashing.factorisation import reconstruction_error
from smfh.hashing.kernelised import ROUNDS, KernelMethod, Regressions, Search, signs
from smfh.hashing.products import gram, inner, squared_norm
from smfh.types import FloatArray, parameter

LABELS = "labels"  # a source beside the modalities
SHRINKAGE = 1e-3  # ε
FLAT = 1e-12  # share of the largest singular value below which a direction is missing


@dataclass(frozen=True)
class BATCH(KernelMethod):
    """Codes whose products with uncorrelated numbers reproduce the similarity of labels."""

    name: ClassVar[str] = "batch"
    title: ClassVar[str] = "BATCH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "strong": Preset(),
        "paper": Preset({"anchors": 1000, "square_root": False}),
    }

    feature_weight: float = parameter(0.05, "η", 0.0, 1e6, "Weight of each modality's features.", "log")
    label_weight: float = parameter(0.9, "η₀", 0.0, 1e6, "Weight of the labels.", "log")
    agreement_weight: float = parameter(0.01, "ω", 0.0, 1e6, "Pulls codes and their numbers together.", "log")
    ridge: float = parameter(0.01, "ξ", 1e-9, 1e6, "Shrinks the hash functions.", "log")
    iterations: int = parameter(6, "T", 1, 1000, ROUNDS, typical=(1, 50), kw_only=True)

    @property
    def shrinkage(self) -> float:
        return self.ridge

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """U, then V, then B; each is the minimum of O while the others stay."""
        views, eta, omega = regressions.views, self.feature_weight, self.agreement_weight
        L = labels.astype(np.float64)  # the similarity of labels outweighs the rest beyond single precision
        G = np.sqrt(self.bits) * L / np.maximum(np.linalg.norm(L, axis=1, keepdims=True), 1)  # √r G
        squared = {t: float(np.trace(view.gram)) for t, view in views.items()} | {LABELS: squared_norm(L)}
        weights = dict.fromkeys(views, eta) | {LABELS: self.label_weight}
        V = balance(start.astype(np.float64), rng)
        B = signs(V)
        ZtV = regressions.correlate(V) | {LABELS: L.T @ V}
        for _ in range(self.iterations):
            U = {s: ZtV[s] / (len(L) + SHRINKAGE) for s in ZtV}  # ZᵀV(VᵀV + εI)⁻¹
            features = sum(view.project(U[t]) for t, view in views.items())
            V = balance(G @ (G.T @ B) + omega * B + eta * features + self.label_weight * (L @ U[LABELS]), rng)
            B = signs(G @ (G.T @ V) + omega * V)
            ZtV, VtV = regressions.correlate(V) | {LABELS: L.T @ V}, gram(V)
            error = {s: reconstruction_error(squared[s], U[s], ZtV[s], VtV) for s in U}
            terms = {
                "similarity": squared_norm(G.T @ G) - 2 * inner(G.T @ B, G.T @ V) + inner(gram(B), VtV),
                "agreement": omega * squared_norm(B - V),
                **{f"reconstruction ({s})": weights[s] * error[s] for s in U},
                "ridge": SHRINKAGE * sum(weights[s] * squared_norm(U[s]) for s in U),
            }
            yield Progress(terms, note=regressions.note)
        return B


def balance(S: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The V with VᵀV = N I and 1ᵀV = 0 that is nearest to S: √N PQᵀ of the centred S = PΣQᵀ.

    Directions that S lacks are drawn at random, as far as there are any: N items have N − 1.
    """
    items, bits = S.shape
    P, sigma, Qt = svd(S - S.mean(axis=0), full_matrices=False, check_finite=False)
    there = int(np.sum(sigma > FLAT * sigma[0]))
    missing = min(bits, items - 1) - there
    if missing > 0:
        known = np.hstack([np.ones((items, 1)), P[:, :there]])
        Q, _ = np.linalg.qr(np.hstack([known, rng.standard_normal((items, missing))]))
        P = np.hstack([P[:, :there], Q[:, there + 1 :]])
    rank = P.shape[1]
    V: FloatArray = np.sqrt(items) * (P @ Qt[:rank])
    return V
