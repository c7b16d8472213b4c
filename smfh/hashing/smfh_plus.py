"""SMFH+: SMFH that does not depend on scale, never raises its objective, and ends with binary codes.

Items are rows, and letters mean the same as in `smfh.py`. H_t = X_tW_t + 1b_tᵀ are the hash functions, A = F Fᵀ
is the degree-normalised label graph of all N items, in which rare labels weigh more (p), and T = N/4 (11ᵀ + I) is
YᵀY for balanced, independent bits. No step raises the objective O: U is multiplied by a ratio, Y by the root of a
cubic equation, and W and b are solved for in closed form. Then Y is made binary, and bits are flipped to lower O.

If m < N, the Y step uses the graph of m items, sampled anew in each iteration; the mean over samples is A.
The W step always uses A, and its system is factored once. Using all items costs no more than a sample; m
exists only to study sampling. μ is the parameter times 2/n_t for n_t modalities; without this factor, the
scores on Emoji with ten modalities fall from .867/.715 to .662/.585. The guide (`assets/guide/results.md`)
says how the defaults were chosen, and what did not help.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from smfh.features.clusters import cluster_labels
from smfh.features.maps import FeatureMap, choose_width, fit_rbf
from smfh.features.ridge import USUAL_RIDGE, ridges_of
from smfh.hashing.base import FIT_HELP, PULL_HELP, BlockMethod, Model, StepReport, Trace, Training
from smfh.hashing.blocks import (
    TINY,
    Block,
    BlockProblem,
    BlockState,
    Codes,
    Items,
    Pass,
    Sums,
    code_sums,
    drop_tiny,
    inner,
    on_grid,
    project,
    reconstruction_error,
    squared_norm,
    transposed_times,
    uniform_rows,
    weighted_gram,
)
from smfh.hashing.configuration import (
    ANCHORS_HELP,
    CHOSEN_RIDGE_HELP,
    ORTHOGONALITY_HELP,
    SMOOTHNESS_HELP,
    WIDTH_HELP,
    Preset,
)
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.labels import RARITY_HELP, NormalisedGraph, class_codes, label_codes, rank_codes, rarity_weights
from smfh.hashing.solvers import RidgeSolver, warnings_of
from smfh.parallel import side_by_side
from smfh.types import EPS, FloatArray, MultimodalDataset, parameter

SCALING = FeatureMap(power=0.5, unit_rows=True)
START_NOISE = 0.1  # share of uniform noise in the initial Y
BASIS_STEPS = 5  # number of U steps in a round of refinement
CLUSTERS_HELP = (
    "Number of clusters for each modality. They are found within the classes and serve as extra labels where labels "
    "are coarse. With 0, there are none. Higher: codes tell more items of a class apart. Lower: codes follow "
    "the labels."
)
ROUNDS_HELP = "Number of rounds that improve the codes bit by bit. Higher: better codes, slower. Lower: faster."
SAMPLE_HELP = (
    "Number of items whose labels are used in an iteration. With 0, all items are used, which costs no more. "
    "Higher: closer to using all items. Lower: a noisier pull towards items with common labels, and worse "
    "rankings, above all beyond the first hundred results."
)


@dataclass(frozen=True)
class SMFHPlus(BlockMethod):
    """SMFH on scaled RBF features, with a refinement of the binary codes."""

    name: ClassVar[str] = "smfh-plus"
    title: ClassVar[str] = "SMFH+"
    version: ClassVar[int] = 3
    presets: ClassVar[Mapping[str, Preset]] = {
        "first hundred": Preset(),
        "whole ranking": Preset({"graph_weight": 130.0}, aims_at="fewer codes"),
        "fine": Preset({"clusters": 40}, aims_at="more codes"),
        "linear": Preset(
            {"anchors": 0, "graph_weight": 8.0, "projection_weight": 14.0, "orthogonality_weight": 100.0, "ridge": 0.3}
        ),
    }

    graph_weight: float = parameter(35.0, "α", 0.0, 1e6, PULL_HELP, "log")
    projection_weight: float = parameter(35.0, "μ", 0.0, 1e6, FIT_HELP, "log")
    graph_sample: int = parameter(0, "m", 0, 10_000_000, SAMPLE_HELP, "log", typical=(20, 20_000), neutral=0)
    orthogonality_weight: float = parameter(200.0, "β", 0.0, 1e6, ORTHOGONALITY_HELP, "log")
    smoothness: float = parameter(1e-3, "η", 0.0, 1e6, SMOOTHNESS_HELP, "log")
    ridge: float = parameter(0.0, "γ", 0.0, 1e6, CHOSEN_RIDGE_HELP, "log", typical=(1e-3, 10.0))
    anchors: int = parameter(1600, "a", 0, 10_000, ANCHORS_HELP, typical=(0, 2000))
    width: float = parameter(0.0, "σ", 0.0, 100.0, WIDTH_HELP, typical=(0.0, 2.0), neutral=1.0)
    rarity: float = parameter(0.6, "p", 0.0, 10.0, RARITY_HELP, typical=(0.0, 1.0))
    clusters: int = parameter(0, "c", 0, 10_000, CLUSTERS_HELP, typical=(0, 100))
    rounds: int = parameter(3, "R", 0, 100, ROUNDS_HELP, typical=(0, 10))

    @property
    def steps(self) -> int:
        return self.iterations + self.rounds

    @property
    def needs_positive(self) -> bool:
        return not self.anchors

    @property
    def needs_memory(self) -> bool:
        return self.clusters > 0

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Train with the labels, and with clusters of items as extra labels."""
        if self.clusters:
            found = cluster_labels(train.modalities, train.labels, self.clusters, *rng.spawn(1))
            train = MultimodalDataset(train.name, train.modalities, np.hstack([train.labels, found]))
        return super().learn(train, rng, trace)

    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Training:
        """Map the features, lower the objective with real-valued codes, then refine binary codes."""
        maps = {t: self.feature_map(X, data.labels, rng) for t, X in data.X.items()}
        ridges, chosen = ridges_of(self.ridge, maps, data.X, data.labels, rng)
        problem = Problem(self, data.with_features(maps), ridges)
        state = problem.start(rng)
        warnings = warnings_of(solver.factor for solver in problem.solvers.values())
        note = "; ".join(filter(None, (chosen, warnings)))
        for _ in range(self.iterations):
            state = problem.descend(state, problem.draw_graph(rng))
            yield StepReport(problem.terms(state), "descent", note, partial(problem.model, state, maps))
            if self.has_converged(trace):
                break
        for _ in range(self.rounds):
            state = problem.refine(problem.binarise(state), problem.draw_graph(rng))
            yield StepReport(problem.terms(state), "refinement", note, partial(problem.model, state, maps))
        return problem.model(state, maps)

    def feature_map(self, X: Any, labels: Any, rng: np.random.Generator) -> FeatureMap:
        """Return the feature map: square roots with unit rows, then RBF features unless `anchors` is 0."""
        if not self.anchors:
            return SCALING
        features = fit_rbf(X, SCALING, self.anchors, rng, self.width or 1.0)
        return features if self.width else choose_width(features, X, labels, rng)


