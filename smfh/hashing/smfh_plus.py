"""SMFH+: SMFH that does not depend on scale, never raises its objective, and ends with binary codes.

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + α Tr(Yᵀ(I − A)Y)
        + μ Σ_t { ‖Y − H_t‖² + η Tr(W_tᵀX_tᵀ(I − A)X_tW_t) + γ_t ‖W_t‖² } + β/(N r) ‖YᵀY − T‖²

is minimised over U_t ≥ 0, 0 ≤ Y ≤ 1, W_t and b_t. H_t = X_tW_t + 1b_tᵀ are the hash functions, A = F Fᵀ is
the degree-normalised label graph of all N items, in which rare labels weigh more (p), and T = N/4 (11ᵀ + I)
is YᵀY for balanced, independent bits. Items are rows, and letters mean the same as in `smfh.py`. No step
raises O: U is multiplied by a ratio, Y by the root of a cubic equation, and W and b are solved for in closed
form. Then Y is made binary, and bits are flipped to lower O.

If m < N, the Y step uses the graph of m items, sampled anew in each iteration; the mean over samples is A.
The W step always uses A, and its system is factored once. Using all items costs no more than a sample; m
exists only to study sampling. μ is the parameter times 2/n_t for n_t modalities; without this factor, the
scores on Emoji with ten modalities fall from .867/.715 to .662/.585.

Measured on validation folds:
- During the descent, Y moves towards ½ (on Wiki the standard deviation of a bit falls from .45 to .11), so
  binarising raises O about 20-fold. A growing pull towards 0 and 1, more rounds, and β = 1,000 were tried on
  two data sets and were not better.
- `python -m smfh tune --datasets wiki emoji planted --trials 60` chose the weights. The ten best settings
  differed by 0.002. Only α matters: the preset "first hundred" favours mAP@100 and image queries; "whole
  ranking" gives nearly one code to a whole class. Linear features need the weights of the preset "linear".
- With α = 35 and α = 130, the means over ten data sets are .776 and .739 for mAP@100, and .715 and .656 for
  NDCG@100. With one label per item (five sets), α = 130 is as good or better, by up to .017 in the mean of
  all scores; with several labels per item it is as good or worse.
- Three changes were not better on at least three of five data sets: logistic hash functions (−.004 to −.018
  on four), rows weighted by the inverse size of their class (±.004), and the majority vote of three runs with
  different initial codes (+.013 on one, ±.001 on four).
- Clusters as extra labels (preset "fine") were measured with 64 bits on four data sets whose fine classes
  were hidden. With c = 40, the share of the first 12 results that have the query's hidden class rises from
  .26 to .57 (to .55 with c = 20 and c = 80). mAP@100, the mean of both directions, changes by −.02 (Wiki with
  four classes) to +.02. With 16 bits, a similar setting lost .02 on Wiki and Emoji. So there are no clusters
  by default.
- With several labels per item, the initial codes are decisive. The mean NDCG@100 of seven data sets is .66 if
  they are the mean of the class codes, .69 if this mean is weighted with p = .8, and with `label_codes` .70
  for p = 0 and .71 for .5 ≤ p ≤ .67.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from smfh.features.clusters import cluster_labels
from smfh.features.maps import FeatureMap, choose_width, fit_rbf
from smfh.features.ridge import USUAL_RIDGE, ridges_of
from smfh.hashing.balanced import class_codes
from smfh.hashing.base import FIT_HELP, PULL_HELP, BlockMethod, Model, StepReport, Trace, Training
from smfh.hashing.blocks import Block, Codes, Items, Pass, RowsOf, Sums, UniformRows, code_sums, on_grid
from smfh.hashing.configuration import (
    ANCHORS_HELP,
    CHOSEN_RIDGE_HELP,
    ORTHOGONALITY_HELP,
    SMOOTHNESS_HELP,
    WIDTH_HELP,
    Preset,
)
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.graph import LabelGraph, NormalisedGraph, rarity_weights
from smfh.hashing.products import (
    TINY,
    drop_tiny,
    inner,
    project,
    reconstruction_error,
    squared_norm,
    transposed_times,
    weighted_gram,
)
from smfh.hashing.solvers import RidgeSolver, feature_sums, warnings_of
from smfh.parallel import side_by_side
from smfh.types import EPS, BoolArray, FloatArray, IntArray, MultimodalDataset, parameter

SCALING = FeatureMap(power=0.5, unit_rows=True)
START_NOISE = 0.1  # share of uniform noise in the initial Y
BASIS_STEPS = 5  # number of U steps in a round of refinement
RARITY_HELP = (
    "How much more rare labels weigh: a label of n items has the weight n^−p, so with 0 all labels weigh the "
    "same. Higher: codes follow fine classes. Lower: they follow large classes. No effect with one label per "
    "item."
)
CLUSTERS_HELP = (
    "Number of clusters found within the classes of each modality, which serve as extra labels where labels "
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
        """Learn from the labels, with the clusters as extra labels."""
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

    def feature_map(self, X: RowsOf, labels: RowsOf, rng: np.random.Generator) -> FeatureMap:
        """Return the feature map: square roots with unit rows, then RBF features unless `anchors` is 0."""
        if not self.anchors:
            return SCALING
        features = fit_rbf(X, SCALING, self.anchors, rng, self.width or 1.0)
        return features if self.width else choose_width(features, X, labels, rng)


@dataclass(frozen=True, eq=False)
class State:
    """The unknowns U, Y, W and b, and products that several steps use."""

    Y: Codes
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    b: Mapping[str, FloatArray]  # (bits,)
    XtY: Mapping[str, FloatArray]
    YtY: FloatArray
    mean: FloatArray  # of the rows of Y, (bits,)
    FtY: FloatArray  # (classes, bits)
    length: float  # Σ_i D_ii ‖y_i‖²
    is_binary: bool = False


class Problem:
    """The objective for the given data, and the steps that lower it."""

    def __init__(self, method: SMFHPlus, data: Items, ridges: Mapping[str, float] | None = None) -> None:
        self.method, self.bits, self.data = method, method.bits, data
        self.ridges = ridges or dict.fromkeys(data.X, method.ridge or USUAL_RIDGE)  # γ by modality
        self.items, self.dtype, self.sizes = len(data), data.dtype, data.sizes.astype(np.float64)
        self.weights, self.mu = method.shares(tuple(data.X)), method.projection_weight * 2 / len(data.X)
        has_one_label = self.sizes.sum() + data.unlabelled == self.items  # then p could only add rounding
        self.label_weights = rarity_weights(self.sizes, 0.0 if has_one_label else method.rarity)
        self.graph = NormalisedGraph(self.sizes, self.label_weights, self.items, self.dtype)
        self.target = self.items / 4 * (np.ones((self.bits, self.bits)) + np.eye(self.bits))  # T
        self.spread = method.orthogonality_weight / (self.items * self.bits)  # β/(N r)
        bounds: dict[str, Any] = {"items": self.items, "maxima": data.maxima}
        degree = float(data.unlabelled > 0)
        _, self.features = data.run(Pass(feature_sums, graph=self.graph.of, max_degree=degree, **bounds))
        self.means = {t: self.features["sum", t] / self.items for t in data.X}
        self.solvers = side_by_side(self.solver, data.X)
        self.totals: dict[str, Any] = {"graph": self.graph, "ceiling": np.ones(self.bits), **bounds}

    def solver(self, t: str) -> RidgeSolver:
        """Return the solver of the W step with X_cᵀX_c + η Xᵀ(I − A)X + γI, which is constant."""
        mean, method = self.means[t], self.method
        centred = self.features["XtX", t] - self.items * np.outer(mean, mean)
        solver = RidgeSolver.of_sums(self.features, t, self.ridges[t], method.smoothness, centred)
        solver.factor.inverse  # noqa: B018, computed here, for all modalities in parallel
        return solver

    def terms(self, state: State) -> dict[str, float]:
        """Return the weighted terms of O, computed without another pass over X."""
        method, mu = self.method, self.mu
        U, W, XtY, YtY = state.U, state.W, state.XtY, state.YtY
        squared = {t: float(self.features["squared", t]) for t in U}
        misfit = {t: self.misfit(t, state) for t in W}
        return {
            **{
                f"reconstruction ({t})": self.weights[t] * reconstruction_error(squared[t], U[t], XtY[t], YtY)
                for t in U
            },
            "graph": method.graph_weight * (state.length - squared_norm(state.FtY)),
            **{f"projection ({t})": mu * error for t, (error, _) in misfit.items()},
            "smoothness": mu * method.smoothness * sum(roughness for _, roughness in misfit.values()),
            "ridge": mu * sum(self.ridges[t] * squared_norm(W[t]) for t in W),
            "orthogonality": self.spread * squared_norm(YtY - self.target),
        }

    def misfit(self, t: str, state: State) -> tuple[float, float]:
        """Return ‖Y − H‖² = ‖Y_c‖² − 2⟨W, R⟩ + q and s = Tr(WᵀXᵀ(I − A)XW) for modality t.

        Here q = ‖X_cW‖² and R = X_cᵀY. W solves (X_cᵀX_c + η Xᵀ(I − A)X + γI) W = R, so
        q + η s + γ‖W‖² = ⟨W, R⟩. If all items have labels, also s = q + N‖x̄ᵀW‖² − ‖FᵀXW‖², and no product
        with a dimensions × dimensions matrix is needed.
        """
        W, mean, solver, eta = state.W[t], state.mean, self.solvers[t], self.method.smoothness
        explained = inner(W, self.centred(t, state.XtY[t], mean))
        rest = explained - solver.factor.ridge * squared_norm(W)  # q + η s
        if not self.data.unlabelled:
            across = squared_norm(self.features["XtF", t].T @ W)
            beside = self.items * squared_norm(self.means[t] @ W) - across
            q = (rest - eta * beside) / (1 + eta)
            rough = q + beside
        else:
            rough = solver.roughness(W)
            q = rest - eta * rough
        length = float(np.trace(state.YtY)) - self.items * squared_norm(mean)
        return length - 2 * explained + q, rough

    def start(self, rng: np.random.Generator) -> State:
        """Return the initial state: Y from the labels and noise, random U, and W and b fitted to this Y."""
        codes = class_codes(self.sizes, self.bits, rng)
        ranked = rank_codes(codes, self.label_weights, *rng.spawn(1))
        uniform = UniformRows.draw(rng, self.items, self.bits, np.float64)
        U = {t: rng.random((d, self.bits)).astype(self.dtype) for t, d in self.data.widths.items()}
        arguments = {"ranked": ranked, "uniform": uniform, "dtype": self.dtype, **self.totals}
        step = Pass(self.start_block, self.bits, **arguments)
        return self.with_hash_functions(U, *self.data.run(step))

    @staticmethod
    def start_block(
        block: Block, ranked: IntArray, uniform: UniformRows, dtype: Any, **totals: Any
    ) -> tuple[FloatArray, Sums]:
        """Return Y = (1 − ν) (code from the labels) + ν (uniform noise), and sums; ν is START_NOISE."""
        noise = uniform.block(block.start, len(block))
        Y = (1 - START_NOISE) * label_codes(block.labels, ranked) + START_NOISE * noise
        return Problem.sum_block(block, Y.astype(dtype), **totals)

    def draw_graph(self, rng: np.random.Generator) -> NormalisedGraph:
        """Return the graph of m newly sampled items, or of all items if sampling is off."""
        if not 0 < self.method.graph_sample < self.items:
            return self.graph
        rows = np.sort(rng.choice(self.items, size=self.method.graph_sample, replace=False))
        return replace(self.graph, sample=rows, sample_sizes=self.data.labels[rows].sum(axis=0))

    def descend(self, state: State, graph: NormalisedGraph) -> State:
        """Run one iteration: update U, then Y, then W and b; with the graph of all items, O never rises."""
        U = self.update_bases(state)
        return self.with_hash_functions(U, *self.update_codes(state, U, graph))

    def update_bases(self, state: State, steps: int = 1) -> dict[str, FloatArray]:
        """Return U after `steps` U steps: U_t ← U_t ∘ (X_tᵀY) / (U_t YᵀY)."""
        U, XtY, YtY = dict(state.U), state.XtY, state.YtY
        for _ in range(steps):
            U = {t: drop_tiny(U[t] * XtY[t] / np.maximum(U[t] @ YtY, EPS)) for t in U}
        return U

    def update_codes(self, state: State, U: Mapping[str, FloatArray], graph: NormalisedGraph) -> tuple[Codes, Sums]:
        """Run the Y step, and return the new Y and its sums.

        The step is Y ← min(Y ∘ z, 1), where z ≥ 0 is the root of q z³ + h z = B⁺ for each element, with

            B = Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ + α A Y + c Y T
            h = Σ_t λ_t Y U_tᵀU_t + (n_t μ + α) Y + B⁻
            q = c Y (YᵀY)
            c = 2β/(N r)

        The step minimises an upper bound of O that equals O at the old Y, so that O cannot rise.
        """
        c = 2 * self.spread
        step = Pass(
            self.update_block,
            self.bits,
            **self.pull(state, U),
            **self.graph_pull(state, graph),
            G=weighted_gram(U, self.weights),
            C=self.dtype.type(c) * state.YtY,
            balance=c * self.items / 4,
            totals=self.totals,
        )
        return self.data.run(step, state.Y)

    @staticmethod
    def update_block(
        block: Block,
        Y: FloatArray,
        V: Mapping[str, FloatArray],
        offset: FloatArray,
        graph: NormalisedGraph,
        FtY: FloatArray,
        alpha: float,
        quadratic: float,
        G: FloatArray,
        C: FloatArray,
        balance: float,
        totals: Mapping[str, Any],
    ) -> tuple[FloatArray, Sums]:
        """Run the Y step for a block, with c Y T = balance (Y 11ᵀ + Y) and A Y = F (FᵀY)."""
        from smfh.hashing.kernels import cubic_step_inplace

        rows = graph.of(block)
        F, pull, diagonal = rows.factors, Y.dtype.type(alpha) * FtY, diagonal_of(rows, alpha, quadratic)
        P, YG, YC = project(block.X, V), Y @ G, Y @ C
        new = np.empty_like(Y)
        cubic_step_inplace(new, Y, P, YG, YC, diagonal, F.data, F.indices, F.indptr, pull, offset, balance, TINY)
        return Problem.sum_block(block, new, **totals)

    def pull(self, state: State, U: Mapping[str, FloatArray]) -> dict[str, Any]:
        """Return the arguments of `pull_block`: V_t = λ_tU_t + μW_t of each modality, and μ Σ_t b_t."""
        mu = self.dtype.type(self.mu)
        V = {t: self.weights[t] * U[t] + mu * state.W[t] for t in U}
        return {"V": V, "offset": mu * np.sum(list(state.b.values()), axis=0)}

    @staticmethod
    def pull_block(block: Block, V: Mapping[str, FloatArray], offset: FloatArray) -> tuple[FloatArray, Sums]:
        """Return Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ for a block."""
        return project(block.X, V) + offset, {}

    def graph_pull(self, state: State, graph: NormalisedGraph) -> dict[str, Any]:
        """Return the graph arguments of a step: the graph, its FᵀY, α, and n_t μ as `quadratic`."""
        FtY = state.FtY
        if graph.sample is not None:
            among = graph.among(self.data.labels[graph.sample], np.arange(len(graph.sample)))
            FtY = transposed_times(among.factors, self.data.take_codes(state.Y, graph.sample))
        alpha, quadratic = self.method.graph_weight, len(self.weights) * self.mu
        return {"graph": graph, "FtY": FtY, "alpha": alpha, "quadratic": quadratic}

    def with_hash_functions(
        self, U: Mapping[str, FloatArray], Y: Codes, sums: Sums | None = None, is_binary: bool = False
    ) -> State:
        """Run the W step for centred X_c: W_t = (X_cᵀX_c + η Xᵀ(I − A)X + γI)⁻¹ X_cᵀY, b_t = ȳ − x̄_tW_t."""
        if sums is None:
            _, sums = self.data.run(Pass(self.count_block, **self.totals), Y)
        XtY = {t: sums["XtY", t].astype(self.dtype) for t in U}
        mean = sums["sum", ""] / self.items

        def solution(t: str) -> FloatArray:
            W: FloatArray = self.solvers[t].factor.inverse @ self.centred(t, XtY[t], mean)
            return W.astype(self.dtype)

        W = side_by_side(solution, U)
        b = {t: (mean - self.means[t] @ W[t]).astype(self.dtype) for t in U}
        YtY, FtY = (sums[name, ""].astype(self.dtype) for name in ("YtY", "FtY"))
        return State(Y, U, W, b, XtY, YtY, mean, FtY, float(sums["length", ""]), is_binary)

    def centred(self, t: str, XtY: FloatArray, mean: FloatArray) -> FloatArray:
        """Return X_cᵀY = XᵀY − N x̄ ȳᵀ for modality t."""
        centred: FloatArray = XtY - self.items * np.outer(self.means[t], mean)
        return centred

    def binarise(self, state: State) -> State:
        """Set Y to [Y > column mean], and update W and b, unless Y is binary and no bit is always 1."""
        if state.is_binary and np.all(state.mean < 1):
            return state
        step = Pass(self.binarise_block, self.bits, mean=state.mean, **self.totals)
        return self.with_hash_functions(state.U, *self.data.run(step, state.Y), is_binary=True)

    @staticmethod
    def binarise_block(block: Block, Y: FloatArray, mean: FloatArray, **totals: Any) -> tuple[FloatArray, Sums]:
        return Problem.sum_block(block, (mean < Y).astype(Y.dtype), **totals)

    def refine(self, state: State, graph: NormalisedGraph) -> State:
        """Run a round of refinement: update U, flip bits once, update W and b; O never rises."""
        U = self.update_bases(state, BASIS_STEPS)
        return self.with_hash_functions(U, self.flip_bits(state, U, graph), is_binary=True)

    def flip_bits(self, state: State, U: Mapping[str, FloatArray], graph: NormalisedGraph) -> Codes:
        """Flip bits one after another if that lowers O; FᵀY and YᵀY − T are updated after each flip."""
        linear, _ = self.data.run(Pass(self.pull_block, self.bits, **self.pull(state, U)))
        pull = self.graph_pull(state, graph)
        carried: Sums = {("FtY", ""): pull.pop("FtY").astype(np.float64), ("excess", ""): state.YtY - self.target}
        G = weighted_gram(U, self.weights).astype(np.float64)
        flip = Pass(self.flip_block, self.bits, G=G, spread=self.spread, **pull)
        flipped, _ = self.data.sweep(flip, carried, state.Y, linear)
        return flipped

    @staticmethod
    def flip_block(
        block: Block,
        carried: Sums,
        Y: FloatArray,
        linear: FloatArray,
        graph: NormalisedGraph,
        alpha: float,
        quadratic: float,
        G: FloatArray,
        spread: float,
    ) -> tuple[FloatArray, Sums]:
        from smfh.hashing.kernels import flip_bits_inplace

        new, S, E = Y.copy(), carried["FtY", ""].copy(), carried["excess", ""].copy()
        rows = graph.of(block)
        F, diagonal = rows.factors, diagonal_of(rows, alpha, quadratic)
        flip_bits_inplace(new, linear, G, diagonal, F.data, F.indices, F.indptr, S, E, alpha, spread)
        return new, {("FtY", ""): S, ("excess", ""): E}

    def model(self, state: State, maps: Mapping[str, FeatureMap]) -> Model:
        """Return the model: bit k is 1 if y_ik, or H(x)_k for a query, exceeds the mean of column k of Y."""
        thresholds = state.mean.astype(self.dtype)
        functions = {
            t: HashFunction(t, X.shape[1], maps[t], state.W[t], thresholds - state.b[t]) for t, X in self.data.X.items()
        }
        return Model(functions, shared_codes(tuple(functions), self.data.pack(state.Y, thresholds)), state.U)

    @staticmethod
    def count_block(block: Block, Y: FloatArray, **totals: Any) -> tuple[None, Sums]:
        return None, Problem.sum_block(block, Y, **totals)[1]

    @staticmethod
    def sum_block(
        block: Block, Y: FloatArray, graph: NormalisedGraph, items: int, **bounds: Any
    ) -> tuple[FloatArray, Sums]:
        """Return the codes of a block and the sums that later steps need, with the graph of all items."""
        rows, bits = graph.of(block), Y.shape[1]
        return Y, {
            **code_sums(block, Y, items, **bounds),
            ("FtY", ""): on_grid(transposed_times(rows.factors, Y), float(items), items),
            ("length", ""): on_grid(rows.length(Y), float(items * bits), items),
        }


def diagonal_of(graph: LabelGraph, alpha: float, quadratic: float) -> FloatArray:
    """Return n_t μ + α D_ii for each item; without sampling, D_ii is 1, or 0 if an item has no labels."""
    diagonal: FloatArray = (quadratic + alpha * graph.degrees).astype(graph.factors.dtype)
    return diagonal


def label_codes(labels: BoolArray, ranked: IntArray) -> FloatArray:
    """Return the initial code of each item, given the result of `rank_codes`; ½ for items without labels.

    Each bit has its own random order of the classes. An item gets the bit of that of its classes which is
    first in this order. Two items have the same first class with probability J, the weight of their common
    labels divided by the weight of all their labels; otherwise, their bits agree by chance. So a share (1 +
    J) / 2 of their bits agrees, whatever their numbers of labels.
    """
    L, codes = sparse.csr_array(labels), np.full((len(labels), ranked.shape[1]), 0.5)
    has_labels = np.diff(L.indptr) > 0
    if has_labels.any():
        codes[has_labels] = np.minimum.reduceat(ranked[L.indices], L.indptr[:-1][has_labels]) % 2
    return codes


def rank_codes(codes: FloatArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return 2 · rank + bit for every class and bit; each bit has its own random ranks of the classes.

    Classes are ranked by e/w with exponential random numbers e, so that class k is the first of any set of
    classes that contains it with probability w_k / Σ w.
    """
    keys = rng.exponential(size=codes.shape) / weights[:, None]
    ranks: IntArray = np.argsort(np.argsort(keys, axis=0), axis=0)
    return 2 * ranks + codes.astype(ranks.dtype)
