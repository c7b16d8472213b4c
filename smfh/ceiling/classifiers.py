"""Classifiers of one modality, chosen by cross-validation on training rows alone."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from smfh.ceiling.ranking import Similarity, rank_whole
from smfh.features.maps import FeatureMap
from smfh.types import BoolArray, FloatArray, IntArray, Matrix

FOLDS = 3
TREES, LEAVES = 300, (1, 3)
LOGISTIC, SUPPORT, WIDTHS = (1.0, 10.0, 100.0), (3.0, 10.0), (1.0, 3.0)  # C, C, γ times the variance of x
FEWEST = 3 * FOLDS  # items of a class, so that the posteriors of an SVM can be fitted in every fold
SCALING = FeatureMap(power=0.5, unit_rows=True)  # as SMFH+ has it

Make = Callable[[], Any]  # a new classifier of scikit-learn


class Tried(NamedTuple):
    """A setting, and what it says of rows that it was not trained on."""

    told: str
    make: Make
    out_of_fold: FloatArray  # (rows, classes)


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What the chosen classifiers of a modality say of any items, and of their own rows, held out."""

    told: str  # such as kernel SVM (C 10, γ 3) and extra trees (leaf 1)
    models: tuple[Any, ...]  # trained on all rows
    classes: int
    out_of_fold: FloatArray  # (rows, classes), each by models that were not trained on it

    def __call__(self, X: Matrix) -> FloatArray:
        """P(class | x), (items, classes); of several models the mean."""
        scaled = SCALING.scale(X)
        said: FloatArray = np.mean([predict(model, scaled, self.classes) for model in self.models], axis=0)
        return said


def choose_classifier(
    X: Matrix, labels: BoolArray, on_setting: Callable[[str], None] = lambda told: None
) -> Posteriors:
    """The best setting of each family, and of them the one, or the mean of several, that is best.

    Best is whose out-of-fold posteriors of the rows rank the labels of all other rows best, by mAP over the
    whole ranking.
    """
    scaled, hot, classes = SCALING.scale(X), labels.astype(np.float64), labels.shape[1]
    targets = labels.argmax(axis=1) if has_one_class(labels) else labels.astype(int)
    folds = draw_folds(labels)

    def quality(tried: Sequence[Tried]) -> float:
        return rank_whole(mean_of(tried), hot, labels, Similarity.PRODUCT)

    best: list[Tried] = []
    for family, settings in offered_settings(scaled, labels).items():
        tried = []
        for setting, make in settings.items():
            on_setting(f"{family} ({setting})")
            P = predict_out_of_fold(make, scaled, targets, folds, classes)
            tried.append(Tried(f"{family} ({setting})", make, P))
        best.append(max(tried, key=lambda one: quality([one])))
    groups = [group for size in range(1, len(best) + 1) for group in combinations(best, size)]
    chosen = max(groups, key=quality)
    models = tuple(train(one.make(), scaled, targets) for one in chosen)
    return Posteriors(" + ".join(one.told for one in chosen), models, classes, mean_of(chosen))


def mean_of(tried: "Sequence[Tried]") -> FloatArray:
    """The mean of their posteriors."""
    mean: FloatArray = np.mean([one.out_of_fold for one in tried], axis=0)
    return mean


def offered_settings(X: Matrix, labels: BoolArray) -> Mapping[str, Mapping[str, Make]]:
    """By family and setting; the SVM is for one class an item, with some items each."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    def logistic(C: float) -> Any:
        model = LogisticRegression(C=C, max_iter=500)
        return model if has_one_class(labels) else OneVsRestClassifier(model)

    def support(C: float, gamma: float) -> Any:
        return CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False, cv=FOLDS)

    def trees(leaf: int) -> Any:
        return ExtraTreesClassifier(TREES, min_samples_leaf=leaf, random_state=0)

    families: dict[str, dict[str, Make]] = {
        "logistic": {f"C {C:g}": partial(logistic, C) for C in LOGISTIC},
        "extra trees": {f"leaf {leaf}": partial(trees, leaf) for leaf in LEAVES},
    }
    counts = labels.sum(axis=0)
    if has_one_class(labels) and counts[counts > 0].min() >= FEWEST:
        mean = np.asarray(X.mean(axis=0)).ravel()
        spread = max(1 - float(mean @ mean), 1e-3)  # of rows of unit length
        families["kernel SVM"] = {
            f"C {C:g}, γ {width:g}": partial(support, C, width / (2 * spread))
            for C in SUPPORT
            for width in WIDTHS
        }
    return families


def has_one_class(labels: BoolArray) -> bool:
    return bool(np.all(labels.sum(axis=1) == 1))


def draw_folds(labels: BoolArray) -> IntArray:
    """Which fold each row is in; the items of a class are spread over all of them."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order].argmax(axis=1), kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % FOLDS
    return folds


def predict_out_of_fold(
    make: Make, X: Matrix, targets: IntArray, folds: IntArray, classes: int
) -> FloatArray:
    """The posteriors of every row by a classifier that was trained on the other folds."""
    P = np.zeros((len(targets), classes))
    for fold in range(FOLDS):
        held = folds == fold
        P[held] = predict(train(make(), X[~held], targets[~held]), X[held], classes)
    return P


def train(model: Any, X: Matrix, targets: IntArray) -> Any:
    """The model trained; targets are one class an item, or 0 and 1 for each class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of too few steps, and of classes that a fold lacks
        return model.fit(_plain(X), targets)


def predict(model: Any, X: Matrix, classes: int) -> FloatArray:
    """P(class | x), (items, classes); 0 for classes that the model has never met."""
    said = model.predict_proba(_plain(X))
    P = np.zeros((X.shape[0], classes))
    if isinstance(said, list):  # of trees with many labels: no and yes, for each class
        for k, (answers, known) in enumerate(zip(said, model.classes_, strict=True)):
            P[:, k] = answers[:, list(known).index(1)] if 1 in known else 0
    else:
        P[:, np.asarray(model.classes_)] = said
    return P


def _plain(X: Matrix) -> Any:
    """As scikit-learn takes it."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
