"""Run SMFH (Algorithm 1 of the paper) on the small example, with a snapshot after every step.

`explain_entry` shows how an entry of a matrix is computed: its equation in symbols, with numbers, and as code.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfh.hashing import SMFH
from smfh.hashing.blocks import Items
from smfh.hashing.smfh import STEPS, Problem, State
from smfh.lessons.example import Example
from smfh.types import BoolArray, FloatArray, IntArray

MatrixKey = tuple[str, str]  # name and modality of a matrix; modality "" if all modalities share it
TOLERANCE = 1e-9  # changes below this count as no change
DIGITS, SOLVER_DIGITS = 5, 7  # significant digits; more for sums in which large numbers cancel
PRODUCTS_PER_LINE = 3


@dataclass(frozen=True)
class StepInfo:
    """Description of a step of Algorithm 1: title, symbol, equation, explanation, inputs and outputs."""

    title: str
    symbol: str
    equation: str  # LaTeX
    explanation: str
    inputs: tuple[str, ...]  # names of matrices
    outputs: tuple[str, ...]
    paper_equations: tuple[str, ...]


STEP_INFO: Mapping[str, StepInfo] = {
    "bases": StepInfo(
        "The bases U",
        "U",
        r"U_t \leftarrow U_t \circ \frac{X_t^\top Y}{U_t\,(Y^\top Y)}",
        "The bases are adjusted so that bits and bases reconstruct the features. A fraction above 1 makes an "
        "entry grow, a fraction below 1 makes it shrink. No entry can become negative.",
        ("features", "relaxed", "basis"),
        ("basis", "rebuilt"),
        ("10", "12"),
    ),
    "sample": StepInfo(
        "The sample",
        "sample",
        r"S: m \text{ of } N \text{ items}, \qquad \hat{A} = \hat{L}_a \hat{L}_a^\top",
        "A random sample of items is drawn. Only these items use their labels in this iteration. The "
        "affinity of two items is the number of classes they share. Another sample compares other items, so "
        "the objective may jump in this step.",
        ("labels",),
        ("graph",),
        ("13", "Times"),
    ),
    "codes": StepInfo(
        "The relaxed codes Y",
        "Y",
        r"\begin{aligned} Y &\leftarrow Y \circ \frac{B^+}{Y M + \alpha\, S \hat{D} \hat{Y} + B^-} \\ "
        r"B &= \textstyle\sum_t X_t(\lambda_t U_t + \mu W_t) + \alpha\, S \hat{A} \hat{Y} + 2\beta Y \\ "
        r"M &= \textstyle\sum_t \lambda_t U_t^\top U_t + n_t \mu I + 2\beta\, Y^\top Y \end{aligned}",
        "Three things determine the bits of an item: its features, the hash functions, and the sampled "
        "items of the same class. The fraction compares their target with the current value.",
        ("features", "graph", "basis", "function", "relaxed"),
        ("relaxed", "threshold", "code", "rebuilt"),
        ("13", "16", "17"),
    ),
    "scale": StepInfo(
        "The scale",
        "scale",
        r"y_k \leftarrow y_k / \max y_k, \qquad u_k \leftarrow u_k \max y_k",
        "Every bit is scaled so that its largest value is 1. The product of Y and U does not change, but "
        "the other terms do. This is why the objective may rise in this step.",
        ("relaxed", "basis"),
        ("relaxed", "basis", "threshold"),
        ("17",),
    ),
    "functions": StepInfo(
        "The hash functions W",
        "W",
        r"W_t = (X_t^\top X_t + \eta\, \hat{X}_t^\top \hat{L} \hat{X}_t + \gamma I)^{-1} X_t^\top Y",
        "Ridge regression from features to bits. A new item, which was not in the training data, has no row "
        "in Y, so W computes its code from its features.",
        ("features", "relaxed", "graph"),
        ("function",),
        ("18",),
    ),
}
STEP_NAMES = tuple(STEP_INFO)

DEFAULT_METHOD = SMFH(  # of the seeds 0 to 19, the one with the most relevant results: four bits are few
    bits=4, graph_weight=1.0, projection_weight=1.0, graph_sample=6, iterations=10, seed=18
)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The matrices of SMFH between two steps; X, U, W and Y are named as in the paper."""

    method: SMFH
    shares: Mapping[str, float]  # λ_t
    mu: float  # μ per modality
    X: Mapping[str, FloatArray]
    labels: BoolArray
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    Y: FloatArray
    thresholds: FloatArray
    sample: IntArray  # sampled items
    terms: Mapping[str, float]  # weighted terms of the objective, by name

    @cached_property
    def graph(self) -> FloatArray:
        """S Â Sᵀ: the number of classes that two items share, or 0 unless both were sampled."""
        sampled = np.isin(np.arange(len(self.Y)), self.sample)
        affinity: FloatArray = self.labels.astype(np.float64) @ self.labels.T * np.outer(sampled, sampled)
        return affinity

    @cached_property
    def matrices(self) -> dict[MatrixKey, FloatArray]:
        """All matrices by name and modality."""
        found: dict[MatrixKey, FloatArray] = {}
        for t, U in self.U.items():
            found |= {("features", t): self.X[t], ("rebuilt", t): self.Y @ U.T}
            found |= {("basis", t): U, ("function", t): self.W[t]}
        found |= {("relaxed", ""): self.Y, ("threshold", ""): self.thresholds[None]}
        found |= {("code", ""): (self.Y > self.thresholds) * 1.0, ("graph", ""): self.graph}
        return found | {("labels", ""): self.labels * 1.0}

    def query_code(self, modality: str, item: int) -> BoolArray:
        """Return the code of an item as a query: its features times W, compared with the thresholds."""
        code: BoolArray = self.X[modality][item] @ self.W[modality] > self.thresholds
        return code

    def rank(self, modality: str, item: int) -> tuple[IntArray, IntArray]:
        """Return all items in order of Hamming distance from this item's hash code, and the distances."""
        codes = self.Y > self.thresholds
        distances = np.count_nonzero(codes != self.query_code(modality, item), axis=1)
        order = np.argsort(distances, kind="stable")
        return order, distances[order]


