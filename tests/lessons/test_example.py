"""The small example: readable features of real items, and the method's own numbers at every step."""

import io

import numpy as np
import pytest
from PIL import Image

from smfh.datasets import DATASETS
from smfh.hamming import unpack
from smfh.hashing import SMFH
from smfh.hashing.smfh import STEPS
from smfh.lessons.example import COLOURS, FEATURES, choose_words, colour_shares, make_example, usual_rows
from smfh.lessons.iteration import ABOUT, USUAL, Walk, graph_of, matrices_of, moved, rank_items, walk
from smfh.types import InputError


@pytest.fixture(scope="module")
def emoji():
    return DATASETS["emoji"]().load()[0]


@pytest.fixture(scope="module")
def small(emoji):
    return make_example(emoji, usual_rows(emoji))


@pytest.fixture(scope="module")
def walked(small) -> Walk:
    return walk(small, USUAL)


def picture(*colours: str) -> bytes:
    """Stripes of equal width."""
    image = Image.new("RGB", (10 * len(colours), 10))
    for k, colour in enumerate(colours):
        image.paste(colour, (10 * k, 0, 10 * k + 10, 10))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    ("colours", "shares"),
    [
        (("red",), {"red": 1}),
        (("#fcea2b", "#5c9e31"), {"yellow": 0.5, "green": 0.5}),
        (("#61b2e4", "black", "white", "white"), {"blue": 0.5, "dark": 0.5}),  # paper is left out
        (("#d0cfce",), {"light": 1}),
        (("white",), {"light": 1}),  # unless there is nothing else
        (("#cc0044", "#ff0000", "#00ff00", "#0000ff"), {"red": 0.5, "green": 0.25, "blue": 0.25}),
    ],
)
def test_a_picture_is_told_by_its_colours(colours, shares):
    expected = [shares.get(name, 0) for name in COLOURS]
    np.testing.assert_allclose(colour_shares(picture(*colours)), expected)


