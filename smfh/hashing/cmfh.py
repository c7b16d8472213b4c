"""Collective Matrix Factorization Hashing (Ding, Guo & Zhou, CVPR 2014).

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + μ Σ_t ‖Y − X_tW_t‖² + γ ( ‖Y‖² + Σ_t ‖U_t‖² + ‖W_t‖² )

over U_t, Y and W_t, for the centred X_t. Each in turn is solved in closed form, so O never rises. No label is
used: an item's one code, Y > mean, holds what all its modalities say, and a query gets as near to it as its
one modality allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smfh.features.maps import fit_rbf
from smfh.hashing.base import Learning, Learnt, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.factorisation import (
    ITERATIONS,
    Factors,
    Moments,
    PassMethod,
    RidgeSolver,
    Totals,
    reconstruction_error,
    weighted_gram,
)
from smfh.hashing.function import shared_codes
from smfh.hashing.items import Block, Codes, Items
from smfh.hashing.positive import Factor, told
from smfh.hashing.products import squared_norm, times
from smfh.hashing.sums import Sums, UniformRows
from smfh.hashing.views import ANCHORS, UNIT_ROWS, centred_function
from smfh.types import EPS, FloatArray, parameter


@dataclass(frozen=True)
class CMFH(PassMethod):
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

    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Learning:
        maps = {
            t: fit_rbf(X, UNIT_ROWS, self.anchors, rng) if self.anchors else UNIT_ROWS
            for t, X in data.X.items()
        }
        problem = Factorisation(self, data.with_features(maps), self.shares(tuple(maps)))
        state = problem.start(UniformRows.draw(rng, len(data), self.bits, data.dtype))

        def learnt() -> Learnt:
            functions = {
                t: centred_function(
                    t, X.shape[1], maps[t], problem.means[t], state.W[t], data.dtype, state.mean
                )
                for t, X in data.X.items()
            }
            codes = data.pack(state.Y, state.mean.astype(data.dtype))
            return Learnt(functions, shared_codes(tuple(functions), codes))

        note = told(solver.factor for solver in problem.solvers.values())
        for _ in range(self.iterations):
            state = problem.descend(state)
            yield Progress(problem.terms(state), "descent", note, learnt)
            if self.has_converged(trace):
                break
        return learnt()


@dataclass(frozen=True, eq=False)
class Start:
    """Y uniform"""

    uniform: UniformRows
    totals: Totals

    @property
    def bits(self) -> int:
        return self.uniform.bits

    def __call__(self, block: Block) -> tuple[FloatArray, Sums]:
        Y = self.uniform.block(block.start, len(block))
        return Y, self.totals(block.X, Y)


@dataclass(frozen=True, eq=False)
class Project:
    """Y = Σ_t (X_t − 1m_tᵀ) V_t"""

    V: Mapping[str, FloatArray]
    offsets: Mapping[str, FloatArray]  # m_tᵀV_t, (bits,)
    totals: Totals

    @property
    def bits(self) -> int:
        return len(self.totals.ceiling)

    def __call__(self, block: Block, Y: FloatArray) -> tuple[FloatArray, Sums]:
        dtype = Y.dtype
        parts = [
            times(x, self.V[t].astype(dtype)) - self.offsets[t].astype(dtype) for t, x in block.X.items()
        ]
        new: FloatArray = np.sum(parts, axis=0)
        return new, self.totals(block.X, new)


class Factorisation:
    """O for given data: what stays the same during a fit, and the steps that lower it."""

    def __init__(self, method: CMFH, data: Items, weights: Mapping[str, float]) -> None:
        self.method, self.data, self.weights, self.items = method, data, weights, len(data)
        _, moments = data.run(Moments(self.items, data.maxima))
        self.means = {t: moments["sum", t] / self.items for t in weights}
        grams = {t: moments["XtX", t] - self.items * np.outer(m, m) for t, m in self.means.items()}
        self.squared = {t: float(np.trace(gram)) for t, gram in grams.items()}
        shrinkage = method.ridge / method.projection_weight
        self.solvers = {t: RidgeSolver(grams[t], shrinkage + EPS * self.squared[t]) for t in weights}

    def totals(self, ceiling: FloatArray) -> Totals:
        return Totals(self.items, self.data.maxima, ceiling, double=True)

    def start(self, uniform: UniformRows) -> Factors:
        step = Start(uniform, self.totals(np.ones(self.method.bits)))
        return self.with_hash_functions({}, *self.data.run(step))

    def descend(self, state: Factors) -> Factors:
        """U, then Y, then W; each is the minimum of O while the others stay."""
        U = {t: self.basis(t, state) for t in self.weights}
        return self.with_hash_functions(U, *self.codes(state.Y, U, state.W))

    def basis(self, t: str, state: Factors) -> FloatArray:
        """U = λ XᵀY (λ YᵀY + γI)⁻¹"""
        share = self.weights[t]
        return solve_right(share * state.XtY[t], share * state.YtY, self.method.ridge)

    def codes(self, Y: Codes, U: Mapping[str, FloatArray], W: Mapping[str, FloatArray]) -> tuple[Codes, Sums]:
        """Y = [ Σ_t X_t(λ_tU_t + μW_t) ] [ Σ_t λ_tU_tᵀU_t + (n_tμ + γ)I ]⁻¹"""
        mu, gamma = self.method.projection_weight, self.method.ridge
        curvature = weighted_gram(U, self.weights)
        V = {t: solve_right(self.weights[t] * U[t] + mu * W[t], curvature, len(U) * mu + gamma) for t in U}
        offsets = {t: self.means[t] @ V[t] for t in V}
        ceiling = 2 * sum(self.data.maxima[t] @ np.abs(V[t]) + np.abs(offsets[t]) for t in V)  # 2: rounding
        return self.data.run(Project(V, offsets, self.totals(np.asarray(ceiling))), Y)

    def with_hash_functions(self, U: Mapping[str, FloatArray], Y: Codes, sums: Sums) -> Factors:
        """W = (XᵀX + γ/μ I)⁻¹XᵀY, where XᵀY = X_cᵀY of the centred features"""
        total = sums["sum", ""]
        XtY = {t: sums["XtY", t] - np.outer(m, total) for t, m in self.means.items()}
        W = {t: self.solvers[t].solve(XtY[t]) for t in XtY}
        return Factors(Y, U, W, XtY, sums["YtY", ""], total / self.items)

    def terms(self, state: Factors) -> dict[str, float]:
        """Every part of O, weighted; none needs another pass over X."""
        mu, gamma = self.method.projection_weight, self.method.ridge
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        return {
            **{
                f"reconstruction ({t})": self.weights[t]
                * reconstruction_error(self.squared[t], U[t], XtY[t], YtY)
                for t in U
            },
            **{f"projection ({t})": mu * self.solvers[t].error(W[t], XtY[t], YtY) for t in W},
            "ridge": gamma * (float(np.trace(YtY)) + sum(squared_norm(U[t]) + squared_norm(W[t]) for t in U)),
        }


def solve_right(A: FloatArray, S: FloatArray, shift: float) -> FloatArray:
    """A(S + shift I)⁻¹ for a symmetric S ≥ 0"""
    return Factor.of(S, shift).solve(A.T).T
