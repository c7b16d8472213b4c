"""Collective Matrix Factorization Hashing (Ding, Guo & Zhou, CVPR 2014).

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + μ Σ_t ‖Y − X_tW_t‖² + γ ( ‖Y‖² + Σ_t ‖U_t‖² + ‖W_t‖² )

is minimised over U_t, Y and W_t, for centred features X_t and weights λ_t, μ and γ. Each unknown is solved for
in closed form, so O never rises. Labels are not used. A training item has one code, Y > mean, for all
modalities. The code of a query is computed from its features in one modality.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from smfh.features.maps import FeatureMap, fit_rbf
from smfh.hashing.base import ITERATIONS_HELP, BlockMethod, Model, StepReport, Trace, Training
from smfh.hashing.blocks import (
    Block,
    BlockProblem,
    BlockState,
    Codes,
    Items,
    Sums,
    code_sums,
    reconstruction_error,
    squared_norm,
    times,
    uniform_rows,
    weighted_gram,
)
from smfh.hashing.configuration import ANCHORS_HELP, PREDICTION_HELP, RIDGE_HELP, Preset
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.solvers import Factor, RidgeSolver, warnings_of
from smfh.hashing.views import UNIT_ROWS
from smfh.types import EPS, FloatArray, parameter


@dataclass(frozen=True)
class CMFH(BlockMethod):
    """A joint factorisation of all modalities, with a linear hash function for each modality."""

    name: ClassVar[str] = "cmfh"
    title: ClassVar[str] = "CMFH"
    uses_labels: ClassVar[bool] = False
    best: ClassVar[str] = "strong"
    presets: ClassVar[Mapping[str, Preset]] = {"paper": Preset(), "strong": Preset({"ridge": 0.3, "anchors": 500})}

    projection_weight: float = parameter(100.0, "μ", 1e-6, 1e6, PREDICTION_HELP, "log")
    ridge: float = parameter(0.01, "γ", 1e-9, 1e6, RIDGE_HELP, "log")
    anchors: int = parameter(0, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 1000))
    iterations: int = parameter(25, "T", 1, 10_000, ITERATIONS_HELP, typical=(1, 100), kw_only=True)

    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Training:
        maps = {t: fit_rbf(X, UNIT_ROWS, self.anchors, rng) if self.anchors else UNIT_ROWS for t, X in data.X.items()}
        problem = Problem(self, data.with_features(maps))
        state = problem.start(rng)
        note = warnings_of(solver.factor for solver in problem.solvers.values())
        for _ in range(self.iterations):
            state = problem.descend(state)
            yield StepReport(problem.terms(state), "descent", note, partial(problem.model, state, maps))
            if self.has_converged(trace):
                break
        return problem.model(state, maps)


class Problem(BlockProblem):
    """The objective for given data, and the steps that lower it."""

    def __init__(self, method: CMFH, data: Items) -> None:
        super().__init__(data, method.shares(tuple(data.X)), method.projection_weight, method.bits)
        self.method = method
        self.sum_features()
        grams = {t: self.centred_gram(t) for t in data.X}
        self.squared = {t: float(np.trace(gram)) for t, gram in grams.items()}
        shrinkage = method.ridge / self.mu
        self.solvers = {t: RidgeSolver(grams[t], shrinkage + EPS * self.squared[t]) for t in grams}

    def terms(self, state: BlockState) -> dict[str, float]:
        """Return the weighted terms of O, computed without another pass over X."""
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        error = {t: reconstruction_error(self.squared[t], U[t], XtY[t], YtY) for t in U}
        squares = float(np.trace(YtY)) + sum(squared_norm(U[t]) + squared_norm(W[t]) for t in U)
        return {
            **{f"reconstruction ({t})": self.weights[t] * error[t] for t in U},
            **{f"projection ({t})": self.mu * self.solvers[t].error(W[t], XtY[t], YtY) for t in W},
            "ridge": self.method.ridge * squares,
        }

    def start(self, rng: np.random.Generator) -> BlockState:
        """Return the initial state: Y uniform at random, and W that fits this Y."""

        uniform = uniform_rows(rng, self.items, self.bits, self.dtype)
        return self.with_hash_functions({}, *self.new_codes(uniform, self.block_sums(np.ones(self.bits))))

    def descend(self, state: BlockState) -> BlockState:
        """Run one iteration: update U, Y and W in turn; each minimises O with the other two fixed."""
        U = {t: self.basis(t, state) for t in self.weights}
        return self.with_hash_functions(U, *self.codes(state.Y, U, state.W))

    def basis(self, t: str, state: BlockState) -> FloatArray:
        """Return the best basis for fixed codes, U = λ XᵀY (λ YᵀY + γI)⁻¹, for modality t."""
        share = self.weights[t]
        return solve_right(share * state.XtY[t], share * state.YtY, self.method.ridge)

    def codes(self, Y: Codes, U: Mapping[str, FloatArray], W: Mapping[str, FloatArray]) -> tuple[Codes, Sums]:
        """Return Y = [ Σ_t X_t(λ_tU_t + μW_t) ] [ Σ_t λ_tU_tᵀU_t + (n_tμ + γ)I ]⁻¹ and its sums, for n_t modalities."""
        mu, gamma, dtype = self.mu, self.method.ridge, self.dtype
        curvature = weighted_gram(U, self.weights)
        V = {t: solve_right(self.weights[t] * U[t] + mu * W[t], curvature, len(U) * mu + gamma) for t in U}
        offsets = {t: self.means[t] @ V[t] for t in V}
        most = sum(self.data.maxima[t] @ np.abs(V[t]) + np.abs(offsets[t]) for t in V)

        def update(block: Block, Y: FloatArray) -> FloatArray:
            parts = [times(x, V[t].astype(dtype)) - offsets[t].astype(dtype) for t, x in block.X.items()]
            return np.asarray(np.sum(parts, axis=0))  # Σ_t (X_t − 1x̄_tᵀ) V_t

        return self.new_codes(update, self.block_sums(np.asarray(2 * most)), Y)  # the factor 2 covers rounding

    def with_hash_functions(self, U: Mapping[str, FloatArray], Y: Codes, sums: Sums) -> BlockState:
        """Return the state with new hash functions, W = (XᵀX + γ/μ I)⁻¹XᵀY for centred X."""
        total = sums["sum", ""]
        XtY = {t: sums["XtY", t] - np.outer(m, total) for t, m in self.means.items()}
        W = {t: self.solvers[t].solve(XtY[t]) for t in XtY}
        return BlockState(Y, U, W, XtY, sums["YtY", ""], total / self.items)

    def block_sums(self, ceiling: FloatArray) -> Callable[[Block, FloatArray], Sums]:
        """Return a function that computes the sums of a block for |Y| ≤ ceiling, in double precision."""
        return partial(code_sums, items=self.items, maxima=self.data.maxima, ceiling=ceiling, double=True)

    def model(self, state: BlockState, maps: Mapping[str, FeatureMap]) -> Model:
        """Return the model: bit k is 1 if y_ik, or (x − x̄)·w_k for a query, exceeds the mean of y_k."""
        W, mean, dtype = state.W, state.mean, self.data.dtype
        functions = {
            t: HashFunction(t, X.shape[1], maps[t], W[t].astype(dtype), (mean + self.means[t] @ W[t]).astype(dtype))
            for t, X in self.data.X.items()
        }
        codes = self.data.pack(state.Y, mean.astype(dtype))
        return Model(functions, shared_codes(tuple(functions), codes))


def solve_right(A: FloatArray, S: FloatArray, shift: float) -> FloatArray:
    """Solve Z (S + shift I) = A for Z, with a symmetric, positive semidefinite S."""
    return Factor.of(S, shift).solve(A.T).T
