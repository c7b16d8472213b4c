"""SMFH as in the authors' public program (github.com/Lyn-L/SMFH), which differs from their paper.

Rows of features and labels have length 1. The graph has weight α m^-0.1 in the Y step and, with a normalised
Laplacian, η m^-0.1 in the W step. Y is updated first, with random W; XW is not split by sign, so Y can become
negative; β has the printed factor 4. The columns of Y are then scaled to length 1. Only the U of the first
modality is scaled inversely; the published scores depend on this. Training stops early if this objective,
which has norms instead of squared norms, no longer falls enough:

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖ + α ‖ŶᵀL̂Ŷ‖ + μ Σ_t ‖Y − X_tW_t‖ + γ Σ_t ‖W_t‖

The steps do not guarantee that O falls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from scipy import sparse

from smfh.hamming import pack
from smfh.hashing.base import (
    FIT_HELP,
    ITERATIONS_HELP,
    PULL_HELP,
    SAMPLE_HELP,
    IterativeMethod,
    Model,
    StepReport,
    Trace,
    Training,
)
from smfh.hashing.blocks import (
    column_means,
    gram,
    project,
    reconstruction_error,
    squared_norm,
    transposed_times,
    weighted_gram,
)
from smfh.hashing.configuration import ORTHOGONALITY_HELP, RIDGE_HELP, SMOOTHNESS_HELP, Preset
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.solvers import LabelGraph, RidgeSolver, WideFeatures, WideSolver, warnings_of
from smfh.hashing.views import UNIT_ROWS
from smfh.types import FloatArray, IntArray, MultimodalDataset, parameter

MIN_DIVISOR = 1e-10
MIN_ITERATIONS = 5
MIN_TENSION = 100.0  # training stops if ‖ŶᵀL̂Ŷ‖ is smaller
TOLERANCE_HELP = "Training stops when the objective falls by less than this. Higher: earlier. Lower: later."


@dataclass(frozen=True)
class SMFHProgram(IterativeMethod):
    """SMFH with the same steps as the authors' program."""

    name: ClassVar[str] = "smfh-program"
    title: ClassVar[str] = "SMFH (authors' program)"
    presets: ClassVar[Mapping[str, Preset]] = {"program": Preset()}

    graph_weight: float = parameter(2.0, "α", 0.0, 1e6, PULL_HELP, "log")
    projection_weight: float = parameter(40.0, "μ", 0.0, 1e6, FIT_HELP, "log")
    graph_sample: int = parameter(1000, "m", 1, 10_000_000, SAMPLE_HELP, "log", typical=(20, 20_000))
    orthogonality_weight: float = parameter(1e-4, "β", 0.0, 1e6, ORTHOGONALITY_HELP, "log")
    smoothness: float = parameter(1e-3, "η", 0.0, 1e6, SMOOTHNESS_HELP, "log")
    ridge: float = parameter(1e-4, "γ", 1e-9, 1e6, RIDGE_HELP, "log")
    iterations: int = parameter(50, "T", 1, 10_000, ITERATIONS_HELP, typical=(1, 100), kw_only=True)
    tolerance: float = parameter(0.1, "ε", 0.0, 1e6, TOLERANCE_HELP, "log", typical=(0.0, 1.0), kw_only=True)

    @property
    def needs_positive(self) -> bool:
        return True

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Run the loop of the authors' program; discard the result of the iteration in which it stops."""
        dtype, weights, items = train.dtype, self.shares(tuple(train.modalities)), len(train)
        X = {t: UNIT_ROWS.scale(features) for t, features in train.modalities.items()}
        labels = UNIT_ROWS.scale(sparse.csr_array(train.labels.astype(dtype)))
        squared = {t: squared_norm(X[t]) for t in X}
        m, mu = min(self.graph_sample, items), self.projection_weight * 2 / len(X)
        alpha, eta = self.graph_weight * m**-0.1, self.smoothness * m**-0.1
        wide = {t: WideFeatures(X[t], self.ridge, eta) for t in X if m < items < X[t].shape[1]}
        grams = {t: gram(X[t]) for t in X if t not in wide}

        W = {t: rng.random((X[t].shape[1], self.bits)).astype(dtype) for t in X}
        U = {t: rng.random((X[t].shape[1], self.bits)).astype(dtype) for t in X}
        Y = scale_columns(rng.random((items, self.bits)).astype(dtype), U)

        def model() -> Model:
            thresholds = column_means(Y).astype(dtype)
            functions = {t: HashFunction(t, X[t].shape[1], UNIT_ROWS, W[t], thresholds) for t in X}
            return Model(functions, shared_codes(tuple(X), pack(Y > thresholds)), U)

        for iteration in range(self.iterations):
            previous = model() if iteration >= MIN_ITERATIONS else None
            rows = rng.choice(items, size=m, replace=False)
            F = sparse.csr_array(labels[rows])
            graph = LabelGraph(F, F @ F.sum(axis=0))
            pull = project(X, {t: weights[t] * U[t] + mu * W[t] for t in X})
            curvature = weighted_gram(U, weights) + len(X) * mu * np.eye(self.bits)
            Y = self.update_codes(Y, pull, curvature, alpha, rows, graph)
            XtY, YtY = {t: transposed_times(X[t], Y) for t in X}, Y.T @ Y
            U = {t: U[t] * XtY[t] / np.maximum(U[t] @ YtY, MIN_DIVISOR) for t in X}
            Y = scale_columns(Y, U)

            XtY, YtY = {t: transposed_times(X[t], Y) for t in X}, Y.T @ Y
            smooth = graph.normalised()
            solvers = {
                t: WideSolver(wide[t], rows, smooth, Y)
                if t in wide
                else RidgeSolver(grams[t], self.ridge, smooth.scatter(X[t][rows]), eta)
                for t in X
            }
            W = {t: solvers[t].solve(XtY[t]) for t in X}

            error = {t: reconstruction_error(squared[t], U[t], XtY[t], YtY) for t in X}
            misfit = {t: solvers[t].error(W[t], XtY[t], YtY) for t in X}
            tension = sqrt(squared_norm(Y[rows].T @ graph.spread(Y[rows])))
            terms = {
                **{f"reconstruction ({t})": weights[t] * sqrt(max(error[t], 0)) for t in X},
                "graph": self.graph_weight * tension,
                **{f"projection ({t})": mu * sqrt(max(misfit[t], 0)) for t in X},
                "ridge": self.ridge * sum(sqrt(squared_norm(w)) for w in W.values()),
            }
            is_over = (
                tension < MIN_TENSION or trace[-1].objective - sum(terms.values()) < self.tolerance if trace else False
            )
            if previous is not None and is_over:
                return previous
            note = warnings_of(solver.factor for solver in solvers.values())
            yield StepReport(terms, "descent", note, model)
        return model()

    def update_codes(
        self, Y: FloatArray, pull: FloatArray, M: FloatArray, alpha: float, rows: IntArray, graph: LabelGraph
    ) -> FloatArray:
        """Return Y ∘ ( P + α S Â Ŷ + 4β Y ) / ( Y M + α S D̂ Ŷ + 4β Y(YᵀY) )

        where P = Σ_t X_t(λ_tU_t + μW_t), M = Σ_t λ_tU_tᵀU_t + n_t μ I for n_t modalities, and Ŷ = SᵀY are the
        sampled rows. The argument `pull` is P and is overwritten.
        """
        beta, sampled = 4 * self.orthogonality_weight, Y[rows]
        below = Y @ (M + beta * (Y.T @ Y)).astype(Y.dtype)
        pull += Y.dtype.type(beta) * Y
        pull[rows] += Y.dtype.type(alpha) * graph.attract(sampled)
        below[rows] += Y.dtype.type(alpha) * graph.degrees[:, None] * sampled
        return np.asarray(Y * pull / np.maximum(below, MIN_DIVISOR))


def scale_columns(Y: FloatArray, U: dict[str, FloatArray]) -> FloatArray:
    """Return y_k/‖y_k‖ for every column of Y; in `U`, multiply u_k of the first modality by ‖y_k‖."""
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->j", Y, Y)), MIN_DIVISOR)
    first = next(iter(U))
    U[first] = U[first] * lengths
    return np.asarray(Y / lengths)
