"""The relaxed problem of SMFH+ and its binary refinement: O for given data, and the steps that lower it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from smfh.hashing.class_codes import class_codes
from smfh.hashing.factorisation import (
    Factors,
    Moments,
    RidgeSolver,
    Totals,
    draw_rows,
    reconstruction_error,
    scatter_of,
    share_out,
    update_basis,
    weighted_gram,
)
from smfh.hashing.graph import Affinity
from smfh.hashing.items import Codes, Items
from smfh.hashing.products import inner, squared_norm, transposed_times
from smfh.hashing.relaxation_passes import Binarise, Count, CubicPass, Flip, GraphPull, Pull, Start
from smfh.hashing.sums import Sums, UniformRows
from smfh.parallel import side_by_side
from smfh.types import FloatArray

BASIS_STEPS = 5  # ratio steps of U in a round of refinement


@dataclass(frozen=True)
class Weights:
    """Of the parts of O, by the names of SMFH+'s parameters; and how many items carry the graph."""

    graph_weight: float  # α
    projection_weight: float  # μ
    orthogonality_weight: float  # β
    smoothness: float  # η
    ridge: float  # γ
    graph_sample: int  # m; 0: all


@dataclass(frozen=True, eq=False)
class State(Factors):
    """The unknowns, with the products that every step shares."""

    b: Mapping[str, FloatArray]  # (bits,)
    FtY: FloatArray  # (classes, bits)
    length: float  # Σ_i D_ii ‖y_i‖²
    is_binary: bool = False


