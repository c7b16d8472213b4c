"""Collective Matrix Factorization Hashing (Ding, Guo & Zhou, CVPR 2014).

    O = Σ_t λ_t ‖X_t − V U_tᵀ‖² + μ Σ_t ‖V − X_tW_t‖² + γ ( ‖V‖² + Σ_t ‖U_t‖² + ‖W_t‖² )

over U_t, V and W_t, for the centred X_t. Each in turn is solved in closed form, so O never rises. No label is
used: an item's one code, V > mean, holds what all its modalities say, and a query gets as near to it as its
one modality allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.hashing.base import Learning, Learnt, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.factorisation import ITERATIONS, Descent, RidgeSolver, reconstruction_error, weighted_gram
from smfh.hashing.function import shared_codes
from smfh.hashing.positive import Factor, told
from smfh.hashing.products import gram, squared_norm
from smfh.hashing.views import ANCHORS, View, view_modalities
from smfh.types import FloatArray, MultimodalDataset, parameter


@dataclass(frozen=True)
class CMFH(Descent):
    """One factorisation of all modalities, and a linear way into it from each."""

    name: ClassVar[str] = "cmfh"
    title: ClassVar[str] = "CMFH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "paper": Preset(),
        "strong": Preset({"ridge": 0.3, "anchors": 500}),
    }

    projection_weight: float = parameter(100.0, "μ", 1e-6, 1e6, "Weight of the hash functions' fit.", "log")
    ridge: float = parameter(0.01, "γ", 1e-9, 1e6, "Shrinks bases, codes and hash functions.", "log")
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS, typical=(0, 1000))
    iterations: int = parameter(25, "T", 1, 10_000, ITERATIONS, typical=(1, 100), kw_only=True)

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        problem = Factorisation(self, view_modalities(train, self.anchors, rng), self.shares(train))
        state = problem.start(rng.random((len(train), self.bits), dtype=train.dtype.type))

        def learnt() -> Learnt:
            thresholds = state.V.mean(axis=0, dtype=np.float64)
            return Learnt(
                {t: view.hash_function(state.W[t], thresholds) for t, view in problem.views.items()},
                shared_codes(tuple(problem.views), state.V > thresholds.astype(state.V.dtype)),
            )

        note = told(solver.factor for solver in problem.solvers.values())
        for _ in range(self.iterations):
            state = problem.descend(state)
            yield Progress(problem.terms(state), "descent", note, learnt)
            if self.has_converged(trace):
                break
        return learnt()


@dataclass(frozen=True, eq=False)
class State:
    """The unknowns, with the products that the next step and the objective share."""

    V: FloatArray  # (items, bits)
    U: Mapping[str, FloatArray]  # (dimensions, bits)
    W: Mapping[str, FloatArray]  # (dimensions, bits)
    XtV: Mapping[str, FloatArray]
    VtV: FloatArray


class Factorisation:
    """O for given data: what stays the same during a fit, and the steps that lower it."""

    def __init__(self, method: CMFH, views: Sequence[View], weights: Mapping[str, float]) -> None:
        self.method, self.weights = method, weights
        self.views = {view.modality: view for view in views}
        shrinkage = method.ridge / method.projection_weight
        self.solvers = {t: RidgeSolver(v.gram, shrinkage + v.rounding) for t, v in self.views.items()}

    def start(self, V: FloatArray) -> State:
        return self.with_hash_functions(V, {})

    def descend(self, state: State) -> State:
        """U, then V, then W; each is the minimum of O while the others stay."""
        U = {t: self.basis(t, state) for t in self.views}
        return self.with_hash_functions(self.codes(U, state.W), U)

    def basis(self, t: str, state: State) -> FloatArray:
        """U = λ XᵀV (λ VᵀV + γI)⁻¹"""
        share = self.weights[t]
        return solve_right(share * state.XtV[t], share * state.VtV, self.method.ridge)

    def codes(self, U: Mapping[str, FloatArray], W: Mapping[str, FloatArray]) -> FloatArray:
        """V = [ Σ_t X_t(λ_tU_t + μW_t) ] [ Σ_t λ_tU_tᵀU_t + (n_tμ + γ)I ]⁻¹"""
        mu, gamma = self.method.projection_weight, self.method.ridge
        curvature = weighted_gram(U, self.weights)
        parts = [
            view.project(solve_right(self.weights[t] * U[t] + mu * W[t], curvature, len(U) * mu + gamma))
            for t, view in self.views.items()
        ]
        V: FloatArray = np.sum(parts, axis=0)
        return V

    def with_hash_functions(self, V: FloatArray, U: Mapping[str, FloatArray]) -> State:
        """W = (XᵀX + γ/μ I)⁻¹XᵀV"""
        XtV = {t: view.correlate(V) for t, view in self.views.items()}
        W = {t: self.solvers[t].solve(XtV[t]) for t in self.views}
        return State(V, U, W, XtV, gram(V))

    def terms(self, state: State) -> dict[str, float]:
        """Every part of O, weighted; none needs another pass over X."""
        mu, gamma = self.method.projection_weight, self.method.ridge
        U, W, XtV, VtV = state.U, state.W, state.XtV, state.VtV
        return {
            **{
                f"reconstruction ({t})": self.weights[t]
                * reconstruction_error(float(np.trace(view.gram)), U[t], XtV[t], VtV)
                for t, view in self.views.items()
            },
            **{f"projection ({t})": mu * self.solvers[t].error(W[t], XtV[t], VtV) for t in W},
            "ridge": gamma * (float(np.trace(VtV)) + sum(squared_norm(U[t]) + squared_norm(W[t]) for t in U)),
        }


def solve_right(A: FloatArray, S: FloatArray, shift: float) -> FloatArray:
    """A(S + shift I)⁻¹ for a symmetric S ≥ 0"""
    return Factor.of(S, shift).solve(A.T).T
