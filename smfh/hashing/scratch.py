"""SCRATCH, a scalable discrete matrix factorisation (Li, Chen, Zhang, Luo, Nie, Zhang & Xu, ACM MM 2018).

    O = Σ_t { λ_t ‖K_t − V U_tᵀ‖² + μ ‖V − K_tW_t‖² } + α ‖L − V Gᵀ‖² + ‖B − V Rᵀ‖²
        + γ ( ‖V‖² + ‖G‖² + Σ_t ‖U_t‖² + ‖W_t‖² )

over U_t, W_t, G, V, an orthogonal R, and B ∈ {−1, 1}, with equal λ_t that sum to 1. Each in turn is solved
for in closed form, so O never rises. A query's code is the sign of its K_tW_tRᵀ.
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
from smfh.hashing.positive import Factor
from smfh.hashing.products import gram, squared_norm
from smfh.types import FloatArray, parameter


@dataclass(frozen=True)
class SCRATCH(KernelMethod):
    """Features and labels factorised together, turned to where they are nearest to bits."""

    name: ClassVar[str] = "scratch"
    title: ClassVar[str] = "SCRATCH"
    presets: ClassVar[Mapping[str, Preset]] = {"strong": Preset(), "paper": Preset({"square_root": False})}

    label_weight: float = parameter(500.0, "α", 1e-6, 1e6, "Weight of the labels.", "log")
    projection_weight: float = parameter(1000.0, "μ", 1e-6, 1e6, "Weight of the hash functions' fit.", "log")
    ridge: float = parameter(5.0, "γ", 1e-9, 1e6, "Shrinks all factors and hash functions.", "log")
    iterations: int = parameter(20, "T", 1, 1000, ROUNDS, typical=(1, 50), kw_only=True)

    @property
    def shrinkage(self) -> float:
        """γ/μ"""
        return self.ridge / self.projection_weight

    def search(
        self, start: FloatArray, regressions: Regressions, labels: FloatArray, rng: np.random.Generator
    ) -> Search:
        """U, G and W, then V, then R and B; each is the minimum of O while the others stay."""
        share = 1 / len(regressions.views)  # λ
        squared = {t: float(np.trace(view.gram)) for t, view in regressions.views.items()}
        V = start
        R, _ = np.linalg.qr(rng.standard_normal((self.bits, self.bits)).astype(labels.dtype))
        B = signs(V @ R.T)
        KtV, VtV = regressions.correlate(V), gram(V)
        for _ in range(self.iterations):
            U = {t: basis(KtV[t], VtV, self.ridge / share) for t in KtV}
            G = basis(labels.T @ V, VtV, self.ridge / self.label_weight)
            W = regressions.solve(KtV)
            V = self.factor(regressions, labels, U, W, G, B @ R, share)
            R = rotation(B, V)
            B = signs(V @ R.T)
            KtV, VtV = regressions.correlate(V), gram(V)
            misfit = {t: reconstruction_error(squared[t], U[t], KtV[t], VtV) for t in U}
            error = {t: solver.error(W[t], KtV[t], VtV) for t, solver in regressions.solvers.items()}
            terms = {
                **{f"reconstruction ({t})": share * misfit[t] for t in U},
                **{f"projection ({t})": self.projection_weight * error[t] for t in W},
                "labels": self.label_weight * squared_norm(labels - V @ G.T),
                "rotation": squared_norm(B - V @ R.T),
                "ridge": self.ridge * sum(map(squared_norm, (V, G, *U.values(), *W.values()))),
            }
            yield Progress(terms, note=regressions.note)
        turned: FloatArray = V @ R.T
        return turned

    def factor(
        self,
        regressions: Regressions,
        labels: FloatArray,
        U: Mapping[str, FloatArray],
        W: Mapping[str, FloatArray],
        G: FloatArray,
        BR: FloatArray,
        share: float,
    ) -> FloatArray:
        """V = [ Σ_t K_t(λU_t + μW_t) + αLG + BR ] [ λ Σ_t U_tᵀU_t + αGᵀG + (n_tμ + 1 + γ)I ]⁻¹"""
        alpha, mu = self.label_weight, self.projection_weight
        curvature, pull = alpha * gram(G), alpha * (labels @ G) + BR
        for t, view in regressions.views.items():
            curvature += share * gram(U[t])
            pull += view.project(share * U[t] + mu * W[t])
        system = Factor.of(curvature, len(U) * mu + 1 + self.ridge)
        V: FloatArray = system.solve(pull.T).T.astype(labels.dtype)
        return V


def basis(KtV: FloatArray, VtV: FloatArray, shrinkage: float) -> FloatArray:
    """U = KᵀV(VᵀV + εI)⁻¹"""
    U: FloatArray = Factor.of(VtV, shrinkage).solve(KtV.T).T.astype(KtV.dtype)
    return U


def rotation(B: FloatArray, V: FloatArray) -> FloatArray:
    """The orthogonal R that brings VRᵀ nearest to B: PQᵀ of BᵀV = PΣQᵀ."""
    P, _, Qt = svd(B.T @ V)
    R: FloatArray = P @ Qt
    return R