class Relaxation:
    """What stays the same during a fit, and the steps that lower O."""

    def __init__(self, weights: Weights, bits: int, data: Items, shares: Mapping[str, float]) -> None:
        self.method, self.bits, self.data, self.weights = weights, bits, data, shares
        self.items, self.dtype = len(data), data.dtype
        self.mu = share_out(weights.projection_weight, len(shares))
        self.sizes = data.sizes.astype(np.float64)
        self.graph = Affinity(self.sizes, self.items, self.dtype)
        _, moments = data.run(
            Moments(self.items, data.maxima, self.graph.of, degrees=float(data.unlabelled > 0))
        )
        self.moments, self.means = moments, {t: moments["sum", t] / self.items for t in shares}
        self.solvers = side_by_side(self.solver, shares)
        self.count = Count(Totals(self.items, data.maxima, np.ones(bits)), self.graph)
        self.target = self.items / 4 * (np.ones((bits, bits)) + np.eye(bits))  # T
        self.spread = weights.orthogonality_weight / (self.items * bits)  # β/(N r)

    def solver(self, t: str) -> RidgeSolver:
        """X_cᵀX_c = XᵀX − N x̄x̄ᵀ and Xᵀ(I − A)X stay: one factorisation a fit."""
        mean = self.means[t]
        centred = self.moments["XtX", t] - self.items * np.outer(mean, mean)
        solver = RidgeSolver(centred, self.method.ridge, scatter_of(self.moments, t), self.method.smoothness)
        solver.factor.inverse  # noqa: B018, made here, side by side
        return solver

    def draw_graph(self, rng: np.random.Generator) -> Affinity:
        """The graph of m items drawn anew, or of all."""
        if not 0 < self.method.graph_sample < self.items:
            return self.graph
        rows = np.sort(draw_rows(rng, self.items, self.method.graph_sample))
        return replace(self.graph, drawn=rows, drawn_sizes=self.data.labels[rows].sum(axis=0))

    def start(self, rng: np.random.Generator) -> State:
        """Y from the labels, with noise; U uniform; W and b from Y."""
        codes = class_codes(self.sizes, self.bits, rng)
        uniform = UniformRows.draw(rng, self.items, self.bits, np.float64)
        U = {t: rng.random((d, self.bits)).astype(self.dtype) for t, d in self.data.widths.items()}
        return self.with_hash_functions(U, *self.data.run(Start(codes, uniform, self.dtype, self.count)))

    def with_hash_functions(
        self, U: Mapping[str, FloatArray], Y: Codes, sums: Sums | None = None, is_binary: bool = False
    ) -> State:
        """W = (X_cᵀX_c + η Xᵀ(I − A)X + γI)⁻¹ X_cᵀY, b = mean of Y − XW, with X_c centred."""
        sums = self.data.run(self.count, Y)[1] if sums is None else sums
        XtY = {t: sums["XtY", t].astype(self.dtype) for t in U}
        mean = sums["sum", ""] / self.items

        def solution(t: str) -> FloatArray:
            W: FloatArray = self.solvers[t].factor.inverse @ self.centred(t, XtY, mean)
            return W.astype(self.dtype)

        W = side_by_side(solution, U)
        b = {t: (mean - self.means[t] @ W[t]).astype(self.dtype) for t in U}
        YtY, FtY = (sums[name, ""].astype(self.dtype) for name in ("YtY", "FtY"))
        return State(Y, U, W, XtY, YtY, mean, b, FtY, float(sums["length", ""]), is_binary)

    def centred(self, t: str, XtY: Mapping[str, FloatArray], mean: FloatArray) -> FloatArray:
        """X_cᵀY = XᵀY − N x̄ ȳᵀ"""
        centred: FloatArray = XtY[t] - self.items * np.outer(self.means[t], mean)
        return centred

    def update_bases(self, state: State, steps: int = 1) -> dict[str, FloatArray]:
        U = dict(state.U)
        for _ in range(steps):
            U = {t: update_basis(state.XtY[t], U[t], state.YtY) for t in U}
        return U

    def descend(self, state: State, graph: Affinity) -> State:
        """U, then Y, then W and b; none of them raises O where A is the whole graph."""
        U = self.update_bases(state)
        return self.with_hash_functions(U, *self.update_codes(state, U, graph))

    def update_codes(self, state: State, U: Mapping[str, FloatArray], graph: Affinity) -> tuple[Codes, Sums]:
        """Y ← min(Y ∘ z, 1), z the positive root of q z³ + h z = B⁺, with c = 2β/(N r) and

        B = Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ + α A Y + c Y T,
        h = Σ_t λ_t Y U_tᵀU_t + (n_t μ + α) Y + B⁻,
        q = c Y (YᵀY): it minimises a bound that touches O at Y, so O cannot rise.
        """
        c = 2 * self.spread
        step = CubicPass(
            pull=self.pull(state, U),
            graph=self.graph_pull(state, graph),
            G=weighted_gram(U, self.weights),
            C=self.dtype.type(c) * state.YtY,
            balance=c * self.items / 4,
            count=self.count,
        )
        return self.data.run(step, state.Y)

    def pull(self, state: State, U: Mapping[str, FloatArray]) -> Pull:
        """Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ"""
        mu = self.dtype.type(self.mu)
        V = {t: self.weights[t] * U[t] + mu * state.W[t] for t in U}
        return Pull(V, mu * np.sum(list(state.b.values()), axis=0))

    def graph_pull(self, state: State, graph: Affinity) -> GraphPull:
        """α A Y, for which FᵀY is at hand unless items were drawn."""
        FtY = state.FtY
        if graph.drawn is not None:
            among = graph.among(self.data.labels[graph.drawn], np.arange(len(graph.drawn)))
            FtY = transposed_times(among.factors, self.data.take_codes(state.Y, graph.drawn))
        return GraphPull(graph, FtY, self.method.graph_weight, len(self.weights) * self.mu)

    def binarise(self, state: State) -> State:
        """Y = [Y > mean of its column]; U and W follow. What is binary stays, if no bit is always on."""
        if state.is_binary and np.all(state.mean < 1):
            return state
        Y, sums = self.data.run(Binarise(state.mean, self.count), state.Y)
        return self.with_hash_functions(state.U, Y, sums, is_binary=True)

    def refine(self, state: State, graph: Affinity) -> State:
        """A few steps of U, one sweep of single-bit flips, then W and b: each lowers O and keeps Y binary."""
        U = self.update_bases(state, BASIS_STEPS)
        return self.with_hash_functions(U, self.flip_bits(state, U, graph), is_binary=True)

    def flip_bits(self, state: State, U: Mapping[str, FloatArray], graph: Affinity) -> Codes:
        """Every bit in turn, flipped where that lowers O, with FᵀY and YᵀY − T kept up to date."""
        linear, _ = self.data.run(self.pull(state, U))
        pull, G = self.graph_pull(state, graph), weighted_gram(U, self.weights).astype(np.float64)
        carried: Sums = {("FtY", ""): pull.FtY.astype(np.float64), ("excess", ""): state.YtY - self.target}
        flipped, _ = self.data.sweep(Flip(pull, G, self.spread), carried, state.Y, linear)
        return flipped

    def misfit(self, t: str, state: State) -> tuple[float, float]:
        """‖Y − H‖² = ‖Y_c‖² − 2⟨W, R⟩ + q and s = Tr(WᵀXᵀ(I − A)XW), with q = ‖X_cW‖² and R = X_cᵀY.

        W solves (X_cᵀX_c + η Xᵀ(I − A)X + γI) W = R, so q + η s + γ‖W‖² = ⟨W, R⟩. Where all items have
        labels, s = q + N‖x̄ᵀW‖² − ‖FᵀXW‖² too, and nothing of dimensions × dimensions is needed.
        """
        W, mean, solver, eta = state.W[t], state.mean, self.solvers[t], self.method.smoothness
        explained = inner(W, self.centred(t, state.XtY, mean))
        rest = explained - solver.factor.ridge * squared_norm(W)  # q + η s
        if not self.data.unlabelled:
            across = squared_norm(self.moments["XtF", t].T @ W)
            beside = self.items * squared_norm(self.means[t] @ W) - across
            q = (rest - eta * beside) / (1 + eta)
            rough = q + beside
        else:
            rough = solver.roughness(W)
            q = rest - eta * rough
        length = float(np.trace(state.YtY)) - self.items * squared_norm(mean)
        return length - 2 * explained + q, rough

    def terms(self, state: State) -> dict[str, float]:
        """Every part of O, weighted; none needs another pass over X."""
        method, mu = self.method, self.mu
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        misfit = {t: self.misfit(t, state) for t in W}
        return {
            **{
                f"reconstruction ({t})": self.weights[t]
                * reconstruction_error(float(self.moments["squared", t]), U[t], XtY[t], YtY)
                for t in U
            },
            "graph": method.graph_weight * (state.length - squared_norm(state.FtY)),
            **{f"projection ({t})": mu * error for t, (error, _) in misfit.items()},
            "smoothness": mu * method.smoothness * sum(roughness for _, roughness in misfit.values()),
            "ridge": mu * method.ridge * sum(squared_norm(W[t]) for t in W),
            "orthogonality": self.spread * squared_norm(YtY - self.target),
        }
