"""Reference levels: how well tuned classifiers, and kernel ridge regression, rank without hash codes.

    level = measure_classifier_level(data, split)
    level.scores["text", "image", "unseen"]["full"]
    level.kernel_ridge["text", "image", "unseen"]["full"]

The level is not an upper bound: codes can score higher on a measure that can be exploited. But a classifier
needs neither bits nor a common space, so a better method could close the gap between codes and this level
with the same features. Be careful when comparing it with chance on the training database: ranking whole
classes in a random order, which needs no features, is already better than ranking items in a random order.

Kernel ridge regression predicts the labels, as real numbers, from exactly the features of SMFH+. The gap
between its scores and those of SMFH+ is the price of binary codes; what both miss is due to the features.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap, choose_width, fit_rbf
from smfh.features.ridge import ridges_of
from smfh.hashing.solvers import Factor
from smfh.metrics import AP_DEFINITIONS, APDefinition, average_precision
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, MultimodalDataset, Split

MAX_ROWS = 5_000  # most training items of a classifier
MAX_QUERIES = 2_000
BLOCK_PAIRS = 1 << 22  # similarities computed at once
FOLDS = 3
TREES, LEAVES = 300, (1, 3)
LOGISTIC, SUPPORT, WIDTHS = (1.0, 10.0, 100.0), (3.0, 10.0), (1.0, 3.0)  # logistic: C; SVM: C, 2γ·variance
MIN_CLASS_ITEMS = 3 * FOLDS  # so that an SVM can be calibrated in every fold
SCALING, ANCHORS = FeatureMap(power=0.5, unit_rows=True), 1600  # as in SMFH+

Search = tuple[str, str, str]  # modality of the queries, modality that is searched, protocol
LevelScores = Mapping[Search, Mapping[str, float]]  # by search, then by name of the definition
Make = Callable[[], Any]  # returns a new scikit-learn classifier
Tried = tuple[str, Make, FloatArray]  # name of a setting, its classifier, out-of-fold class probabilities


@dataclass(frozen=True)
class ClassifierLevel:
    """Scores of tuned classifiers, and of kernel ridge regression, on the same features and labels."""

    scores: LevelScores
    kernel_ridge: LevelScores
    notes: tuple[str, ...]  # sentences about the chosen classifiers, similarities and ridges


class Similarity(StrEnum):
    """Similarity of the class probabilities p of a query and q of an item."""

    PRODUCT = "p·q, the expected number of common classes"
    COSINE = "p·q/‖q‖"


def measure_classifier_level(
    data: MultimodalDataset, split: Split, on_progress: Callable[[str], None] = lambda text: None
) -> ClassifierLevel:
    """Tune a classifier per modality by cross-validation on training items; return ranking scores.

    The rankings use the same information as codes. With the protocol "training", a query's class
    probabilities are compared with the labels of the training items. With "unseen", they are compared with
    the class probabilities that the classifier of the searched modality predicts for the item. Labels of
    queries are used only to score the rankings.
    """
    rows = split.train
    if len(rows) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_ROWS, replace=False))
    given = data.for_training().labels
    labels = given[rows]
    chosen = {
        name: choose_classifier(X[rows], labels, lambda text, name=name: on_progress(f"{name}: {text}"))  # type: ignore[misc]
        for name, X in data.modalities.items()
    }
    on_progress("ranking")
    held = {name: own.out_of_fold for name, own in chosen.items()}
    directions = list(permutations(chosen, 2))
    unseen = choose_similarity([(held[s], held[t]) for s, t in directions], labels)
    seen = choose_similarity([(P, labels.astype(np.float64)) for P in held.values()], labels)
    by_query = {name: own(data.modalities[name][split.queries]) for name, own in chosen.items()}
    scores = rank_directions(data, split, by_query, given[split.train].astype(np.float64), seen, unseen)
    classifiers = "; ".join(f"{name} by {own.settings}" for name, own in chosen.items())
    on_progress("kernel ridge")
    ridge_scores, ridges = rank_by_kernel_ridge(data, split, rows)
    count, total = len(rows), len(split.train)
    drawn = f", trained on {count:,} of {total:,} items" if count < total else ""
    return ClassifierLevel(
        scores,
        ridge_scores,
        (
            f"Reference line “classifiers”: {classifiers}{drawn}; tuned by cross-validation on training items.",
            f"Training database: items are ranked by their labels, which the codes were learnt from ({seen.value}). "
            f"Unseen: by class probabilities from their own modality ({unseen.value}). Here p and q are the class "
            "probabilities of a query and an item.",
            "Reference line “kernel ridge”: kernel ridge regression, which predicts the labels from the features "
            f"of SMFH+, without codes; {ridges}.",
        ),
    )


def rank_by_kernel_ridge(data: MultimodalDataset, split: Split, rows: IntArray) -> tuple[LevelScores, str]:
    """Rank by labels that kernel ridge regression predicts; return scores and a note about the ridges.

    The weights of modality t are W_t = (K_tᵀK_t + γ_tI)⁻¹K_tᵀG, with RBF features K_t, ridge γ_t and labels G
    (unit rows, centred). Features, widths and ridges are chosen on the training rows as for SMFH+.
    """
    rng, X = np.random.default_rng(0), {t: x[rows] for t, x in data.modalities.items()}
    given = data.for_training().labels
    labels = given[rows]
    maps = {t: choose_width(fit_rbf(x, SCALING, ANCHORS, rng), x, labels, rng) for t, x in X.items()}
    ridges, note = ridges_of(0.0, maps, X, labels, rng)
    both = labels, given[split.train]
    G, known_rows = (np.asarray(FeatureMap(unit_rows=True).scale(L.astype(float))) for L in both)
    G -= G.mean(axis=0)
    predicted = {}
    for t, phi in maps.items():
        K = phi(X[t]).astype(np.float64)
        mean = K.mean(axis=0)
        K -= mean
        W = Factor.of(K.T @ K, ridges[t]).solve(K.T @ G)
        predicted[t] = phi(data.modalities[t][split.queries]) @ W - mean @ W
    return rank_directions(data, split, predicted, known_rows, Similarity.PRODUCT, Similarity.COSINE), note


def rank_directions(
    data: MultimodalDataset,
    split: Split,
    predicted: Mapping[str, FloatArray],
    known: FloatArray,
    seen: Similarity,
    unseen: Similarity,
) -> LevelScores:
    """Return the scores of both protocols in all directions, from the `predicted` classes of held-out items.

    The training items are ranked by their `known` classes with the similarity `seen`, the held-out items by
    their predicted classes with the similarity `unseen`.
    """
    relevant, queried = data.labels[split.train], data.labels[split.queries]
    scores: dict[Search, Mapping[str, float]] = {}
    for s, t in permutations(predicted, 2):
        scores[s, t, "training"] = rank_classes(predicted[s], known, queried, relevant, seen)
        scores[s, t, "unseen"] = rank_classes(predicted[s], predicted[t], queried, queried, unseen)
    return scores


def choose_similarity(pairs: Sequence[tuple[FloatArray, FloatArray]], labels: BoolArray) -> Similarity:
    """Return the similarity with the best whole-ranking mAP on training items, averaged over `pairs`."""
    return max(Similarity, key=lambda one: float(np.mean([rank_whole(P, Q, labels, one) for P, Q in pairs])))


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The chosen classifiers of a modality; calling the object computes class probabilities."""

    settings: str  # for example kernel SVM (C 10, γ 3) + extra trees (leaf 1)
    models: tuple[Any, ...]  # trained on all rows
    classes: int
    out_of_fold: FloatArray  # (rows, classes), each by models that were not trained on it

    def __call__(self, X: Matrix) -> FloatArray:
        """Return P(class | x), (items, classes), averaged over the models."""
        scaled = SCALING.scale(X)
        mean: FloatArray = np.mean([predict(model, scaled, self.classes) for model in self.models], axis=0)
        return mean


