"""SMFH+: the idea of SMFH made scale-free, with guaranteed descent and a discrete finish.

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖² + α Tr(Yᵀ(I − A)Y)
        + μ Σ_t { ‖Y − H_t‖² + η Tr(W_tᵀX_tᵀ(I − A)X_tW_t) + γ ‖W_t‖² } + β/(N r) ‖YᵀY − T‖²

over U_t ≥ 0, 0 ≤ Y ≤ 1, W_t and b_t, with H_t = X_tW_t + 1b_tᵀ, A = F Fᵀ the degree-normalised label graph
on all N items, and T = N/4 (11ᵀ + I): the YᵀY of balanced, independent bits. Each step lowers O: U by a
ratio step, Y by the root of a cubic, W and b in closed form. Then Y is made binary, and single bits are
flipped where that lowers O. With m < N, the graph that pulls at Y is in every step that of m items drawn
anew, whose mean is A; W keeps all of A, which is factored once. A costs no more than a sample of it: m is
there to see what sampling does. μ is the parameter times 2/n_t: with ten modalities of Emoji (validation
rows, 64 bits) text → image and image → text are .867/.715 so, and .662/.585 if each had what it has of two.

The descent gathers Y about ½: on Wiki the standard deviation of a bit falls from .45 to .11, and O with its
square. Making Y binary gives it back its ½, so O rises some 20-fold, and what the descent leaves behind is
on which side of the mean an item lies. Tried on validation rows, four parts each: a pull towards 0 and 1 that
grows during the descent (O within 2 %, scores within .008 either way), more rounds (the same), β of 1,000
(Emoji's unseen items up to .013 better, Wiki's mAP@100 up to .016 worse): nothing that wins on two sets.

The weights were chosen by `python -m smfh tune --datasets wiki emoji planted --trials 60` on validation
parts of the training rows. The ten best settings lay within 0.002 of each other: they matter little. α alone
decides between two goals: the preset "first hundred" serves mAP@100 and pictures that ask, "whole ranking"
gathers each class in nearly one code, which serves mAP over all answers. RBF features with up to 1,600
anchors and a width of each modality's own, with the γ that suits them, were chosen on such parts of wiki,
emoji, planted and synthetic. Linear features want other weights, found on wiki and emoji: preset "linear".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smfh.features.maps import FeatureMap, fit_rbf
from smfh.features.widths import choose_width
from smfh.hashing.base import Learning, Learnt, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.factorisation import (
    FIT,
    PULL,
    Descent,
    LabelGraph,
    RidgeSolver,
    correlate,
    draw_rows,
    project,
    reconstruction_error,
    share_out,
    update_basis,
    weighted_gram,
)
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.positive import told
from smfh.hashing.products import column_means, cross_product, gram, inner, squared_norm, transposed_times
from smfh.hashing.steps import CubicTerms, cubic_step
from smfh.hashing.views import ANCHORS
from smfh.parallel import side_by_side
from smfh.types import BoolArray, FloatArray, Matrix, MultimodalDataset, parameter

SCALING = FeatureMap(power=0.5, unit_rows=True)
NOISE = 0.1  # share of randomness in the start
BASIS_STEPS = 5  # ratio steps of U in a round of refinement
WIDTH = (
    "Width of the RBF features as a share of the mean distance; 0: for each modality the one that tells most "
    "of the labels. Up: smoother hash functions; down: each anchor speaks for its nearest alone."
)
SAMPLE = (
    "Items that carry the graph in an iteration; 0 is all, exactly, which costs no more. Up: nearer to all; "
    "down: a noisier pull, and worse rankings, the whole of them more than their first hundred."
)
CANDIDATES = 100  # partitions of the classes that compete for each bit of the start


@dataclass(frozen=True)
class SMFHPlus(Descent):
    """Scale-free SMFH on RBF features, refined to binary codes."""

    name: ClassVar[str] = "smfh-plus"
    title: ClassVar[str] = "SMFH+"
    presets: ClassVar[Mapping[str, Preset]] = {
        "first hundred": Preset(),
        "whole ranking": Preset({"graph_weight": 130.0}),
        "linear": Preset(
            {
                "anchors": 0,
                "graph_weight": 8.0,
                "projection_weight": 14.0,
                "orthogonality_weight": 100.0,
                "ridge": 0.3,
            }
        ),
    }

    graph_weight: float = parameter(35.0, "α", 0.0, 1e6, PULL, "log")
    projection_weight: float = parameter(35.0, "μ", 0.0, 1e6, FIT, "log")
    graph_sample: int = parameter(0, "m", 0, 10_000_000, SAMPLE, "log", typical=(20, 20_000), neutral=0)
    orthogonality_weight: float = parameter(
        200.0, "β", 0.0, 1e6, "Balances the bits and keeps them apart.", "log"
    )
    smoothness: float = parameter(1e-3, "η", 0.0, 1e6, "Label smoothness of the hash functions.", "log")
    ridge: float = parameter(0.1, "γ", 1e-9, 1e6, "Shrinks the hash functions.", "log")
    anchors: int = parameter(1600, "a", 0, 10_000, ANCHORS, typical=(0, 2000))
    width: float = parameter(0.0, "σ", 0.0, 100.0, WIDTH, typical=(0.0, 2.0), neutral=1.0)
    rounds: int = parameter(3, "R", 0, 100, "Rounds of discrete refinement.", typical=(0, 10))

    @property
    def steps(self) -> int:
        return self.iterations + self.rounds

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """Descend, then refine."""
        maps = {t: self.feature_map(X, train.labels, rng) for t, X in train.modalities.items()}
        X = {t: maps[t](train.modalities[t]) for t in maps}
        problem = Problem(self, X, train.labels, self.shares(train))
        state = problem.start(rng, train.dtype)
        note = told(solver.factor for solver in problem.solvers.values())

        def learnt() -> Learnt:
            thresholds = state.mean.astype(state.Y.dtype)
            functions = {
                t: HashFunction(t, x.shape[1], maps[t], state.W[t], thresholds - state.b[t])
                for t, x in train.modalities.items()
            }
            return Learnt(functions, shared_codes(tuple(X), state.Y > thresholds), state.U)

        for _ in range(self.iterations):
            state = problem.descend(state, problem.draw_graph(rng))
            yield Progress(problem.terms(state), "descent", note, learnt)
            if self.has_converged(trace):
                break
        for _ in range(self.rounds):
            state = problem.refine(problem.binarise(state), problem.draw_graph(rng))
            yield Progress(problem.terms(state), "refinement", note, learnt)
        return learnt()

    def feature_map(self, X: Matrix, labels: BoolArray, rng: np.random.Generator) -> FeatureMap:
        """Square roots and unit rows, then RBF features unless there are to be no anchors."""
        if not self.anchors:
            return SCALING
        features = fit_rbf(X, SCALING, self.anchors, rng, self.width or 1.0)
        return features if self.width else choose_width(features, X, labels, rng)


@dataclass(frozen=True, eq=False)
class State:
    """The unknowns, with the products that every step shares."""

    Y: FloatArray  # (items, bits)
    U: Mapping[str, FloatArray]  # (dimensions, bits)
    W: Mapping[str, FloatArray]  # (dimensions, bits)
    b: Mapping[str, FloatArray]  # (bits,)
    XtY: Mapping[str, FloatArray]
    YtY: FloatArray
    FtY: FloatArray  # (classes, bits)
    mean: FloatArray  # of the rows of Y, (bits,)


class Problem:
    """O for given data: what stays the same during a fit, and the steps that lower it."""

    def __init__(
        self, method: SMFHPlus, X: Mapping[str, Matrix], labels: BoolArray, weights: Mapping[str, float]
    ) -> None:
        self.method, self.X, self.labels, self.weights = method, X, labels, weights
        self.items, self.bits = len(labels), method.bits
        self.mu = share_out(method.projection_weight, len(X))
        dtype = np.result_type(*(x.dtype for x in X.values()))
        self.affinity = LabelGraph.of(labels, dtype)
        self.graph = self.affinity.normalised()
        self.squared = {t: squared_norm(X[t]) for t in X}
        self.means = {t: column_means(X[t]) for t in X}
        self.solvers = side_by_side(self.solver, X)
        self.XtF = {t: cross_product(X[t], self.graph.factors) for t in X}
        self.target = self.items / 4 * (np.ones((self.bits, self.bits)) + np.eye(self.bits))  # T
        self.spread = method.orthogonality_weight / (self.items * self.bits)  # β/(N r)

    def solver(self, t: str) -> RidgeSolver:
        """X_cᵀX_c = XᵀX − N x̄x̄ᵀ and Xᵀ(I − A)X stay: one factorisation a fit."""
        XtX, mean = gram(self.X[t]), self.means[t]
        centred = XtX - self.items * np.outer(mean, mean)
        scatter = self.graph.scatter(self.X[t], XtX)
        solver = RidgeSolver(centred, self.method.ridge, scatter, self.method.smoothness)
        solver.factor.inverse  # noqa: B018, made here, side by side
        return solver

    def draw_graph(self, rng: np.random.Generator) -> LabelGraph:
        """The graph of m items drawn anew, or of all."""
        if not 0 < self.method.graph_sample < self.items:
            return self.graph
        return self.affinity.sampled(draw_rows(rng, self.items, self.method.graph_sample))

    def start(self, rng: np.random.Generator, dtype: Any) -> State:
        """Y from the labels, with noise; U uniform; W and b from Y."""
        Y = (1 - NOISE) * label_codes(self.labels, self.bits, rng) + NOISE * rng.random(
            (self.items, self.bits)
        )
        U = {t: rng.random((x.shape[1], self.bits)).astype(dtype) for t, x in self.X.items()}
        return self.with_hash_functions(Y.astype(dtype), U)

    def with_hash_functions(self, Y: FloatArray, U: Mapping[str, FloatArray]) -> State:
        """W = (X_cᵀX_c + η Xᵀ(I − A)X + γI)⁻¹ X_cᵀY, b = mean of Y − XW, with X_c centred."""
        XtY, YtY = correlate(self.X, Y), Y.T @ Y
        mean = column_means(Y)

        def solution(t: str) -> FloatArray:
            W: FloatArray = self.solvers[t].factor.inverse @ self.centred(t, XtY, mean)
            return W.astype(Y.dtype)

        W = side_by_side(solution, self.X)
        b = {t: (mean - self.means[t] @ W[t]).astype(Y.dtype) for t in self.X}
        return State(Y, U, W, b, XtY, YtY, transposed_times(self.graph.factors, Y), mean)

    def centred(self, t: str, XtY: Mapping[str, FloatArray], mean: FloatArray) -> FloatArray:
        """X_cᵀY = XᵀY − N x̄ ȳᵀ"""
        centred: FloatArray = XtY[t] - self.items * np.outer(self.means[t], mean)
        return centred

    def update_bases(self, state: State, steps: int = 1) -> dict[str, FloatArray]:
        U = dict(state.U)
        for _ in range(steps):
            U = {t: update_basis(state.XtY[t], U[t], state.YtY) for t in U}
        return U

    def descend(self, state: State, graph: LabelGraph) -> State:
        """U, then Y, then W and b; none of them raises O where A is the whole graph."""
        U = self.update_bases(state)
        return self.with_hash_functions(self.update_codes(state, U, graph), U)

    def update_codes(self, state: State, U: Mapping[str, FloatArray], graph: LabelGraph) -> FloatArray:
        """Y ← min(Y ∘ z, 1), z the positive root of q z³ + h z = B⁺, with c = 2β/(N r) and

        B = Σ_t X_t(λ_tU_t + μW_t) + μ Σ_t 1b_tᵀ + α A Y + c Y T,
        h = Σ_t λ_t Y U_tᵀU_t + (n_t μ + α) Y + B⁻,
        q = c Y (YᵀY): it minimises a bound that touches O at Y, so O cannot rise.
        """
        method, Y, c = self.method, state.Y, 2 * self.spread
        alpha, mu = Y.dtype.type(method.graph_weight), self.mu
        P = project(self.X, {t: self.weights[t] * U[t] + Y.dtype.type(mu) * state.W[t] for t in U})
        terms = CubicTerms(
            P=P,
            YG=Y @ weighted_gram(U, self.weights),
            YC=Y @ (Y.dtype.type(c) * state.YtY),
            F=graph.factors,
            pull=alpha * self.labels_of(state, graph),  # A Y = F (FᵀY)
            offset=Y.dtype.type(mu) * np.sum(list(state.b.values()), axis=0),
            diagonal=self.diagonal(Y, graph),
            balance=c * self.items / 4,
        )
        return cubic_step(Y, terms)

    def labels_of(self, state: State, graph: LabelGraph) -> FloatArray:
        """FᵀY"""
        return state.FtY if graph is self.graph else transposed_times(graph.factors, state.Y)

    def diagonal(self, Y: FloatArray, graph: LabelGraph) -> FloatArray:
        """n_t μ + α, where an item without labels has no graph term."""
        quadratic = len(self.X) * self.mu
        return (quadratic + self.method.graph_weight * graph.degrees).astype(Y.dtype)

    def binarise(self, state: State) -> State:
        """Y = [Y > mean of its column]; U and W follow."""
        Y = (state.Y > state.mean).astype(state.Y.dtype)
        return self.with_hash_functions(Y, state.U)

    def refine(self, state: State, graph: LabelGraph) -> State:
        """A few steps of U, one sweep of single-bit flips, then W and b: each lowers O and keeps Y binary."""
        U = self.update_bases(state, BASIS_STEPS)
        return self.with_hash_functions(self.flip_bits(state, U, graph), U)

    def flip_bits(self, state: State, U: Mapping[str, FloatArray], graph: LabelGraph) -> FloatArray:
        """Every bit in turn, flipped where that lowers O, with FᵀY and YᵀY − T kept up to date."""
        from smfh.hashing.kernels import flip_bits_inplace

        method, Y, F = self.method, state.Y.copy(), graph.factors
        mu = Y.dtype.type(self.mu)
        linear = project(self.X, {t: self.weights[t] * U[t] + mu * state.W[t] for t in U})
        linear += mu * np.sum(list(state.b.values()), axis=0)
        G, diagonal = weighted_gram(U, self.weights).astype(np.float64), self.diagonal(Y, graph)
        S, E, alpha = (
            self.labels_of(state, graph).astype(np.float64),
            state.YtY - self.target,
            method.graph_weight,
        )
        flip_bits_inplace(Y, linear, G, diagonal, F.data, F.indices, F.indptr, S, E, alpha, self.spread)
        return Y

    def misfit(self, t: str, state: State) -> tuple[float, float]:
        """‖Y − H‖² = ‖Y_c‖² − 2⟨W, R⟩ + q and s = Tr(WᵀXᵀ(I − A)XW), with q = ‖X_cW‖² and R = X_cᵀY.

        W solves (X_cᵀX_c + η Xᵀ(I − A)X + γI) W = R, so q + η s + γ‖W‖² = ⟨W, R⟩. Where all items have
        labels, s = q + N‖x̄ᵀW‖² − ‖FᵀXW‖² too, and nothing of dimensions × dimensions is needed.
        """
        W, mean, solver, eta = state.W[t], state.mean, self.solvers[t], self.method.smoothness
        explained = inner(W, self.centred(t, state.XtY, mean))
        rest = explained - solver.factor.ridge * squared_norm(W)  # q + η s
        if self.graph.degrees.all():
            beside = self.items * squared_norm(self.means[t] @ W) - squared_norm(self.XtF[t].T @ W)
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
                * reconstruction_error(self.squared[t], U[t], XtY[t], YtY)
                for t in U
            },
            "graph": method.graph_weight * self.graph.energy(state.Y, state.FtY),
            **{f"projection ({t})": mu * error for t, (error, _) in misfit.items()},
            "smoothness": mu * method.smoothness * sum(roughness for _, roughness in misfit.values()),
            "ridge": mu * method.ridge * sum(squared_norm(W[t]) for t in W),
            "orthogonality": self.spread * squared_norm(YtY - self.target),
        }


def label_codes(labels: BoolArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """For each item the mean code of its classes; an item without labels starts at ½."""
    counts = labels.sum(axis=1, keepdims=True)
    codes = labels.astype(np.float64) @ class_codes(labels.sum(axis=0), bits, rng)
    means: FloatArray = np.where(counts > 0, codes / np.maximum(counts, 1), 0.5)
    return means


def class_codes(sizes: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """A binary code per class, bits balanced over items, classes far apart.

    Each bit is the best of some random partitions into halves: it should cut where the codes so far are
    close, Σ_{a,b} 2^−d(a,b), and leave as many items on as off.
    """
    classes = len(sizes)
    codes = np.zeros((classes, bits))
    closeness = 1 - np.eye(classes)
    share = sizes / max(sizes.sum(), 1)
    for k in range(bits):
        halves = rng.permuted(np.tile(np.arange(classes) % 2, (CANDIDATES, 1)), axis=1)
        same_side = halves @ closeness * halves + (1 - halves) @ closeness * (1 - halves)
        imbalance = np.abs(halves @ share - 0.5)
        score = same_side.sum(axis=1) / max(closeness.sum(), 1e-300) + imbalance
        codes[:, k] = np.abs(halves[np.argmin(score)] - rng.integers(2))  # or its complement
        closeness *= np.where(codes[:, k, None] == codes[None, :, k], 1.0, 0.5)
        closeness /= max(closeness.max(), 1e-300)
    return codes