@dataclass(frozen=True, eq=False)
class Step:
    """A step of an iteration, with the matrices before and after it."""

    iteration: int  # from 1
    name: str  # a key of STEP_INFO
    before: Snapshot
    after: Snapshot

    @property
    def term_changes(self) -> dict[str, float]:
        """The change of each term of the objective that changed, by name, the largest first."""
        changes = {term: after - self.before.terms[term] for term, after in self.after.terms.items()}
        changes = {term: change for term, change in changes.items() if abs(change) > TOLERANCE}
        return dict(sorted(changes.items(), key=lambda change: -abs(change[1])))

    @cached_property
    def sizes(self) -> dict[MatrixKey, FloatArray]:
        """The absolute change of each entry, for every matrix."""
        return {key: np.abs(M - self.before.matrices[key]) for key, M in self.after.matrices.items()}

    @property
    def largest_change(self) -> tuple[MatrixKey, int, int]:
        """The position (matrix, row, column) of the entry that changed most in the step's first output matrix."""
        name = STEP_INFO[self.name].outputs[0]
        key = max((key for key in self.sizes if key[0] == name), key=lambda key: self.sizes[key].max())
        row, column = np.unravel_index(self.sizes[key].argmax(), self.sizes[key].shape)
        return key, int(row), int(column)


@dataclass(frozen=True, eq=False)
class Walkthrough:
    """All steps of an SMFH run on the example, in order."""

    example: Example
    method: SMFH
    steps: tuple[Step, ...]

    @cached_property
    def source(self) -> str:
        """The modality of the query: text if the data has text."""
        return "text" if "text" in self.example.features else list(self.example.features)[-1]

    def at(self, iteration: int, step: str) -> Step:
        """Return a step by iteration (from 1) and name."""
        return self.steps[(iteration - 1) * len(STEP_NAMES) + STEP_NAMES.index(step)]