def choose_classifier(
    X: Matrix, labels: BoolArray, on_setting: Callable[[str], None] = lambda text: None
) -> Posteriors:
    """Find the best setting of each classifier family, and return the best combination of them.

    A combination averages class probabilities. The best one has the highest whole-ranking mAP if each
    training row is a query and all other rows are ranked by their labels. The class probabilities of a query
    are predicted out of fold: by models that were not trained on it.
    """
    scaled, hot, classes = SCALING.scale(X), labels.astype(np.float64), labels.shape[1]
    targets = labels.argmax(axis=1) if has_one_class(labels) else labels.astype(int)
    folds = draw_folds(labels)

    def quality(tried: Sequence[Tried]) -> float:
        return rank_whole(np.mean([P for *_, P in tried], axis=0), hot, labels, Similarity.PRODUCT)

    best: list[Tried] = []
    for family, settings in offered_settings(scaled, labels).items():
        tried = []
        for setting, make in settings.items():
            on_setting(f"{family} ({setting})")
            P = predict_out_of_fold(make, scaled, targets, folds, classes)
            tried.append((f"{family} ({setting})", make, P))
        best.append(max(tried, key=lambda one: quality([one])))
    groups = [group for size in range(1, len(best) + 1) for group in combinations(best, size)]
    chosen = max(groups, key=quality)
    models = tuple(train(make(), scaled, targets) for _, make, _ in chosen)
    names = " + ".join(name for name, *_ in chosen)
    return Posteriors(names, models, classes, np.mean([P for *_, P in chosen], axis=0))


