"""The classifier level: near 1 for perfect features, chance for random ones; query labels are not used."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from smfh.features.maps import choose_width, fit_rbf
from smfh.retrieval.classifiers import (
    ANCHORS,
    FOLDS,
    SCALING,
    Similarity,
    choose_classifier,
    draw_folds,
    measure_classifier_level,
    offered_settings,
    predict_out_of_fold,
    rank_by_kernel_ridge,
    rank_classes,
    rank_whole,
)
from smfh.types import MultimodalDataset, Split

ITEMS, TRAIN, CLASSES = 160, 110, 4
SPLIT = Split(np.arange(TRAIN), np.arange(TRAIN, ITEMS))


def make(told: float, seed: int = 0, several: bool = False) -> MultimodalDataset:
    """Two modalities that follow the classes as strongly as said, one of them sparse."""
    rng = np.random.default_rng(seed)
    labels = np.eye(CLASSES, dtype=bool)[rng.integers(CLASSES, size=ITEMS)]
    if several:
        labels |= rng.random(labels.shape) < 0.2
    signal = told * labels @ rng.random((CLASSES, 12))
    image = signal + rng.random((ITEMS, 12))
    text = sparse.csr_array(np.hstack([told * labels, rng.random((ITEMS, 6))]) * (rng.random((ITEMS, 10)) < 0.9))
    return MultimodalDataset("made", {"image": image, "text": text}, labels)


def test_ranking_by_hand():
    """Two queries, four items: the first finds its class at places 1 and 4, the second at 1 and 2."""
    P = np.array([[0.9, 0.1, 0], [0.2, 0.1, 0.7]])
    Q = np.array([[0.5, 0.5, 0], [0.8, 0, 0.2], [0, 0.1, 0.9], [0.1, 0, 0.9]])
    items, asked = np.eye(3, dtype=bool)[[1, 0, 2, 0]], np.eye(3, dtype=bool)[[0, 2]]
    # p·q: .50 .72 .01 .09 → items 1, 0, 3, 2: hits at 1 and 3; .15 .30 .64 .65 → 3, 2, 1, 0: a hit at 2
    scores = rank_classes(P, Q, asked, items, Similarity.PRODUCT)
    assert scores["full"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)
    assert scores["found"] == pytest.approx(scores["full"])
    assert scores["precision"] == pytest.approx((2 / 4 + 1 / 4) / 2)
    # p·q/‖q‖: .707 .873 .011 .099, the same order; .212 .364 .707 .718, the same
    assert rank_classes(P, Q, asked, items, Similarity.COSINE) == pytest.approx(scores)
    # an item with a long q is first by the product and last by the cosine
    long = np.array([[0.9, 0.9, 0.9], [0.8, 0.0, 0.0]])
    one = np.array([[1.0, 0.5, 0.0]])
    right = np.eye(3, dtype=bool)[[1, 0]]
    assert rank_classes(one, long, right[1:], right, Similarity.PRODUCT)["full"] == 0.5
    assert rank_classes(one, long, right[1:], right, Similarity.COSINE)["full"] == 1


def test_queries_do_not_find_themselves():
    labels = np.eye(2, dtype=bool)[[0, 1, 0]]
    # the second has nothing relevant but itself; the others find each other behind nothing or behind one
    assert rank_whole(labels.astype(float), labels.astype(float), labels, Similarity.PRODUCT) == pytest.approx(2 / 3)


def test_out_of_fold_rows_are_not_trained_on():
    """The nearest neighbour of a row is itself: seen in training it would be right every time."""
    rng = np.random.default_rng(0)
    labels = np.eye(2, dtype=bool)[rng.integers(2, size=300)]
    X, targets = rng.random((300, 5)), labels.argmax(axis=1)
    folds = draw_folds(labels)
    P = predict_out_of_fold(lambda: KNeighborsClassifier(1), X, targets, folds, 2)
    assert 0.35 < np.mean(P.argmax(axis=1) == targets) < 0.65
    counts = np.array([[np.sum(labels[folds == fold, k]) for k in (0, 1)] for fold in range(FOLDS)])
    assert np.ptp(counts, axis=0).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_perfect_features_give_a_level_near_one(several):
    data = make(20.0, several=several)
    assert ("kernel SVM" in offered_settings(data.modalities["image"], data.labels)) != several
    ceiling = measure_classifier_level(data, SPLIT)
    assert set(ceiling.scores) == {
        (s, t, p) for s, t in (("image", "text"), ("text", "image")) for p in ("training", "unseen")
    }
    assert set(ceiling.kernel_ridge) == set(ceiling.scores)
    least = 0.85 if several else 0.95
    for level in (ceiling.scores, ceiling.kernel_ridge):
        assert all(scores["full"] > least for scores in level.values())


@pytest.mark.slow
def test_random_features_give_the_level_of_a_guess():
    """A guess puts the classes of the training items, whole, in any order; unseen items in any order."""
    data = make(0.0)
    asked, known = data.labels[TRAIN:], data.labels[:TRAIN]
    guess = np.random.default_rng(0).random((len(asked), CLASSES))
    guessed = rank_classes(guess, known.astype(float), asked, known, Similarity.PRODUCT)
    alike = float(np.mean(asked.astype(int) @ asked.T.astype(int)))
    measured = measure_classifier_level(data, SPLIT)
    for (_, _, protocol), scores in [*measured.scores.items(), *measured.kernel_ridge.items()]:
        assert scores["full"] == pytest.approx(guessed["full"] if protocol == "training" else alike, abs=0.1)
        assert scores["precision"] == pytest.approx(0.25, abs=0.08)


@pytest.mark.slow
def test_query_labels_are_not_used():
    data = make(0.7)
    turned = data.labels.copy()
    turned[TRAIN:] = np.roll(turned[TRAIN:], 1, axis=1)
    heard: list[str] = []
    one = measure_classifier_level(data, SPLIT, heard.append)
    other = measure_classifier_level(replace(data, labels=turned), SPLIT)
    assert one.notes == other.notes
    search = ("text", "image", "training")
    for first, second in ((one.scores, other.scores), (one.kernel_ridge, other.kernel_ridge)):
        assert first[search]["full"] > second[search]["full"] + 0.1
    assert any("image: extra trees" in line for line in heard)


@pytest.mark.parametrize("several", [False, True])
def test_kernel_ridge_ranks_by_the_predictions_of_ridge_regression(several):
    """Compare with scikit-learn's ridge regression with an intercept, on the same features."""
    data = make(0.7, several=several)
    scores, note = rank_by_kernel_ridge(data, SPLIT, SPLIT.train)
    G = data.labels / np.linalg.norm(data.labels, axis=1, keepdims=True)
    rng, predicted = np.random.default_rng(0), {}
    for t, X in data.modalities.items():
        phi = choose_width(fit_rbf(X[:TRAIN], SCALING, ANCHORS, rng), X[:TRAIN], data.labels[:TRAIN], rng)
        ridge = float(re.search(rf"([0-9.]+) for {t}s", note)[1])
        model = Ridge(alpha=ridge).fit(phi(X[:TRAIN]).astype(float), G[:TRAIN])
        predicted[t] = model.predict(phi(X[TRAIN:]).astype(float)) - G[:TRAIN].mean(axis=0)
    queried, known = data.labels[TRAIN:], data.labels[:TRAIN]
    P, Q = predicted["text"], predicted["image"]
    seen = rank_classes(P, G[:TRAIN], queried, known, Similarity.PRODUCT)
    unseen = rank_classes(P, Q, queried, queried, Similarity.COSINE)
    assert scores["text", "image", "training"] == pytest.approx(seen, abs=1e-3)
    assert scores["text", "image", "unseen"] == pytest.approx(unseen, abs=1e-3)


def test_classes_without_items_have_probability_zero():
    labels = np.eye(3, dtype=bool)[np.arange(60) % 2]
    X = np.random.default_rng(0).random((60, 4)) + labels[:, :1]
    posteriors = choose_classifier(X, labels)
    said = posteriors(X)
    assert said.shape == posteriors.out_of_fold.shape == (60, 3)
    assert np.all(said[:, 2] == 0)
    np.testing.assert_allclose(said.sum(axis=1), 1)