def walk_through(example: Example, method: SMFH) -> Walkthrough:
    """Run SMFH on the example and return all its steps; uses the internals of SMFH."""
    data, rng = example.data, np.random.default_rng(method.seed)
    problem = Problem(method, Items(data.modalities, data.labels))
    X = {t: np.asarray(x) for t, x in data.modalities.items()}

    def take_snapshot(state: State) -> Snapshot:
        terms = problem.terms(replace(state, solvers=solvers))
        own = state.U, state.W, np.asarray(state.Y), state.mean, state.rows, terms
        return Snapshot(method, problem.weights, problem.mu, X, data.labels, *own)

    state = problem.with_sample(problem.start(rng), np.arange(len(data)))
    solvers = problem.solvers(state)
    before, steps = take_snapshot(state), []
    for iteration in range(1, method.iterations + 1):
        for name, step in STEPS:
            state = step(problem, state, rng)
            if name == "sample":  # the terms of the objective need the graph of this sample
                solvers = problem.solvers(state)
            steps.append(Step(iteration, name, before, take_snapshot(state)))
            before = steps[-1].after
    return Walkthrough(example, method, tuple(steps))


@dataclass(frozen=True)
class Formula:
    """The computation of a matrix entry: in symbols, with rounded numbers, and as Python with exact numbers."""

    symbols: str = ""  # LaTeX
    numbers: str = ""  # LaTeX, without the result
    code: str = ""  # a Python expression; empty if nothing is computed
    remark: str = ""


def explain_entry(step: Step, key: MatrixKey, i: int, k: int) -> Formula:
    """Explain a matrix entry by the equation of the step if the step computes it, else by its definition."""
    (name, t), old, now, n = key, step.before, step.after, _number
    match step.name, name:
        case "codes", "relaxed":
            return _explain_relaxed(old, i, k)
        case "bases", "basis":  # u_ik (XᵀY)_ik / (U YᵀY)_ik
            y = old.Y
            u, over, under = old.U[t][i, k], float(old.X[t][:, i] @ y[:, k]), float(old.U[t][i] @ y.T @ y[:, k])
            symbols = r"u_{jk} \frac{(X^\top Y)_{jk}}{(U\,Y^\top Y)_{jk}}"
            return Formula(symbols, rf"{n(u)} \cdot \frac{{{n(over)}}}{{{n(under)}}}", f"({u}\n * {over}\n / {under})")
        case "scale", "relaxed":  # y_ik / max_i y_ik
            y, highest = old.Y[i, k], old.Y[:, k].max()
            numbers = rf"\frac{{{n(y)}}}{{{n(highest)}}}"
            return Formula(r"\frac{y_{ik}}{\max_i y_{ik}}", numbers, f"({y} / {highest})")
        case "scale", "basis":  # u_ik max_i y_ik
            u, highest = old.U[t][i, k], old.Y[:, k].max()
            return Formula(r"u_{jk} \max_i y_{ik}", rf"{n(u)} \cdot {n(highest)}", f"({u} * {highest})")
        case "functions", "function":  # Σ_l C⁻¹_il (XᵀY)_lk with C = XᵀX + η X̂ᵀL̂X̂ + γI
            X, method = now.X[t], now.method
            laplacian = np.diag(now.graph.sum(axis=1)) - now.graph
            C = X.T @ X + method.smoothness * X.T @ laplacian @ X + method.ridge * np.eye(X.shape[1])
            symbols = (
                r"\textstyle\sum_l (C^{-1})_{jl}\, (X^\top Y)_{lk}, \quad "
                r"C = X^\top X + \eta \hat{X}^\top \hat{L} \hat{X} + \gamma I"
            )
            return _explain_products(symbols, np.linalg.inv(C)[i], X.T @ now.Y[:, k], SOLVER_DIGITS)
        case _, "rebuilt":  # Σ_l y_il u_kl
            remark = f"The feature reconstructed from codes and bases; its true value is {now.X[t][i, k]:.3f}."
            return replace(_explain_products(r"\textstyle\sum_k y_{ik} u_{jk}", now.Y[i], now.U[t][k]), remark=remark)
        case _, "threshold":  # (1/N) Σ_i y_ik
            y = now.Y[:, k]
            code = f"(({_sum(y, str)}) / {len(y)})"
            return Formula(r"\tfrac{1}{N} \textstyle\sum_i y_{ik}", rf"\frac{{{_sum(y)}}}{{{len(y)}}}", code)
        case _, "code":  # y_ik > ȳ_k
            y, mean = now.Y[i, k], now.Y[:, k].mean()
            remark = "The bit is on: the value is above the mean." if y > mean else "The bit is off."
            return Formula(r"[\, y_{ik} > \bar{y}_k \,]", rf"[\, {n(y)} > {n(mean)} \,]", f"({y} > {mean})", remark)
        case _, "graph":  # |labels of i ∩ labels of k| s_i s_k, where s is 1 for sampled items, else 0
            shared = int(np.count_nonzero(now.labels[i] & now.labels[k]))
            a, b = (int(row in now.sample) for row in (i, k))
            remark = "The number of classes they share, times 1 for each of the two that was sampled, else times 0."
            numbers = rf"{shared} \cdot {a} \cdot {b}"
            return Formula(r"(L_a L_a^\top)_{ij}\, s_i\, s_j", numbers, f"({shared} * {a} * {b})", remark)
        case _, "features":
            return Formula(r"x_{ij}", n(now.X[t][i, k]), "", "A feature of the data. No step changes it.")
    return Formula(remark="This step does not change it.")


