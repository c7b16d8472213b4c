"""One entry of the small example with the numbers put in: its equation, and what stands in it.

What is printed is rounded; `parts` are the numbers themselves, in the order of the equation.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from smfh.hashing.factorisation import weighted_gram
from smfh.hashing.smfh import Problem
from smfh.lessons.iteration import Moment, Place, Walk, graph_of, matrices_of
from smfh.types import FloatArray

DIGITS, MORE_DIGITS = 5, 7  # that are printed; more where large numbers cancel each other
A_LINE = 3  # products of a long sum


@dataclass(frozen=True)
class Update:
    """How an entry came about: the equation in symbols, the same in numbers, and its parts."""

    symbols: str  # LaTeX
    numbers: str  # LaTeX, up to the equals sign
    parts: Mapping[str, float | tuple[float, ...]]
    before: float
    after: float
    words: str = ""


def explain(walk: Walk, moment: Moment, place: Place, row: int, column: int) -> Update:
    """The entry of this matrix after the step: by the step's own equation where it moves this matrix, else by
    what the matrix is."""
    name, modality = place
    how = _MOVES.get((moment.step, name)) or _DEFINITIONS.get(name) or _stays
    before, after = (
        float(matrices_of(walk.problem, state)[place][row, column]) for state in (moment.before, moment.after)
    )
    symbols, numbers, parts, words = how(walk.problem, moment, modality, row, column)
    return Update(symbols, numbers, parts, before, after, words)


Told = tuple[str, str, Mapping[str, float | tuple[float, ...]], str]
How = Callable[[Problem, Moment, str, int, int], Told]


def _basis(problem: Problem, moment: Moment, t: str, j: int, k: int) -> Told:
    """u_jk (XᵀY)_jk / (U YᵀY)_jk"""
    state = moment.before
    u, over = state.U[t][j, k], state.XtY[t][j, k]
    under = (state.U[t] @ state.YtY)[j, k]
    parts = {"u": u, "over": over, "under": under}
    symbols = r"u_{jk} \frac{(X^\top Y)_{jk}}{(U\,Y^\top Y)_{jk}}"
    return symbols, rf"{_number(u)} \cdot \frac{{{_number(over)}}}{{{_number(under)}}}", _floats(parts), ""


def _relaxed(problem: Problem, moment: Moment, t: str, i: int, k: int) -> Told:
    """y_ik B⁺_ik / (Y M + α S D̂ Ŷ + B⁻)_ik, and what each term of B and of the divisor adds"""
    state, method = moment.before, problem.method
    Y, U, W, alpha, beta = state.Y, state.U, state.W, method.graph_weight, method.orthogonality_weight
    X: dict[str, FloatArray] = {t: np.asarray(x) for t, x in problem.X.items()}
    gram, A = weighted_gram(U, problem.weights), graph_of(problem, state)
    over = {
        "features": sum(problem.weights[t] * X[t][i] @ U[t][:, k] for t in U),
        "functions": sum(problem.mu * X[t][i] @ W[t][:, k] for t in U),
        "labels": alpha * A[i] @ Y[:, k],
        "own": 2 * beta * Y[i, k],
    }
    under = {
        "features": Y[i] @ gram[:, k],
        "functions": len(U) * problem.mu * Y[i, k],
        "labels": alpha * A[i].sum() * Y[i, k],
        "own": 2 * beta * Y[i] @ state.YtY[:, k],
        "negative": max(-sum(over.values()), 0.0),
    }
    symbols = (
        r"y_{ik} \frac{\big(\sum_t \lambda_t x_i u_k + \mu \sum_t x_i w_k + \alpha (\hat{A}\hat{Y})_{ik} + "
        r"2\beta y_{ik}\big)^+}{(Y \sum_t \lambda_t U_t^\top U_t)_{ik} + n_t \mu y_{ik} + "
        r"\alpha \hat{d}_i y_{ik} + 2\beta (Y Y^\top Y)_{ik} + B^-_{ik}}"
    )
    numbers = rf"{_number(Y[i, k])} \cdot \frac{{({_sum(over.values())})^+}}{{{_sum(under.values())}}}"
    parts: dict[str, float | tuple[float, ...]] = {
        "y": float(Y[i, k]),
        "over": tuple(map(float, over.values())),
        "under": tuple(map(float, under.values())),
    }
    drawn = "It was drawn, so the labels pull" if i in state.rows else "It was not drawn, so no label pulls"
    wants = {"features": "the features", "functions": "the hash functions", "labels": "the labels"}
    strongest = max(wants, key=lambda name: abs(over[name]))
    return symbols, numbers, parts, f"{drawn}; most is wanted by {wants[strongest]}."


def _scaled_codes(problem: Problem, moment: Moment, t: str, i: int, k: int) -> Told:
    """y_ik / max_i y_ik"""
    y, height = moment.before.Y[i, k], moment.before.Y[:, k].max()
    numbers = rf"\frac{{{_number(y)}}}{{{_number(height)}}}"
    return r"\frac{y_{ik}}{\max_i y_{ik}}", numbers, _floats({"y": y, "height": height}), ""


def _scaled_basis(problem: Problem, moment: Moment, t: str, j: int, k: int) -> Told:
    """u_jk max_i y_ik"""
    u, height = moment.before.U[t][j, k], moment.before.Y[:, k].max()
    numbers = rf"{_number(u)} \cdot {_number(height)}"
    return r"u_{jk} \max_i y_{ik}", numbers, _floats({"u": u, "height": height}), ""


def _function(problem: Problem, moment: Moment, t: str, j: int, k: int) -> Told:
    """Σ_l C⁻¹_jl (XᵀY)_lk with C = XᵀX + η X̂ᵀL̂X̂ + γI"""
    state, method, X = moment.after, problem.method, np.asarray(problem.X[t])
    C = X.T @ X + method.smoothness * state.graph.scatter(X[state.rows]) + method.ridge * np.eye(X.shape[1])
    inverse, target = np.linalg.inv(C)[j], state.XtY[t][:, k]
    return (
        r"\textstyle\sum_l (C^{-1})_{jl}\, (X^\top Y)_{lk}, \quad C = X^\top X + \eta \hat{X}^\top \hat{L} "
        r"\hat{X} + \gamma I",
        _products(inverse, target, MORE_DIGITS),
        {"inverse": tuple(map(float, inverse)), "target": tuple(map(float, target))},
        "",
    )


def _rebuilt(problem: Problem, moment: Moment, t: str, i: int, j: int) -> Told:
    """Σ_k y_ik u_jk"""
    y, u = moment.after.Y[i], moment.after.U[t][j]
    parts = {"y": tuple(map(float, y)), "u": tuple(map(float, u))}
    x = np.asarray(problem.X[t])[i, j]
    words = f"What the codes say of this feature; it is {x:.3f} in truth."
    return r"\textstyle\sum_k y_{ik} u_{jk}", _products(y, u), parts, words


def _threshold(problem: Problem, moment: Moment, t: str, _: int, k: int) -> Told:
    """(1/N) Σ_i y_ik"""
    y = moment.after.Y[:, k]
    numbers = rf"\frac{{{_sum(y)}}}{{{len(y)}}}"
    return r"\tfrac{1}{N} \textstyle\sum_i y_{ik}", numbers, {"y": tuple(map(float, y))}, ""


def _code(problem: Problem, moment: Moment, t: str, i: int, k: int) -> Told:
    """y_ik > ȳ_k"""
    y, mean = moment.after.Y[i, k], moment.after.Y[:, k].mean()
    words = "The bit is on: the value is above the mean." if y > mean else "The bit is off."
    return (
        r"[\, y_{ik} > \bar{y}_k \,]",
        rf"[\, {_number(y)} > {_number(mean)} \,]",
        _floats({"y": y, "threshold": mean}),
        words,
    )


def _graph(problem: Problem, moment: Moment, t: str, i: int, j: int) -> Told:
    """|labels of i ∩ labels of j|, where both were drawn"""
    common = int(np.count_nonzero(problem.labels[i] & problem.labels[j]))
    drawn = [int(row in moment.after.rows) for row in (i, j)]
    numbers = rf"{common} \cdot {drawn[0]} \cdot {drawn[1]}"
    words = "Classes in common, times whether each of the two was drawn."
    parts = {"common": float(common), "first": float(drawn[0]), "second": float(drawn[1])}
    return r"(L_a L_a^\top)_{ij}\, s_i\, s_j", numbers, parts, words


def _features(problem: Problem, moment: Moment, t: str, i: int, j: int) -> Told:
    x = float(np.asarray(problem.X[t])[i, j])
    return r"x_{ij}", _number(x), {"x": x}, "A feature: it is given, and no step changes it."


def _stays(problem: Problem, moment: Moment, t: str, i: int, j: int) -> Told:
    return "", "", {}, "This step leaves it as it is."


_MOVES: Mapping[tuple[str, str], How] = {
    ("bases", "basis"): _basis,
    ("codes", "relaxed"): _relaxed,
    ("scale", "relaxed"): _scaled_codes,
    ("scale", "basis"): _scaled_basis,
    ("functions", "function"): _function,
}
_DEFINITIONS: Mapping[str, How] = {
    "features": _features,
    "rebuilt": _rebuilt,
    "threshold": _threshold,
    "code": _code,
    "graph": _graph,
}


def _number(x: float, digits: int = DIGITS) -> str:
    if 1e-4 <= abs(x) < 1e5 or x == 0:
        return f"{x:.{digits}g}"
    mantissa, power = f"{x:.{digits - 1}e}".split("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}"


def _sum(values: Iterable[float]) -> str:
    return " + ".join(map(_number, values)).replace("+ -", "- ")


def _products(a: FloatArray, b: FloatArray, digits: int = DIGITS) -> str:
    """a·b, a few products a line."""
    values = ((_number(x, digits), _number(y, digits)) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    pairs = [rf"{x} \cdot {f'({y})' if y.startswith('-') else y}" for x, y in values]
    lines = [" + ".join(pairs[start : start + A_LINE]) for start in range(0, len(pairs), A_LINE)]
    return r" \\ + ".join(lines).replace("+ -", "- ")


def _floats(parts: Mapping[str, float]) -> dict[str, float | tuple[float, ...]]:
    return {name: float(value) for name, value in parts.items()}
