"""Data sets and splits list all their problems."""

import numpy as np
import pytest
from scipy import sparse

from smfh.types import InputError, MultimodalDataset, Split


def make(image=None, text=None, labels=None, names=("a", "b"), **more):
    image = np.ones((4, 3), dtype=np.float32) if image is None else image
    text = np.ones((4, 2), dtype=np.float32) if text is None else text
    labels = np.eye(2, dtype=bool)[[0, 1, 0, 1]] if labels is None else labels
    return MultimodalDataset("test", {"image": image, "text": text}, labels, names, **more)


def test_all_problems_are_listed():
    image = np.ones((4, 3), dtype=np.float32)
    image[2, 1] = np.nan
    image[3, 0] = -1
    with pytest.raises(InputError) as caught:
        make(image, np.ones((5, 2), dtype=np.float32), names=("a",), captions=["x"])
    assert caught.value.problems == (
        "The number of class names is 1, but there are 2 columns of labels.",
        "Modality 'image' has 1 NaN or infinite values, the first in row 2, column 1 (counted from 0).",
        "Modality 'text' has 5 rows, the labels have 4.",
        "The number of captions is 1, but there are 4 items.",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros((4, 2), dtype=bool)}, "no labels"),
        ({"labels": np.zeros((0, 2), dtype=bool)}, "no items"),
        ({"labels": 2 * np.ones((4, 2))}, "True and False"),
        ({"image": np.ones((4, 3), dtype=complex)}, "real numbers"),
        ({"image": np.ones(4, dtype=np.float32)}, "items × dimensions"),
        ({"image": np.ones((4, 0), dtype=np.float32)}, "no dimensions"),
        ({"text": sparse.csr_array([[0, 0], [0, 1], [0, 0], [np.inf, 0]])}, "first in row 3, column 0"),
    ],
)
def test_invalid_data_is_rejected(changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)


def test_take_selects_rows_of_every_field():
    image = np.arange(12, dtype=np.float32).reshape(4, 3)
    data = make(image, captions=list("wxyz"), thumbnails=[b"0", b"1", b"2", b"3"])
    part = data.take(np.array([3, 1]))
    assert part.modalities["image"].tolist() == image[[3, 1]].tolist()
    assert part.captions == ["z", "x"]
    assert list(part.thumbnails) == [b"3", b"1"]
    assert list(part.thumbnails[1:]) == [b"1"]
    assert part.labels.tolist() == data.labels[[3, 1]].tolist()


def test_the_fingerprint_depends_on_every_cell():
    rng = np.random.default_rng(0)
    image = rng.random((1000, 600)).astype(np.float32)
    labels = rng.random((1000, 2)) < 0.5
    text = sparse.csr_array(rng.random((1000, 4)).astype(np.float32))
    first = make(image, text, labels).fingerprint
    assert make(image.copy(), text.copy(), labels.copy()).fingerprint == first
    changed = image.copy()
    changed[999, 300] += 1
    others = (changed, text, labels), (image, text, ~labels), (image, text * 2, labels)
    assert len({first, *(make(*other).fingerprint for other in others)}) == 4


def test_an_invalid_split_is_rejected():
    wrong = (([0, 1, 2], [2, 2], "2 rows occur twice"), ([-1, 0], [0.5], "\n"), ([0], [], "no queries rows"))
    for train, queries, problem in wrong:
        with pytest.raises(InputError, match=problem):
            Split(np.array(train), np.array(queries))
    with pytest.raises(InputError, match="row 9, but the data has rows 0 to 4"):
        Split(train=np.array([0]), queries=np.array([9])).check(5)