def _explain_relaxed(now: Snapshot, i: int, k: int) -> Formula:
    """Explain the update of a relaxed code, term by term: y_ik B⁺_ik / (Y M + α S D̂ Ŷ + B⁻)_ik."""
    X, Y, U, W, A, y = now.X, now.Y, now.U, now.W, now.graph, now.Y[i, k]
    alpha, beta = now.method.graph_weight, now.method.orthogonality_weight
    over = {
        "features": sum(now.shares[t] * X[t][i] @ U[t][:, k] for t in U),
        "hash functions": sum(now.mu * X[t][i] @ W[t][:, k] for t in U),
        "labels": alpha * A[i] @ Y[:, k],
        "bit itself": 2 * beta * y,
    }
    under = [
        sum(now.shares[t] * Y[i] @ U[t].T @ U[t][:, k] for t in U),
        len(U) * now.mu * y,
        alpha * A[i].sum() * y,
        2 * beta * Y[i] @ Y.T @ Y[:, k],
        max(-sum(over.values()), 0.0),
    ]
    sampled = "was sampled, so its labels count."
    if i not in now.sample:
        sampled = "was not sampled, so its labels do not count in this iteration."
    largest = max(list(over)[:3], key=lambda name: abs(over[name]))
    return Formula(
        r"y_{ik} \frac{\big(\sum_t \lambda_t x_i u_k + \mu \sum_t x_i w_k + \alpha (\hat{A}\hat{Y})_{ik} + "
        r"2\beta y_{ik}\big)^+}{(Y \sum_t \lambda_t U_t^\top U_t)_{ik} + n_t \mu y_{ik} + "
        r"\alpha \hat{d}_i y_{ik} + 2\beta (Y Y^\top Y)_{ik} + B^-_{ik}}",
        rf"{_number(y)} \cdot \frac{{({_sum(over.values())})^+}}{{{_sum(under)}}}",
        f"({y}\n * max({_sum(over.values(), str)}, 0)\n / ({_sum(under, str)}))",
        f"This item {sampled} The largest term comes from the {largest}.",
    )


def _explain_products(symbols: str, a: FloatArray, b: FloatArray, digits: int = DIGITS) -> Formula:
    """Explain a sum of products Σ_k a_k b_k, with a few products per line."""
    values = list(zip(a.tolist(), b.tolist(), strict=True))
    rounded = [(_number(x, digits), _number(y, digits)) for x, y in values]
    pairs = [rf"{x} \cdot {f'({y})' if y.startswith('-') else y}" for x, y in rounded]
    lines = [" + ".join(pairs[k : k + PRODUCTS_PER_LINE]) for k in range(0, len(pairs), PRODUCTS_PER_LINE)]
    numbers = r" \\ + ".join(lines).replace("+ -", "- ")
    code = "\n + ".join(f"{x} * {y}" for x, y in values)
    return Formula(symbols, numbers, f"({code})")


def _number(x: float, digits: int = DIGITS) -> str:
    if 1e-4 <= abs(x) < 1e5 or x == 0:
        return f"{x:.{digits}g}"
    mantissa, power = f"{x:.{digits - 1}e}".split("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}"


def _sum(values: Iterable[float], show: Callable[[float], str] = _number) -> str:
    return " + ".join(map(show, values)).replace("+ -", "- ")
