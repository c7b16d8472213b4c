"""BATCH, scalable asymmetric discrete hashing (Wang, Luo, Nie, Song, Zhang & Xu, IEEE TKDE 2020).

    O = ‖r G Gᵀ − B Vᵀ‖² + ω ‖B − V‖² + Σ_s η_s { ‖Z_s − V U_sᵀ‖² + ε ‖U_s‖² }

is minimised over U_s, B ∈ {−1, 1}, and V with VᵀV = N I and 1ᵀV = 0. The sources Z_s are the features K_t of
every modality and the labels L; r is the number of bits; the rows of G are the labels, scaled to length 1; ω,
η_s and ε are weights. The product of the codes B and the balanced, uncorrelated real numbers V approximates the
label similarity r G Gᵀ. Every step has a closed form, so O never rises. The hash functions are ridge
regressions on B.

The authors' program uses 500 anchors for images and 1,000 for texts; the preset "paper" uses 1,000 for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import svd

from smfh.hashing.base import StepReport
from smfh.hashing.blocks import gram, inner, reconstruction_error, squared_norm
from smfh.hashing.configuration import LABEL_HELP, Preset
from smfh.hashing.kernelised import (
    ROUNDS_HELP,
    SAME_FEATURES,
    SAME_VALUES,
    AlternatingMethod,
    Regressions,
    Search,
    signs,
)
from smfh.types import EPS, FloatArray, parameter

LABELS = "labels"  # name of the source Z_s that contains the labels
FEATURE_HELP = "How strongly codes follow the features. Higher: features count more. Lower: labels count more."
AGREEMENT_HELP = (
    "How close the codes must be to their real-valued counterparts. Higher: closer together. Lower: each "
    "fits the labels better on its own."
)
SHRINKAGE = 1e-3  # ε
MIN_SINGULAR_SHARE = 1e-12  # of the largest singular value; smaller ones count as 0


@dataclass(frozen=True)
class BATCH(AlternatingMethod):
    """Binary codes B and real numbers V whose product B Vᵀ approximates the label similarity."""

    name: ClassVar[str] = "batch"
    title: ClassVar[str] = "BATCH"
    presets: ClassVar[Mapping[str, Preset]] = {
        SAME_FEATURES: Preset(SAME_VALUES),
        "strong": Preset(),
        "paper": Preset({"anchors": 1000, "square_root": False}),
    }

    feature_weight: float = parameter(0.05, "η", 0.0, 1e6, FEATURE_HELP, "log")
    label_weight: float = parameter(0.9, "η₀", 0.0, 1e6, LABEL_HELP, "log")
    agreement_weight: float = parameter(0.01, "ω", 0.0, 1e6, AGREEMENT_HELP, "log")
    iterations: int = parameter(6, "T", 1, 1000, ROUNDS_HELP, typical=(1, 50), kw_only=True)

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Update U, then V, then B; each update minimises O with the other two fixed. Return B."""
        views, eta, omega = regressions.views, self.feature_weight, self.agreement_weight
        L = labels.astype(np.float64)  # single precision is too coarse: the label similarity dominates
        G = np.sqrt(self.bits) * L / np.maximum(np.linalg.norm(L, axis=1, keepdims=True), EPS)  # √r G
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
            yield StepReport(terms, note=regressions.note)
        return B


def balance(S: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the V nearest to S with VᵀV = N I and 1ᵀV = 0: √N PQᵀ, where the centred S is PΣQᵀ.

    If S has too low a rank, random directions are added; the rank is at most N − 1.
    """
    items, bits = S.shape
    P, sigma, Qt = svd(S - S.mean(axis=0), full_matrices=False, check_finite=False)
    there, rank = int(np.sum(sigma > MIN_SINGULAR_SHARE * sigma[0])), min(bits, items - 1)
    if there < rank:
        drawn = rng.standard_normal((items, rank - there))
        Q, _ = np.linalg.qr(np.hstack([np.ones((items, 1)), P[:, :there], drawn]))
        P[:, there:rank] = Q[:, there + 1 :]
    return np.asarray(np.sqrt(items) * (P[:, :rank] @ Qt[:rank]))
