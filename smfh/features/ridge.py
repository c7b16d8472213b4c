"""Choose the ridge γ of hash functions for each modality by how well left-out training rows are ranked.

The squared left-out error is not used instead, because it chose values of γ that rank worse.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from smfh.features.maps import FeatureMap, row_norms
from smfh.parallel import side_by_side
from smfh.types import EPS, FloatArray, IntArray, Matrix

USUAL_RIDGE = 0.1  # used unless another value is clearly better
LOWER_RIDGES, HIGHER_RIDGES = (0.03, 0.01), (0.3, 1.0)  # in the order in which they are tried
RIDGES = (*sorted(LOWER_RIDGES), USUAL_RIDGE, *HIGHER_RIDGES)
MAX_ROWS, MAX_QUERIES = 2400, 800  # training rows that are ranked, and those among them that are queries
SEARCH_WEIGHTS = np.array([2.0, 1.0, 1.0]) / 4  # of the three searches of `choose_ridges`
STANDARD_ERRORS = 2.0  # a mean gain must exceed this many of them
TOP = 100  # number of results that AP@100 and P@100 use
MIN_DIVISOR = 1e-3  # least divisor of a left-out residual
LARGEST = np.int32(np.iinfo(np.int32).max)
PLURALS = {"image": "images", "text": "texts"}


def ridges_of(
    ridge: float, maps: Mapping[str, FeatureMap], X: Mapping[str, Any], labels: Any, rng: np.random.Generator
) -> tuple[dict[str, float], str]:
    """Return the ridge of every modality, and a note if the ridges were chosen here (else "").

    The ridges are chosen if `ridge` is 0; else they all equal `ridge`. Choosing does not change the random
    numbers that `rng` draws later.
    """
    if ridge:
        return dict.fromkeys(maps, ridge), ""
    ridges = choose_ridges(maps, X, labels, *rng.spawn(1))
    values = " and ".join(f"{chosen:g} for {PLURALS.get(t, t)}" for t, chosen in ridges.items())
    return ridges, f"ridge {values}, chosen by ranking left-out training rows"


def choose_ridges(
    maps: Mapping[str, FeatureMap], X: Mapping[str, Any], labels: Any, rng: np.random.Generator
) -> dict[str, float]:
    """Return the best of RIDGES for each modality, or USUAL_RIDGE if none is clearly better.

    Z_t(γ) are the left-out predictions of the labels (unit rows G) from φ(x) of modality t, minus the mean of
    G. Three searches show how good these predictions are. The first uses Z_t(γ) as queries and the centred
    labels as the database. The second uses Z_t(γ) as queries and the unit rows of Z_o(0.1) as the database,
    where o is the next modality. The third uses Z_o(0.1) as queries and the unit rows of Z_t(γ) as the
    database. To save time, 1 is tried only if 0.3 ranks better than 0.1; smaller values only if 0.3 does not.
    """
    items = labels.shape[0]
    rows = np.sort(rng.choice(items, size=min(MAX_ROWS, items), replace=False))
    queries = np.sort(rng.choice(len(rows), size=min(MAX_QUERIES, len(rows)), replace=False))
    L, drawn, names = np.asarray(labels[rows], dtype=np.float64), {t: X[t][rows] for t in maps}, list(maps)
    G = L / np.maximum(row_norms(L), 1)[:, None]
    mean = G.mean(axis=0)
    centred, relevant = (G - mean).astype(np.float32), (L[queries] @ L.T > 0).astype(np.int32)

    def predict(t: str) -> tuple[Callable[[float], FloatArray], FloatArray]:
        predictor = left_out_predictor(maps[t](drawn[t]), G)
        return predictor, (predictor(USUAL_RIDGE) - mean).astype(np.float32)

    predicted = side_by_side(predict, maps)

    def choose(t: str) -> float:
        (predictor, usual), (_, other) = predicted[t], predicted[names[(names.index(t) + 1) % len(names)]]
        others = unit_rows(other)

        def figures(Z: FloatArray) -> FloatArray:
            searches = ((Z, centred), (Z, others), (other, unit_rows(Z)))
            return np.array([rank(P[queries], Q, queries, relevant) for P, Q in searches])

        level, gains = figures(usual), dict[float, FloatArray]()
        for ridges in (HIGHER_RIDGES, LOWER_RIDGES):
            for ridge in ridges:
                gains[ridge] = gains_of(figures((predictor(ridge) - mean).astype(np.float32)), level)
                if gains[ridge].mean() <= 0:
                    break
            if gains[ridges[0]].mean() > 0:
                break
        return clearly_best(gains)

    return side_by_side(choose, maps)


def gains_of(figures: FloatArray, level: FloatArray) -> FloatArray:
    """Return how much better the figures of each query are than those with the usual ridge, `level`.

    Both arrays are (searches, figures, queries). A gain is relative to the mean of `level` over all queries.
    """
    mean = np.maximum(level.mean(axis=-1, keepdims=True), EPS)
    return np.asarray(np.einsum("sfq,s->q", (figures - level) / mean, SEARCH_WEIGHTS) / level.shape[1])


def clearly_best(gains: Mapping[float, FloatArray]) -> float:
    """Return the ridge with the largest mean gain over the queries if it is significant, else the usual ridge.

    A mean gain above STANDARD_ERRORS standard errors is significant.
    """
    best = max(gains, key=lambda ridge: float(gains[ridge].mean()))
    own = gains[best]
    error = float(own.std(ddof=1)) / np.sqrt(len(own)) if len(own) > 1 else np.inf
    return best if own.mean() > STANDARD_ERRORS * error else USUAL_RIDGE


def left_out_predictor(K: Matrix, T: FloatArray) -> Callable[[float], FloatArray]:
    """Return a function of γ that predicts every row of T by ridge regression on all other rows.

    The regression has an intercept. For centred K and T_c, with KᵀK + γI = R Rᵀ and Z = R⁻¹Kᵀ, the regression
    on all n rows predicts H = ZᵀZ T_c + mean T. The weight of a row's own target in its prediction is
    h_ii = ‖z_i‖² + 1/n for column z_i of Z, and the prediction without this row is T − (T − H) / (1 − h_ii).

    If there are more dimensions than rows, K Kᵀ + γI = R Rᵀ and Z = √γ R⁻¹ instead; then I − ZᵀZ replaces ZᵀZ.
    """
    items, dimensions = K.shape
    is_wide = dimensions >= items
    if is_wide and sparse.issparse(K):
        gram = (K @ K.T).toarray().astype(np.float64)
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1, keepdims=True)
    else:
        C = np.asarray(K.toarray() if sparse.issparse(K) else K, dtype=np.float64)
        C = C - C.mean(axis=0)
        gram = C @ C.T if is_wide else C.T @ C
    right = np.eye(items, dtype=K.dtype) if is_wide else C.astype(K.dtype)
    targets, diagonal = (T - T.mean(axis=0)).astype(K.dtype), np.diag_indices_from(gram)
    rounding = EPS * float(np.trace(gram))

    def predict(ridge: float) -> FloatArray:
        system = gram.copy()
        system[diagonal] += ridge + rounding
        R = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        Z = solve_triangular(R.astype(K.dtype), right.T, lower=True, check_finite=False)
        explained, own = Z.T @ (Z @ targets), np.einsum("ki,ki->i", Z, Z)
        residual, rest = (ridge * explained, ridge * own) if is_wide else (targets - explained, 1 - own)
        return np.asarray(T - residual / np.maximum(rest - 1 / items, MIN_DIVISOR)[:, None])

    return predict


def rank(P: FloatArray, Q: FloatArray, queries: IntArray, relevant: IntArray) -> FloatArray:
    """Return AP@100, AP of the whole ranking and P@100 of each query, as an array (3, queries).

    The rows of Q are ranked by their inner products with a row of P. `queries` are the positions of the
    queries among the rows of Q; a query is not among its own results. `relevant` is 1 or 0, (queries, rows).
    A row's relevance replaces the last bit of its score, so that sorting scores sorts relevance as well; for
    whole numbers of 32 bits NumPy's sort is many times faster than `argsort`.
    """
    scores = np.ascontiguousarray(P @ Q.T, dtype=np.float32).view(np.int32)
    scores ^= (scores >> 31) & LARGEST  # makes the whole numbers sort like the floats
    scores &= -2
    scores |= relevant
    scores[np.arange(len(queries)), queries] = ~LARGEST  # the query itself: last, and not relevant
    scores.sort(axis=1)
    rows, places = np.nonzero(scores[:, :0:-1] & 1)  # of the relevant results
    firsts = np.searchsorted(rows, np.arange(len(queries)))
    precisions = (np.arange(len(rows)) - firsts[rows] + 1) / (places + 1)
    whole, hits = (np.bincount(rows, weights, len(queries)) for weights in (precisions, None))
    top, in_top = rows[places < TOP], precisions[places < TOP]
    first, top_hits = (np.bincount(top, weights, len(queries)) for weights in (in_top, None))
    return np.stack([first / np.maximum(top_hits, 1), whole / np.maximum(hits, 1), top_hits / TOP])


def unit_rows(Z: FloatArray) -> FloatArray:
    return np.asarray(Z / np.maximum(row_norms(Z), EPS)[:, None])