def offered_settings(X: Matrix, labels: BoolArray) -> Mapping[str, Mapping[str, Make]]:
    """Return the classifiers to try: by family, then by setting.

    An SVM is tried only if every item has one class and every class has enough items.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    def logistic(C: float) -> Any:
        model = LogisticRegression(C=C, max_iter=500)
        return model if has_one_class(labels) else OneVsRestClassifier(model)

    families: dict[str, dict[str, Make]] = {
        "logistic": {f"C {C:g}": partial(logistic, C) for C in LOGISTIC},
        "extra trees": {
            f"leaf {leaf}": partial(ExtraTreesClassifier, TREES, min_samples_leaf=leaf, random_state=0)
            for leaf in LEAVES
        },
    }
    counts = labels.sum(axis=0)
    if has_one_class(labels) and counts[counts > 0].min() >= MIN_CLASS_ITEMS:
        mean = np.asarray(X.mean(axis=0)).ravel()
        spread = max(1 - float(mean @ mean), 1e-3)  # variance of rows of unit length
        families["kernel SVM"] = {
            f"C {C:g}, γ {width:g}": partial(
                CalibratedClassifierCV, SVC(C=C, gamma=width / (2 * spread)), ensemble=False, cv=FOLDS
            )
            for C, width in product(SUPPORT, WIDTHS)
        }
    return families


def has_one_class(labels: BoolArray) -> bool:
    return bool(np.all(labels.sum(axis=1) == 1))


def outermost_classes(labels: BoolArray) -> IntArray:
    """Return the classes that lie within no other class; items share one of them if they share any class."""
    together = labels.T.astype(np.int64) @ labels
    sizes = together.diagonal()
    is_within = (together == sizes[:, None]) & (
        (sizes[:, None] < sizes) | ((sizes[:, None] == sizes) & np.tri(len(sizes), k=-1, dtype=np.bool_))
    )
    return np.flatnonzero(~is_within.any(axis=1) & (sizes > 0))


def draw_folds(labels: BoolArray) -> IntArray:
    """Assign each row to a cross-validation fold; the items of each class are spread over all folds."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order].argmax(axis=1), kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % FOLDS
    return folds


def predict_out_of_fold(make: Make, X: Matrix, targets: IntArray, folds: IntArray, classes: int) -> FloatArray:
    """Return the class probabilities of each row, from a classifier trained on the other folds."""
    P = np.zeros((len(targets), classes))
    for fold in range(FOLDS):
        held = folds == fold
        P[held] = predict(train(make(), X[~held], targets[~held]), X[held], classes)
    return P


def train(model: Any, X: Matrix, targets: IntArray) -> Any:
    """Train a model; `targets` holds one class per item, or a 0/1 matrix with one column per class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about too few iterations, and classes missing in a fold
        return model.fit(_as_scikit_learn(X), targets)


def predict(model: Any, X: Matrix, classes: int) -> FloatArray:
    """Return P(class | x), (items, classes); 0 for classes that the model was not trained on."""
    output = model.predict_proba(_as_scikit_learn(X))
    P = np.zeros((X.shape[0], classes))
    if isinstance(output, list):  # trees with several labels: probabilities of no and yes for each class
        for k, (probabilities, known) in enumerate(zip(output, model.classes_, strict=True)):
            P[:, k] = probabilities[:, list(known).index(1)] if 1 in known else 0
    else:
        P[:, np.asarray(model.classes_)] = output
    return P


def _as_scikit_learn(X: Matrix) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)


def rank_classes(
    P: FloatArray,
    Q: FloatArray,
    query_labels: BoolArray,
    database_labels: BoolArray,
    similarity: Similarity,
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    own: bool = False,
) -> dict[str, float]:
    """Rank items by similarity of class probabilities; return the mean score by each definition.

    P are the class probabilities of the queries, Q those of the items. Ties stay in database order. With
    `own`, the queries are the database items, and a query is not among its own results. If there are more
    than MAX_QUERIES queries, a random sample is used.
    """
    if similarity is Similarity.COSINE:
        Q = np.asarray(FeatureMap(unit_rows=True).scale(Q))
    rows = np.arange(len(P))
    if len(rows) > MAX_QUERIES:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_QUERIES, replace=False))
    sums = dict.fromkeys(definitions, 0.0)
    for block in np.array_split(rows, -(-len(rows) * len(Q) // BLOCK_PAIRS)):
        fit = P[block] @ Q.T
        relevant = query_labels[block].astype(np.float32) @ database_labels.T.astype(np.float32) > 0
        if own:
            fit[np.arange(len(block)), block], relevant[np.arange(len(block)), block] = -np.inf, False
        ranked = np.take_along_axis(relevant, np.argsort(-fit, axis=1, kind="stable"), axis=1)
        for name, definition in definitions.items():
            sums[name] += float(average_precision(ranked, relevant.sum(axis=1), definition).sum())
    return {name: total / len(rows) for name, total in sums.items()}


def rank_whole(P: FloatArray, Q: FloatArray, labels: BoolArray, similarity: Similarity) -> float:
    """Return the whole-ranking mAP if each item is a query and all other items are the database."""
    return rank_classes(P, Q, labels, labels, similarity, {"full": AP_DEFINITIONS["full"]}, own=True)["full"]
