"""SMFH as published (Liu, Ji, Wu & Hua, IJCAI 2016), with corrected equations, in the order of the paper.

Letters follow the paper, but items are rows here, so the equations are transposed:

    X_t (items, dimensions) features ≥ 0     U_t (dimensions, bits) ≥ 0    basis: X_t ≈ Y U_tᵀ
    Y  (items, bits) ≥ 0 relaxed codes       W_t (dimensions, bits)        hash function: Y ≈ X_t W_t
    A = L_a L_aᵀ label affinity (Eq. 4), D its degrees, L = D − A its Laplacian
    S  selects m sampled items, which a hat marks: Ŷ = SᵀY, Â, D̂, L̂

The paper prints 4β in its Y step, where the gradient has 2β. Its β = 0.001 is therefore 0.002 here, which
reproduces all mAP values of its Wiki table within 0.021. μ is the parameter times 2/n_t for n_t modalities.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from smfh.features.maps import FeatureMap
from smfh.hashing.base import FIT_HELP, PULL_HELP, SAMPLE_HELP, BlockMethod, Model, StepReport, Trace, Training
from smfh.hashing.blocks import (
    HEIGHT,
    TINY,
    Block,
    BlockProblem,
    BlockState,
    Codes,
    Items,
    Sums,
    code_sums,
    drop_tiny,
    on_grid,
    project,
    reconstruction_error,
    squared_norm,
    times,
    transposed_times,
    uniform_rows,
    weighted_gram,
)
from smfh.hashing.configuration import ORTHOGONALITY_HELP, RIDGE_HELP, SMOOTHNESS_HELP, Preset
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.solvers import LabelGraph, RidgeSolver, WideFeatures, WideSolver, warnings_of
from smfh.types import EPS, FloatArray, IntArray, parameter


@dataclass(frozen=True)
class SMFH(BlockMethod):
    """Supervised matrix factorisation hashing, as published."""

    name: ClassVar[str] = "smfh"
    title: ClassVar[str] = "SMFH"
    presets: ClassVar[Mapping[str, Preset]] = {
        "wiki": Preset(dataset="wiki"),
        "pascal": Preset({"graph_sample": 800}, dataset="pascal"),
        "nus-wide": Preset({"graph_sample": 2000}, dataset="nus-wide"),
    }

    graph_weight: float = parameter(2.0, "α", 0.0, 1e6, PULL_HELP, "log")
    projection_weight: float = parameter(25.0, "μ", 0.0, 1e6, FIT_HELP, "log")
    graph_sample: int = parameter(1000, "m", 1, 10_000_000, SAMPLE_HELP, "log", typical=(20, 20_000))
    orthogonality_weight: float = parameter(2e-3, "β", 0.0, 1e6, ORTHOGONALITY_HELP, "log")
    smoothness: float = parameter(1e-3, "η", 0.0, 1e6, SMOOTHNESS_HELP, "log")
    ridge: float = parameter(1e-3, "γ", 1e-9, 1e6, RIDGE_HELP, "log")

    @property
    def needs_positive(self) -> bool:
        return True

    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Training:
        """Run Algorithm 1 of the paper; yield a report after each iteration."""
        problem = Problem(self, data)
        state = problem.start(rng)
        for _ in range(self.iterations):
            for _, step in STEPS:
                state = step(problem, state, rng)
            note = warnings_of(solver.factor for solver in state.solvers.values())
            yield StepReport(problem.terms(state), "descent", note, partial(problem.model, state))
            if self.has_converged(trace):
                break
        return problem.model(state)


@dataclass(frozen=True, eq=False)
class State(BlockState):
    """The unknowns U, Y and W, the sampled items, and products that several steps use."""

    heights: FloatArray  # max_i y_ik, (bits,)
    FtY: FloatArray  # F̂ᵀŶ with Â = F̂F̂ᵀ, (classes, bits)
    length: FloatArray  # Σ_i d̂_i ŷ_ik², (bits,)
    rows: IntArray  # the sampled items, ascending
    graph: LabelGraph  # of the sampled items
    solvers: Mapping[str, RidgeSolver | WideSolver]


class Problem(BlockProblem):
    """The objective for the given data, and the steps of Algorithm 1."""

    def __init__(self, method: SMFH, data: Items) -> None:
        mu = method.projection_weight * 2 / len(data.X)
        super().__init__(data, method.shares(tuple(data.X)), mu, method.bits)
        self.method, self.samples = method, method.graph_sample < self.items
        wide = [t for t, d in data.widths.items() if method.graph_sample < self.items < d]
        whole = SampledGraph(None, self.sizes, self.dtype)
        self.sum_features(None if self.samples else whole.of, float(self.sizes.sum()), wide)
        everything = np.arange(self.items)
        self.wide = {t: WideFeatures(data.X[t][everything], method.ridge, method.smoothness) for t in wide}

    def terms(self, state: State) -> dict[str, float]:
        """Return the weighted terms of the objective (Eq. 8 and 19) for the sampled graph:

            O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + α Tr(YᵀLY)
                + μ Σ_t { ‖Y − X_tW_t‖² + η Tr(W_tᵀX_tᵀL X_tW_t) + γ ‖W_t‖² } + β ‖YᵀY − I‖²

        They follow from products that the steps have already computed, without another pass over X.
        """
        method, mu, solvers = self.method, self.mu, state.solvers
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        squared = {t: float(self.features["squared", t]) for t in U}
        error = {t: reconstruction_error(squared[t], U[t], XtY[t], YtY) for t in U}
        excess = YtY.astype(np.float64) - np.eye(self.bits)
        return {
            **{f"reconstruction ({t})": self.weights[t] * error[t] for t in U},
            "graph": method.graph_weight * (float(state.length.sum()) - squared_norm(state.FtY)),
            **{f"projection ({t})": mu * solvers[t].error(W[t], XtY[t], YtY) for t in W},
            "smoothness": mu * method.smoothness * sum(solvers[t].roughness(W[t]) for t in W),
            "ridge": mu * method.ridge * sum(squared_norm(W[t]) for t in W),
            "orthogonality": method.orthogonality_weight * squared_norm(excess),
        }

    def start(self, rng: np.random.Generator) -> State:
        """Return the initial state (Algorithm 1, line 1): Y and U uniform at random, W = 0.

        The values are drawn in double precision and then rounded, so that training in single and in double
        precision starts from the same numbers.
        """
        no_rows, dtype = np.arange(0), self.dtype
        uniform = uniform_rows(rng, self.items, self.bits, np.float64)
        U = {t: rng.random((d, self.bits)).astype(dtype) for t, d in self.data.widths.items()}
        graph = LabelGraph.of(self.data.labels[no_rows], dtype)
        sums = self.block_sums(self.sampled(no_rows, graph), np.ones(self.bits))

        def start(block: Block) -> FloatArray:
            return uniform(block).astype(dtype)

        W = {t: np.zeros_like(U[t]) for t in U}
        return State(U=U, W=W, rows=no_rows, graph=graph, solvers={}, **self.summed(*self.new_codes(start, sums)))

    def update_bases(self, state: State, rng: np.random.Generator) -> State:
        """Return the state after the U step (Eq. 12): U_t ← U_t ∘ (X_tᵀY) / (U_t YᵀY)."""
        U, XtY, YtY = state.U, state.XtY, state.YtY
        return replace(state, U={t: drop_tiny(U[t] * XtY[t] / np.maximum(U[t] @ YtY, EPS)) for t in U})

    def draw(self, state: State, rng: np.random.Generator) -> State:
        """Sample m items uniformly without replacement (Eq. 13), or use all items if N ≤ m."""
        if not self.samples:
            return state
        return self.with_sample(state, np.sort(rng.choice(self.items, size=self.method.graph_sample, replace=False)))

    def with_sample(self, state: State, rows: IntArray) -> State:
        """Return the state with these sampled rows and their graph Â = F̂F̂ᵀ (Eq. 4 and 13)."""
        graph = LabelGraph.of(self.data.labels[rows], self.dtype)
        Y = self.data.take_codes(state.Y, rows)
        FtY, length = transposed_times(graph.factors, Y), graph.degrees.astype(np.float64) @ Y**2
        return replace(state, rows=rows, graph=graph, FtY=FtY, length=length)

    def update_codes(self, state: State, rng: np.random.Generator) -> State:
        """Return the state after the Y step (Eq. 17 and 20), with 2β instead of 4β:

            Y ← Y ∘ B⁺ / ( Y M + α S D̂ Ŷ + B⁻ )
            B = Σ_t X_t(λ_tU_t + μW_t) + α S Â Ŷ + 2β Y
            M = Σ_t λ_tU_tᵀU_t + n_t μ I + 2β YᵀY

        B is split by sign, because X_tW_t can be negative. An iteration passes over X only here.
        """
        U, FtY, maxima = state.U, state.FtY, self.data.maxima
        alpha, beta = float(self.method.graph_weight), float(self.method.orthogonality_weight)
        V = {t: self.weights[t] * U[t] + self.mu * state.W[t] for t in U}
        curvature = weighted_gram(U, self.weights) + len(U) * self.mu * np.eye(self.bits)
        M = (curvature + 2 * beta * state.YtY).astype(self.dtype)
        sampled = self.sampled(state.rows, state.graph)

        def update(block: Block, Y: FloatArray) -> FloatArray:
            drawn, graph = block.places(sampled.rows), sampled.of(block)
            B = project(block.X, V)
            B[drawn] += alpha * times(graph.factors, FtY)  # Â Ŷ = F̂ (F̂ᵀŶ)
            B += 2 * beta * Y
            divisor = Y @ M
            divisor[drawn] += alpha * graph.degrees[:, None] * Y[drawn]
            new = Y * np.maximum(B, 0, out=B)
            new /= np.maximum(divisor, EPS, out=divisor)  # B⁻ can be left out, because B⁺ is 0 wherever B⁻ is not
            new *= new > TINY
            return new

        # An upper bound of y_ik: a ratio of sums is at most the largest ratio of their terms, and the ratio
        # of the graph and β terms is at most 1 if all y_ik were at most 1. The factor 2 covers rounding.
        most = sum(maxima[t] @ np.maximum(V[t], 0) for t in V)
        sums = self.block_sums(sampled, 2 * np.maximum(1, most / np.maximum(np.diag(curvature), EPS)))
        return replace(state, **self.summed(*self.new_codes(update, sums, state.Y)))

    def rescale(self, state: State, rng: np.random.Generator) -> State:
        """Scale each column of Y to a maximum of 1, and U inversely: y_k ← y_k / h_k, u_k ← u_k h_k."""
        h = np.maximum(state.heights, EPS)
        return replace(
            state,
            Y=self.data.divide(state.Y, h),
            U={t: U * h for t, U in state.U.items()},
            XtY={t: XtY / h for t, XtY in state.XtY.items()},
            YtY=state.YtY / np.outer(h, h),
            mean=state.mean / h,
            FtY=state.FtY / h,
            length=state.length / h.astype(np.float64) ** 2,
            heights=np.ones_like(h),
        )

    def update_functions(self, state: State, rng: np.random.Generator) -> State:
        """Return the state after the W step (Eq. 18): W_t = (X_tᵀX_t + η X̂_tᵀL̂X̂_t + γI)⁻¹ X_tᵀY."""
        solvers = self.solvers(state) if self.samples or not state.solvers else state.solvers
        return replace(state, solvers=solvers, W={t: solvers[t].solve(state.XtY[t]) for t in solvers})

    def solvers(self, state: State) -> dict[str, RidgeSolver | WideSolver]:
        """Return a solver of Eq. 18 per modality, for the graph of the sampled items or of all items."""
        gamma, eta, solvers = self.method.ridge, self.method.smoothness, dict[str, RidgeSolver | WideSolver]()
        for t, X in self.data.X.items():
            if t in self.wide:
                Y = self.data.take_codes(state.Y, np.arange(self.items))
                solvers[t] = WideSolver(self.wide[t], state.rows, state.graph, Y)
            else:
                scatter = state.graph.scatter(X[state.rows]) if self.samples else self.scatter(t)
                solvers[t] = RidgeSolver(self.features["XtX", t], gamma, scatter, eta)
        return solvers

    def model(self, state: State) -> Model:
        """Return the model: bit k is 1 if y_ik, or x·w_k for a query, exceeds the mean of column k of Y."""
        thresholds = state.mean.astype(self.dtype)
        functions = {t: HashFunction(t, d, FeatureMap(), state.W[t], thresholds) for t, d in self.data.widths.items()}
        return Model(functions, shared_codes(tuple(functions), self.data.pack(state.Y, thresholds)), state.U)

    def sampled(self, rows: IntArray, graph: LabelGraph) -> "SampledGraph":
        """Return the graph of these sampled items, or of all items if N ≤ m, for use block by block."""
        if not self.samples:
            return SampledGraph(None, self.sizes, self.dtype)
        return SampledGraph(rows, np.asarray(graph.factors.sum(axis=0), dtype=np.float64), self.dtype)

    def block_sums(self, sampled: "SampledGraph", ceiling: FloatArray) -> Callable[[Block, FloatArray], Sums]:
        """Return a function that computes the sums of a block that later steps need, for Y ≤ ceiling."""
        items, maxima, sizes = self.items, self.data.maxima, sampled.sizes

        def sums(block: Block, Y: FloatArray) -> Sums:
            graph, drawn = sampled.of(block), Y[block.places(sampled.rows)]
            length = graph.degrees.astype(np.float64) @ drawn**2
            return {
                **code_sums(block, Y, items, maxima, ceiling),
                HEIGHT: Y.max(axis=0).astype(np.float64),
                ("FtY", ""): on_grid(transposed_times(graph.factors, drawn), np.outer(sizes, ceiling), items),
                ("length", ""): on_grid(length, ceiling**2 * float(sizes @ sizes), items),
            }

        return sums

    def summed(self, Y: Codes, sums: Sums) -> dict[str, Any]:
        """Return those fields of a `State` that a pass over the items computes."""
        return {
            **super().summed(Y, sums),
            "FtY": sums["FtY", ""].astype(self.dtype),
            "length": sums["length", ""],
            "heights": sums[HEIGHT].astype(self.dtype),
        }


@dataclass(frozen=True, eq=False)
class SampledGraph:
    """The label graph of the sampled items, computed block by block."""

    rows: IntArray | None  # the sampled items, ascending; None if all are used
    sizes: FloatArray  # number of sampled items of each class
    dtype: np.dtype[Any]

    def of(self, block: Block) -> LabelGraph:
        """Return the graph's rows for the sampled items of a block."""
        return LabelGraph.of(block.labels[block.places(self.rows)], self.dtype, self.sizes)


# The steps of an iteration, in order.
STEPS: Sequence[tuple[str, Callable[[Problem, State, np.random.Generator], State]]] = (
    ("bases", Problem.update_bases),
    ("sample", Problem.draw),
    ("codes", Problem.update_codes),
    ("scale", Problem.rescale),
    ("functions", Problem.update_functions),
)
