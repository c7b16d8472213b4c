"""SMFH as its authors' public program computes it (github.com/Lyn-L/SMFH), which differs from their paper.

The rows of features and labels have length 1. The graph weighs α m^-0.1 in the step for Y and, with a
normalised Laplacian, η m^-0.1 in that for W. Y comes first, with random W; XW is not split by its sign, so
that Y may become negative; β stands with the printed 4. The columns of Y are then scaled to length 1 and, in
return, the first modality's U alone: its figures rest on that. It stops early, by an objective of norms that
are not squared:

    O = Σ_t λ_t ‖X_t − Y U_tᵀ‖ + α ‖ŶᵀL̂Ŷ‖ + μ Σ_t ‖Y − X_tW_t‖ + γ Σ_t ‖W_t‖

Nothing guarantees that O falls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.hashing.base import Learning, Learnt, Progress, Trace
from smfh.hashing.configuration import Preset
from smfh.hashing.factorisation import (
    FIT,
    PULL,
    Descent,
    LabelGraph,
    correlate,
    draw_rows,
    project,
    reconstruction_error,
    share_out,
    weighted_gram,
)
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.positive import told
from smfh.hashing.products import column_means, squared_norm
from smfh.hashing.sampled import SAMPLE, GraphSolvers
from smfh.types import FloatArray, IntArray, MultimodalDataset, parameter

LEAST = 1e-10  # of a denominator
FIRST, FLAT = 5, 100.0  # iterations that are done in any case; a graph term below which it is over
LATEST = "Stop after so many iterations at the latest."
FALL = "Stop when the objective falls by less than this."
UNIT_ROWS = FeatureMap(unit_rows=True)


@dataclass(frozen=True)
class SMFHProgram(Descent):
    """The authors' program, step by step."""

    name: ClassVar[str] = "smfh-program"
    title: ClassVar[str] = "SMFH (authors' program)"
    presets: ClassVar[Mapping[str, Preset]] = {"program": Preset()}

    graph_weight: float = parameter(2.0, "α", 0.0, 1e6, PULL, "log")
    projection_weight: float = parameter(40.0, "μ", 0.0, 1e6, FIT, "log")
    graph_sample: int = parameter(1000, "m", 1, 10_000_000, SAMPLE, "log", typical=(20, 20_000))
    orthogonality_weight: float = parameter(1e-4, "β", 0.0, 1e6, "Keeps the bits apart.", "log")
    smoothness: float = parameter(1e-3, "η", 0.0, 1e6, "Label smoothness of the hash functions.", "log")
    ridge: float = parameter(1e-4, "γ", 1e-9, 1e6, "Shrinks the hash functions.", "log")
    iterations: int = parameter(50, "T", 1, 10_000, LATEST, typical=(1, 100), kw_only=True)
    tolerance: float = parameter(0.1, "ε", 0.0, 1e6, FALL, "log", typical=(0.0, 1.0), kw_only=True)

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """The program's loop; the iteration in which it stops is not kept."""
        dtype, weights, items = train.dtype, self.shares(tuple(train.modalities)), len(train)
        X = {t: UNIT_ROWS.scale(features) for t, features in train.modalities.items()}
        labels = UNIT_ROWS.scale(sparse.csr_array(train.labels.astype(dtype)))
        squared = {t: squared_norm(X[t]) for t in X}
        m, mu = min(self.graph_sample, items), share_out(self.projection_weight, len(X))
        alpha, eta = self.graph_weight * m**-0.1, self.smoothness * m**-0.1
        solvers = {t: GraphSolvers.of(X[t], m, eta, self.ridge) for t in X}

        W = {t: rng.random((X[t].shape[1], self.bits)).astype(dtype) for t in X}
        U = {t: rng.random((X[t].shape[1], self.bits)).astype(dtype) for t in X}
        Y = scale_columns(rng.random((items, self.bits)).astype(dtype), U)

        def learnt() -> Learnt:
            thresholds = column_means(Y).astype(dtype)
            functions = {t: HashFunction(t, X[t].shape[1], UNIT_ROWS, W[t], thresholds) for t in X}
            return Learnt(functions, shared_codes(tuple(X), pack(Y > thresholds)), U)

        for iteration in range(self.iterations):
            kept = learnt() if iteration >= FIRST else None
            rows = draw_rows(rng, items, m)
            F = sparse.csr_array(labels[rows])
            graph = LabelGraph(F, F @ F.sum(axis=0))
            pull = project(X, {t: weights[t] * U[t] + mu * W[t] for t in X})
            curvature = weighted_gram(U, weights) + len(X) * mu * np.eye(self.bits)
            Y = self.update_codes(Y, pull, curvature, alpha, rows, graph)
            XtY, YtY = correlate(X, Y), Y.T @ Y
            U = {t: U[t] * XtY[t] / np.maximum(U[t] @ YtY, LEAST) for t in X}
            Y = scale_columns(Y, U)

            XtY, YtY = correlate(X, Y), Y.T @ Y
            chosen = {t: solvers[t].sampled(X[t][rows], rows, graph.normalised(), Y) for t in X}
            W = {t: chosen[t].solve(XtY[t]) for t in X}

            error = {t: reconstruction_error(squared[t], U[t], XtY[t], YtY) for t in X}
            misfit = {t: chosen[t].error(W[t], XtY[t], YtY) for t in X}
            tension = sqrt(squared_norm(Y[rows].T @ graph.spread(Y[rows])))
            terms = {
                **{f"reconstruction ({t})": weights[t] * sqrt(max(error[t], 0)) for t in X},
                "graph": self.graph_weight * tension,
                **{f"projection ({t})": mu * sqrt(max(misfit[t], 0)) for t in X},
                "ridge": self.ridge * sum(sqrt(squared_norm(w)) for w in W.values()),
            }
            is_over = (
                tension < FLAT or trace[-1].objective - sum(terms.values()) < self.tolerance
                if trace
                else False
            )
            if kept is not None and is_over:
                return kept
            yield Progress(terms, "descent", told(solver.factor for solver in chosen.values()), learnt)
        return learnt()

    def update_codes(
        self, Y: FloatArray, pull: FloatArray, M: FloatArray, alpha: float, rows: IntArray, graph: LabelGraph
    ) -> FloatArray:
        """Y ← Y ∘ ( P + α S Â Ŷ + 4β Y ) / ( Y M + α S D̂ Ŷ + 4β Y(YᵀY) )

        with P = Σ_t X_t(λ_tU_t + μW_t), M = Σ_t λ_tU_tᵀU_t + n_t μ I, and Ŷ = SᵀY the sampled rows. Reuses
        `pull`, which is P.
        """
        beta, sampled = 4 * self.orthogonality_weight, Y[rows]
        below = Y @ (M + beta * (Y.T @ Y)).astype(Y.dtype)
        pull += Y.dtype.type(beta) * Y
        pull[rows] += Y.dtype.type(alpha) * graph.attract(sampled)
        below[rows] += Y.dtype.type(alpha) * graph.degrees[:, None] * sampled
        stepped: FloatArray = Y * pull / np.maximum(below, LEAST)
        return stepped


def scale_columns(Y: FloatArray, U: dict[str, FloatArray]) -> FloatArray:
    """y_k ← y_k/‖y_k‖, and in `U` u_k ← ‖y_k‖ u_k of the first modality alone."""
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->j", Y, Y)), LEAST)
    first = next(iter(U))
    U[first] = U[first] * lengths
    scaled: FloatArray = Y / lengths
    return scaled
