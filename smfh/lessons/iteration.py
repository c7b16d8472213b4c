"""Algorithm 1 on the small example, step by step: the method's own core, stopped between any two steps."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from smfh.hamming import rank
from smfh.hashing import SMFH
from smfh.hashing.items import HeldItems
from smfh.hashing.smfh import STEPS, Problem, State
from smfh.lessons.example import Example
from smfh.types import BoolArray, FloatArray, IntArray

Place = tuple[str, str]  # which matrix, and of which modality; "" where they share it
STILL = 1e-9  # a term that changes by less has not moved


@dataclass(frozen=True)
class About:
    """A step as it is told: its equation, what goes in and comes out, and where the paper has it."""

    title: str
    short: str
    equation: str  # LaTeX
    words: str
    takes: tuple[str, ...]  # matrices
    gives: tuple[str, ...]
    in_paper: tuple[str, ...]  # numbers of its equations


ABOUT: Mapping[str, About] = {
    "bases": About(
        "The bases U",
        "U",
        r"U_t \leftarrow U_t \circ \frac{X_t^\top Y}{U_t\,(Y^\top Y)}",
        "Each feature asks which bits rebuild it. Above 1 the fraction makes an entry grow, below 1 it makes "
        "it shrink; nothing can become negative.",
        ("features", "relaxed"),
        ("basis", "rebuilt"),
        ("10", "12"),
    ),
    "sample": About(
        "The sample",
        "sample",
        r"S: m \text{ of } N \text{ items}, \qquad \hat{A} = \hat{L}_a \hat{L}_a^\top",
        "Some items are drawn; only they feel the labels in this iteration. Two of them are as near as they "
        "have classes in common.",
        (),
        ("graph",),
        ("13", "Times"),
    ),
    "codes": About(
        "The relaxed codes Y",
        "Y",
        r"\begin{aligned} Y &\leftarrow Y \circ \frac{B^+}{Y M + \alpha\, S \hat{D} \hat{Y} + B^-} \\ "
        r"B &= \textstyle\sum_t X_t(\lambda_t U_t + \mu W_t) + \alpha\, S \hat{A} \hat{Y} + 2\beta Y \\ "
        r"M &= \textstyle\sum_t \lambda_t U_t^\top U_t + n_t \mu I + 2\beta\, Y^\top Y \end{aligned}",
        "Features, hash functions and drawn neighbours of the same class all pull at an item's bits; the "
        "fraction weighs what they want against what is there.",
        ("features", "basis", "function", "graph"),
        ("relaxed", "threshold", "code", "rebuilt"),
        ("13", "16", "17"),
    ),
    "scale": About(
        "The scale",
        "scale",
        r"y_k \leftarrow y_k / \max y_k, \qquad u_k \leftarrow u_k \max y_k",
        "Every bit is brought to a largest value of 1. The products of Y and U stay, the other terms do not: "
        "this is why the objective may rise here.",
        (),
        ("relaxed", "basis", "threshold"),
        ("17",),
    ),
    "functions": About(
        "The hash functions W",
        "W",
        r"W_t = (X_t^\top X_t + \eta\, \hat{X}_t^\top \hat{L} \hat{X}_t + \gamma I)^{-1} X_t^\top Y",
        "From features to bits by ridge regression: what lets an item that was never seen get a code.",
        ("features", "relaxed", "graph"),
        ("function",),
        ("18",),
    ),
}


@dataclass(frozen=True, eq=False)
class Moment:
    """One step of one iteration."""

    iteration: int  # from 1
    step: str  # a name of STEPS
    before: State
    after: State
    terms_before: Mapping[str, float]  # of the objective, weighted
    terms_after: Mapping[str, float]

    @property
    def changes(self) -> dict[str, float]:
        """By how much each term that moved has risen, the largest change first."""
        rises = {term: after - self.terms_before[term] for term, after in self.terms_after.items()}
        moved = {term: rise for term, rise in rises.items() if abs(rise) > STILL}
        return dict(sorted(moved.items(), key=lambda change: -abs(change[1])))


@dataclass(frozen=True, eq=False)
class Walk:
    """All moments of a training, in their order."""

    example: Example
    problem: Problem
    moments: tuple[Moment, ...]

    def at(self, iteration: int, step: str) -> Moment:
        """The moment of this step of this iteration, counted from 1."""
        return self.moments[(iteration - 1) * len(STEPS) + [name for name, _ in STEPS].index(step)]


USUAL = SMFH(
    bits=4, graph_weight=1.0, projection_weight=1.0, graph_sample=6, iterations=10, seed=1
)  # weights for nine items, with which three classes get three codes; the paper's are for thousands


def walk(example: Example, method: SMFH) -> Walk:
    """Every step of every iteration of this method on this example."""
    data = HeldItems(example.data.modalities, example.data.labels)
    problem, rng = Problem(method, data), np.random.default_rng(method.seed)
    state, moments = problem.with_graph(problem.start(rng), np.arange(problem.items)), []
    terms = problem.terms(up_to_date(problem, state))
    for iteration in range(1, method.iterations + 1):
        for name, step in STEPS:
            after = step(problem, state, rng)
            terms_after = problem.terms(up_to_date(problem, after))
            moments.append(Moment(iteration, name, state, after, terms, terms_after))
            state, terms = after, terms_after
    return Walk(example, problem, tuple(moments))


def up_to_date(problem: Problem, state: State) -> State:
    """The state with the solvers that steps leave for later: without them no term is true."""
    return replace(state, solvers=problem.solvers(state))


def matrices_of(problem: Problem, state: State) -> dict[Place, FloatArray]:
    """All that can be looked at: items or features in rows, features or bits in columns."""
    learnt, Y, U = problem.learnt(state), state.Y, state.U
    threshold = next(iter(learnt.functions.values())).thresholds
    shared = {"relaxed": Y, "threshold": threshold[None], "code": (threshold < Y) * 1.0}
    own = {"features": problem.X, "rebuilt": {t: Y @ U[t].T for t in U}, "basis": U, "function": state.W}
    return {
        **{(name, t): np.asarray(by_modality[t]) for name, by_modality in own.items() for t in U},
        **{(name, ""): np.asarray(matrix) for name, matrix in shared.items()},
        ("graph", ""): graph_of(problem, state),
    }


def graph_of(problem: Problem, state: State) -> FloatArray:
    """S Â Sᵀ: how many classes two items have in common, where both were drawn."""
    drawn = np.isin(np.arange(problem.items), state.rows)
    affinity: FloatArray = problem.labels.astype(np.float64) @ problem.labels.T * np.outer(drawn, drawn)
    return affinity


def moved(problem: Problem, moment: Moment) -> dict[Place, BoolArray]:
    """Which entries the step has changed."""
    before, after = matrices_of(problem, moment.before), matrices_of(problem, moment.after)
    return {place: np.abs(after[place] - before[place]) > STILL for place in after}


def rank_items(problem: Problem, state: State, modality: str, item: int) -> tuple[IntArray, IntArray]:
    """All items, nearest first, and how many bits of their codes differ from this item's hash code."""
    learnt = problem.learnt(state)
    query = learnt.functions[modality].encode(np.asarray(problem.X[modality])[[item]])
    order, distances = rank(query, learnt.codes[modality])
    return order[0], distances[0].astype(np.int64)


def most_moved(problem: Problem, moment: Moment) -> tuple[Place, int, int]:
    """Matrix, row and column of what the step has changed most in the first matrix that it gives."""
    name = ABOUT[moment.step].gives[0]
    before, after = matrices_of(problem, moment.before), matrices_of(problem, moment.after)
    changes = {place: np.abs(after[place] - before[place]) for place in after if place[0] == name}
    place = max(changes, key=lambda place: float(changes[place].max()))
    row, column = np.unravel_index(changes[place].argmax(), changes[place].shape)
    return place, int(row), int(column)
