"""SCRATCH, scalable discrete matrix factorisation (Li, Chen, Zhang, Luo, Nie, Zhang & Xu, MM 2018).

    O = Σ_t { λ_t ‖K_t − V U_tᵀ‖² + μ ‖V − K_tW_t‖² + μ ξ_t ‖W_t‖² } + α ‖L − V Gᵀ‖² + ‖B − V Rᵀ‖²
        + γ ( ‖V‖² + ‖G‖² + Σ_t ‖U_t‖² )

is minimised over U_t, W_t, G, V, an orthogonal R, and B ∈ {−1, 1}. K_t are the features of modality t, L the
labels; λ_t, μ, α and γ are weights, of which the λ_t are equal and sum to 1; ξ_t are ridges. Each unknown is
solved for in closed form, so O never rises. A query's code is the sign of K_tW_tRᵀ. As published, ξ_t = γ/μ. If
γ is 0, the ξ_t are chosen from the training rows, and γ is μ times their mean; this needs more rounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import svd

from smfh.hashing.base import StepReport
from smfh.hashing.blocks import gram, reconstruction_error, squared_norm
from smfh.hashing.configuration import CHOSEN_RIDGE_HELP, LABEL_HELP, PREDICTION_HELP, Preset
from smfh.hashing.kernelised import (
    ROUNDS_HELP,
    SAME_FEATURES,
    SAME_VALUES,
    AlternatingMethod,
    Regressions,
    Search,
    signs,
)
from smfh.hashing.solvers import Factor
from smfh.types import FloatArray, parameter


@dataclass(frozen=True)
class SCRATCH(AlternatingMethod):
    """A joint factorisation of features and labels, rotated so that the factor is close to binary."""

    name: ClassVar[str] = "scratch"
    title: ClassVar[str] = "SCRATCH"
    presets: ClassVar[Mapping[str, Preset]] = {
        SAME_FEATURES: Preset({**SAME_VALUES, "iterations": 60}),
        "strong": Preset(),
        "paper": Preset({"square_root": False}),
    }

    label_weight: float = parameter(500.0, "α", 1e-6, 1e6, LABEL_HELP, "log")
    projection_weight: float = parameter(1000.0, "μ", 1e-6, 1e6, PREDICTION_HELP, "log")
    ridge: float = parameter(5.0, "γ", 0.0, 1e6, CHOSEN_RIDGE_HELP, "log")
    iterations: int = parameter(20, "T", 1, 1000, ROUNDS_HELP, typical=(1, 50), kw_only=True)

    @property
    def shrinkage(self) -> float:
        """The ridge of the hash functions, γ/μ."""
        return self.ridge / self.projection_weight

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """Update U, G, W, V, R and B in turn, each with the others fixed; return V Rᵀ."""
        share, mu = 1 / len(regressions.views), self.projection_weight  # λ, μ
        gamma = self.ridge or mu * float(np.mean(list(regressions.ridges.values())))
        squared = {t: float(np.trace(view.gram)) for t, view in regressions.views.items()}
        V = start
        R, _ = np.linalg.qr(rng.standard_normal((self.bits, self.bits)).astype(labels.dtype))
        B = signs(V @ R.T)
        KtV, VtV = regressions.correlate(V), gram(V)
        for _ in range(self.iterations):
            U = {t: basis(KtV[t], VtV, gamma / share) for t in KtV}
            G = basis(labels.T @ V, VtV, gamma / self.label_weight)
            W = regressions.solve(KtV)
            V = self.factor(regressions, labels, U, W, G, B @ R, share, gamma)
            R = rotation(B, V)
            B = signs(V @ R.T)
            KtV, VtV = regressions.correlate(V), gram(V)
            misfit = {t: reconstruction_error(squared[t], U[t], KtV[t], VtV) for t in U}
            error = {t: solver.error(W[t], KtV[t], VtV) for t, solver in regressions.solvers.items()}
            shrunk = sum(regressions.ridges[t] * squared_norm(W[t]) for t in W)
            terms = {
                **{f"reconstruction ({t})": share * misfit[t] for t in U},
                **{f"projection ({t})": mu * error[t] for t in W},
                "labels": self.label_weight * squared_norm(labels - V @ G.T),
                "rotation": squared_norm(B - V @ R.T),
                "ridge": gamma * sum(map(squared_norm, (V, G, *U.values()))) + mu * shrunk,
            }
            yield StepReport(terms, note=regressions.note)
        return np.asarray(V @ R.T)

    def factor(
        self,
        regressions: Regressions,
        labels: FloatArray,
        U: Mapping[str, FloatArray],
        W: Mapping[str, FloatArray],
        G: FloatArray,
        BR: FloatArray,
        share: float,
        gamma: float,
    ) -> FloatArray:
        """Return the factor V = [Σ_t K_t(λU_t + μW_t) + αLG + BR] [λ Σ_t U_tᵀU_t + αGᵀG + (n_tμ + 1 + γ)I]⁻¹."""
        alpha, mu = self.label_weight, self.projection_weight
        curvature, pull = alpha * gram(G), alpha * (labels @ G) + BR
        for t, view in regressions.views.items():
            curvature += share * gram(U[t])
            pull += view.project(share * U[t] + mu * W[t])
        system = Factor.of(curvature, len(U) * mu + 1 + gamma)
        return np.asarray(system.solve(pull.T).T.astype(labels.dtype))


def basis(KtV: FloatArray, VtV: FloatArray, shrinkage: float) -> FloatArray:
    """Return the basis U = KᵀV(VᵀV + εI)⁻¹, where ε is `shrinkage`."""
    return np.asarray(Factor.of(VtV, shrinkage).solve(KtV.T).T.astype(KtV.dtype))


def rotation(B: FloatArray, V: FloatArray) -> FloatArray:
    """Return the rotation R that minimises ‖B − VRᵀ‖: R = PQᵀ, where BᵀV = PΣQᵀ."""
    P, _, Qt = svd(B.T @ V)
    return np.asarray(P @ Qt)
