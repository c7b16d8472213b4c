"""The small example: readable features of real items."""

import io

import numpy as np
import pytest
from PIL import Image

from smfh.datasets import DATASETS
from smfh.lessons.example import COLOURS, FEATURES, colour_shares, default_rows, make_example
from smfh.types import InputError


@pytest.fixture(scope="module")
def small(emoji):
    return make_example(emoji, default_rows(emoji))


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
        (("#61b2e4", "black", "white", "white"), {"blue": 0.5, "dark": 0.5}),  # white background is left out
        (("#d0cfce",), {"light": 1}),
        (("white",), {"light": 1}),  # unless there is nothing else
        (("#cc0044", "#ff0000", "#00ff00", "#0000ff"), {"red": 0.5, "green": 0.25, "blue": 0.25}),
    ],
)
def test_colour_shares_of_a_picture(colours, shares):
    expected = [shares.get(name, 0) for name in COLOURS]
    np.testing.assert_allclose(colour_shares(picture(*colours)), expected)


def test_default_items_have_three_classes_with_words_and_colours(small, emoji):
    sizes = dict(zip(small.data.class_names, small.data.labels.sum(axis=0).tolist(), strict=True))
    assert [sizes[group] for group in ("Animals & Nature", "Food & Drink", "Smileys & Emotion")] == [3, 3, 3]
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
def test_data_without_words_or_pictures_uses_the_columns_that_vary_most(name):
    data, _ = DATASETS[name]().load()
    example = make_example(data, default_rows(data))
    for modality, names in example.features.items():
        columns = [int(column.removeprefix("column ")) for column in names]
        X = data.modalities[modality][list(example.rows)]
        X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
        np.testing.assert_array_equal(example.data.modalities[modality], X[:, columns])
        rest = np.delete(X.var(axis=0), columns)
        assert X.var(axis=0)[columns].min() >= rest.max(initial=0)


@pytest.mark.parametrize(
    ("rows", "wrong"), [((0, 1, 2), "4 to 12"), ((0, 0, 1, 2, 3), "4 to 12"), ((0, 1, 2, 10_000), "0 to 1,739")]
)
def test_unsuitable_rows_are_rejected(emoji, rows, wrong):
    with pytest.raises(InputError, match=wrong):
        make_example(emoji, rows)


def test_items_with_the_same_labels_are_rejected(emoji):
    with pytest.raises(InputError, match="same labels"):
        make_example(emoji, np.flatnonzero(emoji.labels[:, -1])[:5].tolist())