@dataclass(frozen=True, eq=False)
class State(BlockState):
    """The unknowns U, Y, W and b, and products that several steps use."""

    b: Mapping[str, FloatArray]  # (bits,)
    FtY: FloatArray  # (classes, bits)
    length: float  # Σ_i D_ii ‖y_i‖²
    is_binary: bool


class Problem(BlockProblem):
    """The objective for the given data, and the steps that lower it."""

    def __init__(self, method: SMFHPlus, data: Items, ridges: Mapping[str, float] | None = None) -> None:
        mu = method.projection_weight * 2 / len(data.X)
        super().__init__(data, method.shares(tuple(data.X)), mu, method.bits)
        self.method = method
        self.ridges = ridges or dict.fromkeys(data.X, method.ridge or USUAL_RIDGE)  # γ by modality
        self.label_weights = rarity_weights(self.sizes, method.rarity, data.unlabelled, self.items)
        self.graph = NormalisedGraph(self.sizes, self.label_weights, self.items, self.dtype)
        self.target = self.items / 4 * (np.ones((self.bits, self.bits)) + np.eye(self.bits))  # T
        self.spread = method.orthogonality_weight / (self.items * self.bits)  # β/(N r)
        self.sum_features(self.graph.of, float(data.unlabelled > 0))
        self.solvers = side_by_side(self.solver, data.X)

    def solver(self, t: str) -> RidgeSolver:
        """Return the solver of the W step with X_cᵀX_c + η Xᵀ(I − A)X + γI, which is constant."""
        solver = RidgeSolver(self.centred_gram(t), self.ridges[t], self.scatter(t), self.method.smoothness)
        solver.factor.inverse  # noqa: B018, computed here, for all modalities in parallel
        return solver

    def terms(self, state: State) -> dict[str, float]:
        """Return the weighted terms of the objective, computed without another pass over X:

            O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + α Tr(Yᵀ(I − A)Y)
                + μ Σ_t { ‖Y − H_t‖² + η Tr(W_tᵀX_tᵀ(I − A)X_tW_t) + γ_t ‖W_t‖² } + β/(N r) ‖YᵀY − T‖²

        It is minimised over U_t ≥ 0, 0 ≤ Y ≤ 1, W_t and b_t.
        """
        method, mu = self.method, self.mu
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        squared = {t: float(self.features["squared", t]) for t in U}
        error = {t: reconstruction_error(squared[t], U[t], XtY[t], YtY) for t in U}
        misfit = {t: self.misfit(t, state) for t in W}
        return {
            **{f"reconstruction ({t})": self.weights[t] * error[t] for t in U},
            "graph": method.graph_weight * (state.length - squared_norm(state.FtY)),
            **{f"projection ({t})": mu * error for t, (error, _) in misfit.items()},
            "smoothness": mu * method.smoothness * sum(roughness for _, roughness in misfit.values()),
            "ridge": mu * sum(self.ridges[t] * squared_norm(W[t]) for t in W),
            "orthogonality": self.spread * squared_norm(YtY - self.target),
        }

    def misfit(self, t: str, state: State) -> tuple[float, float]:
        """Return the error ‖Y − H‖² = ‖Y_c‖² − 2⟨W, R⟩ + q and the roughness s = Tr(WᵀXᵀ(I − A)XW) of modality t.

        Here q = ‖X_cW‖² and R = X_cᵀY. W solves (X_cᵀX_c + η Xᵀ(I − A)X + γI) W = R, so
        q + η s + γ‖W‖² = ⟨W, R⟩. If all items have labels, also s = q + N‖x̄ᵀW‖² − ‖FᵀXW‖², and no product
        with a dimensions × dimensions matrix is needed.
        """
        W, mean, solver, eta = state.W[t], state.mean, self.solvers[t], self.method.smoothness
        explained = inner(W, self.centred(t, state.XtY[t], mean))
        rest = explained - solver.factor.ridge * squared_norm(W)  # q + η s
        if self.data.unlabelled:
            rough = solver.roughness(W)
        else:
            between = self.items * squared_norm(self.means[t] @ W) - squared_norm(self.features["XtF", t].T @ W)
            rough = (rest + between) / (1 + eta)
        length = float(np.trace(state.YtY)) - self.items * squared_norm(mean)
        return length - 2 * explained + rest - eta * rough, rough

    def start(self, rng: np.random.Generator) -> State:
        """Return the initial state: random U, W and b fitted to Y, and Y from the labels and noise.

        Y = (1 − ν) (code from the labels) + ν (uniform noise); ν is START_NOISE.
        """
        codes, dtype = class_codes(self.sizes, self.bits, rng), self.dtype
        ranked = rank_codes(codes, self.label_weights, *rng.spawn(1))
        uniform = uniform_rows(rng, self.items, self.bits, np.float64)
        U = {t: rng.random((d, self.bits)).astype(dtype) for t, d in self.data.widths.items()}

        def start(block: Block) -> FloatArray:
            Y: FloatArray = (1 - START_NOISE) * label_codes(block.labels, ranked) + START_NOISE * uniform(block)
            return Y.astype(dtype)

        return self.with_hash_functions(U, *self.new_codes(start, self.block_sums()))

    def descend(self, state: State, graph: NormalisedGraph) -> State:
        """Run one iteration: update U, then Y, then W and b; with the graph of all items, O never rises."""
        U = self.update_bases(state)
        return self.with_hash_functions(U, *self.update_codes(state, U, graph))

    def update_bases(self, state: State, steps: int = 1) -> dict[str, FloatArray]:
        """Return the bases after `steps` U steps: U_t ← U_t ∘ (X_tᵀY) / (U_t YᵀY)."""
        U, XtY, YtY = dict(state.U), state.XtY, state.YtY
        for _ in range(steps):
            U = {t: drop_tiny(U[t] * XtY[t] / np.maximum(U[t] @ YtY, EPS)) for t in U}
        return U

    def draw_graph(self, rng: np.random.Generator) -> NormalisedGraph:
        """Sample m items and return their graph, or return the graph of all items if sampling is off."""
        if not 0 < self.method.graph_sample < self.items:
            return self.graph
        rows = np.sort(rng.choice(self.items, size=self.method.graph_sample, replace=False))
        return replace(self.graph, sample=rows, sample_sizes=self.data.labels[rows].sum(axis=0))

    def update_codes(self, state: State, U: Mapping[str, FloatArray], graph: NormalisedGraph) -> tuple[Codes, Sums]:
        """Run the Y step, and return the new Y and its sums.

        The step is Y ← min(Y ∘ z, 1), where z ≥ 0 is the root of q z³ + h z = B⁺ for each element, with

            B = Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ + α A Y + c Y T
            h = Σ_t λ_t Y U_tᵀU_t + (n_t μ + α) Y + B⁻
            q = c Y (YᵀY)
            c = 2β/(N r)

        The step minimises an upper bound of O that equals O at the old Y, so that O cannot rise. The code uses
        c Y T = balance (Y 11ᵀ + Y) and A Y = F (FᵀY).
        """
        (V, offset), alpha, quadratic = self.pull(state, U), self.method.graph_weight, len(U) * self.mu
        c, G = 2 * self.spread, weighted_gram(U, self.weights)
        C, balance = self.dtype.type(c) * state.YtY, c * self.items / 4
        attraction = self.dtype.type(alpha) * self.graph_sums(state, graph)  # α FᵀY

        def update(block: Block, Y: FloatArray) -> FloatArray:
            from smfh.hashing.kernels import cubic_step_inplace

            rows, new = graph.of(block), np.empty_like(Y)
            F, diagonal = rows.factors, (quadratic + alpha * rows.degrees).astype(Y.dtype)
            sparse_F, P = (F.data, F.indices, F.indptr), project(block.X, V)
            cubic_step_inplace(new, Y, P, Y @ G, Y @ C, diagonal, *sparse_F, attraction, offset, balance, TINY)
            return new

        return self.new_codes(update, self.block_sums(), state.Y)

    def pull(self, state: State, U: Mapping[str, FloatArray]) -> tuple[dict[str, FloatArray], FloatArray]:
        """Return the terms that pull codes towards features: V_t = λ_tU_t + μW_t by modality, and μ Σ_t b_t."""
        mu = self.dtype.type(self.mu)
        V = {t: self.weights[t] * U[t] + mu * state.W[t] for t in U}
        return V, mu * np.sum(list(state.b.values()), axis=0)

    def graph_sums(self, state: State, graph: NormalisedGraph) -> FloatArray:
        """Return FᵀY for the graph of all items or of a sample."""
        if graph.sample is None:
            return state.FtY
        among = graph.among(self.data.labels[graph.sample], np.arange(len(graph.sample)))
        return transposed_times(among.factors, self.data.take_codes(state.Y, graph.sample))

    def with_hash_functions(
        self, U: Mapping[str, FloatArray], Y: Codes, sums: Sums | None = None, is_binary: bool = False
    ) -> State:
        """Run the W step for centred X_c: W_t = (X_cᵀX_c + η Xᵀ(I − A)X + γI)⁻¹ X_cᵀY, b_t = ȳ − x̄_tW_t."""
        if sums is None:
            block_sums = self.block_sums()
            _, sums = self.data.run(Pass(lambda block, Y: (None, block_sums(block, Y))), Y)
        summed = self.summed(Y, sums)
        XtY, mean = summed["XtY"], summed["mean"]

        def solution(t: str) -> FloatArray:
            return np.asarray(self.solvers[t].factor.inverse @ self.centred(t, XtY[t], mean), dtype=self.dtype)

        W = side_by_side(solution, U)
        b = {t: (mean - self.means[t] @ W[t]).astype(self.dtype) for t in U}
        return State(U=U, W=W, b=b, is_binary=is_binary, **summed)

    def centred(self, t: str, XtY: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the product of centred features and codes of modality t, X_cᵀY = XᵀY − N x̄ ȳᵀ."""
        return np.asarray(XtY - self.items * np.outer(self.means[t], mean))

    def binarise(self, state: State) -> State:
        """Set Y to [Y > column mean], and update W and b, unless Y is binary and no bit is always 1."""
        if state.is_binary and np.all(state.mean < 1):
            return state
        mean = state.mean

        def binarise(block: Block, Y: FloatArray) -> FloatArray:
            return (mean < Y).astype(Y.dtype)

        return self.with_hash_functions(state.U, *self.new_codes(binarise, self.block_sums(), state.Y), is_binary=True)

    def refine(self, state: State, graph: NormalisedGraph) -> State:
        """Run a round of refinement: update U, flip bits once, update W and b; O never rises."""
        U = self.update_bases(state, BASIS_STEPS)
        return self.with_hash_functions(U, self.flip_bits(state, U, graph), is_binary=True)

    def flip_bits(self, state: State, U: Mapping[str, FloatArray], graph: NormalisedGraph) -> Codes:
        """Flip bits one after another if that lowers O; FᵀY and YᵀY − T are updated after each flip."""
        (V, offset), alpha, quadratic = self.pull(state, U), self.method.graph_weight, len(U) * self.mu
        G, spread = weighted_gram(U, self.weights).astype(np.float64), self.spread

        def project_all(block: Block) -> tuple[FloatArray, Sums]:
            return project(block.X, V) + offset, {}

        def flip(block: Block, carried: Sums, Y: FloatArray, linear: FloatArray) -> tuple[FloatArray, Sums]:
            from smfh.hashing.kernels import flip_bits_inplace

            new, S, E = Y.copy(), carried["FtY", ""].copy(), carried["excess", ""].copy()
            rows = graph.of(block)
            F, diagonal = rows.factors, (quadratic + alpha * rows.degrees).astype(Y.dtype)
            flip_bits_inplace(new, linear, G, diagonal, F.data, F.indices, F.indptr, S, E, alpha, spread)
            return new, {("FtY", ""): S, ("excess", ""): E}

        linear, _ = self.data.run(Pass(project_all, self.bits))
        FtY = self.graph_sums(state, graph).astype(np.float64)
        carried: Sums = {("FtY", ""): FtY, ("excess", ""): state.YtY - self.target}
        flipped, _ = self.data.sweep(Pass(flip, self.bits), carried, state.Y, linear)
        return flipped

    def model(self, state: State, maps: Mapping[str, FeatureMap]) -> Model:
        """Return the model: bit k is 1 if y_ik, or H(x)_k for a query, exceeds the mean of column k of Y."""
        thresholds = state.mean.astype(self.dtype)
        functions = {
            t: HashFunction(t, X.shape[1], maps[t], state.W[t], thresholds - state.b[t]) for t, X in self.data.X.items()
        }
        return Model(functions, shared_codes(tuple(functions), self.data.pack(state.Y, thresholds)), state.U)

    def block_sums(self) -> Callable[[Block, FloatArray], Sums]:
        """Return a function that computes the sums of a block that later steps need, with the whole graph."""
        graph, items, bits, maxima = self.graph, self.items, self.bits, self.data.maxima

        def sums(block: Block, Y: FloatArray) -> Sums:
            rows = graph.of(block)
            return {
                **code_sums(block, Y, items, maxima, np.ones(bits)),
                ("FtY", ""): on_grid(transposed_times(rows.factors, Y), float(items), items),
                ("length", ""): on_grid(rows.length(Y), float(items * bits), items),
            }

        return sums

    def summed(self, Y: Codes, sums: Sums) -> dict[str, Any]:
        """Return those fields of a `State` that a pass over the items computes."""
        FtY, length = sums["FtY", ""].astype(self.dtype), float(sums["length", ""])
        return {**super().summed(Y, sums), "FtY": FtY, "length": length}