def test_every_item_gets_a_word_before_any_gets_many():
    X = np.array([[3.0, 3, 0, 0], [3, 3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    # column 0 weighs most; column 1 has the very same items; column 3 is of one item alone
    assert choose_words(X)[:2] == [0, 2]


def test_the_usual_items_are_three_classes_with_words_and_colours(small, emoji):
    assert small.data.labels.sum(axis=0).tolist() == [3, 3, 3]
    assert set(small.features) == {"image", "text"}
    for name, X in small.data.modalities.items():
        assert X.dtype == np.float64
        assert X.shape == (9, FEATURES) == (9, len(small.features[name]))
        assert X.any(axis=1).all()
    columns = [emoji.encoders["text"].vocabulary.tokens.index(word) for word in small.features["text"]]
    real = emoji.modalities["text"][list(small.rows)].toarray()[:, columns]
    lengths = np.linalg.norm(real, axis=1, keepdims=True)
    np.testing.assert_allclose(small.data.modalities["text"], real / lengths, rtol=1e-6)


@pytest.mark.parametrize("name", ["planted", "synthetic"])
def test_sets_without_words_and_pictures_have_the_columns_that_vary_most(name):
    data, _ = DATASETS[name]().load()
    example = make_example(data, usual_rows(data))
    for modality, names in example.features.items():
        columns = [int(column.removeprefix("column ")) for column in names]
        X = data.modalities[modality][list(example.rows)]
        X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
        np.testing.assert_array_equal(example.data.modalities[modality], X[:, columns])
        rest = np.delete(X.var(axis=0), columns)
        assert X.var(axis=0)[columns].min() >= rest.max(initial=0)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [((0, 1, 2), "4 to 12"), ((0, 0, 1, 2, 3), "4 to 12"), ((0, 1, 2, 10_000), "0 to 1,739")],
)
def test_what_is_no_example_says_why(emoji, rows, wrong):
    with pytest.raises(InputError, match=wrong):
        make_example(emoji, rows)


def test_items_of_one_class_are_no_example(emoji):
    alike = np.flatnonzero(emoji.labels[:, 0])[:5].tolist()
    with pytest.raises(InputError, match="same class"):
        make_example(emoji, alike)


@pytest.mark.parametrize("changed", [{}, {"graph_sample": 9}, {"graph_sample": 3, "bits": 6, "seed": 4}])
def test_the_walk_is_the_training_to_the_last_digit(small, changed):
    method = SMFH(**(USUAL.get_params() | changed))
    walked, hasher = walk(small, method), method.fit(small.data)
    last = walked.moments[-1].after
    for name, function in hasher.functions.items():
        np.testing.assert_array_equal(last.W[name], function.projection)
        np.testing.assert_array_equal(last.U[name], hasher.bases[name])
    matrices = matrices_of(walked.problem, last)
    np.testing.assert_array_equal(matrices["threshold", ""][0], hasher.functions["text"].thresholds)
    np.testing.assert_array_equal(matrices["code", ""], unpack(hasher.database_codes["text"], method.bits))
    for step in hasher.trace:
        assert walked.at(step.iteration, "functions").terms_after == pytest.approx(step.terms, rel=1e-12)


def test_the_moments_follow_each_other(walked):
    assert [moment.step for moment in walked.moments[: len(STEPS)]] == list(ABOUT)
    for before, after in zip(walked.moments, walked.moments[1:], strict=False):
        assert after.before is before.after
        assert after.terms_before is before.terms_after


def test_the_terms_between_two_steps_are_those_of_the_equations(walked):
    """O as it reads, from the matrices alone."""
    problem, method = walked.problem, walked.problem.method
    X = {t: np.asarray(x) for t, x in problem.X.items()}
    for moment in walked.moments[:12]:
        state, A = moment.after, graph_of(problem, moment.after)
        L, excess = np.diag(A.sum(axis=1)) - A, state.Y.T @ state.Y - np.eye(method.bits)
        H = {t: X[t] @ state.W[t] for t in X}
        expected = {
            **{f"reconstruction ({t})": 0.5 * np.sum((X[t] - state.Y @ state.U[t].T) ** 2) for t in X},
            "graph": method.graph_weight * np.trace(state.Y.T @ L @ state.Y),
            **{f"projection ({t})": problem.mu * np.sum((state.Y - H[t]) ** 2) for t in X},
            "smoothness": problem.mu * method.smoothness * sum(np.trace(H[t].T @ L @ H[t]) for t in X),
            "ridge": problem.mu * method.ridge * sum(np.sum(state.W[t] ** 2) for t in X),
            "orthogonality": method.orthogonality_weight * np.sum(excess**2),
        }
        assert moment.terms_after == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_step_moves_what_it_says_it_gives_and_nothing_else(walked):
    for moment in walked.moments[len(STEPS) :]:
        changed = {name for (name, _), cells in moved(walked.problem, moment).items() if cells.any()}
        allowed = set(ABOUT[moment.step].gives)
        assert changed <= allowed, moment.step
        assert changed or moment.step == "sample"


def test_the_changes_of_a_step_are_told_largest_first(walked):
    for moment in walked.moments:
        sizes = [abs(change) for change in moment.changes.values()]
        assert sizes == sorted(sizes, reverse=True)
        rest = set(moment.terms_after) - set(moment.changes)
        assert all(moment.terms_after[term] == pytest.approx(moment.terms_before[term]) for term in rest)


def test_the_graph_is_of_the_drawn_items_alone(walked):
    for moment in walked.moments:
        A = graph_of(walked.problem, moment.after)
        drawn = moment.after.rows
        assert A.sum() == A[np.ix_(drawn, drawn)].sum() > 0
        np.testing.assert_array_equal(A[drawn].sum(axis=1), moment.after.graph.degrees)


def test_words_find_their_own_class_first(walked, small):
    problem, last = walked.problem, walked.moments[-1].after
    for item in range(9):
        order, distances = rank_items(problem, last, "text", item)
        assert sorted(order) == list(range(9))
        assert (np.diff(distances) >= 0).all()
    order, _ = rank_items(problem, last, "text", 0)
    assert small.data.labels[order[0], small.data.labels[0].argmax()]
